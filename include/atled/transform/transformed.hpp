// atled/transform/transformed.hpp: what jit, grad and all other verbs return: a function that is
// inlined inside a trace, and is compiled and run when it is called with tensors.
// Reads: transform/program.hpp. Next: transform/jit.hpp, transform/grad.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/call_sizes.hpp"
#include "atled/transform/debug_nans.hpp"

#include <concepts>
#include <type_traits>
#include <utility>

namespace atled {

namespace detail {

template <class T>
inline constexpr bool is_given_v = !std::is_lvalue_reference_v<T> && !std::is_const_v<T>;

/// Builds a tree of tensors, each leaf made by `make.template operator()<Leaf>(index)`.
template <class Tree, class Make>
Tree make_tree(int& index, Make& make);

template <class Tree, class Make, class... Member>
Tree make_branch(int& index, Make& make, std::tuple<Member...>*) {
  return Tree{make_tree<std::remove_cvref_t<Member>>(index, make)...};  // braces: left to right
}
template <class T, std::size_t N, class Make, std::size_t... I>
std::array<T, N> make_array(int& index, Make& make, std::index_sequence<I...>) {
  return {(static_cast<void>(I), make_tree<T>(index, make))...};
}
template <class Tree>
struct array_size;
template <class T, std::size_t N>
struct array_size<std::array<T, N>> {
  using element = T;
  static constexpr std::size_t size = N;
};

template <class Tree, class Make>
Tree make_tree(int& index, Make& make) {
  if constexpr (!is_branch_v<Tree>) {
    return make.template operator()<Tree>(index++);
  } else if constexpr (is_array_v<Tree>) {
    using facts = array_size<Tree>;
    return make_array<typename facts::element, facts::size>(
        index, make, std::make_index_sequence<facts::size>{});
  } else {
    return make_branch<Tree>(index, make,
                             static_cast<decltype(members_of(std::declval<Tree&>()))*>(nullptr));
  }
}

/// The memory of a leaf: of a tensor or a view, or the number itself.
template <class Leaf>
const std::byte* leaf_data(Leaf& leaf) {
  if constexpr (requires { leaf.data(); }) {
    return reinterpret_cast<const std::byte*>(std::as_const(leaf).data());
  } else {
    return reinterpret_cast<const std::byte*>(&leaf);
  }
}

/// What operators on tensors outside a trace give: it is not computed yet, and has no memory.
template <class T>
concept lazy_tensor = requires(const T& lazy) {
  typename T::tensor_expression_tag;
  lazy.eval();
};
template <class Arg>
decltype(auto) computed(Arg&& arg) {
  if constexpr (lazy_tensor<std::remove_cvref_t<Arg>>) {
    return arg.eval();
  } else {
    return std::forward<Arg>(arg);
  }
}

/// What a call knows of one leaf of its arguments.
struct leaf_at {
  void* object;
  bool is_given;
};

/// Runs a compiled program on its arguments: a small one as one function, if `MayInline`; with the
/// other `ranks` if there are any.
template <class Program, bool MayInline, class... Args>
typename Program::result call_program(comm::grid* ranks, Args&&... args) {
  constexpr auto parameters = static_cast<std::size_t>(Program::num_parameters);
  constexpr auto outputs = static_cast<std::size_t>(Program::num_outputs);
  std::array<const std::byte*, parameters + 1> inputs;
  std::array<leaf_at, parameters + 1> leaves;
  std::size_t count = 0;
  const auto take = [&](auto& tree, bool is_given) {
    for_each_leaf(
        [&](auto& leaf) {
          using object = std::remove_cvref_t<decltype(leaf)>;
          static_assert(!lazy_tensor<object>,
                        "atled::jit: a member of an argument is not computed yet; give it a type: "
                        "tensor<f32, 3> y = a + b");
          leaves[count] = {const_cast<object*>(&leaf), is_given};  // NOLINT: written only if given
          if constexpr (!std::is_const_v<std::remove_reference_t<decltype(leaf)>> &&
                        requires { leaf.data(); }) {
            inputs[count] =
                is_given ? reinterpret_cast<const std::byte*>(leaf.data()) : leaf_data(leaf);
          } else {
            inputs[count] = leaf_data(leaf);
          }
          ++count;
        },
        tree);
  };
  (take(args, is_given_v<Args&&>), ...);
  const call_sizes<Program> sizes(args...);
  if constexpr (call_sizes<Program>::count > 0) {
    for (; count < parameters; ++count) {
      leaves[count] = {nullptr, false};
      inputs[count] = sizes.data(count - (parameters - sizes.count));
    }
  }

  // The same object as two arguments: its memory must not be overwritten.
  const auto is_alone = [&](std::size_t at) {
    for (std::size_t i = 0; i < parameters; ++i) {
      if (i != at && leaves[i].object == leaves[at].object) return false;
    }
    return true;
  };
  std::array<std::byte*, outputs + 1> results;
  auto make = [&]<class Leaf>(int index) -> Leaf {
    const int donor = Program::donor_of(index);
    if (donor >= 0 && is_alone(static_cast<std::size_t>(donor))) {
      return std::move(*static_cast<Leaf*>(leaves[static_cast<std::size_t>(donor)].object));
    }
    return Leaf::uninitialized();
  };
  int index = 0;
  auto out = make_tree<typename Program::result>(index, make);
  std::size_t at = 0;
  for_each_leaf(
      [&](auto& leaf) {
        results[at++] = reinterpret_cast<std::byte*>(leaf.data());
        sizes.give(leaf);
      },
      out);
  if constexpr (MayInline && Program::is_inline) {
    Program::run_inline(inputs.data(), results.data());
  } else {
    if (ranks != nullptr) Program::compare_on(*ranks);
    runtime::execute(Program::frozen(), inputs.data(), results.data(), ranks);
  }
  return out;
}

/// A function without state: its type says all.
template <class F>
inline constexpr bool is_stateless_v = std::is_empty_v<F>&& std::is_default_constructible_v<F>;

/// A function whose only state are the ranks that a call runs on.
template <class F>
concept on_ranks = std::is_default_constructible_v<F> && requires(const F& f) {
  { f.ranks() } -> std::same_as<comm::grid*>;
};
/// The ranks that a function runs on, or null.
template <class F>
constexpr comm::grid* ranks_of(const F& f) {
  if constexpr (on_ranks<F>) {
    return f.ranks();
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// The base of all transformed functions. `Derived::apply` is the function on expressions.
template <class Derived>
class transformed {
 public:
  /// What is compiled for arguments of these types: `decltype(step)::program<state&&, batch>`,
  /// where
  /// `&&` marks an argument that the call gives up.
  template <class... Args>
  using program = atled::program<Derived, detail::given_up<std::is_rvalue_reference_v<Args>...>,
                                 std::remove_cvref_t<Args>...>;

  /// Inside a trace (an argument holds expressions) the function is inlined; else it is compiled,
  /// once for each combination of argument types, and run. An rvalue argument is given up.
  ///
  /// Throws: atled::error for a moved-from tensor; std::bad_alloc.
  template <class... Args>
  constexpr auto operator()(Args&&... args) const {
    if constexpr ((false || ... || holds_expressions<Args>())) {
      return static_cast<const Derived&>(*this).apply(args...);
    } else if constexpr ((false || ... || detail::lazy_tensor<std::remove_cvref_t<Args>>)) {
      return (*this)(detail::computed(std::forward<Args>(args))...);
    } else if constexpr (!detail::is_stateless_v<Derived> && !detail::on_ranks<Derived>) {
      static_assert(detail::is_stateless_v<Derived>,
                    "atled::jit: the function captures variables: it must be stateless; pass them "
                    "as arguments, or give a constexpr object as a template argument");
    } else if constexpr (!spell<
                             detail::traced_function<Derived, std::remove_cvref_t<Args>...>>::ok) {
      static_assert(spell<detail::traced_function<Derived, std::remove_cvref_t<Args>...>>::ok,
                    "atled::jit: the traced function is ill-formed; trace_error<...> says why");
    } else if constexpr (requires { Derived::debug_nans; }) {
      return checked(std::as_const(args)...);
    } else {
      using compiled = atled::program<Derived, detail::given_up<detail::is_given_v<Args&&>...>,
                                      std::remove_cvref_t<Args>...>;
      constexpr bool may_inline = !requires {
        Derived::by_kernels;
      };
      return detail::call_program<compiled, may_inline>(
          detail::ranks_of(static_cast<const Derived&>(*this)), std::forward<Args>(args)...);
    }
  }

 private:
  /// Runs it, and throws if a result holds a NaN.
  template <class... Args>
  static auto checked(const Args&... args) {
    using compiled = program<Args...>;
    static_assert(compiled::bounded_sizes.size == 0,
                  "atled::jit: debug_nans looks at tensors of fixed sizes only: what lies behind "
                  "the end of a bounded one is no number; give it tensor<f32, 8>");
    constexpr bool may_inline = !requires {
      Derived::by_kernels;
    };
    auto out =
        detail::call_program<compiled, may_inline>(static_cast<comm::grid*>(nullptr), args...);
    if (detail::holds_nan(out)) detail::find_nan<Derived, Args...>(args...);
    return out;
  }
};

}  // namespace atled
