// expect-error: solve_rows.cpp:10: solve: a f32[3,3] and b f32[4]: b must have 3 rows
#include "atled/linalg.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto a, auto b) { return linalg::solve(a, slice_in_dim(b, 0, 3)); };
#else
constexpr auto f = [](auto a, auto b) { return linalg::solve(a, b); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 3, 3>, tensor<f32, 4>>) > 0);
