// Tests of atled/passes/bucket_sums.hpp: small sums over ranks go in one call, without a copy.
// Reads: unit/ops/traced.hpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/bucket_sums.hpp"

#include "atled/core/mesh.hpp"
#include "atled/ops/collective.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/shard_map.hpp"

#include "support/catch.hpp"
#include <string>
#include <tuple>
#include <vector>

using namespace atled;

namespace {

using line = mesh<axis<"data">>;
constexpr auto data = axis<"data">;
using matrix = tensor<f32, 32, 32>;

template <class T>
std::vector<float> numbers_of(const T& x) {
  return {x.data(), x.data() + x.size()};
}

constexpr auto loss = [](auto w1, auto w2, auto w3, auto x) {
  return pmean(sum(square(matmul(tanh(matmul(tanh(matmul(x, w1)), w2)), w3))), data);
};
/// Each weight's gradient is summed and read by the update: the results are no sums themselves.
constexpr auto step = [](auto w1, auto w2, auto w3, auto x) {
  const auto [d1, d2, d3] = grad(loss, argnums<0, 1, 2>)(w1, w2, w3, x);
  return std::tuple(w1 - 0.5 * d1, w2 - 0.5 * d2, w3 - 0.5 * d3);
};
constexpr auto sums = [](auto w1, auto w2, auto w3, auto x) {
  return grad(loss, argnums<0, 1, 2>)(w1, w2, w3, x);
};

matrix block_of(int seed) {
  matrix out;
  for (auto& x : out.span()) x = static_cast<float>((seed = (seed * 37 + 11) % 101) - 50) / 200;
  return out;
}

}  // namespace

TEST_CASE("bucket_sums: gradients of three layers are summed by one call", "[passes]") {
  const line devices;
  const auto f = shard_map(step, devices, in_specs<P<>, P<>, P<>, P<"data">>, out_specs<P<>>);
  using program = decltype(f)::program<matrix, matrix, matrix, matrix>;
  constexpr std::int64_t bytes = 32 * 32 * 4;
  static_assert(program::num_collectives == 1);
  static_assert(program::comm_bytes("data") == 3 * 2 * bytes);
  const std::string report = program::comm_report();
  CHECK(report.find("psum f32[3072] over data: 24576 bytes") == 0);

  // 8 products, the root of the loss, 1 sum, the number of ranks, 3 updates: no step copies, as the
  // products write into the bucket and the updates read from it.
  static_assert(program::num_steps == 14);

  const auto g = shard_map(sums, devices, in_specs<P<>, P<>, P<>, P<"data">>, out_specs<P<>>);
  const matrix w[] = {block_of(1), block_of(2), block_of(3)};
  const auto after = f(w[0], w[1], w[2], block_of(4));
  const auto slopes = g(w[0], w[1], w[2], block_of(4));
  const auto check = [](const matrix& before, const matrix& slope, const matrix& next) {
    for (std::size_t i = 0; i < before.span().size(); ++i) {
      REQUIRE(next.span()[i] == before.span()[i] - 0.5F * slope.span()[i]);
    }
  };
  check(w[0], std::get<0>(slopes), std::get<0>(after));
  check(w[1], std::get<1>(slopes), std::get<1>(after));
  check(w[2], std::get<2>(slopes), std::get<2>(after));
}

TEST_CASE("bucket_sums: a sum is taken before it is read", "[passes]") {
  const line devices;
  constexpr auto chain = [](auto x, auto y) {
    const expr first = psum(x * 2.0, data);
    const expr second = psum(y * 3.0, data);   // with the first
    const expr third = psum(first * y, data);  // reads it
    return std::tuple(first + second, third * x);
  };
  const auto f = shard_map(chain, devices, in_specs<P<"data">>, out_specs<P<>, P<"data">>);
  using program = decltype(f)::program<matrix, matrix>;
  static_assert(program::num_collectives == 2);
  static_assert(program::comm_bytes("data") == 3 * 2 * 32 * 32 * 4);
  const auto [a, b] = f(block_of(1), block_of(2));
  const matrix x = block_of(1);
  const matrix y = block_of(2);
  for (std::size_t i = 0; i < x.span().size(); ++i) {
    REQUIRE(a.span()[i] == x.span()[i] * 2 + y.span()[i] * 3);
    REQUIRE(b.span()[i] == x.span()[i] * 2 * y.span()[i] * x.span()[i]);
  }
}

TEST_CASE("bucket_sums: other types, and results of the program, go alone", "[passes]") {
  const line devices;
  constexpr auto mixed = [](auto x, auto y) {
    const expr one = psum(x * 2.0, data);
    const expr wide = psum(y * 3.0, data);
    const expr result = psum(x * 5.0, data);
    return std::tuple(sum(one), sum(wide), result);
  };
  const auto f = shard_map(mixed, devices, in_specs<P<"data">>, out_specs<P<>>);
  using program = decltype(f)::program<matrix, tensor<f64, 32, 32>>;
  static_assert(program::num_collectives == 3);
}
