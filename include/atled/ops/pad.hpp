// atled/ops/pad.hpp: tensors made larger at their ends: by a value, or by what they hold.
// Reads: ops/slice.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/slice.hpp"

namespace atled {

/// `x` with `low` elements before and `high` after it on each axis, all equal to `value`.
///
///   x  f32[T, C]     pad(x, {1, 0}, {2, 0})  f32[T + 3, C]
///
/// Gradient: d_x is the part of d_out where x stands.
/// Ill-formed: not one number an axis; a negative number.
[[nodiscard]] constexpr expr pad(const expr& x, const sizes& low, const sizes& high,
                                 const located& value = 0, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("pad"));
  ir::builder& b = in.builder();
  if (in.is_poison() || !ir::are_sizes(b, low) || !ir::are_sizes(b, high)) return {b, ir::poison};
  const tensor_type type = in.type();
  text why;
  if (low.count != type.rank() || high.count != type.rank()) {
    return ir::fail(b, why << type << " by " << low.dims << " and " << high.dims
                           << ": there must be one number for each axis");
  }
  const ir::operand filler = ir::as_operand(b, value, type.element);
  if (filler.is_poison()) return filler;
  if (filler.type().rank() != 0) {
    return ir::fail(b, why << "value " << filler.type() << ": it must be a scalar");
  }
  shape out = type.dims;
  shape interior{};
  interior.rank = out.rank;
  for (int i = 0; i < out.rank; ++i) out[i] += low[i] + high[i];
  if (out == type.dims) return in;
  const int filled = b.convert(filler.id(), type.element);
  return {b, b.pad(in.id(), filled, low.dims, interior, out)};
}

/// What `pad` puts around a tensor, in NumPy's words.
enum class pad_mode : std::uint8_t {
  edge,       ///< the outermost element again: a a [a b c] c c
  reflect,    ///< the others in reverse, without the outermost: c b [a b c] b a
  symmetric,  ///< all of them in reverse: b a [a b c] c b
  wrap,       ///< the other end: b c [a b c] a b
};

namespace detail {

/// The `count` elements that stand before (or behind) an axis.
constexpr expr padding(const ir::operand& x, int axis_id, std::int64_t count, bool is_before,
                       pad_mode mode, const call_site& at) {
  const std::int64_t size = x.type().dims[axis_id];
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return slice_in_dim(x, from, to, 1, axis_id, at);
  };
  switch (mode) {
    case pad_mode::edge: {
      const expr last = is_before ? part(0, 1) : part(size - 1, size);
      return copies(ir::operand(last, at), count, axis_id, false);
    }
    case pad_mode::reflect:
      return flip(is_before ? part(1, count + 1) : part(size - 1 - count, size - 1), axis_id, at);
    case pad_mode::symmetric:
      return flip(is_before ? part(0, count) : part(size - count, size), axis_id, at);
    case pad_mode::wrap:
      return is_before ? part(size - count, size) : part(0, count);
  }
  __builtin_unreachable();
}

}  // namespace detail

/// `x` with elements of its own before and behind it on each axis.
///
///   x  f32[4]     pad(x, {2}, {1}, pad_mode::reflect)  f32[7]
///
/// Gradient: d_out at each place that an element was put, added up.
/// Ill-formed: not one number an axis; a negative number, or more than the axis holds.
[[nodiscard]] constexpr expr pad(const expr& x, const sizes& low, const sizes& high, pad_mode mode,
                                 call_site at = call_site::here()) {
  at = at.in("pad");
  ir::operand out(x, at);
  ir::builder& b = out.builder();
  if (out.is_poison() || !ir::are_sizes(b, low) || !ir::are_sizes(b, high)) return {b, ir::poison};
  const tensor_type type = out.type();
  text why;
  if (low.count != type.rank() || high.count != type.rank()) {
    return ir::fail(b, why << type << " by " << low.dims << " and " << high.dims
                           << ": there must be one number for each axis");
  }
  for (int i = 0; i < type.rank() && !out.is_poison(); ++i) {
    const std::int64_t wanted = low[i] > high[i] ? low[i] : high[i];
    const std::int64_t most = type.dims[i] - (mode == pad_mode::reflect ? 1 : 0);
    if (wanted > 0 && (type.dims[i] == 0 || (mode != pad_mode::edge && wanted > most))) {
      return ir::fail(b, why << type << " by " << low.dims << " and " << high.dims << ": axis " << i
                             << " (" << type.dims[i] << ") holds fewer elements than are wanted");
    }
    expr parts[3]{};
    std::size_t count = 0;
    if (low[i] > 0) parts[count++] = detail::padding(out, i, low[i], true, mode, at);
    parts[count++] = out;
    if (high[i] > 0) parts[count++] = detail::padding(out, i, high[i], false, mode, at);
    if (count > 1) {
      out = ir::operand(concatenate(std::span<const expr>(parts, count), i, at), at);
    }
  }
  return out;
}

}  // namespace atled
