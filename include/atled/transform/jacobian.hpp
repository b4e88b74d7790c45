// atled/transform/jacobian.hpp: jacfwd, jacrev, hessian: all derivatives of all outputs, by jvp or
// vjp along every basis vector at once. Reads: transform/grad.hpp, passes/vmap.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/vmap.hpp"
#include "atled/transform/grad.hpp"

#include <array>
#include <concepts>
#include <tuple>
#include <utility>

namespace atled {
namespace detail {

/// `Out` with a tree `In` in place of each leaf; a struct becomes a tuple, as it cannot hold trees.
template <class Out, class In>
struct nested_tree {
  using type = In;
};
template <class... T, class In>
struct nested_tree<std::tuple<T...>, In> {
  using type = std::tuple<typename nested_tree<T, In>::type...>;
};
template <class T, class U, class In>
struct nested_tree<std::pair<T, U>, In> {
  using type = std::pair<typename nested_tree<T, In>::type, typename nested_tree<U, In>::type>;
};
template <class T, std::size_t N, class In>
struct nested_tree<std::array<T, N>, In> {
  using type = std::array<typename nested_tree<T, In>::type, N>;
};
template <class Model>
  requires model_like<Model>
struct nested_tree<Model, expr> {
  using type = traced_t<Model>;
};
template <class Model, class In>
  requires model_like<Model>
struct nested_tree<Model, In> {
  template <std::size_t... I>
  static auto make(std::index_sequence<I...>) -> std::tuple<std::conditional_t<I == 0, In, In>...>;
  using type = decltype(make(std::make_index_sequence<num_leaves_v<Model>>{}));
};

/// The types of the arguments that are differentiated by: one alone, several as a tuple.
template <class Arguments, class Indices>
struct chosen_arguments;
template <class Arguments, std::size_t... Index>
struct chosen_arguments<Arguments, std::index_sequence<Index...>> {
  using type = decltype(single_or_tuple(
      std::declval<std::tuple<std::tuple_element_t<Index, Arguments>...>>()));
};

/// A function that has run on variables, to be differentiated by each of them.
struct jacobian_call {
  ir::builder& b;
  std::string_view verb;
  passes::ids inputs;
  passes::ids outputs;
  passes::ids table;  ///< for each output, for each input: the derivative

