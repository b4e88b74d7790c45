// atled/transform/custom_vjp.hpp: custom_vjp: a function with a rule of the user's own for reverse
// mode: what to keep, and what to do with it. Reads: transform/custom_call.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/custom_call.hpp"
#include "atled/transform/transformed.hpp"

#include <concepts>

namespace atled {
namespace detail {

template <class T>
inline constexpr bool is_tuple_of_one_v = false;
template <class T>
inline constexpr bool is_tuple_of_one_v<std::tuple<T>> = true;

template <class Tree, class Fn>
constexpr void for_each_expression(Tree& tree, const Fn& fn) {
  for_each_leaf(
      [&](auto& leaf) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) fn(leaf);
      },
      tree);
}

/// What fwd has kept for one call, and the bwd that uses it.
template <class Bwd, class Arguments, class Result, class Residuals>
class custom_vjp_pullback final : public ir::custom_pullback {
 public:
  constexpr custom_vjp_pullback(const Bwd& bwd, const Arguments& arguments, const Result& result,
                                const Residuals& residuals)
      : bwd_(bwd), arguments_(arguments), result_(result), residuals_(residuals) {}
  constexpr ~custom_vjp_pullback() override {}  // NOLINT: g++ 12 finds no defaulted one in time

  constexpr void pull(ir::builder& b, const int* kept, const int* cotangents,
                      int* out) const override {
    const call_site at = b.site;
    const auto move = [&](expr& leaf) { leaf = {b, *kept++}; };
    Arguments arguments = arguments_;
    arguments.for_each_fixed(move);
    Residuals residuals = residuals_;
    for_each_expression(residuals, move);
    Result given = result_;
    for_each_leaf(
        [&](auto& leaf) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
            const int ct = *cotangents++;
            leaf = {b, ct == ir::no_node ? passes::zeros_like(b, leaf.id()) : ct};
          }
        },
        given);
    const auto back = arguments.with_fixed(
        [&](const auto&... fixed) { return bwd_(fixed..., residuals, given); });
    const auto wanted = arguments_.moving();
    using back_type = std::remove_cvref_t<decltype(back)>;
    int index = 0;
    if constexpr (std::tuple_size_v<std::remove_cvref_t<decltype(wanted)>> == 1) {
      if constexpr (is_tuple_of_one_v<back_type>) {
        leaves_like(b, verb, at, "the cotangent", back, "the arguments is", wanted, index, out);
      } else {  // one cotangent may stand alone
        leaves_like(b, verb, at, "the cotangent", std::tuple<back_type>(back), "the arguments is",
                    wanted, index, out);
      }
    } else {
      static_assert(is_tuple_v<back_type>,
                    "atled::custom_vjp: bwd must return a tuple with a cotangent for each "
                    "differentiated argument");
      leaves_like(b, verb, at, "the cotangent", back, "the arguments is", wanted, index, out);
    }
  }

 private:
  static constexpr const char* verb = "custom_vjp: bwd";

  [[no_unique_address]] Bwd bwd_;
  Arguments arguments_;
  Result result_;
  Residuals residuals_;
};

/// The rule of one call: fwd, and a linear node that only a transpose can resolve.
template <class Fwd, class Bwd, class Arguments, class Result>
class custom_vjp_rule final : public ir::custom_rule {
 public:
  constexpr custom_vjp_rule(const Fwd& fwd, const Bwd& bwd, const Arguments& arguments,
                            const Result& result)
      : fwd_(fwd), bwd_(bwd), arguments_(arguments), result_(result) {}
  constexpr ~custom_vjp_rule() override {}  // NOLINT: g++ 12 finds no defaulted one in time

