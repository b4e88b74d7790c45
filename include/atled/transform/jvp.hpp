// atled/transform/jvp.hpp: jvp, linearize: derivatives forward, along a direction.
// Reads: transform/variables.hpp, passes/jvp.hpp. Next: transform/vjp.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/jvp.hpp"
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
template <class Result>
struct traced_call {
  ir::builder* builder;
  passes::ids inputs;  ///< `ir::no_node` where a leaf has no tangent
  passes::ids outputs;
  Result result;
};
template <class F, class... Args>
constexpr auto call_on_variables(const F& f, const std::tuple<Args...>& given) {
  std::tuple<Args...> arguments = given;
  passes::ids inputs{};
  make_variables_where_floating(arguments, inputs);
  auto result = std::apply([&](auto&... argument) { return f(argument...); }, arguments);
  traced_call<decltype(result)> out{builder_of_tree(given), inputs, {}, result};
  append_leaves(out.result, out.outputs);
  return out;
}

/// The tangents of a call's result for tangents of its arguments.
template <class Result, class Tangents>
constexpr Result pushed_forward(const traced_call<Result>& call, const Tangents& tangents,
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
template <class F>
class jvp_function : public transformed<jvp_function<F>> {
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
    const auto call = detail::call_on_variables(f_, detail::as_arguments(primals));
    return std::pair(call.result,
                     detail::pushed_forward(call, detail::as_arguments(tangents), "jvp"));
  }

 private:
  [[no_unique_address]] F f_;
};

/// The value of a function, and its derivative along a direction.
///
///   jvp(f, std::tuple(x, y), std::tuple(dx, dy))    (f(x, y), df)
///   jvp(f)                                          the same as a function of the two tuples
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

namespace detail {

/// The linear function that `linearize` returns inside a trace.
template <class Result>
class linearized {
 public:
  constexpr explicit linearized(const traced_call<Result>& call) : call_(call) {}
  template <class... Tangents>
  constexpr Result operator()(const Tangents&... tangents) const {
    return pushed_forward(call_, std::tuple<Tangents...>(tangents...), "linearize");
  }

 private:
  traced_call<Result> call_;
};

template <class F>
struct value_function : transformed<value_function<F>> {
  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    return F{}(args...);
  }
};
template <class F>
struct tangent_function : transformed<tangent_function<F>> {
  template <class Primals, class Tangents>
  constexpr auto apply(const Primals& primals, const Tangents& tangents) const {
    return pushed_forward(call_on_variables(F{}, primals), tangents, "linearize");
  }
};

/// The linear function that `linearize` returns on tensors: it keeps the point.
template <class F, class... Args>
class linearized_at {
 public:
  constexpr explicit linearized_at(const Args&... args) : point_(args...) {}
  template <class... Tangents>
  constexpr auto operator()(const Tangents&... tangents) const {
    return tangent_function<F>{}(point_, std::tuple<Tangents...>(tangents...));
  }

 private:
  std::tuple<Args...> point_;
};

}  // namespace detail

/// The value at a point, and the derivative there as a function of the direction.
///
///   const auto [y, df] = linearize(f, x);    df(dx)
///
/// Cost: inside a trace each use of the derivative adds only what is linear; on tensors a call of
/// it computes f again.
template <class F, class... Args>
[[nodiscard]] constexpr auto linearize(const F& f, const Args&... args) {
  if constexpr ((holds_expressions<Args>() || ...)) {
    const auto call = detail::call_on_variables(f, std::tuple<Args...>(args...));
    return std::pair(call.result, detail::linearized(call));
  } else {
    static_assert(
        !detail::on_ranks<F>,
        "atled::linearize: a function of a mesh outside of a trace: it must be called inside of "
        "a function given to jit, or use grad, which knows the ranks");
    return std::pair(detail::value_function<F>{}(args...),
                     detail::linearized_at<F, Args...>(args...));
  }
}

}  // namespace atled
