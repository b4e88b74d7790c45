// expect-error: bounded_number.cpp:10: multiply: a number is made of a bounded size: that is known at the call only; use size(x, axis)
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return x * size(x, 0); };
#else
constexpr auto f = [](auto x) { return x * static_cast<double>(x.dim(0)); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, upto<8>>>) > 0);
