// atled/ops/integer.hpp: division with remainder, bits, truth values.
// Reads: ops/operand.hpp. `div` and `rem` truncate, `floor_divide` and `remainder` round down.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/operand.hpp"

namespace atled {

// --- division --------------------------------------------------------------------------------

/// The true quotient; integers are divided as f32.
[[nodiscard]] constexpr expr divide(const located& x, const located& y,
                                    call_site at = call_site::here()) {
  at = at.in("divide");
  return ir::moved_to(x, at) / ir::moved_to(y, at);
}

/// The quotient; of integers truncated towards 0: -7 / 2 is -3.
[[nodiscard]] constexpr expr div(const located& x, const located& y,
                                 call_site at = call_site::here()) {
  return ir::binary(op::div, at.in("div"), x, y);
}

/// The remainder of the truncated quotient, with the sign of `x`: -7 and 2 give -1.
[[nodiscard]] constexpr expr rem(const located& x, const located& y,
                                 call_site at = call_site::here()) {
  return ir::binary(op::rem, at.in("rem"), x, y);
}
/// The same as `rem`.
[[nodiscard]] constexpr expr fmod(const located& x, const located& y,
                                  call_site at = call_site::here()) {
  return ir::binary(op::rem, at.in("fmod"), x, y);
}

namespace detail {
/// Where a truncated remainder has the other sign than the divisor.
constexpr ir::operand is_on_wrong_side(const ir::operand& remainder, const ir::operand& divisor) {
  const auto differ = ir::operand::combine(op::ne, remainder < 0.0, divisor < 0.0);
  return (remainder != 0.0) & differ;
}
}  // namespace detail

/// The remainder of the quotient rounded down, with the sign of `y`: -7 and 2 give 1.
///
/// Gradient: by x 1, by y -floor(x / y).
[[nodiscard]] constexpr expr remainder(const located& x, const located& y,
                                       call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("remainder");
  const auto [left, right] = ir::promoted(b, x, y);
  const auto truncated = ir::operand::combine(op::rem, left, right);
  const auto wrong_side = detail::is_on_wrong_side(truncated, right);
  return ir::broadcast_select(wrong_side, truncated + right, truncated);
}
/// `remainder`, as Python's and JAX's `%`.
[[nodiscard]] constexpr expr operator%(const located& x, const located& y) {
  return remainder(x, y, x.at());
}

/// The quotient rounded down: -7 and 2 give -4.
///
/// Gradient: 0.
[[nodiscard]] constexpr expr floor_divide(const located& x, const located& y,
                                          call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("floor_divide");
  const auto [left, right] = ir::promoted(b, x, y);
  const auto truncated = ir::operand::combine(op::rem, left, right);
  if (truncated.is_poison()) return truncated;
  const auto wrong_side = detail::is_on_wrong_side(truncated, right);
  if (!is_floating(truncated.type().element)) {
    const auto quotient = left / right;
    return ir::broadcast_select(wrong_side, quotient - 1.0, quotient);
  }
  // (x - remainder) / y is whole but for rounding; by 0 the quotient itself says inf or NaN.
  const auto below = ir::broadcast_select(wrong_side, truncated + right, truncated);
  const auto whole = ((left - below) / right).apply(op::round);
  return ir::broadcast_select(right == 0.0, (left / right).apply(op::floor), whole);
}

// --- bits ------------------------------------------------------------------------------------

[[nodiscard]] constexpr expr bitwise_and(const located& x, const located& y,
                                         call_site at = call_site::here()) {
  return ir::binary(op::bit_and, at.in("bitwise_and"), x, y);
}
[[nodiscard]] constexpr expr bitwise_or(const located& x, const located& y,
                                        call_site at = call_site::here()) {
  return ir::binary(op::bit_or, at.in("bitwise_or"), x, y);
}
[[nodiscard]] constexpr expr bitwise_xor(const located& x, const located& y,
                                         call_site at = call_site::here()) {
  return ir::binary(op::bit_xor, at.in("bitwise_xor"), x, y);
}
[[nodiscard]] constexpr expr bitwise_not(const expr& x, call_site at = call_site::here()) {
  return !ir::operand(x, at.in("bitwise_not"));
}
[[nodiscard]] constexpr expr left_shift(const located& x, const located& y,
                                        call_site at = call_site::here()) {
  return ir::binary(op::shift_left, at.in("left_shift"), x, y);
}
/// Keeps the sign of signed integers.
[[nodiscard]] constexpr expr right_shift(const located& x, const located& y,
                                         call_site at = call_site::here()) {
  return ir::binary(op::shift_right, at.in("right_shift"), x, y);
}

/// The number of bits that are 1, in the type of x.
///
/// Ill-formed: x is not integers.
[[nodiscard]] constexpr expr population_count(const expr& x, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("population_count"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const tensor_type type = in.type();
  const auto bits = [&](std::uint64_t pattern) {  // the same byte again and again
    const int value = b.integer_constant(static_cast<std::int64_t>(pattern), type.element);
    return ir::operand(b, b.broadcast(value, type.dims, 0));
  };
  const auto bytes = [&](std::uint64_t byte) {
    std::uint64_t all = 0;
    for (std::int64_t i = 0; i < size_of(type.element); ++i) all = all << 8 | byte;
    return bits(all);
  };
  const auto shifted = [&](const ir::operand& v, std::uint64_t by) {
    return ir::operand::combine(op::shift_right, v, bits(by));
  };
  if (!is_integer(type.element)) return shifted(in, 1);  // which says that it takes integers
  ir::operand v = in - (shifted(in, 1) & bytes(0x55));
  v = (v & bytes(0x33)) + (shifted(v, 2) & bytes(0x33));
  v = (v + shifted(v, 4)) & bytes(0x0f);
  if (size_of(type.element) == 1) return v;
  return shifted(v * bytes(1), static_cast<std::uint64_t>(8 * size_of(type.element) - 8));
}

// --- truth values: anything but a boolean is true where it is not 0 --------------------------

namespace detail {
constexpr expr logical(op code, const located& x, const located& y, const call_site& at) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at;
  const auto truth = [&](const located& z) {
    return ir::truth_of(ir::as_operand(b, z, dtype::boolean));
  };
  const ir::operand left = truth(x);
  return ir::operand::combine(code, left, truth(y));
}
}  // namespace detail

[[nodiscard]] constexpr expr logical_and(const located& x, const located& y,
                                         call_site at = call_site::here()) {
  return detail::logical(op::bit_and, x, y, at.in("logical_and"));
}
[[nodiscard]] constexpr expr logical_or(const located& x, const located& y,
                                        call_site at = call_site::here()) {
  return detail::logical(op::bit_or, x, y, at.in("logical_or"));
}
[[nodiscard]] constexpr expr logical_xor(const located& x, const located& y,
                                         call_site at = call_site::here()) {
  return detail::logical(op::bit_xor, x, y, at.in("logical_xor"));
}
[[nodiscard]] constexpr expr logical_not(const expr& x, call_site at = call_site::here()) {
  return !ir::truth_of(ir::operand(x, at.in("logical_not")));
}

}  // namespace atled
