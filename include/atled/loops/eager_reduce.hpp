// atled/loops/eager_reduce.hpp: sums, means, extremes and products of plain tensors.
// Reads: loops/eager_fold.hpp, loops/eager.hpp, core/axis.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/axis.hpp"
#include "atled/loops/eager.hpp"
#include "atled/loops/eager_fold.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace atled {
namespace loops::eager {

template <class Kind, tensor_type Type, class... Options>
struct reduction_sentence {
  static constexpr text make() {
    const auto along = reduction_axes::of(Type, Kind::name, Options{}...);
    text out = along.problem;
    if (out.empty() && !Kind::has_neutral && along.count(Type.dims) == 0) {
      out << Kind::name << ": " << Type << ": the reduced axes hold no element, and a "
          << Kind::name << " of nothing is undefined";
    }
    return out;
  }
  static constexpr text sentence = make();
};

template <class Option>
inline constexpr bool is_option_v = std::is_same_v<Option, keepdims_tag>;
template <axis_label Label, int Size>
inline constexpr bool is_option_v<axis_tag<Label, Size>> = true;

template <class... Options>
concept options = (is_option_v<Options> && ...);

/// The element type in which a sum or product of X is formed.
template <class X>
using sum_element = element_t<type_of<X>().element == dtype::boolean ? dtype::i32
                              : type_of<X>().element == dtype::u8    ? dtype::u32
                                                                     : type_of<X>().element>;

/// The type of a result, as a source for `tensor_of`.
template <class Kind, class Node, class... Options>
struct reduced {
  using value_type = typename Node::value_type;
  static constexpr reduction_axes along =
      reduction_axes::of(tensor_type{dtype_of<value_type>(), Node::dims}, Kind::name, Options{}...);
  static constexpr shape dims = along.result(Node::dims);
};
template <class Source, element R>
struct stored {
  using value_type = R;
  static constexpr shape dims = Source::dims;
};
template <class Source>
using accumulated = stored<Source, accumulator<typename Source::value_type>>;

/// `Kind` over the elements of `x` as type T, accumulated and then stored as type R.
template <class Kind, element T, element R, class... Options, class X>
[[nodiscard]] auto reduce(X&& x) {
  constexpr bool has_static_axes = (is_option_v<Options> && ...);
  static_assert(has_static_axes,
                "atled: the axis of a plain tensor must be known to the compiler: write axis<1>");
  if constexpr (has_static_axes) {
    static_assert(spell<reduction_sentence<Kind, type_of<X>(), Options...>>::ok,
                  "atled: the axes do not fit; trace_error<...> says why");
    const auto node = operand<T>(std::forward<X>(x));
    using source = reduced<Kind, std::remove_const_t<decltype(node)>, Options...>;
    tensor_of<accumulated<source>> out;
    reduce_node<Kind>(node, source::along, out.data());
    if constexpr (std::is_same_v<Kind, mean_of>) {
      out /= static_cast<double>(source::along.count(type_of<X>().dims));
    }
    return tensor_of<stored<source, R>>(astype<R>(std::move(out)));
  } else {
    return tensor<R>();
  }
}

}  // namespace loops::eager

// ---- functions -----------------------------------------------------------------------------
// Options are `axis<1>`, `axis<-1>`, several of them, and `keepdims`; without an axis all are
// reduced. Sums are formed in blocks and a binary tree: the error grows with the logarithm of the
// size, and the bits are the same on one thread and many, with narrow and wide registers.

/// The sum along axes; booleans are counted as i32, u8 summed as u32, bf16 and f16
/// summed in f32.
///
///   x  f32[B, C]     sum(x)  f32[]     sum(x, axis<1>)  f32[B]     keepdims:  f32[B, 1]
///
/// Cost: one pass over x. Ill-formed: an axis that x does not have.
template <eager_operand X, class... Options>
[[nodiscard]] auto sum(X&& x, const Options&...) {
  using T = loops::eager::sum_element<X>;
  return loops::eager::reduce<loops::eager::sum_of, T, T, Options...>(std::forward<X>(x));
}
/// The product along axes, in the element type of `sum`.
template <eager_operand X, class... Options>
[[nodiscard]] auto prod(X&& x, const Options&...) {
  using T = loops::eager::sum_element<X>;
  return loops::eager::reduce<loops::eager::prod_of, T, T, Options...>(std::forward<X>(x));
}
/// The mean along axes; integers as f32. A mean of nothing is NaN.
template <eager_operand X, class... Options>
[[nodiscard]] auto mean(X&& x, const Options&...) {
  constexpr dtype given = loops::eager::type_of<X>().element;
  using T = element_t<is_floating(given) ? given : dtype::f32>;
  return loops::eager::reduce<loops::eager::mean_of, T, T, Options...>(std::forward<X>(x));
}
/// The largest element along axes; NaN where one is.
/// Ill-formed: the axes hold no element; an axis that x does not have.
template <eager_operand X, class... Options>
  requires loops::eager::options<Options...>
[[nodiscard]] auto max(X&& x, const Options&...) {
  using T = element_t<loops::eager::type_of<X>().element>;
  return loops::eager::reduce<loops::eager::max_of, T, T, Options...>(std::forward<X>(x));
}
/// The smallest element along axes; NaN where one is. Ill-formed: as `max`.
template <eager_operand X, class... Options>
  requires loops::eager::options<Options...>
[[nodiscard]] auto min(X&& x, const Options&...) {
  using T = element_t<loops::eager::type_of<X>().element>;
  return loops::eager::reduce<loops::eager::min_of, T, T, Options...>(std::forward<X>(x));
}
/// Whether some element is not 0; of nothing: false.
template <eager_operand X, class... Options>
[[nodiscard]] auto any(X&& x, const Options&...) {
  using namespace loops::eager;
  return reduce<any_of, boolean, boolean, Options...>(std::forward<X>(x));
}
/// Whether no element is 0; of nothing: true.
template <eager_operand X, class... Options>
[[nodiscard]] auto all(X&& x, const Options&...) {
  using namespace loops::eager;
  return reduce<all_of, boolean, boolean, Options...>(std::forward<X>(x));
}
/// The Euclidean norm along axes.
template <eager_operand X, class... Options>
[[nodiscard]] auto norm(X&& x, const Options&... options) {
  return sqrt(sum(square(std::forward<X>(x)), options...)).eval();
}

}  // namespace atled
