// expect-error: bounded_matrix.cpp:10: cholesky: f32[upto<8>,upto<8>]: rows and columns must have fixed sizes
#include "atled/linalg.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return x + x; };
#else
constexpr auto f = [](auto x) { return linalg::cholesky(x); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, upto<8>, upto<8>>>) > 0);
