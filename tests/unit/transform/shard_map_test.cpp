// unit/transform/shard_map_test.cpp: shard_map on one process: facts, values, sentences; on more
// ranks: mpi/collective_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/transform/shard_map.hpp"

#include "atled/ops/collective.hpp"
#include "atled/ops/control.hpp"
#include "atled/ops/creation.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/scan.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
#include <string>
#include <vector>

using namespace atled;
using namespace atled::test;

namespace {
using line = mesh<axis<"data">>;
using vec4 = tensor<f32, 4>;
constexpr auto data = axis<"data">;

std::vector<float> numbers_of(const vec4& x) {
  return {x.data(), x.data() + 4};
}

/// The first sentence of a shard_map on arguments of these types.
template <class... Args, class F, class Mesh, auto... In, auto... Out>
std::string refused(F, const Mesh& devices, in_specs_option<In...> in,
                    out_specs_option<Out...> out) {
  return sentence_of<Args...>(shard_map(F{}, devices, in, out));
}

constexpr auto centred = [](auto x) { return x - pmean(x, data); };
constexpr auto loss = [](auto w, auto x) { return pmean(sum(w * x), data); };
constexpr auto loss_and_gradient = [](auto w, auto x) { return value_and_grad(loss)(w, x); };
}  // namespace

