// expect-error: bounded_top_k.cpp:10: top_k: f32[upto<8>] along axis 0: its size is known at the call only: all elements are put in order, not 3
#include "atled/ops/sort.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return sort(x, 0, descending); };
#else
constexpr auto f = [](auto x) { return top_k(x, 3); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, upto<8>>>) > 0);
