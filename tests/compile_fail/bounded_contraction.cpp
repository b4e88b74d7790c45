// expect-error: bounded_contraction.cpp:12: matmul: lhs f32[2,upto<8>] and rhs f32[upto<8,b>,3]: lhs axis 1 (upto<8>) must equal rhs axis 0 (upto<8,b>)
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto y) { return matmul(x, transpose(x)) * sum(y); };
#else
constexpr auto f = [](auto x, auto y) { return matmul(x, y); };
#endif
static_assert(
    sizeof(decltype(jit(f))::program<tensor<f32, 2, upto<8>>, tensor<f32, upto<8, "b">, 3>>) > 0);
