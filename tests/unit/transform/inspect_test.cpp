// unit/transform/inspect_test.cpp: eval_shape and make_graph.
// SPDX-License-Identifier: MIT
#include "atled/transform/inspect.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/vmap.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {
template <class K>
struct line {
  typename K::template leaf<f64, 2> slope;
  typename K::template leaf<f64> offset;
  ATLED_TREE(line, slope, offset)
};

constexpr auto product = [](auto x, auto w) { return std::pair(matmul(x, w), sum(w) > 0.0F); };
}  // namespace

TEST_CASE("eval_shape: the types of the results, as a constant", "[transform]") {
  constexpr auto types = eval_shape<tensor<f32, 8, 3>, tensor<f32, 3, 4>>(product);
  STATIC_REQUIRE(types.first == tensor_type{dtype::f32, shape::of({8, 4})});
  STATIC_REQUIRE(types.second == tensor_type{dtype::boolean, {}});
  CHECK(eval_shape(product, tensor<f32, 8, 3>(), tensor<f32, 3, 4>()).first == types.first);
}

TEST_CASE("eval_shape: a struct gives the types of its leaves", "[transform]") {
  constexpr auto same = [](auto model) { return model; };
  constexpr auto types = eval_shape<line<values>>(vmap(same, in_axes<each<0, none>>));
  STATIC_REQUIRE(types[0] == tensor_type{dtype::f64, shape::of({2})});
  STATIC_REQUIRE(types[1] == tensor_type{dtype::f64, shape::of({2})});
}

TEST_CASE("make_graph: the graph as it is traced, without what no output needs", "[transform]") {
  constexpr auto f = [](auto x) {
    static_cast<void>(exp(x));
    return tanh(x) * 2.0F;
  };
  const int line = __LINE__ - 2;
  const std::string graph = make_graph(f)(tensor<f32, 3>());
  CHECK(graph.find("{ lambda a:f32[3]; let") == 0);
  CHECK(graph.find("f32[3] = tanh a   # inspect_test.cpp:" + std::to_string(line)) !=
        std::string::npos);
  CHECK(graph.find("exp") == std::string::npos);
}
