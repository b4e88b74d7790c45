// expect-error: matmul_contraction.cpp:11: matmul: lhs f32[8,16] and rhs f32[32,4]: lhs axis 1 (16) must equal rhs axis 0 (32)
#include "atled/ops/linalg.hpp"
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto y) { return matmul(x, reshape<16, 8>(y)); };
#else
constexpr auto f = [](auto x, auto y) { return matmul(x, y); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>, tensor<f32, 32, 4>>) > 0);
