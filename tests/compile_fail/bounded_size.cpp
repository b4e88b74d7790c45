// expect-error: bounded_size.cpp:10: size: f32[upto<8>]: its number of elements is known at the call only; use size(x, axis)
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return x / size(x, 0); };
#else
constexpr auto f = [](auto x) { return x / x.size(); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, upto<8>>>) > 0);
