// atled/loops/simd.hpp: N lanes of a type: the simd_ files, and nothing else, touch intrinsics.
// Reads: simd_vec, mask, arithmetic, convert, memory, math, power. Next: loops/vector_math.hpp.
//
// The compilers' vector extensions carry it; intrinsics stand where they have no word (fma, sqrt,
// masks, gather) or choose badly. A vector wider than a register is two halves, so the same N
// serves f32 beside f64 in one loop, and all unrolls without a loop.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/simd_arithmetic.hpp"
#include "atled/loops/simd_convert.hpp"
#include "atled/loops/simd_mask.hpp"
#include "atled/loops/simd_math.hpp"
#include "atled/loops/simd_memory.hpp"
#include "atled/loops/simd_power.hpp"
#include "atled/loops/simd_vec.hpp"
