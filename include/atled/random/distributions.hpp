// atled/random/distributions.hpp: random numbers: bits, uniform, normal, randint, categorical ...
// Reads: random/key.hpp, ops/special.hpp. Same bits as jax.random with its default settings.
//
// Each has two forms:
//   uniform<f32, 3, 4>(key)     the shape is in the call: in a trace, and outside on key tensors
//   uniform(key, {3, 4})        in a trace only, where shapes are values
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"
#include "atled/ops/special.hpp"
#include "atled/random/key.hpp"
#include "atled/transform/transformed.hpp"

#include <array>
#include <bit>
#include <limits>

namespace atled::random {

namespace detail {

inline constexpr double root_of_two = 1.41421356237309504880;

/// `value` as a constant of the type rounds it.
constexpr double rounded(double value, dtype element) {
  return rounded_to(value, element);
}
/// The next number of the type above or below `value`; 0 stays.
constexpr double next_to(double value, dtype element, bool above) {
  const int step = above == (value > 0) ? 1 : -1;
  if (value == 0) return 0;
  if (element == dtype::f64) {
    return std::bit_cast<double>(std::bit_cast<std::int64_t>(value) + step);
  }
  const int bits = std::bit_cast<std::int32_t>(static_cast<f32>(value));
  // the last place of a half is so much higher up; f16: of its normal numbers
  const int place = element == dtype::f32 ? 1 : element == dtype::bf16 ? 1 << 16 : 1 << 13;
  return static_cast<double>(std::bit_cast<f32>(bits + step * place));
}

constexpr bool is_random_type(ir::builder& b, dtype element, bool wanted, const char* what) {
  if (wanted) return true;
  text why;
  b.fail(b.site.function, why << tensor_type{element, {}} << ": it gives " << what);
  return false;
}

/// Numbers k 2^-n with 0 <= k < 2^n, n the digits of the type: 23, 52, 10 for f16 or 7 for bf16,
/// from the blocks of keys at counters of one shape.
constexpr ir::operand unit_at(const std::array<ir::operand, 2>& words, const ir::operand& high,
                              const ir::operand& low, dtype element) {
  if (element == dtype::f64) {
    const ir::operand upper = threefry(words, high, low, 0);
    if (upper.is_poison()) return upper;
    const ir::operand lower = threefry(words, high, low, 1);
    const auto rest = ir::operand::combine(op::shift_right, lower, lower.like(12));
    return upper.as(element) * 0x1p-32 + rest.as(element) * 0x1p-52;
  }
  ir::operand bits = threefry(words, high, low, 2);
  if (bits.is_poison()) return bits;
  // jax.random draws 32 bits for f32, 16 for f16, 8 for bf16
  const int drawn = element == dtype::f32 ? 32 : element == dtype::f16 ? 16 : 8;
  const int digits = element == dtype::f32 ? 23 : element == dtype::f16 ? 10 : 7;
  if (drawn < 32) bits = bits & bits.like((1 << drawn) - 1);
  bits = ir::operand::combine(op::shift_right, bits, bits.like(drawn - digits));
  return bits.as(element) * (1.0 / (1 << digits));
}
constexpr ir::operand unit_uniform(const expr& key, const shape& dims, dtype element,
                                   const call_site& at) {
  const auto words = words_of(key, at);
  ir::builder& b = key.builder();
  if (!is_random_type(b, element, is_floating(element), "f32, f64, f16 or bf16")) {
    return {b, ir::poison};
  }
  const auto [high, low] = counters(b, dims);
  return unit_at(words, high, low, element);
}

/// Normal numbers from those of `unit_at`.
constexpr ir::operand normal_of(const ir::operand& unit, dtype element) {
  if (unit.is_poison()) return unit;
  // In (-1, 1): the length of the range rounds to 2 in each type.
  const double least = next_to(-1, element, true);
  const ir::operand drawn = (unit * 2.0 + least).as(promote(element, dtype::f32));
  return drawn.apply(op::erf_inv).as(element) * rounded(root_of_two, element);
}

/// In [low, high), computed in the type as jax.random does.
constexpr ir::operand uniform_between(const expr& key, const shape& dims, dtype element,
                                      const located& low, const located& high,
                                      const call_site& at) {
  const ir::operand unit = unit_uniform(key, dims, element, at);
  if (unit.is_poison()) return unit;
  ir::builder& b = unit.builder();
  if (low.is_literal() && high.is_literal()) {
    const double from = rounded(low.literal(), element);
    const double to = rounded(high.literal(), element);
    if (from == 0 && to == 1) return unit;
    const ir::operand least = unit.like(from);
    return ir::operand::combine(op::max, least, unit * rounded(to - from, element) + least);
  }
  const ir::operand from = ir::as_operand(b, low, element).as(element);
  const ir::operand to = ir::as_operand(b, high, element).as(element);
  return ir::operand::combine(op::max, from, unit * (to - from) + from);
}

/// log of the negative log: what turns a uniform number in (0, 1) into one of Gumbel's.
constexpr ir::operand gumbel_of(const expr& key, const shape& dims, dtype element,
                                const call_site& at) {
  const double least = element == dtype::f64 ? std::numeric_limits<f64>::min()
                       : element == dtype::f16
                           ? 0x1p-14
                           : static_cast<double>(std::numeric_limits<f32>::min());  // also of bf16
  const ir::operand u = uniform_between(key, dims, element, least, 1, at);
  return u.is_poison() ? u : -(-u.apply(op::log)).apply(op::log);
}

/// A random u32 or u8 in the range of the type.
constexpr ir::operand bits_of(const expr& key, const shape& dims, dtype element,
                              const call_site& at) {
  ir::builder& b = key.builder();
  const auto words = words_of(key, at);
  const bool is_given = element == dtype::u32 || element == dtype::u8;
  if (!is_random_type(b, element, is_given, "u32 or u8")) return {b, ir::poison};
  const auto [high, low] = counters(b, dims);
  const ir::operand out = threefry(words, high, low, 2);
  if (out.is_poison() || element == dtype::u32) return out;
  return (out & out.like(255)).as(element);
}

}  // namespace detail

// --- inside a trace --------------------------------------------------------------------------

/// Uniform bits, u32 or u8.
///
/// Ill-formed: the key is not u32[2]; another element type.
[[nodiscard]] constexpr expr bits(const expr& key, const sizes& dims, dtype element = dtype::u32,
                                  call_site at = call_site::here()) {
  return detail::bits_of(key, dims.dims, element, at.in("bits"));
}

/// Uniform numbers in [low, high).
///
/// Gradient: to `low` and `high`.
/// Ill-formed: the key is not u32[2]; the element type is not floating.
[[nodiscard]] constexpr expr uniform(const expr& key, const sizes& dims, dtype element = dtype::f32,
                                     const located& low = 0, const located& high = 1,
                                     call_site at = call_site::here()) {
  return detail::uniform_between(key, dims.dims, element, low, high, at.in("uniform"));
}

/// Normal numbers with mean 0 and deviation 1.
///
/// Ill-formed: as `uniform`.
[[nodiscard]] constexpr expr normal(const expr& key, const sizes& dims, dtype element = dtype::f32,
                                    call_site at = call_site::here()) {
  at = at.in("normal");
  return detail::normal_of(detail::unit_uniform(key, dims.dims, element, at), element);
}

/// Normal numbers between `low` and `high`, both excluded; the others are as if drawn again.
///
/// Ill-formed: as `uniform`.
[[nodiscard]] constexpr expr truncated_normal(const expr& key, double low, double high,
                                              const sizes& dims, dtype element = dtype::f32,
                                              call_site at = call_site::here()) {
  at = at.in("truncated_normal");
  const ir::operand unit = detail::unit_uniform(key, dims.dims, element, at);
  if (unit.is_poison()) return unit;
  ir::builder& b = unit.builder();
  const double root = detail::rounded(detail::root_of_two, element);
  const auto erf_at = [&](double bound) {
    const ir::operand scaled(b, b.constant(detail::rounded(bound, element) / root, element));
    return scaled.apply(op::erf);
  };
  const ir::operand from = erf_at(low);
  const auto u = ir::operand::combine(op::max, from, unit * (erf_at(high) - from) + from);
  const ir::operand drawn = ir::operand(erf_inv(u, at), at) * root;
  const auto least = drawn.like(detail::next_to(low, element, true));
  const auto most = drawn.like(detail::next_to(high, element, false));
  const auto raised = ir::operand::combine(op::max, drawn, least);
  return ir::operand::combine(op::min, raised, most);
}

/// -log(-log(u)) of uniform u: what `categorical` adds to the logits.
///
/// Ill-formed: as `uniform`.
[[nodiscard]] constexpr expr gumbel(const expr& key, const sizes& dims, dtype element = dtype::f32,
                                    call_site at = call_site::here()) {
  return detail::gumbel_of(key, dims.dims, element, at.in("gumbel"));
}

/// Integers in [low, high), i32, u32 or u8; `low` where the range is empty.
///
/// Ill-formed: the key is not u32[2]; another element type.
[[nodiscard]] constexpr expr randint(const expr& key, const sizes& dims, const located& low,
                                     const located& high, dtype element = dtype::i32,
                                     call_site at = call_site::here()) {
  at = at.in("randint");
  ir::builder& b = key.builder();
  b.site = at;
  const bool is_given = element == dtype::i32 || element == dtype::u32 || element == dtype::u8;
  if (!detail::is_random_type(b, element, is_given, "i32, u32 or u8")) return {b, ir::poison};
  const auto [first, second] = split<2>(key, at);
  const ir::operand upper = detail::bits_of(first, dims.dims, dtype::u32, at);
  const ir::operand lower = detail::bits_of(second, dims.dims, dtype::u32, at);
  const ir::operand from = ir::as_operand(b, low, dtype::i32);
  const ir::operand to = ir::as_operand(b, high, dtype::i32);
  if (upper.is_poison() || from.is_poison() || to.is_poison()) return {b, ir::poison};

  const ir::operand length = (to - from).as(dtype::u32);
  const ir::operand span = ir::broadcast_select(to <= from, length.like(1), length);
  const auto modulo = [](const ir::operand& x, const ir::operand& y) {
    return ir::operand::combine(op::rem, x, y);
  };
  // 64 bits for each number make the bias small: (upper 2^32 + lower) mod span.
  const ir::operand root = modulo(span.like(65536), span);
  const ir::operand factor = modulo(root * root, span);
  const ir::operand offset = modulo(modulo(upper, span) * factor + modulo(lower, span), span);
  return (offset + from.as(dtype::u32)).as(element);
}

/// True with probability `p`.
///
/// Ill-formed: the key is not u32[2]; p does not broadcast to the shape.
[[nodiscard]] constexpr expr bernoulli(const expr& key, const located& p, const sizes& dims,
                                       call_site at = call_site::here()) {
  at = at.in("bernoulli");
  const dtype element =
      p.is_literal() || !is_floating(p.value().element()) ? dtype::f32 : p.value().element();
  const ir::operand u = detail::unit_uniform(key, dims.dims, element, at);
  return u < ir::as_operand(key.builder(), p, element);
}

/// An index along `axis` with probability softmax(logits), i32.
///
///   logits  f32[B, V]     out  i32[B]
///
/// Ill-formed: the key is not u32[2]; the axis is out of range.
[[nodiscard]] constexpr expr categorical(const expr& key, const expr& logits, int along = -1,
                                         call_site at = call_site::here()) {
  at = at.in("categorical");
  const ir::operand in = ir::floating_operand(logits, at);
  if (in.is_poison()) return in;
  return argmax(detail::gumbel_of(key, in.type().dims, in.type().element, at) + in, along, {}, at);
}

// --- with the shape in the call --------------------------------------------------------------

namespace detail {

// What runs outside a trace; bounds are arguments, so that one program serves all of them.

template <element T, std::int64_t... Dims>
struct bits_function : transformed<bits_function<T, Dims...>> {
  [[nodiscard]] constexpr expr apply(const expr& key) const {
    return bits(key, {Dims...}, dtype_of<T>());
  }
};
template <element T, std::int64_t... Dims>
struct uniform_function : transformed<uniform_function<T, Dims...>> {
  [[nodiscard]] constexpr expr apply(const expr& key) const {
    return uniform(key, {Dims...}, dtype_of<T>());
  }
  [[nodiscard]] constexpr expr apply(const expr& key, const expr& low, const expr& high) const {
    return uniform(key, {Dims...}, dtype_of<T>(), low, high);
  }
};
template <element T, std::int64_t... Dims>
struct normal_function : transformed<normal_function<T, Dims...>> {
  [[nodiscard]] constexpr expr apply(const expr& key) const {
    return normal(key, {Dims...}, dtype_of<T>());
  }
};
template <element T, std::int64_t... Dims>
struct gumbel_function : transformed<gumbel_function<T, Dims...>> {
  [[nodiscard]] constexpr expr apply(const expr& key) const {
    return gumbel(key, {Dims...}, dtype_of<T>());
  }
};
template <element T, std::int64_t... Dims>
struct randint_function : transformed<randint_function<T, Dims...>> {
  [[nodiscard]] constexpr expr apply(const expr& key, const expr& low, const expr& high) const {
    return randint(key, {Dims...}, low, high, dtype_of<T>());
  }
};
template <std::int64_t... Dims>
struct bernoulli_function : transformed<bernoulli_function<Dims...>> {
  [[nodiscard]] constexpr expr apply(const expr& key, const expr& p) const {
    return bernoulli(key, p, {Dims...});
  }
};
struct categorical_function : transformed<categorical_function> {
  [[nodiscard]] constexpr expr apply(const expr& key, const expr& logits) const {
    return categorical(key, logits);
  }
};

/// A key, outside a trace or in it.
template <class Key>
concept key_like = std::same_as<Key, key_tensor> || std::same_as<Key, expr>;
template <class Key>
inline constexpr bool is_traced_v = std::same_as<Key, expr>;

}  // namespace detail

/// `bits<u32, 4>(key)`.
template <element T, std::int64_t... Dims, detail::key_like Key>
[[nodiscard]] constexpr auto bits(const Key& key, call_site at = call_site::here()) {
  if constexpr (detail::is_traced_v<Key>) {
    return bits(key, {Dims...}, dtype_of<T>(), at);
  } else {
    return detail::bits_function<T, Dims...>{}(key);
  }
}
/// `uniform<f32, 3, 4>(key)`, in [0, 1).
template <element T, std::int64_t... Dims, detail::key_like Key>
[[nodiscard]] constexpr auto uniform(const Key& key, call_site at = call_site::here()) {
  if constexpr (detail::is_traced_v<Key>) {
    return uniform(key, {Dims...}, dtype_of<T>(), 0, 1, at);
  } else {
    return detail::uniform_function<T, Dims...>{}(key);
  }
}
/// `uniform<f32, 3, 4>(key, -1, 1)`, in [low, high).
template <element T, std::int64_t... Dims, detail::key_like Key>
[[nodiscard]] constexpr auto uniform(const Key& key, T low, T high,
                                     call_site at = call_site::here()) {
  if constexpr (detail::is_traced_v<Key>) {
    return uniform(key, {Dims...}, dtype_of<T>(), low, high, at);
  } else {
    return detail::uniform_function<T, Dims...>{}(key, low, high);
  }
}
/// `normal<f32, 3, 4>(key)`.
template <element T, std::int64_t... Dims, detail::key_like Key>
[[nodiscard]] constexpr auto normal(const Key& key, call_site at = call_site::here()) {
  if constexpr (detail::is_traced_v<Key>) {
    return normal(key, {Dims...}, dtype_of<T>(), at);
  } else {
    return detail::normal_function<T, Dims...>{}(key);
  }
}
/// `gumbel<f32, 8>(key)`.
template <element T, std::int64_t... Dims, detail::key_like Key>
[[nodiscard]] constexpr auto gumbel(const Key& key, call_site at = call_site::here()) {
  if constexpr (detail::is_traced_v<Key>) {
    return gumbel(key, {Dims...}, dtype_of<T>(), at);
  } else {
    return detail::gumbel_function<T, Dims...>{}(key);
  }
}
/// `randint<i32, 8>(key, 0, 10)`, in [low, high).
template <element T, std::int64_t... Dims, detail::key_like Key>
[[nodiscard]] constexpr auto randint(const Key& key, i32 low, i32 high,
                                     call_site at = call_site::here()) {
  if constexpr (detail::is_traced_v<Key>) {
    return randint(key, {Dims...}, low, high, dtype_of<T>(), at);
  } else {
    return detail::randint_function<T, Dims...>{}(key, low, high);
  }
}
/// `bernoulli<8>(key, 0.9F)`.
template <std::int64_t... Dims, detail::key_like Key>
[[nodiscard]] constexpr auto bernoulli(const Key& key, f32 p = 0.5F,
                                       call_site at = call_site::here()) {
  if constexpr (detail::is_traced_v<Key>) {
    return bernoulli(key, p, {Dims...}, at);
  } else {
    return detail::bernoulli_function<Dims...>{}(key, p);
  }
}
/// An index along the last axis of logits outside a trace.
template <element T, std::int64_t... Dims>
[[nodiscard]] constexpr auto categorical(const key_tensor& key, const tensor<T, Dims...>& logits) {
  return detail::categorical_function{}(key, logits);
}

}  // namespace atled::random
