// atled/loops/eager_shape.hpp: transpose, reshape and broadcast_to of plain tensors.
// Reads: loops/eager.hpp. They return new tensors, so that `a = transpose(a)` is right.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/eager.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace atled {
namespace loops::eager {

/// An order of axes: result axis i is operand axis `from[i]`.
struct permutation {
  int from[max_rank]{};
  int size = 0;

  template <int... Axes>
  [[nodiscard]] static constexpr permutation of(int rank) {
    permutation out{};
    if constexpr (sizeof...(Axes) == 0) {
      for (int i = 0; i < rank; ++i) out.from[i] = rank - 1 - i;
      out.size = rank;
    } else {
      ((out.from[out.size++] = Axes < 0 ? Axes + rank : Axes), ...);
    }
    return out;
  }
  [[nodiscard]] constexpr bool is_valid(int rank) const {
    unsigned seen = 0;
    for (int i = 0; i < size; ++i) {
      if (from[i] < 0 || from[i] >= rank) return false;
      seen |= 1U << from[i];
    }
    return size == rank && seen == (1U << rank) - 1U;
  }
  [[nodiscard]] constexpr shape apply(const shape& in) const {
    shape out{};
    for (int i = 0; i < size; ++i) out.push(in.dims[from[i]]);
    return out;
  }
};

template <class X, int... Axes>
struct transposed {
  using value_type = typename X::value_type;
  static constexpr permutation order = permutation::of<Axes...>(X::rank);
  static constexpr shape dims = order.is_valid(X::rank) ? order.apply(X::dims) : X::dims;
};

/// Units: elements. Both sides of a block of this size stay in the first cache.
inline constexpr std::int64_t transpose_block = 32;

/// out[i][j] = in[i * row_stride + j * column_stride], block by block.
template <class T>
void copy_strided(const T* in, std::int64_t row_stride, std::int64_t column_stride, T* out,
                  std::int64_t out_stride, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i0 = 0; i0 < rows; i0 += transpose_block) {
    const std::int64_t i1 = std::min(i0 + transpose_block, rows);
    for (std::int64_t j0 = 0; j0 < columns; j0 += transpose_block) {
      const std::int64_t j1 = std::min(j0 + transpose_block, columns);
      for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j) {
          out[i * out_stride + j] = in[i * row_stride + j * column_stride];
        }
      }
    }
  }
}

/// Writes `in` with its axes in another order. The last result axis and the one that is contiguous
/// in `in` make up the blocks; the others are walked.
template <class T>
void transpose_values(const T* in, const shape& in_dims, const permutation& order, T* out) {
  const shape dims = order.apply(in_dims);
  const shape strides = order.apply(row_major_strides(in_dims));
  if (dims.size() == 0) return;
  if (dims.rank < 2) {
    std::copy_n(in, dims.size(), out);
    return;
  }
  const shape out_strides = row_major_strides(dims);
  const int column = dims.rank - 1;
  int row = column - 1;
  for (int i = 0; i < column; ++i) {
    if (order.from[i] == in_dims.rank - 1) row = i;
  }
  const std::int64_t blocks = dims.size() / (dims.dims[row] * dims.dims[column]);
  for (std::int64_t b = 0; b < blocks; ++b) {
    std::int64_t rest = b;
    std::int64_t from = 0;
    std::int64_t to = 0;
    for (int i = column - 1; i >= 0; --i) {
      if (i == row) continue;
      const std::int64_t index = rest % dims.dims[i];
      rest /= dims.dims[i];
      from += index * strides.dims[i];
      to += index * out_strides.dims[i];
    }
    copy_strided(in + from, strides.dims[row], strides.dims[column], out + to,
                 out_strides.dims[row], dims.dims[row], dims.dims[column]);
  }
}

/// The operand itself, or the tensor that an expression gives.
template <class X>
[[nodiscard]] decltype(auto) stored_operand(const X& x) {
  if constexpr (tensor_expression<X>) {
    return x.eval();
  } else {
    return (x);
  }
}

/// Why `From` does not reshape to `To`, or nothing.
template <tensor_type From, tensor_type To>
struct reshape_sentence {
  static constexpr text make() {
    text out;
    if (From.size() == To.size()) return out;
    return out << "reshape: " << From << " to " << To << ": " << From.size()
               << " elements must equal " << To.size();
  }
  static constexpr text sentence = make();
};

/// Why `From` does not broadcast to `To`, or nothing.
template <tensor_type From, tensor_type To>
struct broadcast_sentence {
  static constexpr text make() {
    text out;
    const broadcast_result both = broadcast_dims(From, To);
    if (both.ok() && both.dims == To.dims) return out;
    return out << "broadcast_to: " << From << " to " << To
               << ": sizes must be equal or 1, aligned at the last axis";
  }
  static constexpr text sentence = make();
};

/// A node whose elements are repeated to the shape `Dims`.
template <class Node, std::int64_t... Dims>
class repeated {
 public:
  using value_type = typename Node::value_type;
  static constexpr shape dims = shape::of({Dims...});
  static constexpr int cost = Node::cost;

  explicit repeated(Node node) : node_(std::move(node)) {}

  [[nodiscard]] static constexpr unsigned cuts(const shape& result) { return Node::cuts(result); }
  template <class Visit>
  void visit_leaves(Visit& visit) const {
    node_.visit_leaves(visit);
  }
  template <loop_space Space>
  [[nodiscard]] auto cursor() const {
    return node_.template cursor<Space>();
  }

 private:
  Node node_;
};

}  // namespace loops::eager

/// The axes in the order `Axes`, or reversed if none is given.
///
///   x  f32[2, 3, 4]     transpose(x)  f32[4, 3, 2]     transpose<1, 0, 2>(x)  f32[3, 2, 4]
///
/// Cost: one copy. Ill-formed: not each axis once.
template <int... Axes, eager_operand X>
[[nodiscard]] auto transpose(const X& x) {
  using source = loops::eager::transposed<X, Axes...>;
  static_assert(source::order.is_valid(X::rank), "transpose: each axis must be given once");
  const auto& in = loops::eager::stored_operand(x);
  auto out = loops::eager::tensor_of<source>::uninitialized();
  loops::eager::transpose_values(in.data(), X::dims, source::order, out.data());
  return out;
}

/// The same values in row-major order under another shape.
///
/// Cost: one copy. Ill-formed: another number of elements.
template <std::int64_t... Dims, eager_operand X>
[[nodiscard]] auto reshape(const X& x) {
  using result = tensor<typename X::value_type, Dims...>;
  static_assert(spell<loops::eager::reshape_sentence<X::type, result::type>>::ok,
                "atled: the sizes do not fit; trace_error<...> says why");
  const auto& in = loops::eager::stored_operand(x);
  auto out = result::uninitialized();
  std::copy_n(in.data(), std::min(X::size(), result::size()), out.data());
  return out;
}

/// The values repeated along leading axes and axes of size 1; an expression, as `x + 1` is.
///
/// Ill-formed: sizes that are neither equal nor 1.
template <std::int64_t... Dims, eager_operand X>
[[nodiscard]] auto broadcast_to(X&& x) {
  using from = std::remove_cvref_t<X>;
  static_assert(
      spell<loops::eager::broadcast_sentence<from::type,
                                             tensor<typename from::value_type, Dims...>::type>>::ok,
      "atled: the sizes do not fit; trace_error<...> says why");
  auto node = loops::eager::node_of(std::forward<X>(x));
  return lazy(loops::eager::repeated<decltype(node), Dims...>(std::move(node)));
}

}  // namespace atled
