// expect-error: ops_element_type.cpp:11: bitwise_and: f32[8]: it takes booleans or integers
#include "atled/ops/elementwise.hpp"
#include "atled/ops/integer.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return bitwise_and(astype<i32>(x), 1); };
#else
constexpr auto f = [](auto x) { return bitwise_and(x, 1); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8>>) > 0);
