// expect-error: bounded_mixed.cpp:10: add: f32[upto<8>] and f32[8]: axis 0 (upto<8>) against 8: sizes must be equal or 1
#include "atled/ops/reduce.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto y) { return x + sum(y); };
#else
constexpr auto f = [](auto x, auto y) { return x + y; };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, upto<8>>, tensor<f32, 8>>) > 0);
