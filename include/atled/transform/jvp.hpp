// atled/transform/jvp.hpp: jvp, linearize: derivatives forward, along a direction.
// Reads: transform/variables.hpp, passes/jvp.hpp. Next: transform/vjp.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/jvp.hpp"
#include "atled/transform/has_aux.hpp"
#include "atled/transform/transformed.hpp"
#include "atled/transform/variables.hpp"

#include <concepts>
#include <tuple>
#include <utility>

namespace atled {
namespace detail {

/// The arguments in a tuple; one argument may stand alone.
template <class T>
constexpr auto as_arguments(const T& x) {
  return std::tuple<T>(x);
}
template <class... T>
constexpr std::tuple<T...> as_arguments(const std::tuple<T...>& x) {
  return x;
}

/// A function that has run on variables: its result, and where its arguments are.
template <class Result, class Aux>
struct traced_call {
  ir::builder* builder;
  passes::ids inputs;  ///< `ir::no_node` where a leaf has no tangent
  passes::ids outputs;
  Result result;
  Aux aux;  ///< what is not differentiated
};
template <bool HasAux = false, class F, class... Args>
constexpr auto call_on_variables(const F& f, const std::tuple<Args...>& given) {
  std::tuple<Args...> arguments = given;
  ir::builder* b = builder_of_tree(given);
  passes::ids inputs{};
  make_variables_where_floating(arguments, inputs);
  const auto [result, aux] = value_and_aux<HasAux>(
      *b, std::apply([&](auto&... argument) { return f(argument...); }, arguments));
  traced_call<std::remove_cvref_t<decltype(result)>, std::remove_cvref_t<decltype(aux)>> out{
      b, inputs, {}, result, aux};
  append_leaves(out.result, out.outputs);
  return out;
}

/// (value, derivative), and with `HasAux` the rest as a third.
template <bool HasAux, class Value, class Derivative, class Aux>
constexpr auto with_aux(const Value& value, const Derivative& derivative, const Aux& aux) {
  if constexpr (HasAux) {
    return std::tuple<Value, Derivative, Aux>(value, derivative, aux);
  } else {
    return std::pair<Value, Derivative>(value, derivative);
  }
}

/// The tangents of a call's result for tangents of its arguments.
template <class Result, class Aux, class Tangents>
constexpr Result pushed_forward(const traced_call<Result, Aux>& call, const Tangents& tangents,
                                std::string_view verb) {
  ir::builder& b = *call.builder;
  passes::ids given{};
  append_leaves(tangents, given);
  check_partners(b, verb, "tangent", call.inputs, given);
  passes::ids out{};
  passes::jvp(b, call.outputs, only_where(call.inputs, call.inputs), only_where(given, call.inputs),
              out);
  int begin = 0;
  return with_derivatives(b, call.result, out, begin);
}

}  // namespace detail

/// What `jvp(f)` returns; see there.
template <class F, class... Options>
class jvp_function : public transformed<jvp_function<F, Options...>> {
 public:
  constexpr jvp_function() requires std::default_initializable<F>
  = default;
  constexpr explicit jvp_function(const F& function) : f_(function) {}
  /// The ranks that a call runs on, if `f` is a function of a mesh.
  [[nodiscard]] constexpr comm::grid* ranks() const requires detail::on_ranks<F> {
    return f_.ranks();
  }

  template <class Primals, class Tangents>
  constexpr auto apply(const Primals& primals, const Tangents& tangents) const {
    constexpr bool with_aux = detail::has_aux_v<Options...>;
    const auto call = detail::call_on_variables<with_aux>(f_, detail::as_arguments(primals));
    return detail::with_aux<with_aux>(
        call.result, detail::pushed_forward(call, detail::as_arguments(tangents), "jvp"), call.aux);
  }

