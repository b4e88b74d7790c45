// atled/trace/expr.hpp: what a traced function sees in place of a tensor: a node of the graph.
// Reads: ir/builder.hpp. The functions on it are in ops/; only operators stand here.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/broadcast.hpp"
#include "atled/ir/builder.hpp"
#include "atled/trace/index.hpp"

#include <concepts>
#include <type_traits>

namespace atled {

/// A value of a program that is being traced: it behaves as the tensor it stands for.
///
/// Its shape is a value, not a part of its type: `for` loops over layers and `if` on shapes are
/// ordinary C++, run by the compiler while it traces.
/// - An ill-typed operation gives a poisoned expression; the first sentence is reported once.
class expr {
 public:
  constexpr expr() = default;
  constexpr expr(ir::builder& into, int id) : builder_(&into), id_(id) {}

  [[nodiscard]] constexpr int id() const { return id_; }
  [[nodiscard]] constexpr ir::builder& builder() const { return *builder_; }
  [[nodiscard]] constexpr bool is_traced() const { return builder_ != nullptr; }
  [[nodiscard]] constexpr bool is_poison() const { return id_ < 0; }

  [[nodiscard]] constexpr tensor_type type() const {
    return is_poison() ? tensor_type{dtype::f32, {}} : builder_->type(id_);
  }
  [[nodiscard]] constexpr shape dims() const { return type().dims; }
  [[nodiscard]] constexpr int rank() const { return dims().rank; }
  /// The size of an axis; a bounded one is a token to make shapes of, and no number.
  [[nodiscard]] constexpr std::int64_t dim(int axis) const {
    const shape s = dims();
    return s[axis < 0 ? axis + s.rank : axis];
  }
  /// Number of elements. Ill-formed: a bounded axis; see size(x, axis).
  [[nodiscard]] constexpr std::int64_t size(call_site at = call_site::here()) const {
    if (dims().bounded_axes() != 0) {
      builder_->site = at;
      text why;
      builder_->fail("size", why << type() << ": its number of elements is known at the call only; "
                                 << "use size(x, axis)");
    }
    return dims().size();
  }
  [[nodiscard]] constexpr dtype element() const { return type().element; }

  /// Elements, rows, windows ... by place: `x(1, range(0, 3), newaxis)`; see ops/indexing.hpp.
  [[nodiscard]] constexpr expr operator()(const index_item& i0, const index_item& i1 = {},
                                          const index_item& i2 = {}, const index_item& i3 = {},
                                          const index_item& i4 = {}, const index_item& i5 = {},
                                          const index_item& i6 = {},
                                          const index_item& i7 = {}) const;

 private:
  ir::builder* builder_ = nullptr;
  int id_ = ir::poison;
};

template <class T>
concept literal_number = std::is_arithmetic_v<T>;

/// An operand: an expression or a number, and the line on which it was written.
///
/// An operator cannot have a default argument, so its operands carry the position: the conversion
/// happens on the user's line. A number is weakly typed: it takes the element type of the other
/// operand, as in JAX.
class located {
 public:
  constexpr located(const expr& value, call_site at = call_site::here())  // NOLINT: converts
      : value_(value), at_(at) {}
  template <literal_number T>
  constexpr located(T literal, call_site at = call_site::here())  // NOLINT: converts
      : literal_(static_cast<double>(literal)),
        kind_(std::is_same_v<T, bool>       ? literal_kind::truth
              : std::is_floating_point_v<T> ? literal_kind::floating
                                            : literal_kind::integer),
        at_(at) {}

  enum class literal_kind : std::uint8_t { nothing, truth, integer, floating };

  [[nodiscard]] constexpr bool is_literal() const { return kind_ != literal_kind::nothing; }
  [[nodiscard]] constexpr literal_kind kind() const { return kind_; }
  [[nodiscard]] constexpr double literal() const { return literal_; }
  [[nodiscard]] constexpr const expr& value() const { return value_; }
  [[nodiscard]] constexpr const call_site& at() const { return at_; }

