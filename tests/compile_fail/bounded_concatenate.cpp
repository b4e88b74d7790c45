// expect-error: bounded_concatenate.cpp:10: concatenate: f32[upto<8>,3] along axis 0: its size is known at the call only, so it has no fixed parts; use take or dynamic_slice
#include "atled/ops/slice.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return concatenate({x, x}, 1); };
#else
constexpr auto f = [](auto x) { return concatenate({x, x}); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, upto<8>, 3>>) > 0);
