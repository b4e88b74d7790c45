// atled/ops/external.hpp: external_call: a host function (a solver, a simulation) as a node.
// Reads: core/tensor.hpp, trace/trace.hpp. Run by runtime/lower.hpp; its derivative is given with
// transform/custom_vjp.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tensor.hpp"
#include "atled/trace/trace.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {
namespace detail {

/// What a host function takes and gives, as its declaration says.
template <class R, class... P>
struct host_types {
  using result = R;
  using parameters = std::tuple<std::remove_cvref_t<P>...>;
};
template <class F>
struct host_signature;
template <class R, class... P>
struct host_signature<R (*)(P...)> : host_types<R, P...> {};
template <class R, class... P>
struct host_signature<R (*)(P...) noexcept> : host_types<R, P...> {};
template <class R, class C, class... P>
struct host_signature<R (C::*)(P...) const> : host_types<R, P...> {};
template <class R, class C, class... P>
struct host_signature<R (C::*)(P...) const noexcept> : host_types<R, P...> {};

template <class F>
concept declared_host_function = requires {
  &F::operator();
};

/// A function or a constexpr object, given as a template argument, as a type.
template <auto Function>
struct host_constant {
  template <class... P>
  auto operator()(P&&... p) const {
    return Function(std::forward<P>(p)...);
  }
};
template <class F>
struct host_signature_of : host_signature<decltype(&F::operator())> {};
template <auto Function>
struct host_signature_of<host_constant<Function>> {
  static constexpr auto find() {
    if constexpr (std::is_pointer_v<decltype(Function)>) {
      return host_signature<decltype(Function)>{};
    } else {
      return host_signature<decltype(&decltype(Function)::operator())>{};
    }
  }
  using result = typename decltype(find())::result;
  using parameters = typename decltype(find())::parameters;
};

/// A parameter that is a view of memory to write: a result.
template <class P>
inline constexpr bool is_host_result_v = false;
template <class T, std::int64_t... Dims>
inline constexpr bool is_host_result_v<tensor_view<T, Dims...>> = !std::is_const_v<T>;

template <class P>
struct host_result;
template <class T, std::int64_t... Dims>
struct host_result<tensor_view<T, Dims...>> {
  using type = tensor<T, Dims...>;
};

/// The argument of a host function at a place in memory.
template <class P>
struct host_argument {
  static P read(const std::byte* at) {
    if constexpr (requires { P::type; }) {
      using T = const typename P::value_type;
      if constexpr (std::is_constructible_v<P, T*>) {  // a view
        return P(reinterpret_cast<T*>(at));
      } else {
        P out = P::uninitialized();
        std::memcpy(out.data(), at, static_cast<std::size_t>(P::bytes));
        return out;
      }
    } else {
      return *reinterpret_cast<const P*>(at);
    }
  }
};

/// Where results begin in one piece of memory. Units: bytes.
constexpr std::int64_t host_offset_after(std::int64_t offset, std::int64_t bytes) {
  return (offset + bytes + 63) / 64 * 64;
}

/// A host function `F`, stateless, with its declared types.
template <class F>
struct host_function {
  using signature = host_signature_of<F>;
  using parameters = typename signature::parameters;
  static constexpr bool returns = !std::is_void_v<typename signature::result>;
  static constexpr std::size_t num_parameters = std::tuple_size_v<parameters>;

  template <std::size_t... I>
  static consteval std::size_t count_results(std::index_sequence<I...>) {
    std::size_t out = 0;
    bool leads = !returns;
    ((leads = leads && is_host_result_v<std::tuple_element_t<I, parameters>>,
      out += leads ? 1U : 0U),
     ...);
    return out;
  }
  static constexpr std::size_t num_written =
      count_results(std::make_index_sequence<num_parameters>{});
  static constexpr std::size_t num_arguments = num_parameters - num_written;
  static_assert(returns || num_written > 0,
                "external_call: the host function gives nothing: it must return tensors, or its "
                "first parameters must be views to write, tensor_view<f64, 3>");

  template <std::size_t I>
  using argument = std::tuple_element_t<num_written + I, parameters>;

  /// One result alone, several as a tuple; or the tree that is returned.
  static constexpr auto find_result() {
    if constexpr (returns) {
      return std::type_identity<std::remove_cvref_t<typename signature::result>>{};
    } else {
      return written(std::make_index_sequence<num_written>{});
    }
  }
  template <std::size_t... I>
  static constexpr auto written(std::index_sequence<I...>) {
    if constexpr (sizeof...(I) == 1) {
      return std::type_identity<typename host_result<std::tuple_element_t<0, parameters>>::type>{};
    } else {
      return std::type_identity<
          std::tuple<typename host_result<std::tuple_element_t<I, parameters>>::type...>>{};
    }
  }
  using result = typename decltype(find_result())::type;

