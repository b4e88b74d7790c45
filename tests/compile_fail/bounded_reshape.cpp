// expect-error: bounded_reshape.cpp:10: ravel: f32[upto<8>,3] to f32[24]: a bounded axis must stay as it is, with as many elements before and behind it
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return reshape(x, {-1, 3, 1}); };
#else
constexpr auto f = [](auto x) { return ravel(x); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, upto<8>, 3>>) > 0);
