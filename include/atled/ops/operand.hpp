// atled/ops/operand.hpp: how a function of the library computes: formulas that keep the position of
// the user's call, and the reading of its operands. Next: ops/arguments.hpp for axes and sizes.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/trace/expr.hpp"

#include <cstdint>
#include <initializer_list>

namespace atled::ir {

/// An expression inside a function of the library.
///
/// The operators of `expr` take the line on which they stand; those of `operand` keep the position
/// that the first operand was made with, which is the user's. They promote and broadcast alike.
class operand {
 public:
  /// Begins a formula: the nodes that follow belong to the call at `at`.
  constexpr operand(const expr& x, const call_site& at) : builder_(&x.builder()), id_(x.id()) {
    builder_->site = at;
  }
  constexpr operand(ir::builder& into, int id) : builder_(&into), id_(id) {}

  constexpr operator expr() const { return {*builder_, id_}; }  // NOLINT: the result of a formula

  [[nodiscard]] constexpr ir::builder& builder() const { return *builder_; }
  [[nodiscard]] constexpr int id() const { return id_; }
  [[nodiscard]] constexpr bool is_poison() const { return id_ < 0; }
  [[nodiscard]] constexpr tensor_type type() const { return expr(*this).type(); }

  /// One op on this value alone.
  [[nodiscard]] constexpr operand apply(op code) const {
    return {*builder_, builder_->unary(code, id_)};
  }
  [[nodiscard]] constexpr operand as(dtype element) const {
    return {*builder_, builder_->convert(id_, element)};
  }
  /// A constant of this value's type.
  [[nodiscard]] constexpr operand like(double value) const {
    return {*builder_, is_poison() ? poison : builder_->splat(value, type())};
  }

  [[nodiscard]] static constexpr operand combine(op code, const operand& lhs, const operand& rhs) {
    ir::builder& b = *lhs.builder_;
    if (lhs.is_poison() || rhs.is_poison()) return {b, poison};
    const typed both = broadcast_type(lhs.type(), rhs.type());
    if (!both.ok()) return {b, b.fail(code, both.problem)};
    const auto fit = [&](const operand& x) {
      return broadcast_to(b, b.convert(x.id_, both.type.element), both.type.dims);
    };
    const int x = fit(lhs);
    const int y = fit(rhs);
    return {b, b.binary(code, x, y)};
  }

  friend constexpr operand operator-(const operand& x) { return x.apply(op::neg); }
  friend constexpr operand operator!(const operand& x) { return x.apply(op::logical_not); }
  friend constexpr operand operator+(const operand& x, const operand& y) {
    return combine(op::add, x, y);
  }
  friend constexpr operand operator-(const operand& x, const operand& y) {
    return combine(op::sub, x, y);
  }
  friend constexpr operand operator*(const operand& x, const operand& y) {
    return combine(op::mul, x, y);
  }
  friend constexpr operand operator/(const operand& x, const operand& y) {
    return combine(op::div, x, y);
  }
  friend constexpr operand operator+(const operand& x, double y) { return x + x.like(y); }
  friend constexpr operand operator-(const operand& x, double y) { return x - x.like(y); }
  friend constexpr operand operator*(const operand& x, double y) { return x * x.like(y); }
  friend constexpr operand operator/(const operand& x, double y) { return x / x.like(y); }
  friend constexpr operand operator+(double x, const operand& y) { return y.like(x) + y; }
  friend constexpr operand operator-(double x, const operand& y) { return y.like(x) - y; }
  friend constexpr operand operator*(double x, const operand& y) { return y.like(x) * y; }
  friend constexpr operand operator/(double x, const operand& y) { return y.like(x) / y; }

  friend constexpr operand operator==(const operand& x, const operand& y) {
    return combine(op::eq, x, y);
  }
  friend constexpr operand operator!=(const operand& x, const operand& y) {
    return combine(op::ne, x, y);
  }
  friend constexpr operand operator<(const operand& x, const operand& y) {
    return combine(op::lt, x, y);
  }
  friend constexpr operand operator>(const operand& x, const operand& y) {
    return combine(op::gt, x, y);
  }
  friend constexpr operand operator<=(const operand& x, const operand& y) {
    return combine(op::le, x, y);
  }
  friend constexpr operand operator<=(const operand& x, double y) { return x <= x.like(y); }
  friend constexpr operand operator==(const operand& x, double y) { return x == x.like(y); }
  friend constexpr operand operator!=(const operand& x, double y) { return x != x.like(y); }
  friend constexpr operand operator<(const operand& x, double y) { return x < x.like(y); }
  friend constexpr operand operator>(const operand& x, double y) { return x > x.like(y); }
  friend constexpr operand operator&(const operand& x, const operand& y) {
    return combine(op::bit_and, x, y);
  }