 private:
  [[no_unique_address]] F f_;
};

/// The value of a function, and its derivative along a direction.
///
///   jvp(f, std::tuple(x, y), std::tuple(dx, dy))    (f(x, y), df)
///   jvp(f)                                          the same as a function of the two tuples
///   jvp(f, x, dx, has_aux), jvp(f, has_aux)         (value, derivative, aux), where f returns
///                                                   (value, aux)
///
/// A single argument needs no tuple. Integers have no tangent: what stands there is not read.
/// Cost: about twice that of f.
/// Ill-formed: a tangent is not of the type of its argument.
template <class F>
[[nodiscard]] constexpr auto jvp(const F& f) {
  return jvp_function<F>(f);
}
template <class F, class Primals, class Tangents>
[[nodiscard]] constexpr auto jvp(const F& f, const Primals& primals, const Tangents& tangents) {
  return jvp_function<F>(f)(primals, tangents);
}
template <class F>
[[nodiscard]] constexpr auto jvp(const F& f, has_aux_option) {
  return jvp_function<F, has_aux_option>(f);
}
template <class F, class Primals, class Tangents>
[[nodiscard]] constexpr auto jvp(const F& f, const Primals& primals, const Tangents& tangents,
                                 has_aux_option) {
  return jvp_function<F, has_aux_option>(f)(primals, tangents);
}

namespace detail {

/// The linear function that `linearize` returns inside a trace.
template <class Call>
class linearized {
 public:
  constexpr explicit linearized(const Call& call) : call_(call) {}
  template <class... Tangents>
  constexpr auto operator()(const Tangents&... tangents) const {
    return pushed_forward(call_, std::tuple<Tangents...>(tangents...), "linearize");
  }

 private:
  Call call_;
};

/// (value, the rest); the rest is empty without `HasAux`.
template <bool HasAux, class F>
struct value_function : transformed<value_function<HasAux, F>> {
  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    return value_and_aux<HasAux>(*builder_of_tree(std::tie(args...)), F{}(args...));
  }
};
template <bool HasAux, class F>
struct tangent_function : transformed<tangent_function<HasAux, F>> {
  template <class Primals, class Tangents>
  constexpr auto apply(const Primals& primals, const Tangents& tangents) const {
    return pushed_forward(call_on_variables<HasAux>(F{}, primals), tangents, "linearize");
  }
};

/// The linear function that `linearize` returns on tensors: it keeps the point.
template <bool HasAux, class F, class Primals>
class linearized_at {
 public:
  constexpr explicit linearized_at(const Primals& primals) : point_(primals) {}
  template <class... Tangents>
  constexpr auto operator()(const Tangents&... tangents) const {
    return tangent_function<HasAux, F>{}(point_, std::tuple<Tangents...>(tangents...));
  }

 private:
  Primals point_;
};

}  // namespace detail

/// The value at a point, and the derivative there as a function of the direction.
///
///   const auto [y, df] = linearize(f, x);    df(dx)
///   const auto [y, df, aux] = linearize(f, x, has_aux);    where f returns (y, aux)
///
/// Cost: inside a trace each use of the derivative adds only what is linear; on tensors a call of
/// it computes f again.
template <class F, class... Args>
[[nodiscard]] constexpr auto linearize(const F& f, const Args&... args) {
  constexpr bool with_aux = detail::has_aux_v<Args...>;
  const auto primals = detail::primals_of(args...);
  if constexpr ((holds_expressions<Args>() || ...)) {
    const auto call = detail::call_on_variables<with_aux>(f, primals);
    return detail::with_aux<with_aux>(call.result, detail::linearized(call), call.aux);
  } else {
    static_assert(
        !detail::on_ranks<F>,
        "atled::linearize: a function of a mesh outside of a trace: it must be called inside of "
        "a function given to jit, or use grad, which knows the ranks");
    const auto [value, aux] = std::apply(detail::value_function<with_aux, F>{}, primals);
    using derivative = detail::linearized_at<with_aux, F, std::remove_cvref_t<decltype(primals)>>;
    return detail::with_aux<with_aux>(value, derivative(primals), aux);
  }
}

}  // namespace atled
