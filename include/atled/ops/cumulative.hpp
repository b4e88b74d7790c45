// atled/ops/cumulative.hpp: running sums, products and extremes along an axis.
// Reads: ops/reduce.hpp, ops/slice.hpp. cumsum is an op; the others double their reach in log2(n)
// steps, so that their derivatives follow from the steps and divide by nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"
#include "atled/ops/slice.hpp"

namespace atled {

namespace detail {

/// `x` and the axis to run along; of all axes, the flattened tensor. The axis is -1 if ill-formed.
struct running {
  ir::operand x;
  int axis_id;
};
constexpr running begin_running(const expr& in, const axes& along, const call_site& at) {
  const ir::operand x(in, at);
  ir::builder& b = x.builder();
  if (x.is_poison()) return {x, -1};
  if (along.all) return {ir::flattened(x), 0};
  if (along.size != 1) {
    text why;
    b.fail(at.function, why << x.type() << " along " << along.size << " axes: one axis, or all");
    return {x, -1};
  }
  return {x, ir::resolved_axis(b, x.type(), along.list[0])};
}

/// Each element combined with all before it; `neutral` stands before the first.
constexpr expr running_combination(op code, const running& r, double neutral) {
  ir::builder& b = r.x.builder();
  if (r.axis_id < 0) return {b, ir::poison};
  const dtype element = r.x.type().element;
  ir::operand out = r.x.as(code == op::mul ? sum_type(element) : element);
  const shape dims = out.type().dims;
  shape none{};
  none.rank = dims.rank;
  shape ones = dims;
  for (int i = 0; i < dims.rank; ++i) ones[i] = 1;
  const int filler = b.constant(neutral, out.type().element);
  for (std::int64_t reach = 1; reach < dims[r.axis_id]; reach *= 2) {
    shape kept_dims = dims;
    kept_dims[r.axis_id] -= reach;
    shape low = none;
    low[r.axis_id] = reach;
    const int part = b.slice(out.id(), none, kept_dims, ones);
    const ir::operand moved(b, b.pad(part, filler, low, none, dims));
    out = ir::operand::combine(code, out, moved);
  }
  return element == dtype::bf16 ? out.as(element) : out;
}

/// The smallest (largest) value of a type, beside which every other wins.
constexpr double lowest_of(dtype element, bool lowest) {
  if (is_floating(element)) return lowest ? -__builtin_inf() : __builtin_inf();
  switch (element) {
    case dtype::i32:
      return lowest ? -2147483648.0 : 2147483647.0;
    case dtype::i64:
      return lowest ? -9223372036854775808.0 : 9223372036854774784.0;  // the last double below 2^63
    case dtype::u8:
      return lowest ? 0 : 255;
    case dtype::u32:
      return lowest ? 0 : 4294967295.0;
    default:
      return lowest ? 0 : 1;
  }
}

constexpr expr running_extreme(op code, const running& r) {
  if (r.axis_id < 0) return {r.x.builder(), ir::poison};
  return running_combination(code, r, lowest_of(r.x.type().element, code == op::max));
}

}  // namespace detail

/// The sums of each element and all before it along one axis; without one, of the flattened tensor.
///
/// bf16 is summed in f32, booleans are counted as i32.
/// Gradient: the running sum of d_out from the other end.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr cumsum(const expr& x, axes along = {},
                                    call_site at = call_site::here()) {
  const detail::running r = detail::begin_running(x, along, at.in("cumsum"));
  ir::builder& b = r.x.builder();
  if (r.axis_id < 0) return {b, ir::poison};
  const dtype element = r.x.type().element;
  const ir::operand in = r.x.as(detail::sum_type(element));
  const ir::operand out(b, b.append(op::cumsum, {in.id()}, ir::attribute_list::of(r.axis_id)));
  return element == dtype::bf16 ? out.as(element) : out;
}

/// The products of each element and all before it along one axis.
///
/// Cost: log2(n) products of the whole.
/// Gradient: without division, so right where factors are 0.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr cumprod(const expr& x, axes along = {},
                                     call_site at = call_site::here()) {
  const detail::running r = detail::begin_running(x, along, at.in("cumprod"));
  return detail::running_combination(op::mul, r, 1);
}

/// The largest of each element and all before it along one axis.
///
/// Cost: log2(n) comparisons of the whole.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr cummax(const expr& x, axes along = {},
                                    call_site at = call_site::here()) {
  return detail::running_extreme(op::max, detail::begin_running(x, along, at.in("cummax")));
}
/// The smallest of each element and all before it along one axis; all else as `cummax`.
[[nodiscard]] constexpr expr cummin(const expr& x, axes along = {},
                                    call_site at = call_site::here()) {
  return detail::running_extreme(op::min, detail::begin_running(x, along, at.in("cummin")));
}

}  // namespace atled
