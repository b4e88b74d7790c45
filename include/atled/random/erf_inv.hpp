// atled/random/erf_inv.hpp: the inverse of the error function, which turns uniform into normal.
// Reads: ops/elementwise.hpp. Used by random/distributions.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"

#include <cstddef>

namespace atled {

namespace detail {

/// One range of w = -log(1 - x^2): erf_inv(x) = x p(t), coefficients from the highest power down,
/// with t = w - shift, or sqrt(w) - shift in a tail.
template <std::size_t N>
struct erf_inv_range {
  double below;  ///< the range ends here
  double shift;
  double coefficients[N];
};

// Source: Giles, Approximating the Erfinv Function, GPU Computing Gems Jade Edition, 2011; leading
// zeros give the ranges of one type equal lengths.
inline constexpr erf_inv_range<9> erf_inv_f32[2] = {
    {5,
     2.5,
     {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
      -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}},
    {0,
     3,
     {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
      0.00943887047, 1.00167406, 2.83297682}}};
inline constexpr erf_inv_range<23> erf_inv_f64[3] = {
    {6.25,
     3.125,
     {-3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
      1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
      6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
      2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
      1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
      4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
      0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
      0.24015818242558961693,     1.6536545626831027356}},
    {16,
     3.25,
     {0,
      0,
      0,
      0,
      2.2137376921775787049e-09,
      9.0756561938885390979e-08,
      -2.7517406297064545428e-07,
      1.8239629214389227755e-08,
      1.5027403968909827627e-06,
      -4.013867526981545969e-06,
      2.9234449089955446044e-06,
      1.2475304481671778723e-05,
      -4.7318229009055733981e-05,
      6.8284851459573175448e-05,
      2.4031110387097893999e-05,
      -0.0003550375203628474796,
      0.00095328937973738049703,
      -0.0016882755560235047313,
      0.0024914420961078508066,
      -0.0037512085075692412107,
      0.005370914553590063617,
      1.0052589676941592334,
      3.0838856104922207635}},
    {0,
     5,
     {0,
      0,
      0,
      0,
      0,
      0,
      -2.7109920616438573243e-11,
      -2.5556418169965252055e-10,
      1.5076572693500548083e-09,
      -3.7894654401267369937e-09,
      7.6157012080783393804e-09,
      -1.4960026627149240478e-08,
      2.9147953450901080826e-08,
      -6.7711997758452339498e-08,
      2.2900482228026654717e-07,
      -9.9298272942317002539e-07,
      4.5260625972231537039e-06,
      -1.9681778105531670567e-05,
      7.5995277030017761139e-05,
      -0.00021503011930044477347,
      -0.00013871931833623122026,
      1.0103004648645343977,
      4.8499064014085844221}}};

/// Horner's scheme in which the range of each element picks its coefficients.
template <std::size_t Ranges, std::size_t N>
constexpr ir::operand erf_inv_over(const ir::operand& x, const erf_inv_range<N> (&ranges)[Ranges]) {
  const ir::operand w = -(-(x * x)).apply(op::log1p);
  ir::builder& b = w.builder();
  int is_in[Ranges]{};
  for (std::size_t r = 0; r + 1 < Ranges; ++r) is_in[r] = (w < ranges[r].below).id();
  const auto pick = [&](auto value_of) {
    ir::operand out = w.like(value_of(ranges[Ranges - 1]));
    for (std::size_t r = Ranges - 1; r-- > 0;) {
      const double value = value_of(ranges[r]);
      out = ir::select(ir::operand(b, is_in[r]), w.like(value), out);
    }
    return out;
  };
  const ir::operand shift = pick([](const auto& range) { return range.shift; });
  const ir::operand t = ir::select(ir::operand(b, is_in[0]), w, w.apply(op::sqrt)) - shift;
  ir::operand p = pick([](const auto& range) { return range.coefficients[0]; });
  for (std::size_t i = 1; i < N; ++i) {
    p = p * t + pick([i](const auto& range) { return range.coefficients[i]; });
  }
  return p * x;
}

/// For |x| < 1. bf16 is computed in f32.
constexpr ir::operand erf_inv_inside(const ir::operand& x) {
  if (x.is_poison()) return x;
  const dtype element = x.type().element;
  if (element == dtype::f64) return erf_inv_over(x, erf_inv_f64);
  return erf_inv_over(x.as(dtype::f32), erf_inv_f32).as(element);
}

}  // namespace detail

/// The inverse of `erf`: -inf at -1, inf at 1, NaN outside.
///
/// Gradient: sqrt(pi) / 2 exp(out^2) d_out, as the derivative of the approximation.
[[nodiscard]] constexpr expr erf_inv(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("erf_inv"));
  if (in.is_poison()) return in;
  const ir::operand is_end = in.apply(op::abs) == 1.0;
  const ir::operand inside = ir::select(is_end, in.like(0), in);
  return ir::select(is_end, in * __builtin_inf(), detail::erf_inv_inside(inside));
}

}  // namespace atled
