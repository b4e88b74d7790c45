// expect-error: atled: linear algebra has a header of its own; include atled/linalg.hpp
// expect-lines: 21
#include "atled/ops/solve.hpp"
#include "atled/transform/jit.hpp"
#ifdef ATLED_FIXED
#  include "atled/linalg.hpp"
#endif

using namespace atled;

constexpr auto f = [](auto a) { return linalg::cholesky(a); };
const auto factor = jit(f);
const auto out = factor(tensor<f32, 3, 3>{1, 0, 0, 0, 1, 0, 0, 0, 1});
