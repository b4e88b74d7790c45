// support/precompiled.hpp: what most test files begin with, read once for all of them.
// Reads: the umbrella. A test file includes what it uses all the same.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/atled.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