 private:
  expr value_;
  double literal_ = 0;
  literal_kind kind_ = literal_kind::nothing;
  call_site at_;
};

namespace ir {

/// Appends one op; the position and the user's name for it go with the node.
[[nodiscard]] constexpr expr append(op code, const call_site& at, const expr& x,
                                    const attribute_list& attributes = {},
                                    const tensor_type& wanted = {}) {
  builder& b = x.builder();
  b.site = at;
  return {b, b.append(code, {x.id()}, attributes, wanted)};
}

/// The element type that a weakly typed literal takes beside `other`.
[[nodiscard]] constexpr dtype literal_element(located::literal_kind kind, dtype other) {
  using enum located::literal_kind;
  if (kind == floating) return is_floating(other) ? other : dtype::f32;
  if (kind == integer) return other == dtype::boolean ? dtype::i32 : other;
  return other;
}

/// The shape of two operands broadcast together as NumPy does, or a sentence's middle and end.
[[nodiscard]] constexpr typed broadcast_type(const tensor_type& lhs, const tensor_type& rhs) {
  const broadcast_result together = broadcast_dims(lhs, rhs);
  if (!together.ok()) return typed::failed(together.problem);
  return typed::of(promote(lhs.element, rhs.element), together.dims);
}

/// `x` repeated along leading axes and axes of size 1, aligned at the last axis.
[[nodiscard]] constexpr int broadcast_to(builder& b, int x, const shape& dims) {
  if (x < 0) return poison;
  const int lead = dims.rank - b.type(x).rank();
  std::int64_t mask = 0;
  for (int i = lead; i < dims.rank; ++i) mask |= std::int64_t{1} << i;
  return b.broadcast(x, dims, mask);
}

namespace detail {
constexpr builder& builder_of(const located& lhs, const located& rhs) {
  return lhs.is_literal() ? rhs.value().builder() : lhs.value().builder();
}
constexpr int materialize(builder& b, const located& operand, dtype other) {
  if (!operand.is_literal()) return operand.value().id();
  const dtype element = literal_element(operand.kind(), other);
  return b.constant(operand.literal(), element);
}
}  // namespace detail

/// One elementwise op on two operands, promoted and broadcast.
///
/// Ill-formed: shapes that do not broadcast; an element type the op does not take.
[[nodiscard]] constexpr expr binary(op code, const char* name, const located& lhs,
                                    const located& rhs) {
  builder& b = detail::builder_of(lhs, rhs);
  b.site = (lhs.at().line > 0 ? lhs.at() : rhs.at()).in(name);
  const dtype other = lhs.is_literal() ? rhs.value().element() : lhs.value().element();
  int x = detail::materialize(b, lhs, other);
  int y = detail::materialize(b, rhs, other);
  if (x < 0 || y < 0) return {b, poison};
  const typed together = broadcast_type(b.type(x), b.type(y));
  if (!together.ok()) return {b, b.fail(code, together.problem)};
  x = broadcast_to(b, b.convert(x, together.type.element), together.type.dims);
  y = broadcast_to(b, b.convert(y, together.type.element), together.type.dims);
  return {b, b.append(code, {x, y})};
}

}  // namespace ir

// The conversion of each operand to `located` happens on the user's line: g++ gives the line of the
// operator, clang 14 that of the operand.

[[nodiscard]] constexpr expr operator+(const located& lhs, const located& rhs) {
  return ir::binary(op::add, "add", lhs, rhs);
}
[[nodiscard]] constexpr expr operator-(const located& lhs, const located& rhs) {
  return ir::binary(op::sub, "subtract", lhs, rhs);
}
[[nodiscard]] constexpr expr operator*(const located& lhs, const located& rhs) {
  return ir::binary(op::mul, "multiply", lhs, rhs);
}
/// The true quotient: integers are divided as f32, as in JAX; see `floor_divide` for integers.
[[nodiscard]] constexpr expr operator/(const located& lhs, const located& rhs) {
  const auto as_floating = [](const located& x) {
    if (x.is_literal() || x.value().is_poison() || is_floating(x.value().element())) return x;
    const expr converted = ir::append(op::convert, x.at(), x.value(), {}, {dtype::f32, {}});
    return located(converted, x.at());
  };
  return ir::binary(op::div, "divide", as_floating(lhs), as_floating(rhs));
}
[[nodiscard]] constexpr expr operator-(const located& x) {
  return ir::append(op::neg, x.at().in("negative"), x.value());
}
[[nodiscard]] constexpr expr operator==(const located& lhs, const located& rhs) {
  return ir::binary(op::eq, "equal", lhs, rhs);
}
[[nodiscard]] constexpr expr operator!=(const located& lhs, const located& rhs) {
  return ir::binary(op::ne, "not_equal", lhs, rhs);
}
[[nodiscard]] constexpr expr operator<(const located& lhs, const located& rhs) {
  return ir::binary(op::lt, "less", lhs, rhs);
}
[[nodiscard]] constexpr expr operator<=(const located& lhs, const located& rhs) {
  return ir::binary(op::le, "less_equal", lhs, rhs);
}
[[nodiscard]] constexpr expr operator>(const located& lhs, const located& rhs) {
  return ir::binary(op::gt, "greater", lhs, rhs);
}
[[nodiscard]] constexpr expr operator>=(const located& lhs, const located& rhs) {
  return ir::binary(op::ge, "greater_equal", lhs, rhs);
}
[[nodiscard]] constexpr expr operator&(const located& lhs, const located& rhs) {
  return ir::binary(op::bit_and, "bitwise_and", lhs, rhs);
}
[[nodiscard]] constexpr expr operator|(const located& lhs, const located& rhs) {
  return ir::binary(op::bit_or, "bitwise_or", lhs, rhs);
}
[[nodiscard]] constexpr expr operator^(const located& lhs, const located& rhs) {
  return ir::binary(op::bit_xor, "bitwise_xor", lhs, rhs);
}
[[nodiscard]] constexpr expr operator!(const located& x) {
  return ir::append(op::logical_not, x.at().in("logical_not"), x.value());
}
constexpr expr& operator+=(expr& lhs, const located& rhs) {
  return lhs = located(lhs, rhs.at()) + rhs;
}
constexpr expr& operator-=(expr& lhs, const located& rhs) {
  return lhs = located(lhs, rhs.at()) - rhs;
}
constexpr expr& operator*=(expr& lhs, const located& rhs) {
  return lhs = located(lhs, rhs.at()) * rhs;
}
constexpr expr& operator/=(expr& lhs, const located& rhs) {
  return lhs = located(lhs, rhs.at()) / rhs;
}

}  // namespace atled
