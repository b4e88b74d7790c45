// expect-error: matmul_batch.cpp:11: matmul: lhs f32[2,8,16] and rhs f32[3,16,4]: lhs batch axis 0 (2) and rhs batch axis 0 (3) must be equal or 1
#include "atled/ops/linalg.hpp"
#include "atled/ops/slice.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto y) { return matmul(x, slice_in_dim(y, 0, 2)); };
#else
constexpr auto f = [](auto x, auto y) { return matmul(x, y); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 2, 8, 16>, tensor<f32, 3, 16, 4>>) > 0);
