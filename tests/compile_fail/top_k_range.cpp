// expect-error: top_k_range.cpp:10: top_k: f32[8,16] and k = 17: k must be from 0 to 16
#include "atled/ops/sort.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return top_k(x, 16); };
#else
constexpr auto f = [](auto x) { return top_k(x, 17); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
