// unit/passes/remat_test.cpp: values of checkpointed calls are computed again beside their late
// readers, and nothing else changes. The oracle is the interpreter.
// SPDX-License-Identifier: MIT
#include "atled/passes/remat.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/checkpoint.hpp"
#include "atled/transform/custom_vjp.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jvp.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
#include "unit/passes/graphs.hpp"
#include <memory>

using namespace atled;
using namespace atled::test;

namespace {

using scalar = tensor<f64>;
using mat = tensor<f64, 4, 4>;

/// The graph of a function before and after the pass.
struct both {
  oracle::builder_ptr before = oracle::make_builder();
  oracle::builder_ptr after = oracle::make_builder();
};
template <class... Args, class F>
both graphs(F f) {
  const auto traced = oracle::make_builder();
  std::tuple<traced_t<Args>...> arguments{ir::make_parameters<Args>(*traced)...};
  ir::set_outputs(*traced, std::apply([&](auto&... x) { return f(x...); }, arguments));
  REQUIRE(std::string(traced->problem.view()) == "");
  both out;
  const auto simple = oracle::make_builder();
  passes::simplify(traced->g, *simple);
  passes::copy_live(simple->g, *out.before);
  std::make_unique<passes::detail::rematerializer>(out.before->g, *out.after)
      ->run();  // it is large
  REQUIRE(std::string(ir::verify(out.after->g).view()) == "");
  return out;
}
int count(const ir::graph& g, op code) {
  int out = 0;
  for (int id = 0; id < g.num_nodes; ++id) out += g[id].code == code ? 1 : 0;
  return out;
}
/// Both graphs give the same bits.
template <class... Args>
bool agree(const both& g, const Args&... args) {
  const auto before = oracle::interpret(g.before->g, {array_of(args)...});
  const auto after = oracle::interpret(g.after->g, {array_of(args)...});
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (std::size_t k = 0; k < before[i].size(); ++k) {
      if (!(before[i][k] == after[i][k])) return false;
    }
  }
  return before.size() == after.size();
}

constexpr auto wave = [](auto x) { return sin(sin(sin(x))); };
const scalar point{0.7};

}  // namespace

TEST_CASE("remat: what is not differentiated stays as it is", "[passes]") {
  const auto g = graphs<scalar>([](auto x) { return checkpoint(wave)(x); });
  CHECK(equations_of(g.before->g) == equations_of(g.after->g));
  CHECK(count(g.after->g, op::barrier) == 0);
}

TEST_CASE("remat: inner values are computed again, once, and results are kept", "[passes]") {
  const auto g = graphs<scalar>([](auto x) { return value_and_grad(checkpoint(wave))(x); });
  CHECK(count(g.before->g, op::sin) == 3);
  CHECK(count(g.after->g, op::sin) == 3 + 2);  // the last is the result
  CHECK(count(g.after->g, op::cos) == 3);
  CHECK(count(g.after->g, op::barrier) == 1);
  CHECK(agree(g, point));
}

TEST_CASE("remat: a derivative's own factors move to where they are used", "[passes]") {
  const auto g = graphs<scalar>([](auto x) {
    return value_and_grad([](auto u) { return sin(checkpoint(wave)(u)) * 2.0; })(x);
  });
  int last_forward = 0;
  int first_cos = 0;
  for (int id = 0; id < g.after->g.num_nodes; ++id) {
    if (g.after->g[id].code == op::mul && last_forward == 0) last_forward = id;
    if (g.after->g[id].code == op::barrier && first_cos == 0) first_cos = id;
  }
  CHECK(last_forward < first_cos);
  CHECK(agree(g, point));
}

TEST_CASE("remat: forward mode computes nothing twice", "[passes]") {
  const auto g = graphs<scalar>([](auto x) { return jvp(checkpoint(wave), x, x); });
  CHECK(count(g.after->g, op::sin) == 3);
  CHECK(agree(g, point));
}

