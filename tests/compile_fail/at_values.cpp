// expect-error: at_values.cpp:10: at: f32[4,3] with f32[4]: the values must be f32[3]
#include "atled/ops/indexing.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto y) { return at(x, range(), 0).set(y); };
#else
constexpr auto f = [](auto x, auto y) { return at(x, 0).set(y); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 4, 3>, tensor<f32, 4>>) > 0);