  /// Runs it on memory: one pointer an argument, all results behind one another.
  static void run(const std::byte* const* in, std::byte* out) {
    run_on(in, out, std::make_index_sequence<num_arguments>{},
           std::make_index_sequence<num_written>{});
  }
  template <std::size_t... I, std::size_t... R>
  static void run_on([[maybe_unused]] const std::byte* const* in, std::byte* out,
                     std::index_sequence<I...>, std::index_sequence<R...>) {
    if constexpr (returns) {
      const auto result = F{}(host_argument<argument<I>>::read(in[I])...);
      std::int64_t offset = 0;
      for_each_leaf(
          [&](const auto& leaf) {
            const std::int64_t bytes = leaf_bytes(leaf);
            if constexpr (requires { leaf.data(); }) {
              std::memcpy(out + offset, leaf.data(), static_cast<std::size_t>(bytes));
            } else {
              std::memcpy(out + offset, &leaf, static_cast<std::size_t>(bytes));
            }
            offset = host_offset_after(offset, bytes);
          },
          result);
    } else {
      std::array<std::byte*, num_written + 1> begins{out};
      ((begins[R + 1] =
            begins[R] + host_offset_after(0, std::tuple_element_t<R, parameters>::bytes)),
       ...);
      F{}(std::tuple_element_t<R, parameters>(
              reinterpret_cast<typename std::tuple_element_t<R, parameters>::value_type*>(
                  begins[R]))...,
          host_argument<argument<I>>::read(in[I])...);
    }
  }
  template <class Leaf>
  static constexpr std::int64_t leaf_bytes(const Leaf&) {
    return leaf_type<Leaf>().bytes();
  }

  /// Runs it at once, outside a trace.
  template <class... Args>
  static result call(const Args&... args) {
    if constexpr (returns) {
      return F{}(args...);
    } else {
      return call_written(std::make_index_sequence<num_written>{}, args...);
    }
  }
  template <std::size_t... R, class... Args>
  static result call_written(std::index_sequence<R...>, const Args&... args) {
    if constexpr (sizeof...(R) == 1) {
      result out = result::uninitialized();
      F{}(std::tuple_element_t<0, parameters>(out), args...);
      return out;
    } else {
      result out{std::tuple_element_t<R, result>::uninitialized()...};
      F{}(std::tuple_element_t<R, parameters>(std::get<R>(out))..., args...);
      return out;
    }
  }
};

/// The element type of a host function's argument, and how many it has.
template <class P>
struct host_part {
  using element = P;
  static constexpr std::int64_t size = 1;
};
template <class P>
  requires requires {
    P::type;
  }
struct host_part<P> {
  using element = std::remove_const_t<typename P::value_type>;
  static constexpr std::int64_t size = P::type.size();
};

/// `Many` on memory, for all lanes of a `host_function` at once.
template <class Host, auto Many>
struct host_lanes {
  using result = host_part<typename Host::result>;

  static void run(std::int64_t lanes, const std::byte* const* in, const std::int64_t* strides,
                  std::byte* out) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      Many(lanes,
           std::span<typename result::element>(reinterpret_cast<typename result::element*>(out),
                                               static_cast<std::size_t>(lanes * result::size)),
           argument<host_part<typename Host::template argument<I>>>(lanes, in[I], strides[I])...);
    }
    (std::make_index_sequence<Host::num_arguments>{});
  }
  template <class Part>
  static std::span<const typename Part::element> argument(std::int64_t lanes, const std::byte* in,
                                                          std::int64_t stride) {
    return {reinterpret_cast<const typename Part::element*>(in),
            static_cast<std::size_t>(stride == 0 ? Part::size : lanes * Part::size)};
  }
};

/// No function for many lanes was given.
struct lane_by_lane {};

template <class Host, auto Many>
constexpr ir::external_function code_of_host() {
  if constexpr (std::is_same_v<decltype(Many), const lane_by_lane> ||
                std::is_same_v<decltype(Many), lane_by_lane>) {
    return {&Host::run, nullptr};
  } else {
    static_assert(!is_branch_v<typename Host::result>,
                  "external_call: a host function for many lanes gives one tensor");
    return {&Host::run, &host_lanes<Host, Many>::run};
  }
}

/// The node of an argument, of exactly the type that the host function takes.
template <class P, class Arg>
constexpr int host_operand(ir::builder& b, int index, const Arg& arg) {
  constexpr tensor_type wanted = leaf_type<P>();
  if constexpr (std::is_same_v<Arg, expr>) {
    if (arg.is_poison() || arg.type() == wanted) return arg.id();
    text why = "argument ";
    why << index << " is " << arg.type() << ", the host function takes " << wanted
        << ": types must be equal; "
        << (arg.element() != wanted.element ? "convert it with astype" : "reshape or broadcast it");
    return b.fail(op::external, why);
  } else {
    static_assert(std::is_arithmetic_v<Arg>,
                  "external_call: an argument is neither a tensor nor a number");
    return b.splat(static_cast<double>(arg), wanted);
  }
}

template <class First, class... Rest>
constexpr const expr& first_expression(const First& first, const Rest&... rest) {
  if constexpr (std::is_same_v<First, expr>) {
    return first;
  } else {
    return first_expression(rest...);
  }
}