TEST_CASE("remat: names and products are saved where the policy says so", "[passes]") {
  const auto f = [](auto x) { return sin(checkpoint_name(sin(sin(x)), "a")); };
  const auto named = graphs<scalar>(
      [f](auto x) { return value_and_grad(checkpoint(f, policy::names_saved<"b", "a">))(x); });
  CHECK(count(named.after->g, op::sin) == 3 + 1);
  CHECK(agree(named, point));
  const auto others = graphs<scalar>(
      [f](auto x) { return value_and_grad(checkpoint(f, policy::names_saved<"b">))(x); });
  CHECK(count(others.after->g, op::sin) == 3 + 2);

  const auto product = [](auto x) { return sum(sin(matmul(sin(x), x))); };
  const auto none = graphs<mat>([=](auto x) { return value_and_grad(checkpoint(product))(x); });
  const auto dots = graphs<mat>(
      [=](auto x) { return value_and_grad(checkpoint(product, policy::dots_saved))(x); });
  const auto all = graphs<mat>(
      [=](auto x) { return value_and_grad(checkpoint(product, policy::everything_saved))(x); });
  CHECK(count(none.after->g, op::dot) == 3 + 1);
  CHECK(count(dots.after->g, op::dot) == 3);
  CHECK(count(dots.after->g, op::sin) == 2 + 1);
  CHECK(count(all.after->g, op::sin) == 2);
  CHECK(count(all.after->g, op::barrier) == 0);
}

TEST_CASE("remat: a budget keeps what is dearest a byte", "[passes]") {
  const auto product = [](auto x) { return sum(sin(matmul(sin(x), x))); };
  const auto with = [=]<std::int64_t Bytes>(std::integral_constant<std::int64_t, Bytes>) {
    return graphs<mat>(
        [=](auto x) { return value_and_grad(checkpoint(product, policy::budget<Bytes>))(x); });
  };
  const auto one = with(std::integral_constant<std::int64_t, 128>{});
  CHECK(count(one.after->g, op::dot) == 3);
  CHECK(count(one.after->g, op::sin) == 2 + 1);
  CHECK(agree(one, mat{{1, 2, 3, 4}, {5, 6, 7, 8}, {1, 0, 1, 0}, {2, 3, 2, 3}}));
  const auto two = with(std::integral_constant<std::int64_t, 256>{});
  CHECK(count(two.after->g, op::sin) == 2);
  const auto none = with(std::integral_constant<std::int64_t, 127>{});
  CHECK(count(none.after->g, op::dot) == 3 + 1);
}

TEST_CASE("remat: calls inside calls are computed again from the outer one", "[passes]") {
  const auto inner = [](auto x) { return sin(sin(x)); };
  const auto outer = [=](auto x) { return sin(checkpoint(inner)(cos(checkpoint(inner)(x)))); };
  const auto g = graphs<scalar>([=](auto x) { return value_and_grad(checkpoint(outer))(x); });
  CHECK(agree(g, point));
  // Nothing of the forward pass but x is read behind a barrier of the outer call.
  const auto twice = graphs<scalar>(
      [=](auto x) { return value_and_grad([=](auto u) { return checkpoint(outer)(cos(u)); })(x); });
  CHECK(agree(twice, point));
}

TEST_CASE("remat: higher derivatives, gradients inside and outside", "[passes]") {
  const auto second = graphs<scalar>([](auto x) { return grad(grad(checkpoint(wave)))(x); });
  CHECK(agree(second, point));
  const auto within = graphs<scalar>(
      [](auto x) { return value_and_grad(checkpoint([](auto u) { return grad(wave)(u); }))(x); });
  CHECK(agree(within, point));
  const auto mixed = graphs<scalar>(
      [](auto x) { return jvp([](auto u) { return grad(checkpoint(wave))(u); }, x, x); });
  CHECK(agree(mixed, point));
}

TEST_CASE("remat: a custom_vjp inside a call", "[passes]") {
  const auto f =
      custom_vjp([](auto x) { return exp(x); }, [](auto x) { return std::pair(exp(x), exp(x)); },
                 [](auto y, auto ct) { return y * ct; });
  const auto g = graphs<scalar>([=](auto x) {
    return value_and_grad(checkpoint([=](auto u) { return sin(f(sin(u))); }))(x);
  });
  CHECK(count(g.after->g, op::exp) == 2);
  CHECK(agree(g, point));
}
