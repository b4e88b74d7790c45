// atled/random/erf_inv.hpp: the inverse of the error function, which turns uniform into normal.
// Reads: ops/elementwise.hpp. Used by random/distributions.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"

#include <cstddef>

namespace atled {

namespace detail {

// erf_inv(x) = x p(t) with w = -log(1 - x^2), and t = w or sqrt(w) less a shift in each range of w;
// coefficients of p from the highest power down.
// Source: Giles, Approximating the Erfinv Function, GPU Computing Gems Jade Edition, 2011.

// f32: w < 5, t = w - 2.5, and above, t = sqrt(w) - 3.
inline constexpr double erf_inv_f32[2][9] = {
    {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
     -0.00417768164, 0.246640727, 1.50140941},
    {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
     0.00943887047, 1.00167406, 2.83297682}};

// f64: w < 6.25, t = w - 3.125; w < 16, t = sqrt(w) - 3.25; and above, t = sqrt(w) - 5.
inline constexpr double erf_inv_f64_centre[23] = {
    -3.6444120640178196996e-21, -1.685059138182016589e-19,  1.2858480715256400167e-18,
    1.115787767802518096e-17,   -1.333171662854620906e-16,  2.0972767875968561637e-17,
    6.6376381343583238325e-15,  -4.0545662729752068639e-14, -8.1519341976054721522e-14,
    2.6335093153082322977e-12,  -1.2975133253453532498e-11, -5.4154120542946279317e-11,
    1.051212273321532285e-09,   -4.1126339803469836976e-09, -2.9070369957882005086e-08,
    4.2347877827932403518e-07,  -1.3654692000834678645e-06, -1.3882523362786468719e-05,
    0.0001867342080340571352,   -0.00074070253416626697512, -0.0060336708714301490533,
    0.24015818242558961693,     1.6536545626831027356};
inline constexpr double erf_inv_f64_tail[19] = {
    2.2137376921775787049e-09, 9.0756561938885390979e-08, -2.7517406297064545428e-07,
    1.8239629214389227755e-08, 1.5027403968909827627e-06, -4.013867526981545969e-06,
    2.9234449089955446044e-06, 1.2475304481671778723e-05, -4.7318229009055733981e-05,
    6.8284851459573175448e-05, 2.4031110387097893999e-05, -0.0003550375203628474796,
    0.00095328937973738049703, -0.0016882755560235047313, 0.0024914420961078508066,
    -0.0037512085075692412107, 0.005370914553590063617,   1.0052589676941592334,
    3.0838856104922207635};
inline constexpr double erf_inv_f64_end[17] = {
    -2.7109920616438573243e-11, -2.5556418169965252055e-10, 1.5076572693500548083e-09,
    -3.7894654401267369937e-09, 7.6157012080783393804e-09,  -1.4960026627149240478e-08,
    2.9147953450901080826e-08,  -6.7711997758452339498e-08, 2.2900482228026654717e-07,
    -9.9298272942317002539e-07, 4.5260625972231537039e-06,  -1.9681778105531670567e-05,
    7.5995277030017761139e-05,  -0.00021503011930044477347, -0.00013871931833623122026,
    1.0103004648645343977,      4.8499064014085844221};

template <std::size_t N>
constexpr ir::operand horner(const ir::operand& t, const double (&coefficients)[N]) {
  ir::operand p = t * coefficients[0] + coefficients[1];
  for (std::size_t i = 2; i < N; ++i) p = p * t + coefficients[i];
  return p;
}

/// For |x| < 1. bf16 is computed in f32.
constexpr ir::operand erf_inv_inside(const ir::operand& given) {
  if (given.is_poison()) return given;
  const dtype element = given.type().element;
  const ir::operand x = given.as(promote(element, dtype::f32));
  const ir::operand w = -(-(x * x)).apply(op::log1p);
  const ir::operand root = w.apply(op::sqrt);
  if (element == dtype::f64) {
    const ir::operand tail = ir::select(w < 16.0, horner(root - 3.25, erf_inv_f64_tail),
                                        horner(root - 5.0, erf_inv_f64_end));
    return x * ir::select(w < 6.25, horner(w - 3.125, erf_inv_f64_centre), tail);
  }
  // One polynomial, whose coefficients each element picks.
  const ir::operand is_centre = w < 5.0;
  const auto pick = [&](std::size_t i) {
    return ir::select(is_centre, w.like(erf_inv_f32[0][i]), w.like(erf_inv_f32[1][i]));
  };
  const ir::operand t = ir::select(is_centre, w - 2.5, root - 3.0);
  ir::operand p = pick(0);
  for (std::size_t i = 1; i < 9; ++i) p = p * t + pick(i);
  return (x * p).as(element);
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
