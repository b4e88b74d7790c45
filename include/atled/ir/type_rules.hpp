// atled/ir/type_rules.hpp: what each op gives for operands of given types, or why it cannot.
// Reads: ir/graph.hpp. Broadcasting and promotion happen before, in ops/; here types must agree.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/graph.hpp"

namespace atled::ir {

/// A type, or the middle and end of a sentence: `f32[8,16] and f32[8]: sizes must be equal`.
struct typed {
  tensor_type type;
  text problem;

  [[nodiscard]] constexpr bool ok() const { return problem.empty(); }
  [[nodiscard]] static constexpr typed of(dtype element, const shape& dims) {
    return {{element, dims}, {}};
  }
  [[nodiscard]] static constexpr typed of(const tensor_type& type) { return {type, {}}; }
  [[nodiscard]] static constexpr typed failed(const text& why) { return {{}, why}; }
};

/// The operand types of one op.
struct operand_types {
  static constexpr int capacity = 1 << 12;
  tensor_type types[capacity];
  int size;

  constexpr const tensor_type& operator[](int i) const { return types[i]; }
};

namespace detail {

constexpr text pair_text(const tensor_type& lhs, const tensor_type& rhs) {
  text out;
  return out << lhs << " and " << rhs << ": ";
}

constexpr typed elementwise_type(op code, const operand_types& in) {
  for (int i = 1; i < in.size; ++i) {
    const int first = code == op::select ? 1 : 0;
    if (i <= first) continue;
    if (in[i].element != in[first].element) {
      return typed::failed(pair_text(in[first], in[i]) << "element types must be equal");
    }
  }
  for (int i = 1; i < in.size; ++i) {
    if (!(in[i].dims == in[0].dims)) {
      return typed::failed(pair_text(in[0], in[i]) << "shapes must be equal");
    }
  }
  if (is_compare(code) || code == op::is_finite) return typed::of(dtype::boolean, in[0].dims);
  return typed::of(in[code == op::select ? 1 : 0]);
}

/// Which element types an elementwise op takes: a word for the sentence, empty if it takes all.
constexpr std::string_view wanted_elements(op code, dtype element) {
  switch (code) {
    case op::exp:
    case op::expm1:
    case op::log:
    case op::log1p:
    case op::tanh:
    case op::logistic:
    case op::sin:
    case op::cos:
    case op::sqrt:
    case op::rsqrt:
    case op::erf:
    case op::erfc:
    case op::erf_inv:
    case op::sinh:
    case op::cosh:
    case op::cbrt:
    case op::lgamma:
    case op::polygamma:
    case op::atan2:
    case op::is_finite:
    case op::strong_mul:
      return is_floating(element) ? "" : "a floating type";
    case op::neg:
    case op::add:
    case op::sub:
    case op::mul:
    case op::div:
    case op::rem:
    case op::pow:
    case op::abs:
    case op::sign:
      return element != dtype::boolean ? "" : "numbers, not booleans; convert them first";
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::logical_not:
      return !is_floating(element) ? "" : "booleans or integers";
    case op::shift_left:
    case op::shift_right:
      return is_integer(element) ? "" : "integers";
    default:
      return "";
  }
}

constexpr typed reduction_type(op code, const tensor_type& in, std::int64_t mask) {
  shape dims{};
  std::int64_t count = 1;
  for (int i = 0; i < in.rank(); ++i) {
    if (has_axis(mask, i)) {
      count *= bound_of(in.dims[i]);
    } else {
      dims.push(in.dims[i]);
    }
  }
  const bool has_neutral = code == op::reduce_sum || code == op::reduce_prod;
  if (count == 0 && !has_neutral) {
    text why;
    return typed::failed(why << in << ": the reduced axes hold no element, and a maximum of "
                             << "nothing is undefined");
  }
  const bool is_index = code == op::argmax || code == op::argmin;
  return typed::of(is_index ? dtype::i32 : in.element, dims);
}

/// Bounded axes stay axes of their own, in their order, with as many elements before and behind
/// each as there were.
constexpr bool is_reshape(const shape& from, const shape& to) {
  int i = 0;
  int j = 0;
  while (true) {
    std::int64_t before = 1;
    std::int64_t after = 1;
    while (i < from.rank && !is_bounded(from[i])) before *= from[i++];
    while (j < to.rank && !is_bounded(to[j])) after *= to[j++];
    if (before != after) return false;
    if (i == from.rank || j == to.rank) return i == from.rank && j == to.rank;
    if (from[i++] != to[j++]) return false;
  }
}
constexpr typed reshape_type(const tensor_type& in, const tensor_type& wanted) {
  text why;
  if (!is_reshape(in.dims, wanted.dims)) {
    why << in << " to " << wanted << ": ";
    if ((in.dims.bounded_axes() | wanted.dims.bounded_axes()) != 0) {
      return typed::failed(why << "a bounded axis must stay as it is, with as many elements before "
                               << "and behind it");
    }
    return typed::failed(why << in.size() << " elements must equal " << wanted.size());
  }
  return typed::of(in.element, wanted.dims);
}

/// Why a bounded axis has no part at a fixed place.
constexpr typed no_fixed_parts(const tensor_type& type, int axis) {
  text why;
  return typed::failed(why << type << " along axis " << axis << ": its size is known at the call "
                           << "only, so it has no fixed parts; use take or dynamic_slice");
}

/// A window that is taken or written at computed places: of a bounded axis all, or a fixed part.
constexpr typed window_type(const tensor_type& in, const tensor_type& window,
                            const tensor_type& out) {
  for (int i = 0; i < in.rank() && i < window.rank(); ++i) {
    if (!is_bounded(window.dims[i]) || !is_bounded(in.dims[i])) continue;
    if (window.dims[i] == in.dims[i]) continue;
    text why;
    return typed::failed(why << in << " with a window " << window << ": axis " << i
                             << " of the window must have a fixed size");
  }
  return typed::of(out);
}

constexpr typed concatenate_type(const operand_types& in, int axis) {
  tensor_type out = in[0];
  for (int i = 0; i < in.size; ++i) {
    tensor_type other = in[i];
    if (in.size > 1 && is_bounded(other.dims[axis])) return no_fixed_parts(other, axis);
    if (i == 0) continue;
    other.dims[axis] = out.dims[axis];
    if (!(other == out)) {
      return typed::failed(pair_text(in[0], in[i]) << "all but axis " << axis << " must be equal");
    }
    out.dims[axis] += in[i].dims[axis];
  }
  return typed::of(out);
}

constexpr typed argsort_type(const tensor_type& in, const attribute_list& attributes) {
  shape dims = in.dims;
  const auto axis = static_cast<int>(attributes.values[0]);
  const std::int64_t count = attributes.values[2];
  text why;
  if (is_bounded(dims[axis]) && count != dims[axis]) {
    return typed::failed(why << in << " along axis " << axis << ": its size is known at the call "
                             << "only: all elements are put in order, not " << count);
  }
  if (count < 0 || count > dims[axis]) {
    return typed::failed(why << in << " along axis " << axis << ": " << count
                             << " elements must be from 0 to " << dims[axis]);
  }
  dims[axis] = count;
  return typed::of(dtype::i32, dims);
}

constexpr typed external_type(const operand_types& in, const tensor_type& out) {
  for (int i = 0; i < in.size; ++i) {
    if (in[i].dims.bounded_axes() == 0) continue;
    text why;
    return typed::failed(why << "argument " << in[i] << ": a host function takes fixed sizes only");
  }
  return typed::of(out);
}

constexpr typed dot_type(const tensor_type& lhs, const tensor_type& rhs, const dot_axes& axes) {
  shape dims{};
  for (int i = 0; i < axes.num_batch; ++i) {
    const auto left = lhs.dims[axes.lhs_batch[i]];
    const auto right = rhs.dims[axes.rhs_batch[i]];
    if (left != right) {
      text why;
      return typed::failed(why << "lhs " << lhs << " and rhs " << rhs << ": lhs axis "
                               << axes.lhs_batch[i] << " (" << size_text{left}
                               << ") must equal rhs axis " << axes.rhs_batch[i] << " ("
                               << size_text{right} << ")");
    }
    dims.push(left);
  }
  for (int i = 0; i < axes.num_contract; ++i) {
    const auto left = lhs.dims[axes.lhs_contract[i]];
    const auto right = rhs.dims[axes.rhs_contract[i]];
    if (left != right) {
      text why;
      return typed::failed(why << "lhs " << lhs << " and rhs " << rhs << ": lhs axis "
                               << axes.lhs_contract[i] << " (" << size_text{left}
                               << ") must equal rhs axis " << axes.rhs_contract[i] << " ("
                               << size_text{right} << ")");
    }
  }
  if (lhs.element != rhs.element) {
    return typed::failed(pair_text(lhs, rhs) << "element types must be equal");
  }
  if (lhs.rank() + rhs.rank() - axes.num_batch - 2 * axes.num_contract > max_rank) {
    return typed::failed(pair_text(lhs, rhs) << "the result would have more than 8 axes");
  }
  for (int i = 0; i < lhs.rank(); ++i) {
    if (axes.role_of_lhs(i) == 'f') dims.push(lhs.dims[i]);
  }
  for (int i = 0; i < rhs.rank(); ++i) {
    if (axes.role_of_rhs(i) == 'f') dims.push(rhs.dims[i]);
  }
  return typed::of(lhs.element, dims);
}

constexpr typed gather_type(const tensor_type& value, const tensor_type& indices, int axis,
                            int batch_dims) {
  if (!is_integer(indices.element)) {
    text why;
    return typed::failed(why << "indices " << indices << ": they must be integers");
  }
  shape dims{};
  for (int i = 0; i < axis; ++i) dims.push(value.dims[i]);
  for (int i = batch_dims; i < indices.rank(); ++i) dims.push(indices.dims[i]);
  for (int i = axis + 1; i < value.rank(); ++i) dims.push(value.dims[i]);
  for (int i = 0; i < batch_dims; ++i) {
    if (value.dims[i] != indices.dims[i]) {
      return typed::failed(pair_text(value, indices)
                           << "axis " << i << " is shared, so its sizes must be equal");
    }
  }
  return typed::of(value.element, dims);
}

constexpr typed linear_type(op code, const operand_types& in) {
  tensor_type out = in[0];
  text why;
  if (out.element != dtype::f32 && out.element != dtype::f64) {
    return typed::failed(why << out << ": it takes f32 or f64");
  }
  if (out.rank() < 2)
    return typed::failed(why << out << ": it takes matrices, of two axes or more");
  const int rows_axis = out.rank() - 2;
  const int cols_axis = out.rank() - 1;
  const std::int64_t rows = out.dims[rows_axis];
  const std::int64_t cols = out.dims[cols_axis];
  if (is_bounded(rows) || is_bounded(cols)) {
    return typed::failed(why << out << ": rows and columns must have fixed sizes");
  }
  const bool is_square_only =
      code == op::cholesky || code == op::triangular_solve || code == op::eigh;
  if (is_square_only && rows != cols) {
    return typed::failed(why << out << ": the matrix must be square");
  }
  if (rows < cols && (code == op::qr || code == op::svd)) {
    return typed::failed(why << out << ": there must be at least as many rows as columns");
  }
  if (code == op::triangular_solve) {
    tensor_type fits = in[1];
    if (fits.rank() == out.rank()) fits.dims[cols_axis] = cols;
    if (!(fits == out)) {
      return typed::failed(pair_text(out, in[1]) << "rows and leading axes must be equal");
    }
    out = in[1];
  }
  if (code == op::lu) ++out.dims[cols_axis];
  if (code == op::eigh) ++out.dims[rows_axis];
  if (code == op::qr) out.dims[rows_axis] += cols;
  if (code == op::svd) out.dims[rows_axis] += cols + 1;
  return typed::of(out);
}

constexpr typed slice_type(const tensor_type& in, const tensor_type& wanted,
                           const attribute_list& attributes) {
  for (int i = 0; i < in.rank(); ++i) {
    const auto start = attributes.values[i];
    const auto stride = attributes.values[in.rank() + i];
    if (is_bounded(in.dims[i]) || is_bounded(wanted.dims[i])) {
      if (in.dims[i] != wanted.dims[i] || start != 0 || stride != 1) return no_fixed_parts(in, i);
      continue;
    }
    const auto last = start + (wanted.dims[i] - 1) * stride;
    if (start < 0 || stride < 1 || (wanted.dims[i] > 0 && last >= in.dims[i])) {
      text why;
      return typed::failed(why << in << ": axis " << i << " from " << start << " to " << last
                               << " is not inside its size " << in.dims[i]);
    }
  }
  return typed::of(in.element, wanted.dims);
}

constexpr typed pad_type(const tensor_type& in, const tensor_type& wanted,
                         const attribute_list& attributes) {
  for (int i = 0; i < in.rank() && i < wanted.rank(); ++i) {
    if (!is_bounded(in.dims[i]) && !is_bounded(wanted.dims[i])) continue;
    const bool is_whole = attributes.values[i] == 0 && attributes.values[in.rank() + i] == 0;
    if (in.dims[i] != wanted.dims[i] || !is_whole) return no_fixed_parts(in, i);
  }
  return typed::of(wanted);
}

}  // namespace detail

/// The type of `code` applied to `in`; `wanted` carries dims and element where attributes do not
/// determine them (sources, broadcast, reshape, convert, slice, pad, dynamic_slice).
///
/// Cost: O(operands x rank).
[[nodiscard]] constexpr typed infer_type(op code, const operand_types& in,
                                         const attribute_list& attributes,
                                         const tensor_type& wanted) {
  if (is_elementwise(code) && in.size > 0) {
    const dtype element = in[code == op::select ? 1 : 0].element;
    if (const auto needed = detail::wanted_elements(code, element); !needed.empty()) {
      text why;
      return typed::failed(why << in[0] << ": it takes " << needed);
    }
  }
  switch (code) {
    case op::parameter:
    case op::variable:
    case op::constant:
    case op::iota:
    case op::broadcast:
    case op::custom_linear:
    case op::custom_part:
    case op::external_result:
    case op::extent:
    case op::all_gather:
    case op::psum_scatter:
    case op::all_to_all:
    case op::axis_index:
    case op::axis_size:
    case op::loop:
    case op::cond:
    case op::result_of:
      return typed::of(wanted);
    case op::carry:
    case op::enter:
      return typed::of(in[0]);
    case op::item: {
      shape dims{};
      for (int i = 1; i < in[0].rank(); ++i) dims.push(in[0].dims[i]);
      return typed::of(in[0].element, dims);
    }
    case op::convert:
      return typed::of(wanted.element, in[0].dims);
    case op::reshape:
      return detail::reshape_type(in[0], wanted);
    case op::pad:
      return detail::pad_type(in[0], wanted, attributes);
    case op::dynamic_slice:
      return detail::window_type(in[0], wanted, wanted);
    case op::dynamic_update_slice:
      return detail::window_type(in[0], in[1], in[0]);
    case op::external:
      return detail::external_type(in, wanted);
    case op::select:
      if (in[0].element != dtype::boolean) {
        text why;
        return typed::failed(why << "predicate " << in[0] << ": it must be boolean");
      }
      return detail::elementwise_type(code, in);
    case op::neg:
    case op::exp:
    case op::expm1:
    case op::log:
    case op::log1p:
    case op::tanh:
    case op::logistic:
    case op::sin:
    case op::cos:
    case op::sqrt:
    case op::rsqrt:
    case op::erf:
    case op::erfc:
    case op::erf_inv:
    case op::sinh:
    case op::cosh:
    case op::cbrt:
    case op::lgamma:
    case op::polygamma:
    case op::abs:
    case op::sign:
    case op::floor:
    case op::ceil:
    case op::round:
    case op::is_finite:
    case op::logical_not:
    case op::stop_gradient:
    case op::checkpoint_name:
    case op::add:
    case op::sub:
    case op::mul:
    case op::strong_mul:
    case op::div:
    case op::rem:
    case op::pow:
    case op::max:
    case op::min:
    case op::atan2:
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::shift_left:
    case op::shift_right:
    case op::eq:
    case op::ne:
    case op::lt:
    case op::le:
    case op::gt:
    case op::ge:
    case op::threefry:
      return detail::elementwise_type(code, in);
    case op::transpose: {
      shape dims{};
      for (int i = 0; i < in[0].rank(); ++i) {
        dims.push(in[0].dims[permuted_axis(attributes.values[0], i)]);
      }
      return typed::of(in[0].element, dims);
    }
    case op::slice:
      return detail::slice_type(in[0], wanted, attributes);
    case op::reverse:
    case op::cumsum:
    case op::reverse_cumsum:
    case op::cumprod:
    case op::cummax:
    case op::cummin:
    case op::cumlogsumexp:
    case op::scatter_add:
    case op::scatter_max:
    case op::custom:
    case op::barrier:
    case op::sharding_constraint:
    case op::psum:
    case op::pmax:
    case op::pmin:
    case op::ppermute:
      return typed::of(in[0]);
    case op::argsort:
      return detail::argsort_type(in[0], attributes);
    case op::concatenate:
      return detail::concatenate_type(in, static_cast<int>(attributes.values[0]));
    case op::gather:
      return detail::gather_type(in[0], in[1], static_cast<int>(attributes.values[0]),
                                 static_cast<int>(attributes.values[1]));
    case op::reduce_sum:
    case op::reduce_prod:
    case op::reduce_max:
    case op::reduce_min:
    case op::reduce_logsumexp:
    case op::argmax:
    case op::argmin:
      return detail::reduction_type(code, in[0], attributes.values[0]);
    case op::cholesky:
    case op::triangular_solve:
    case op::lu:
    case op::qr:
    case op::eigh:
    case op::svd:
      return detail::linear_type(code, in);
    case op::dot:
      return detail::dot_type(in[0], in[1], dot_axes::unpacked(attributes));
  }
  __builtin_unreachable();
}

}  // namespace atled::ir