TEST_CASE("shard_map: on one process a rank is all ranks", "[transform]") {
  const line devices;
  const auto f = shard_map(centred, devices, in_specs<P<"data">>, out_specs<P<"data">>);
  CHECK(numbers_of(f(vec4{1, 2, 3, 4})) == std::vector<float>{0, 0, 0, 0});
  const auto step = shard_map(loss_and_gradient, devices, in_specs<P<>, P<"data">>, out_specs<P<>>);
  const auto [value, gradient] = jit(step)(vec4{1, 1, 1, 1}, vec4{1, 2, 3, 4});
  CHECK(value.item() == 10);
  CHECK(numbers_of(gradient) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("shard_map: what is sent is known when the program is built", "[transform]") {
  const line devices;
  const auto step =
      jit(shard_map(loss_and_gradient, devices, in_specs<P<>, P<"data">>, out_specs<P<>>));
  using program = decltype(step)::program<vec4, vec4>;
  static_assert(program::num_collectives == 2);
  static_assert(program::comm_bytes("data") == 2 * 4 + 2 * 16);
  static_assert(program::comm_bytes("model") == 0);
  static_assert(program::mesh_axes.text().view() == "mesh{data:?}");
  static_assert(!program::is_inline);
  CHECK(program::comm_report() ==
        "psum f32[] over data: 8 bytes, shard_map_test.cpp:41\n"
        "psum f32[4] over data: 32 bytes, shard_map_test.cpp:41\n");
}

TEST_CASE("shard_map: a collective in a loop counts for each trip", "[transform]") {
  const line devices;
  constexpr auto f = [](auto x) {
    return scan([](auto carry, auto row) { return std::pair(carry + psum(row, data), carry); },
                zeros_like(max(x, axis<0>)), x)
        .first;
  };
  const auto step = shard_map(f, devices, in_specs<P<none, "data">>, out_specs<P<>>);
  using program = decltype(step)::program<tensor<f32, 3, 4>>;
  CHECK(program::comm_report() ==
        "psum f32[4] over data: 32 bytes, 3 times, shard_map_test.cpp:73\n");
  static_assert(program::comm_bytes("data") == 3 * 32);
  CHECK(numbers_of(step(tensor<f32, 3, 4>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})) ==
        std::vector<float>{15, 18, 21, 24});
}

TEST_CASE("shard_map: a gradient is summed when it is as small as it gets", "[transform]") {
  const line devices;
  constexpr auto f = [](auto bias, auto x) {
    const auto loss_of = [](auto b, auto y) { return pmean(sum(square(y + b) + y * b), data); };
    return grad(loss_of)(bias, x);
  };
  const auto step = shard_map(f, devices, in_specs<P<>, P<"data">>, out_specs<P<>>);
  using program = decltype(step)::program<vec4, tensor<f32, 64, 4>>;
  static_assert(program::comm_bytes("data") == 2 * 16);  // not of 64 rows, and not twice
}

TEST_CASE("shard_map: differentiated from outside it is as from inside", "[transform]") {
  const line devices;
  const auto inside =
      shard_map(loss_and_gradient, devices, in_specs<P<>, P<"data">>, out_specs<P<>>);
  const auto outside =
      value_and_grad(shard_map(loss, devices, in_specs<P<>, P<"data">>, out_specs<P<>>));
  using program = decltype(outside)::program<vec4, vec4>;
  using other = decltype(inside)::program<vec4, vec4>;
  static_assert(program::comm_bytes("data") == other::comm_bytes("data"));
  static_assert(program::num_collectives == other::num_collectives);
  const auto [value, gradient] = outside(vec4{1, 1, 1, 1}, vec4{1, 2, 3, 4});
  CHECK(value.item() == 10);
  CHECK(numbers_of(gradient) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("shard_map: specs and results that do not fit are sentences", "[transform]") {
  const line devices;
  CHECK(refused<vec4>(centred, devices, in_specs<P<"data">>, out_specs<P<>>) ==
        "shard_map: output 0 differs between the ranks of data, which its spec does not name: use "
        "psum or pmean over data, or name it in out_specs");
  CHECK(refused<vec4>(centred, devices, in_specs<P<"model">>, out_specs<P<>>) ==
        "P(model) on mesh{data:?}: no mesh axis model; it has data");
  CHECK(refused<vec4>(centred, devices, in_specs<P<"data", none>>, out_specs<P<"data">>) ==
        "argument 0 is f32[4]: its spec has 2 entries for 1 axis");
  CHECK(refused<vec4>(centred, devices, in_specs<P<"data">, P<>>, out_specs<P<"data">>) ==
        "in_specs has 2 entries, the call 1 arguments: one for each, or one for all");
  constexpr auto summed = [](auto x) {
    return scan([](auto carry, auto row) { return std::pair(carry + row, carry); },
                zeros_like(max(x, axis<0>)), x)
        .first;
  };
  CHECK(refused<tensor<f32, 3, 4>>(summed, devices, in_specs<P<"data">>, out_specs<P<"data">>) ==
        "scan: carry leaf 0 begins as what ranks share and differs between them after a trip: "
        "begin with pvary(x, axis of data)");
  constexpr auto gathered = [](auto x) { return all_gather(x, data); };
  CHECK(refused<vec4>(gathered, devices, in_specs<P<"data">>, out_specs<P<>>) ==
        "all_gather: axis data has as many ranks as the communicator: its size must be known when "
        "the program is built; give it one in the mesh");
}

TEST_CASE("shard_map: ranks that decide alone meet in no collective", "[transform]") {
  const line devices;
  constexpr auto loop = [](auto x) {
    return while_loop([](auto y) { return sum(y) < 1.0; },
                      [](auto y) { return y + pmean(y, data); }, x);
  };
  CHECK(refused<vec4>(loop, devices, in_specs<P<"data">>, out_specs<P<"data">>) ==
        "while_loop: what ends the loop differs between the ranks of data, which meet in psum "
        "inside: all must come; make it one of all by pmax or psum over data");
  constexpr auto agreed = [](auto x) {
    return while_loop([](auto y) { return pmax(sum(y), data) < 1.0; },
                      [](auto y) { return y + pmean(y, data); }, x);
  };
  CHECK(refused<vec4>(agreed, devices, in_specs<P<"data">>, out_specs<P<"data">>).empty());
  constexpr auto alone = [](auto x) {
    return while_loop([](auto y) { return sum(y) < 1.0; }, [](auto y) { return y + y; }, x);
  };
  CHECK(refused<vec4>(alone, devices, in_specs<P<"data">>, out_specs<P<"data">>).empty());
  // A gradient by what ranks share is a sum over them: of what all branches give, after them.
  constexpr auto varied = [](auto w, auto x) {
    return grad([](auto v, auto y) {
      const auto one = [](auto a, auto b) { return sum(a * b); };
      const auto other = [](auto a, auto b) { return sum(a + b); };
      return psum(cond(sum(y) > 0.0, one, other, v, y), data);
    })(w, x);
  };
  const auto f = shard_map(varied, devices, in_specs<P<>, P<"data">>, out_specs<P<>>);
  CHECK(numbers_of(f(vec4{1, 1, 1, 1}, vec4{1, 2, 3, 4})) == std::vector<float>{1, 2, 3, 4});
  CHECK(numbers_of(f(vec4{1, 1, 1, 1}, vec4{-1, -2, -3, 4})) == std::vector<float>{1, 1, 1, 1});
}
