// expect-error: einsum_sizes.cpp:10: einsum: ij,jk->ik: label j is 16 and, in operand 1 f32[32,4], 32: the sizes must be equal
#include "atled/ops/einsum.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto y) { return einsum("ij,lk->ik", x, y); };
#else
constexpr auto f = [](auto x, auto y) { return einsum("ij,jk->ik", x, y); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>, tensor<f32, 32, 4>>) > 0);