  constexpr void differentiate(ir::builder& b, const int* inputs, const int* tangents,
                               int* out) const override {
    const call_site at = b.site;
    const Arguments primals = arguments_.at(b, inputs);
    const auto both =
        std::apply([&](const auto&... argument) { return fwd_(argument...); }, primals.all);
    static_assert(is_tuple_v<std::remove_cvref_t<decltype(both)>>,
                  "atled::custom_vjp: fwd must return (value, what bwd needs of it)");
    const auto members = members_of(both);
    static_assert(std::tuple_size_v<decltype(members)> == 2,
                  "atled::custom_vjp: fwd must return (value, what bwd needs of it)");
    using residuals = std::remove_cvref_t<std::tuple_element_t<1, decltype(members)>>;
    int index = 0;
    leaves_like(b, "custom_vjp: fwd", at, "the value", std::get<0>(members), "the result is",
                result_, index, out);
    auto* pullback = new custom_vjp_pullback<Bwd, Arguments, Result, residuals>(
        bwd_, primals, result_, std::get<1>(members));
    auto attributes = ir::attribute_list::of(b.keep_pullback(pullback));
    b.site = at;
    int operands[ir::operand_types::capacity]{};
    int count = 0;
    Arguments moving = primals;
    moving.for_each_moving([&](const expr& leaf) {
      const int tangent = tangents[count];
      operands[count++] = tangent == ir::no_node ? passes::zeros_like(b, leaf.id()) : tangent;
    });
    attributes.push(count);
    const auto keep = [&](const expr& leaf) {
      if (count < ir::operand_types::capacity) operands[count] = leaf.id();
      ++count;
    };
    moving.for_each_fixed(keep);
    residuals all = std::get<1>(members);
    for_each_expression(all, keep);
    if (count > ir::operand_types::capacity) {
      b.fail_as("custom_vjp", at,
                text("arguments and residuals have more than 64 leaves: pack "
                     "them"));
      count = ir::operand_types::capacity;
    }
    const int whole = b.append(op::custom_linear, operands, count, attributes, b.type(operands[0]));
    index = 0;
    for_each_leaf(
        [&](const auto& leaf) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
            const int k = index++;
            if (out[k] == ir::poison) return;
            out[k] =
                !is_floating(leaf.element())
                    ? ir::no_node
                    : b.append(op::custom_part, {whole}, ir::attribute_list::of(k), leaf.type());
          }
        },
        result_);
  }
  [[nodiscard]] constexpr const char* name() const override { return "custom_vjp"; }

 private:
  [[no_unique_address]] Fwd fwd_;
  [[no_unique_address]] Bwd bwd_;
  Arguments arguments_;
  Result result_;
};

}  // namespace detail

/// What `custom_vjp` returns; see there.
template <class F, class Fwd, class Bwd, class NonDiff>
class custom_vjp_function : public transformed<custom_vjp_function<F, Fwd, Bwd, NonDiff>> {
 public:
  constexpr custom_vjp_function() requires std::default_initializable<F>
  = default;
  constexpr custom_vjp_function(const F& function, const Fwd& fwd, const Bwd& bwd)
      : f_(function), fwd_(fwd), bwd_(bwd) {}

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    const auto make_rule = [&]<class A, class R>(const A& arguments, const R& result) {
      return new detail::custom_vjp_rule<Fwd, Bwd, A, R>(fwd_, bwd_, arguments, result);
    };
    return detail::call_custom<NonDiff>("custom_vjp", f_, make_rule, args...);
  }

 private:
  [[no_unique_address]] F f_;
  [[no_unique_address]] Fwd fwd_;
  [[no_unique_address]] Bwd bwd_;
};

/// A function whose reverse mode is `fwd(args...) -> (value, residuals)` and
/// `bwd(residuals, cotangent) -> (cotangent of each argument)`.
///
///   constexpr auto clip = custom_vjp(
///       [](auto x) { return x; }, [](auto x) { return std::pair(x, std::tuple()); },
///       [](auto, auto ct) { return std::tuple(minimum(maximum(ct, -1.0), 1.0)); });
///
/// - The residuals are a tree of tensors and of anything else: fwd hands them to bwd as they are.
/// - Arguments and results may be trees; 0 is a cotangent of zeros of any type. For an integer
///   argument whatever stands there is not read. One cotangent needs no tuple.
/// - Arguments that `nondiff_argnums<...>` names come first in the call of bwd.
/// - bwd need not be linear. The value of the call is always that of f; where fwd computes it in
///   the same way, it is computed once.
/// Cost: fwd and bwd are traced only where the call is differentiated.
/// Gradient: fwd and bwd are differentiated for higher orders; they may call the function itself.
/// Ill-formed: forward mode through the call; a cotangent is not of the type of its argument; f or
/// a rule uses a differentiated value that is no argument.
template <class F, class Fwd, class Bwd, int... Index>
[[nodiscard]] constexpr auto custom_vjp(const F& f, const Fwd& fwd, const Bwd& bwd,
                                        nondiff_argnums_option<Index...> = {}) {
  return custom_vjp_function<F, Fwd, Bwd, nondiff_argnums_option<Index...>>(f, fwd, bwd);
}

}  // namespace atled