  [[nodiscard]] constexpr bool is_poison() const {
    return outputs.has_poison() || inputs.has_poison();
  }
  [[nodiscard]] constexpr shape dims_of(int output, int input) const {
    shape out = b.type(outputs[output]).dims;
    const shape& in = b.type(inputs[input]).dims;
    for (int i = 0; i < in.rank; ++i) out.push(in[i]);
    return out;
  }
};

/// Outputs are floats, and their axes and those of an input together at most 8; else a sentence.
constexpr void check_jacobian(jacobian_call& call) {
  ir::builder& b = call.b;
  for (int o = 0; o < call.outputs.size && !call.is_poison(); ++o) {
    const tensor_type out = b.type(call.outputs[o]);
    text why = "output ";
    why << o << " is " << out;
    b.site = {};
    if (!is_floating(out.element)) {
      why << ": it must be of a floating type; convert it with astype";
      call.outputs.values[o] = b.fail(call.verb, why);
      return;
    }
    for (int i = 0; i < call.inputs.size; ++i) {
      const tensor_type in = b.type(call.inputs[i]);
      if (out.rank() + in.rank() <= max_rank) continue;
      why << ", an argument " << in << ": the derivative would have more than 8 axes";
      call.outputs.values[o] = b.fail(call.verb, why);
      return;
    }
  }
}

/// Number of basis vectors: that of a vector may come with the call.
constexpr std::int64_t num_directions(const tensor_type& type) {
  return type.rank() == 1 ? type.dims[0] : type.size();
}

/// All basis vectors of a type, one after the other along axis 0.
constexpr int basis_of(ir::builder& b, const tensor_type& type) {
  const std::int64_t size = num_directions(type);
  const tensor_type square{dtype::i32, shape::of({size, size})};
  const int diagonal = b.binary(op::eq, b.iota(square, 0), b.iota(square, 1));
  return b.reshape(b.convert(diagonal, type.element), passes::detail::in_lanes(size, type.dims));
}

/// What is linear in the variable `direction`, for all basis vectors: `is_mapped` in front.
constexpr void along_basis(ir::builder& b, const passes::ids& linear, int direction,
                           passes::lane_ids& out) {
  const tensor_type type = b.type(direction);
  passes::ids inputs{};
  passes::ids mapped{};
  inputs.push(direction);
  mapped.push(basis_of(b, type));
  passes::vmap(b, linear, inputs, mapped, num_directions(type), -1, out);
}

/// Forward: one jvp of all outputs for each input.
constexpr void push_forward_all(jacobian_call& call) {
  ir::builder& b = call.b;
  const int count = call.inputs.size;
  call.table.size = count * call.outputs.size;
  for (int i = 0; i < count; ++i) {
    const tensor_type type = b.type(call.inputs[i]);
    b.site = b.g[call.inputs[i]].at;
    passes::ids input{};
    passes::ids direction{};
    passes::ids tangents{};
    input.push(call.inputs[i]);
    direction.push(type.rank() == 0 ? b.constant(1, type.element) : b.variable(call.inputs[i]));
    passes::jvp(b, call.outputs, input, direction, tangents);
    passes::lane_ids all{};
    if (type.rank() > 0) along_basis(b, tangents, direction[0], all);
    for (int o = 0; o < call.outputs.size; ++o) {
      int id = type.rank() == 0 ? tangents[o] : all.values[o];
      if (id != ir::no_node && type.rank() > 0) {
        if (!all.is_mapped[o]) id = passes::detail::repeated(b, id, num_directions(type));
        id = passes::detail::moved_axis(b, id, 0, b.type(call.outputs[o]).rank());
      }
      call.table.values[o * count + i] = id;
    }
  }
}

/// Reverse: one vjp of all inputs for each output.
constexpr void pull_back_all(jacobian_call& call) {
  ir::builder& b = call.b;
  for (int o = 0; o < call.outputs.size; ++o) {
    const tensor_type type = b.type(call.outputs[o]);
    b.site = b.g[call.outputs[o]].at;
    passes::ids output{};
    passes::ids seed{};
    passes::ids cotangents{};
    output.push(call.outputs[o]);
    seed.push(type.rank() == 0 ? b.constant(1, type.element) : b.variable(call.outputs[o]));
    passes::gradient(b, output, seed, call.inputs, cotangents);
    passes::lane_ids all{};
    if (type.rank() > 0) along_basis(b, cotangents, seed[0], all);
    for (int i = 0; i < call.inputs.size; ++i) {
      int id = type.rank() == 0 ? cotangents[i] : all.values[i];
      if (id != ir::no_node && type.rank() > 0 && !all.is_mapped[i]) {
        id = passes::detail::repeated(b, id, num_directions(type));
      }
      call.table.push(id);
    }
  }
}

/// Runs `f` on variables and appends the derivatives of its leaves by those of the arguments.
template <bool HasAux, std::size_t... Index, class F, class... Args>
constexpr auto jacobian(std::index_sequence<Index...> chosen, bool is_forward,
                        std::string_view verb, const F& f, const Args&... args) {
  static_assert(((Index < sizeof...(Args)) && ...),
                "atled::jacobian: argnums names an argument that the call does not have; they are "
                "counted from 0");
  std::tuple<Args...> arguments(args...);
  ir::builder& b = *builder_of_tree(arguments);
  jacobian_call call{b, verb, {}, {}, {}};
  (make_variables(b, verb, Index, std::get<Index>(arguments), call.inputs), ...);
  const auto both = value_and_aux<HasAux>(
      b, std::apply([&](auto&... argument) { return f(argument...); }, arguments));
  const auto& result = both.first;
  for_each_leaf([&](const auto& leaf) { call.outputs.push(as_expr(b, leaf).id()); }, result);
  check_jacobian(call);
  if (!call.is_poison()) is_forward ? push_forward_all(call) : pull_back_all(call);

  using in = typename chosen_arguments<std::tuple<Args...>, decltype(chosen)>::type;
  typename nested_tree<std::remove_cvref_t<decltype(result)>, in>::type out{};
  int at = 0;
  for_each_leaf(
      [&](expr& leaf) {
        int id = ir::poison;
        if (!call.is_poison()) {
          const int output = at / call.inputs.size;
          const shape dims = call.dims_of(output, at % call.inputs.size);
          id = call.table[at++];
          id = id == ir::no_node ? b.splat(0, {b.type(call.outputs[output]).element, dims})
                                 : b.reshape(id, dims);
        }
        leaf = {b, id};
      },
      out);
  if constexpr (HasAux) {
    return std::pair(out, both.second);
  } else {
    return out;
  }
}

}  // namespace detail

/// What `jacfwd` and `jacrev` return; see there.
template <bool IsForward, class F, class... Options>
class jacobian_function : public transformed<jacobian_function<IsForward, F, Options...>> {
 public:
  constexpr jacobian_function() requires std::default_initializable<F>
  = default;
  constexpr explicit jacobian_function(const F& function) : f_(function) {}
  /// The ranks that a call runs on, if `f` is a function of a mesh.
  [[nodiscard]] constexpr comm::grid* ranks() const requires detail::on_ranks<F> {
    return f_.ranks();
  }

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    return detail::jacobian<detail::has_aux_v<Options...>>(
        typename detail::argnums_of<Options...>::type{}, IsForward, IsForward ? "jacfwd" : "jacrev",
        f_, args...);
  }

 private:
  [[no_unique_address]] F f_;
};

/// All derivatives of all outputs, forward: a function of the same arguments.
///
///   x  f32[N]     f(x)  f32[M]     jacfwd(f)(x)  f32[M, N]: the axes of the output, then of x
///
/// Of trees: a tree like the result, whose leaves are trees like the argument; a returned struct
/// becomes a tuple of its leaves. `argnums<0, 2>` gives a tuple in place of the argument's tree.
/// `jacfwd(f, has_aux)(x)` is (derivatives, aux), where f returns (value, aux).
/// Cost: that of f, and a jvp for each element of the argument, in one program; use it where the
/// output is the larger.
/// Ill-formed: an output or an argument is no float; more than 8 axes.
template <class F, class... Options>
[[nodiscard]] constexpr auto jacfwd(const F& f, const Options&...) {
  return jacobian_function<true, F, Options...>(f);
}
/// The same in reverse: a vjp for each element of the output; use it where the argument is larger.
template <class F, class... Options>
[[nodiscard]] constexpr auto jacrev(const F& f, const Options&...) {
  return jacobian_function<false, F, Options...>(f);
}

/// All second derivatives, forward over reverse.
///
///   x  f32[N]     f(x)  f32[]     hessian(f)(x)  f32[N, N]
///
/// Cost: that of the gradient, for each element of the argument, in one program.
/// Trees, options, errors: as `jacfwd`.
template <class F, class... Options>
[[nodiscard]] constexpr auto hessian(const F& f, const Options&... options) {
  return jacfwd(jacrev(f, options...), options...);
}

}  // namespace atled
