// expect-error: bounded_slice.cpp:11: slice_in_dim: f32[upto<8>] along axis 0: its size is known at the call only, so it has no fixed parts; use take or dynamic_slice
#include "atled/ops/dynamic_slice.hpp"
#include "atled/ops/slice.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return dynamic_slice(x, {0}, {3}); };
#else
constexpr auto f = [](auto x) { return slice_in_dim(x, 0, 3); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, upto<8>>>) > 0);