 private:
  ir::builder* builder_;
  int id_;
};

/// `predicate ? x : y` for operands of one type and one shape.
[[nodiscard]] constexpr operand select(const operand& predicate, const operand& x,
                                       const operand& y) {
  return {x.builder(), x.builder().select(predicate.id(), x.id(), y.id())};
}

/// The same operand as if it had been written at `at`.
[[nodiscard]] constexpr located moved_to(const located& x, const call_site& at) {
  switch (x.kind()) {
    case located::literal_kind::nothing:
      return {x.value(), at};
    case located::literal_kind::truth:
      return {x.literal() != 0, at};
    case located::literal_kind::integer:
      return {static_cast<std::int64_t>(x.literal()), at};
    case located::literal_kind::floating:
      return {x.literal(), at};
  }
  __builtin_unreachable();
}

/// One elementwise op on two operands that stand in the call at `at`.
[[nodiscard]] constexpr expr binary(op code, const call_site& at, const located& lhs,
                                    const located& rhs) {
  return binary(code, at.function, moved_to(lhs, at), moved_to(rhs, at));
}

/// The floating type that a value takes where only floating types make sense.
[[nodiscard]] constexpr dtype floating_type(dtype element) {
  return is_floating(element) ? element : dtype::f32;
}

/// Begins a formula on `x` as a floating type: integers and booleans become f32, as in JAX.
[[nodiscard]] constexpr operand floating_operand(const expr& x, const call_site& at) {
  const operand in(x, at);
  return in.is_poison() ? in : in.as(floating_type(in.type().element));
}

/// A truth value: anything but a boolean is compared with 0.
[[nodiscard]] constexpr operand truth_of(const operand& x) {
  return x.is_poison() || x.type().element == dtype::boolean ? x : x != 0.0;
}

/// The builder of the first operand that is no literal.
[[nodiscard]] constexpr builder& builder_of(std::initializer_list<located> operands) {
  for (const located& x : operands) {
    if (!x.is_literal()) return x.value().builder();
  }
  return operands.begin()->value().builder();
}

/// An operand as a node; a literal takes the type that it has beside `other`.
[[nodiscard]] constexpr operand as_operand(builder& b, const located& x, dtype other) {
  if (!x.is_literal()) return {b, x.value().id()};
  return {b, b.constant(x.literal(), literal_element(x.kind(), other))};
}

/// Two operands promoted to one element type, each in its own shape.
struct operand_pair {
  operand lhs;
  operand rhs;
};
[[nodiscard]] constexpr operand_pair promoted(builder& b, const located& lhs, const located& rhs) {
  const auto alone = [](const located& x) {
    if (!x.is_literal()) return x.value().element();
    if (x.kind() == located::literal_kind::truth) return dtype::boolean;
    return x.kind() == located::literal_kind::integer ? dtype::i32 : dtype::f32;
  };
  const operand x = as_operand(b, lhs, alone(rhs));
  const operand y = as_operand(b, rhs, alone(lhs));
  if (x.is_poison() || y.is_poison()) return {{b, poison}, {b, poison}};
  const dtype element = promote(x.type().element, y.type().element);
  return {x.as(element), y.as(element)};
}

/// Two operands promoted to one floating type, each in its own shape.
[[nodiscard]] constexpr operand_pair promoted_floating(builder& b, const located& lhs,
                                                       const located& rhs) {
  const auto [x, y] = promoted(b, lhs, rhs);
  if (x.is_poison()) return {x, y};
  const dtype element = floating_type(x.type().element);
  return {x.as(element), y.as(element)};
}

/// `predicate ? x : y`, broadcast together; x and y have one element type.
[[nodiscard]] constexpr operand broadcast_select(const operand& predicate, const operand& x,
                                                 const operand& y) {
  builder& b = x.builder();
  if (predicate.is_poison() || x.is_poison() || y.is_poison()) return {b, poison};
  typed together = broadcast_type(x.type(), y.type());
  if (together.ok()) together = broadcast_type(predicate.type(), together.type);
  if (!together.ok()) return {b, b.fail(op::select, together.problem)};
  const auto fit = [&](const operand& in) {
    return operand(b, broadcast_to(b, in.id(), together.type.dims));
  };
  const operand p = fit(predicate);
  const operand left = fit(x);
  return select(p, left, fit(y));
}

}  // namespace atled::ir
