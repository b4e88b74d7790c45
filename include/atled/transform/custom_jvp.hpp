// atled/transform/custom_jvp.hpp: custom_jvp: a function with a derivative rule of the user's own.
// Reads: transform/custom_call.hpp. Next: transform/custom_vjp.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/custom_call.hpp"
#include "atled/transform/transformed.hpp"

#include <concepts>

namespace atled {
namespace detail {

/// The rule of one call: it runs when that call is differentiated.
template <class Rule, class Arguments, class Result>
class custom_jvp_rule final : public ir::custom_rule {
 public:
  constexpr custom_jvp_rule(const Rule& rule, const Arguments& arguments, const Result& result)
      : rule_(rule), arguments_(arguments), result_(result) {}
  constexpr ~custom_jvp_rule() override {}  // NOLINT: g++ 12 finds no defaulted one in time

  constexpr void differentiate(ir::builder& b, const int* inputs, const int* tangents,
                               int* out) const override {
    const call_site at = b.site;
    const Arguments primals = arguments_.at(b, inputs);
    Arguments directions = primals;
    directions.for_each_moving([&](expr& leaf) {
      const int tangent = *tangents++;
      leaf = {b, tangent == ir::no_node ? passes::zeros_like(b, leaf.id()) : tangent};
    });
    const auto both = primals.with_fixed([&](const auto&... fixed) {
      return rule_(fixed..., primals.moving(), directions.moving());
    });
    static_assert(is_tuple_v<std::remove_cvref_t<decltype(both)>>,
                  "atled::custom_jvp: the rule must return (value, tangent)");
    const auto members = members_of(both);
    static_assert(std::tuple_size_v<decltype(members)> == 2,
                  "atled::custom_jvp: the rule must return (value, tangent)");
    int index = 0;
    leaves_like(b, name(), at, "tangent", std::get<1>(members), "the result is", result_, index,
                out);
  }
  [[nodiscard]] constexpr const char* name() const override { return "custom_jvp"; }

 private:
  [[no_unique_address]] Rule rule_;
  Arguments arguments_;
  Result result_;
};

}  // namespace detail

/// What `custom_jvp` returns; see there.
template <class F, class Rule, class NonDiff>
class custom_jvp_function : public transformed<custom_jvp_function<F, Rule, NonDiff>> {
 public:
  constexpr custom_jvp_function() requires std::default_initializable<F>
  = default;
  constexpr custom_jvp_function(const F& function, const Rule& rule) : f_(function), rule_(rule) {}

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    const auto make_rule = [&]<class A, class R>(const A& arguments, const R& result) {
      return new detail::custom_jvp_rule<Rule, A, R>(rule_, arguments, result);
    };
    return detail::call_custom<NonDiff>("custom_jvp", f_, make_rule, args...);
  }

 private:
  [[no_unique_address]] F f_;
  [[no_unique_address]] Rule rule_;
};

/// A function whose derivative is `rule(primals, tangents) -> (value, tangent)`.
///
///   constexpr auto cube = custom_jvp([](auto x) { return x * x * x; },
///                                    [](auto primals, auto tangents) {
///                                      const auto [x] = primals;
///                                      const auto [dx] = tangents;
///                                      return std::pair(x * x * x, 3.0 * x * x * dx);
///                                    });
///
/// Both arguments of the rule are tuples of the differentiated arguments; those that
/// `nondiff_argnums<...>` names come before them. Arguments and results may be trees. The tangent
/// must be linear in `tangents`: reverse mode transposes it. The value of the call is always that
/// of f; the one that the rule returns is there for its own use.
/// Cost: the rule is traced only where the call is differentiated.
/// Gradient: the rule is a function like any other, and is differentiated for higher orders; it may
/// call the function itself.
/// Ill-formed: a tangent is not of the type of its result; f or the rule uses a differentiated
/// value that is no argument.
template <class F, class Rule, int... Index>
[[nodiscard]] constexpr auto custom_jvp(const F& f, const Rule& rule,
                                        nondiff_argnums_option<Index...> = {}) {
  return custom_jvp_function<F, Rule, nondiff_argnums_option<Index...>>(f, rule);
}

}  // namespace atled
