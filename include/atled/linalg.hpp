// atled/linalg.hpp: what a program that calls linear algebra includes beside the umbrella.
// Reads: ops/solve.hpp and ops/determinant.hpp for the functions, kernels/linalg.hpp for the
// kernels, which are Eigen's.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/kernels/linalg.hpp"
#include "atled/ops/determinant.hpp"
#include "atled/ops/solve.hpp"
#include "atled/random/multivariate_normal.hpp"
