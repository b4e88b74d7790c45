// expect-error: cholesky_square.cpp:10: cholesky: f32[8,16]: the matrix must be square
#include "atled/linalg.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto a) { return linalg::cholesky(matmul(a, matrix_transpose(a))); };
#else
constexpr auto f = [](auto a) { return linalg::cholesky(a); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