template <class... Args>
constexpr expr refuse_host(std::string_view why, const Args&... args) {
  const expr& first = first_expression(args...);
  ir::builder& b = first.builder();
  const call_site at = first.is_poison() ? call_site{"", 0, ""} : b.g[first.id()].at;
  return {b, b.fail_as("external_call", at, text(why))};
}

template <class F, auto Many = lane_by_lane{}, class... Args>
constexpr auto call_host(const Args&... args) {
  using host = host_function<F>;
  static_assert(sizeof...(Args) == host::num_arguments,
                "external_call: the host function takes another number of arguments");
  static_assert(sizeof...(Args) <= 15, "external_call: at most 15 arguments: pack them");
  // The first argument in a trace, and its line: after a list of arguments no line can be taken.
  const expr& first = first_expression(args...);
  ir::builder& b = first.builder();
  const call_site at = first.is_poison() ? call_site{"", 0, ""} : b.g[first.id()].at;
  b.site = {at.file, at.line, "external_call"};
  std::array<int, sizeof...(Args)> operands{};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((operands[I] =
          host_operand<typename host::template argument<I>>(b, static_cast<int>(I), args)),
     ...);
  }
  (std::index_sequence_for<Args...>{});

  traced_t<typename host::result> out{};
  std::int64_t bytes = 0;
  int count = 0;
  tensor_type type{};
  for_each_leaf_type<typename host::result>(out, [&]<class Leaf>(expr&) {
    type = leaf_type<Leaf>();
    bytes = host_offset_after(bytes, type.bytes());
    ++count;
  });
  if (count != 1) type = {dtype::u8, shape::of({bytes})};
  ir::attribute_list attributes{};
  attributes.push(b.external(code_of_host<host, Many>()));
  attributes.push(-1);  // calls: one, without an axis for it
  attributes.push(0);
  const int id =
      b.append(op::external, operands.data(), static_cast<int>(sizeof...(Args)), attributes, type);
  bytes = 0;
  for_each_leaf_type<typename host::result>(out, [&]<class Leaf>(expr& leaf) {
    constexpr tensor_type part = leaf_type<Leaf>();
    const int value = count == 1 || id < 0 ? id
                                           : b.append(op::external_result, {id},
                                                      ir::attribute_list::of(bytes), part);
    leaf = {b, value};
    bytes = host_offset_after(bytes, part.bytes());
  });
  return out;
}

}  // namespace detail

/// The result of a host function, which runs as a step of the program.
///
///   auto x = external_call<solve>(a, b);                       a function or constexpr object
///   auto y = external_call([](const tensor_view<const f64, 3>& x) { ... }, x);    no captures
///
/// - Its declaration gives all types: parameters are numbers, `tensor_view<const T, Dims...>` (no
///   copy) or `const tensor<T, Dims...>&`; it returns a tensor or a tree of them, or returns
///   nothing and takes a `tensor_view<T, Dims...>` for each result before the arguments.
/// - It is taken as pure: equal calls are one, and a call whose result is not used is none. It runs
///   on the thread of the caller; what it throws passes through.
/// - Under `vmap` it is called once for each lane, in order. `external_call<solve, solve_all>(a,
/// b)`
///   calls `solve_all(lanes, out, a, b)` instead, once for all of nested lanes too: `lanes` is a
///   std::int64_t, the rest are spans, lane after lane; an argument that lanes share comes once.
/// Gradient: none of its own: call it inside a `custom_vjp` or `custom_jvp`.
/// Ill-formed: an argument has another type than its parameter.
template <auto Function, class... Args>
[[nodiscard]] constexpr auto external_call(const Args&... args) {
  if constexpr ((false || ... || holds_expressions<Args>())) {
    return detail::call_host<detail::host_constant<Function>>(args...);
  } else {
    return detail::host_function<detail::host_constant<Function>>::call(args...);
  }
}
template <auto Function, auto Many, class... Args>
[[nodiscard]] constexpr auto external_call(const Args&... args) {
  if constexpr ((false || ... || holds_expressions<Args>())) {
    return detail::call_host<detail::host_constant<Function>, Many>(args...);
  } else {
    return detail::host_function<detail::host_constant<Function>>::call(args...);
  }
}
template <class F, class... Args>
[[nodiscard]] constexpr auto external_call(const F&, const Args&... args) {
  constexpr bool is_traced = (false || ... || holds_expressions<Args>());
  constexpr bool is_stateless = std::is_empty_v<F> && std::is_default_constructible_v<F>;
  if constexpr (is_traced && !detail::declared_host_function<F>) {
    return detail::refuse_host(
        "the types of the host function are not declared: give each "
        "parameter its type, tensor_view<const f64, 3>; pass a function as "
        "external_call<f>(x)",
        args...);
  } else if constexpr (is_traced && !is_stateless) {
    return detail::refuse_host(
        "the host function captures variables: it must be stateless; pass "
        "them as arguments",
        args...);
  } else if constexpr (is_traced) {
    return detail::call_host<F>(args...);
  } else {
    return detail::host_function<F>::call(args...);
  }
}

}  // namespace atled
