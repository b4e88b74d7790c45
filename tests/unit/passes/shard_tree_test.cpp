// unit/passes/shard_tree_test.cpp: reproducible sums have the same bits on each mesh of the same
// axes, and are right.
// SPDX-License-Identifier: MIT
#include "atled/passes/shard_tree.hpp"

#include "support/catch.hpp"
#include "support/op_cases.hpp"
#include "support/sharded.hpp"
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

using namespace atled;
using namespace atled::test;

namespace {

constexpr int parts = 4;

/// Numbers of very different sizes, so that another order of a sum gives other bits.
std::vector<oracle::array> arguments_of(const sharded& s) {
  oracle::numbers random(11);
  std::vector<oracle::array> out;
  for (int i = 0; i < s.whole().num_parameters; ++i) {
    const tensor_type& type = s.whole().type(s.whole().parameters[i]);
    oracle::array x(type);
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (x.is_real()) {
        x.reals[k] = random.next(-1, 1) * (k % 3 == 0 ? 1e3 : 1);
      } else {
        x.integers[k] = static_cast<std::int64_t>(random.next(0, 8));
      }
    }
    out.push_back(x);
  }
  return out;
}

/// The bits of all outputs on all ranks of a mesh, which must be the same on each of them.
std::vector<std::uint64_t> bits_of(const sharded& s) {
  std::vector<std::uint64_t> first;
  for (const auto& outputs : s.outputs(arguments_of(s))) {
    std::vector<std::uint64_t> own;
    for (const oracle::array& x : outputs) {
      for (const double number : x.reals) own.push_back(std::bit_cast<std::uint64_t>(number));
    }
    if (first.empty()) first = own;
    CHECK(own == first);
  }
  return first;
}

/// Bits on meshes of 1, 2, 4 and 2 x 2 ranks; values are those without a mesh. Results are whole.
template <class... Args, class F>
void check_same_bits(F f, const named_specs& in, std::size_t num_outputs) {
  const named_specs out(num_outputs, P<>);
  std::vector<std::uint64_t> expected;
  for (const auto& [data, model] : {std::pair{1, 1}, {2, 1}, {4, 1}, {1, 2}, {1, 4}, {2, 2}}) {
    const mesh_shape mesh = mesh_of({{"data", data}, {"model", model}});
    const auto s = sharded::of<Args...>(f, mesh, in, out, parts);
    INFO(std::string(mesh.text().view()));
    REQUIRE(s.problem() == "");
    CHECK(s.difference(arguments_of(s)) < 1e-7);
    const auto bits = bits_of(s);
    if (expected.empty()) expected = bits;
    CHECK(bits == expected);
  }
}

}  // namespace

TEST_CASE("shard_tree: sums along one split axis, or several, have the same bits on each mesh",
          "[passes]") {
  const auto total = [](auto x) { return sum(x); };
  check_same_bits<tensor<f64, 8, 12>>(total, {P<"data">}, 1);
  check_same_bits<tensor<f64, 8, 12>>(total, {P<none, "model">}, 1);
  check_same_bits<tensor<f64, 8, 12>>(total, {P<"data", "model">}, 1);
  check_same_bits<tensor<f64, 8, 12>>(total, {P<over<"data", "model">>}, 1);
  check_same_bits<tensor<f64, 8, 3, 4>>(
      [](auto x) {
        return sum(x, {0, 2});
      },
      {P<"data", none, "model">}, 1);
}

TEST_CASE("shard_tree: products of which a contracted axis is split, and what is linear in them",
          "[passes]") {
  const auto both = [](auto x, auto w, auto v) {
    const auto y = matmul(x, w) * 0.1 + matmul(x, v) * 0.3;
    return std::pair(y, mean(y));
  };
  check_same_bits<tensor<f64, 6, 8>, tensor<f64, 8, 5>, tensor<f64, 8, 5>>(
      both, {P<none, "model">, P<"model">, P<"model">}, 2);
  const auto weight = [](auto x, auto y) { return einsum("btk,btn->kn", x, y); };
  check_same_bits<tensor<f64, 8, 3, 4>, tensor<f64, 8, 3, 5>>(weight, {P<"data">, P<"data">}, 1);
}

TEST_CASE("shard_tree: losses and gradients of a batch split over ranks have the same bits",
          "[passes]") {
  const auto step = [](auto w, auto b, auto x, auto label) {
    const auto loss = [](auto weight, auto bias, auto rows, auto at) {
      return nn::cross_entropy(matmul(rows, weight) * 1e-3 + bias, at);
    };
    const auto [value, gradient] = value_and_grad(loss, argnums<0, 1>)(w, b, x, label);
    const auto [d_w, d_b] = gradient;
    return std::tuple(value, with_sharding_constraint(d_w, P<>),
                      with_sharding_constraint(d_b, P<>));
  };
  check_same_bits<tensor<f64, 6, 8>, tensor<f64, 8>, tensor<f64, 8, 6>, tensor<i32, 8>>(
      step, {P<>, P<>, P<"data">, P<"data">}, 3);
  check_same_bits<tensor<f64, 6, 8>, tensor<f64, 8>, tensor<f64, 8, 6>, tensor<i32, 8>>(
      step, {P<none, "model">, P<"model">, P<"data">, P<"data">}, 3);
}

TEST_CASE("shard_tree: a table and its gradient have the same bits, whichever way it is split",
          "[passes]") {
  const auto step = [](auto table, auto text) {
    const auto loss = [](auto t, auto at) { return sum(square(take(t, at, 0)) * 0.1); };
    const auto [value, gradient] = value_and_grad(loss)(table, text);
    return std::pair(value, with_sharding_constraint(gradient, P<>));
  };
  check_same_bits<tensor<f64, 8, 4>, tensor<i32, 8, 3>>(step, {P<>, P<"data">}, 2);
  check_same_bits<tensor<f64, 8, 4>, tensor<i32, 8, 3>>(step, {P<"model">, P<"data">}, 2);
}

TEST_CASE("shard_tree: a logsumexp along a split axis has the same bits on each mesh", "[passes]") {
  check_same_bits<tensor<f64, 3, 8>>([](auto x) { return logsumexp(x * 1e-3, 1); },
                                     {P<none, "model">}, 1);
}

TEST_CASE("shard_tree: what has no reproducible sum is a sentence", "[passes]") {
  const auto says = [](auto f, const mesh_shape& mesh, const named_spec& spec) {
    return sharded::of<tensor<f32, 6, 8>>(f, mesh, {spec}, {}, parts).problem();
  };
  const auto total = [](auto x) { return sum(x); };
  CHECK(says(total, mesh_of({{"data", 2}}), P<"data">) ==
        "sum: an axis of 6 elements on 2 ranks of mesh{data:2}: reproducible sums of 4 parts need "
        "sizes that are divisible by 4, and 1, 2, 4 ... ranks up to that");
  CHECK(says(total, mesh_of({{"model", 8}}), P<none, "model">) ==
        "sum: an axis of 8 elements on 8 ranks of mesh{model:8}: reproducible sums of 4 parts need "
        "sizes that are divisible by 4, and 1, 2, 4 ... ranks up to that");
  CHECK(
      says(total, mesh_of({{"data", 0}}), P<"data">) ==
      "sum: a reproducible sum along mesh axis data of mesh{data:?} needs its size at build time: "
      "give the axis a size");
  CHECK(says([](auto x) { return prod(x); }, mesh_of({{"model", 2}}), P<none, "model">) ==
        "prod: a product along a split axis has no reproducible form yet; make it whole with "
        "with_sharding_constraint");
}
