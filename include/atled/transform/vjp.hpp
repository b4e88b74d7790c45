// atled/transform/vjp.hpp: vjp, linear_transpose: derivatives in reverse, from any cotangent.
// Reads: transform/jvp.hpp, passes/gradient.hpp. `grad` is the case of a scalar.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/gradient.hpp"
#include "atled/transform/jvp.hpp"

#include <tuple>
#include <utility>

namespace atled {
namespace detail {

/// The cotangents of a call's arguments for a cotangent of its result; with `IsLinear` the call
/// itself is transposed, else its derivative.
template <bool IsLinear, class Call, class... Args, class Cotangent>
constexpr std::tuple<Args...> pulled_back(const Call& call, const std::tuple<Args...>& arguments,
                                          const Cotangent& cotangent, std::string_view verb) {
  ir::builder& b = *call.builder;
  passes::ids given{};
  append_leaves(cotangent, given);
  check_partners(b, verb, "cotangent", call.outputs, given);
  const passes::ids inputs = only_where(call.inputs, call.inputs);
  passes::ids out{};
  if constexpr (IsLinear) {
    passes::transpose(b, call.outputs, given, inputs, out);
  } else {
    passes::gradient(b, call.outputs, given, inputs, out);
  }
  int begin = 0;
  return with_derivatives(b, arguments, spread_where(out, call.inputs), begin);
}

/// The function that `vjp` and `linear_transpose` return inside a trace.
template <bool IsLinear, class Call, class Arguments>
class pullback {
 public:
  constexpr pullback(const Call& call, const Arguments& arguments)
      : call_(call), arguments_(arguments) {}
  template <class Cotangent>
  constexpr Arguments operator()(const Cotangent& cotangent) const {
    return pulled_back<IsLinear>(call_, arguments_, cotangent,
                                 IsLinear ? "linear_transpose" : "vjp");
  }

 private:
  Call call_;
  Arguments arguments_;
};

template <bool IsLinear, bool HasAux, class F>
struct pullback_function : transformed<pullback_function<IsLinear, HasAux, F>> {
  template <class Primals, class Cotangent>
  constexpr auto apply(const Primals& primals, const Cotangent& cotangent) const {
    return pulled_back<IsLinear>(call_on_variables<HasAux>(F{}, primals), primals, cotangent,
                                 IsLinear ? "linear_transpose" : "vjp");
  }
};

/// The function that they return on tensors: it keeps the point.
template <bool IsLinear, bool HasAux, class F, class Primals>
class pullback_at {
 public:
  constexpr explicit pullback_at(const Primals& primals) : point_(primals) {}
  template <class Cotangent>
  constexpr auto operator()(const Cotangent& cotangent) const {
    return pullback_function<IsLinear, HasAux, F>{}(point_, cotangent);
  }

 private:
  Primals point_;
};

}  // namespace detail

/// The value at a point, and the function from a cotangent of it to those of the arguments.
///
///   const auto [y, pullback] = vjp(f, x, w);    const auto [d_x, d_w] = pullback(d_y);
///   const auto [y, pullback, aux] = vjp(f, x, w, has_aux);    where f returns (y, aux)
///
/// The cotangent is a tree like y; the result is a tuple with a tree for each argument, zeros for
/// integers. Cost: inside a trace a call adds only the reverse pass; on tensors it computes f
/// again. Ill-formed: the cotangent is not of the type of the value; with has_aux, f returns no
/// pair.
template <class F, class... Args>
[[nodiscard]] constexpr auto vjp(const F& f, const Args&... args) {
  constexpr bool with_aux = detail::has_aux_v<Args...>;
  const auto primals = detail::primals_of(args...);
  using arguments = std::remove_cvref_t<decltype(primals)>;
  if constexpr ((holds_expressions<Args>() || ...)) {
    const auto call = detail::call_on_variables<with_aux>(f, primals);
    using traced = std::remove_cvref_t<decltype(call)>;
    return detail::with_aux<with_aux>(
        call.result, detail::pullback<false, traced, arguments>(call, primals), call.aux);
  } else {
    static_assert(
        !detail::on_ranks<F>,
        "atled::vjp: a function of a mesh outside of a trace: it must be called inside of "
        "a function given to jit, or use grad, which knows the ranks");
    const auto [value, aux] = std::apply(detail::value_function<with_aux, F>{}, primals);
    return detail::with_aux<with_aux>(
        value, detail::pullback_at<false, with_aux, F, arguments>(primals), aux);
  }
}

/// The transpose of a linear function, at arguments of which only the types matter.
///
///   linear_transpose(f, x)(d_y)    the cotangents of the arguments, a tuple
///
/// Ill-formed: f is not linear.
template <class F, class... Args>
[[nodiscard]] constexpr auto linear_transpose(const F& f, const Args&... args) {
  using arguments = std::tuple<Args...>;
  if constexpr ((holds_expressions<Args>() || ...)) {
    const auto call = detail::call_on_variables(f, arguments(args...));
    using traced = std::remove_cvref_t<decltype(call)>;
    return detail::pullback<true, traced, arguments>(call, arguments(args...));
  } else {
    static_assert(!detail::on_ranks<F>,
                  "atled::linear_transpose: a function of a mesh outside of a trace: it must be "
                  "called inside of "
                  "a function given to jit, or use grad, which knows the ranks");
    return detail::pullback_at<true, false, F, arguments>(arguments(args...));
  }
}

}  // namespace atled
