// atled/ops/reassociate.hpp: sums whose terms may be added in another order, where the user says
// so. Reads: ops/operand.hpp. No pass does this by itself: it changes bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/operand.hpp"

#include <vector>

namespace atled {

/// The same sum with equal terms taken together: what cancels is left out, whatever its size.
///
///   reassociate((x + 1e20) - 1e20)                 x, where the sum itself would be 0
///   reassociate(t * exp(t) + (t - t * exp(t)))     t, also where exp(t) overflows
///
/// Looks through the additions, subtractions and negations that made `x`, and no further. Terms are
/// equal if they are the same operation on the same values; those that remain are added in the
/// order in which they were made. Cost: none at run time; the derivative is that of the shorter
/// sum.
[[nodiscard]] constexpr expr reassociate(const expr& x, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("reassociate"));
  if (in.is_poison()) return in;
  ir::builder& b = in.builder();
  std::vector<double> times(static_cast<std::size_t>(x.id()) + 1);
  times.back() = 1;
  std::vector<int> terms;  // the youngest first
  for (int id = x.id(); id >= 0; --id) {
    const double n = times[static_cast<std::size_t>(id)];
    if (n == 0) continue;
    const auto add = [&](int operand, double more) {
      times[static_cast<std::size_t>(b.g.operand(id, operand))] += more;
    };
    switch (b.g[id].code) {
      case op::add:
        add(0, n);
        add(1, n);
        break;
      case op::sub:
        add(0, n);
        add(1, -n);
        break;
      case op::neg:
        add(0, -n);
        break;
      default:
        terms.push_back(id);
        break;
    }
  }
  ir::operand sum = in.like(0);
  for (std::size_t i = terms.size(); i-- > 0;) {
    const double n = times[static_cast<std::size_t>(terms[i])];
    const ir::operand term(b, terms[i]);
    const bool is_first = i + 1 == terms.size();
    if (n == 1) {
      sum = is_first ? term : sum + term;
    } else if (n == -1) {
      sum = is_first ? -term : sum - term;
    } else {
      sum = is_first ? term * n : sum + term * n;
    }
  }
  return sum;
}

}  // namespace atled
