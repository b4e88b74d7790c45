// atled/optim/lbfgs.hpp: L-BFGS: steps by the curvature that the last steps have shown, as far as a
// line search says; for losses without noise. Reads: ops/control.hpp, ops/scan.hpp, transform/.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/control.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/reshape.hpp"
#include "atled/ops/scan.hpp"
#include "atled/ops/slice.hpp"
#include "atled/optim/rule.hpp"
#include "atled/transform/grad.hpp"

#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace atled::optim {

namespace detail {

/// All leaves of a tree behind one another as one vector.
template <class Tree>
constexpr expr flattened(const Tree& tree, dtype element, const call_site& at) {
  std::vector<expr> parts;
  for_each_leaf(
      [&](const expr& leaf) {
        parts.push_back(ir::operand(reshape(leaf, {leaf.type().size()}, at), at).as(element));
      },
      tree);
  return concatenate(std::span<const expr>(parts.data(), parts.size()), 0, at);
}

/// A tree like `like` whose leaves lie behind one another in `flat`.
template <class Tree>
constexpr Tree unflattened(const expr& flat, const Tree& like, const call_site& at) {
  std::int64_t begin = 0;
  return tree_map(
      [&](const expr& leaf) {
        const tensor_type type = leaf.type();
        const expr part = slice_in_dim(flat, begin, begin + type.size(), 1, 0, at);
        begin += type.size();
        return expr(ir::operand(reshape(part, type.dims, at), at).as(type.element));
      },
      like);
}

/// The type of a tree's leaves as one vector, at least f32.
template <class Params>
consteval tensor_type flat_type() {
  std::int64_t size = 0;
  dtype element = dtype::f32;
  traced_t<Params> none{};
  atled::detail::for_each_leaf_type<Params>(none, [&]<class Leaf>(expr&) {
    constexpr tensor_type type = atled::detail::leaf_type<Leaf>();
    size += type.size();
    element = promote(element, type.element);
  });
  return {element, shape::of({size})};
}

}  // namespace detail

/// The last steps and the changes of the gradient along them, a row each, the newest last; and the
/// number of steps made.
template <class Rows, class Count>
using lbfgs_state = std::tuple<Rows, Rows, Count>;

/// L-BFGS with a line search, for a loss of the whole tree of parameters.
///
///   optim::lbfgs<10> rule;     state = rule.init(params)
///   auto [params, state, value] = rule.update(loss, params, state, x, y);     loss(params, x, y)
///
/// - The direction is H g, H from the last `Memory` steps s and changes y of the gradient; the
/// first
///   goes along g, no further than 1.
/// - The line search looks for a t with f(p + t d) <= f + `decrease` t g.d (Armijo) and a slope
///   there of at least `curvature` g.d (weak Wolfe), by doubling and halving from `learning_rate`.
///   If `line_steps` trials find none, the parameters stay and the memory is forgotten.
/// - With `line_steps` 0 every step is `learning_rate` H g.
/// `value` is the loss at the new parameters; the loss may be another at each call.
/// Cost: an evaluation of value and gradient at the start, one more for each trial: mostly one;
/// 8 Memory P flops, P the number of all parameters.
/// Ill-formed: the loss gives no scalar.
/// Source: Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.4; Lewis and Overton,
/// Nonsmooth Optimization via Quasi-Newton Methods, 2013, algorithm 2.6.
template <int Memory = 10>
struct lbfgs {
  static_assert(Memory > 0, "lbfgs: it must remember one step or more: lbfgs<10>");
  double learning_rate = 1;
  int line_steps = 25;
  double decrease = 1e-4;
  double curvature = 0.9;

  /// No step made: of tensors, or inside a trace of expressions.
  template <class Params>
  [[nodiscard]] static constexpr auto init(const Params& params) {
    if constexpr (holds_expressions<Params>()) {
      const dtype element = detail::scalar_type(params);
      const expr flat = detail::flattened(params, element, {});
      ir::builder& b = flat.builder();
      const expr rows(b, b.splat(0, {element, shape::of({Memory, flat.type().size()})}));
      return lbfgs_state<expr, expr>{rows, rows, detail::zero_steps(params)};
    } else {
      constexpr tensor_type flat = detail::flat_type<Params>();
      using rows = tensor<element_t<flat.element>, Memory, flat.dims[0]>;
      return lbfgs_state<rows, tensor<i32>>{rows{}, rows{}, tensor<i32>(0)};
    }
  }

  /// One step: the new parameters, the new state, the loss there.
  template <class Loss, class Params, class... Args>
  [[nodiscard]] constexpr std::tuple<Params, lbfgs_state<expr, expr>, expr> update(
      const Loss& loss, const Params& params, const lbfgs_state<expr, expr>& state,
      const Args&... args) const {
    const expr first = detail::first_leaf(params);
    const call_site at = first.is_poison() ? call_site{"", 0, "lbfgs"}
                                           : first.builder().g[first.id()].at.in("lbfgs");
    const auto flat_loss = [&](const expr& flat) {
      return loss(detail::unflattened(flat, params, at), args...);
    };
    const auto slope_at = value_and_grad(flat_loss);
    const expr x = detail::flattened(params, detail::scalar_type(params), at);
    const auto [value, gradient] = slope_at(x);
    const expr d = direction(gradient, state, at);

    if (line_steps == 0) {
      const expr next = ir::operand(x, at) + ir::operand(d, at) * learning_rate;
      const auto [value_there, gradient_there] = slope_at(next);
      return {detail::unflattened(next, params, at),
              remembered(state, next, x, gradient_there, gradient, at), value_there};
    }

    const ir::operand f(value, at);
    const ir::operand slope(sum_of(gradient, d, at), at);
    const auto trial = [&](const auto& carry) {
      const auto& [t_next, low_before, high_before, seen, f_seen, g_seen, is_found, trials] = carry;
      const ir::operand t(t_next, at);
      const expr there = ir::operand(x, at) + ir::operand(d, at) * t.as(x.element());
      const auto [f_there, g_there] = slope_at(there);
      const ir::operand level = f + slope * t * decrease;
      const ir::operand is_low = ir::operand(f_there, at) <= level;  // false for a NaN
      const ir::operand slope_there(sum_of(g_there, d, at), at);
      const ir::operand is_flat = slope * curvature <= slope_there;
      const ir::operand low = select(is_low, t, ir::operand(low_before, at));
      const ir::operand high = select(is_low, ir::operand(high_before, at), t);
      const ir::operand found = is_low & is_flat;
      const ir::operand is_open = high == std::numeric_limits<double>::infinity();
      const ir::operand next = select(is_open, low * 2.0, (low + high) * 0.5);
      return std::tuple(expr(next), expr(low), expr(high), there, f_there, g_there, expr(found),
                        expr(ir::operand(trials, at) + 1.0));
    };
    const auto goes_on = [&](const auto& carry) {
      const ir::operand is_found(std::get<6>(carry), at);
      const ir::operand trials(std::get<7>(carry), at);
      return expr(!is_found & (trials < static_cast<double>(line_steps)));
    };
    ir::builder& b = f.builder();
    const auto number = [&](double of) { return expr(f.like(of)); };
    const auto begin = std::tuple(
        number(learning_rate), number(0), number(std::numeric_limits<double>::infinity()), x, value,
        gradient, expr(b, b.constant(0, dtype::boolean)), expr(b, b.constant(0, dtype::i32)));
    const auto [t_end, low_end, high_end, there, f_there, g_there, is_found, trials] =
        while_loop(goes_on, trial, begin, at);

    // A point that is lower will do where the slope was not found.
    const ir::operand is_lower =
        ir::operand(b, b.binary(op::bit_or, is_found.id(),
                                (ir::operand(f_there, at) < ir::operand(value, at)).id()));
    const auto either = [&](const expr& yes, const expr& no) {
      return expr(ir::broadcast_select(is_lower, ir::operand(yes, at), ir::operand(no, at)));
    };
    const auto fresh = remembered(state, there, x, g_there, gradient, at);
    const auto none = [&](const expr& rows) { return expr(ir::operand(rows, at).like(0)); };
    return {detail::unflattened(either(there, x), params, at),
            {either(std::get<0>(fresh), none(std::get<0>(state))),
             either(std::get<1>(fresh), none(std::get<1>(state))),
             either(std::get<2>(fresh), none(std::get<2>(state)))},
            either(f_there, value)};
  }

 private:
  static constexpr expr sum_of(const expr& u, const expr& v, const call_site& at) {
    return sum(ir::operand(u, at) * ir::operand(v, at), {}, {}, at);
  }

  /// The state with one row more, and without the oldest.
  static constexpr lbfgs_state<expr, expr> remembered(const lbfgs_state<expr, expr>& state,
                                                      const expr& x, const expr& old_x,
                                                      const expr& g, const expr& old_g,
                                                      const call_site& at) {
    const auto push = [&](const expr& rows, const expr& now, const expr& before) {
      const expr row = expand_dims(ir::operand(now, at) - ir::operand(before, at), 0, at);
      return concatenate({slice_in_dim(rows, 1, Memory, 1, 0, at), row}, 0, at);
    };
    return {push(std::get<0>(state), x, old_x), push(std::get<1>(state), g, old_g),
            ir::operand(std::get<2>(state), at) + 1.0};
  }

  /// Minus H g.
  static constexpr expr direction(const expr& gradient, const lbfgs_state<expr, expr>& state,
                                  const call_site& at) {
    const auto& [steps, changes, made] = state;
    const ir::operand s(steps, at);
    const ir::operand y(changes, at);
    const ir::operand sy(sum(s * y, 1, {}, at), at);  // T[Memory]
    const ir::operand none = sy.like(0);
    const ir::operand weights = select(none < sy, 1.0 / sy, none);
    const auto rows = std::tuple(steps, changes, expr(weights));

    const auto down = [&](const expr& q, const auto& row) {
      const auto& [s_row, y_row, weight] = row;
      const ir::operand alpha = ir::operand(weight, at) * ir::operand(sum_of(s_row, q, at), at);
      return std::pair(expr(ir::operand(q, at) - alpha * ir::operand(y_row, at)), expr(alpha));
    };
    const auto [q, alphas] = scan(down, gradient, rows, reversed, at);

    // The size of H: s.y / y.y of the newest row; of the first step 1 / |g|, at most 1.
    const ir::operand last_sy(sum(slice_in_dim(sy, Memory - 1, Memory, 1, 0, at), {}, {}, at), at);
    const expr last = slice_in_dim(changes, Memory - 1, Memory, 1, 0, at);
    const ir::operand last_yy(sum_of(last, last, at), at);
    const ir::operand length = ir::operand(sum_of(gradient, gradient, at), at).apply(op::sqrt);
    const ir::operand one = length.like(1);
    const ir::operand first = select(one < length, 1.0 / length, one);
    const ir::operand known = select(last_yy.like(0) < last_yy, last_sy / last_yy, one);
    const ir::operand size = select(ir::operand(made, at) == 0.0, first, known);

    const auto up = [&](const expr& r, const auto& row) {
      const auto& [s_row, y_row, weight, alpha] = row;
      const ir::operand beta = ir::operand(weight, at) * ir::operand(sum_of(y_row, r, at), at);
      return std::pair(
          expr(ir::operand(r, at) + (ir::operand(alpha, at) - beta) * ir::operand(s_row, at)),
          std::tuple<>());
    };
    const expr r = scan(up, expr(ir::operand(q, at) * size),
                        std::tuple(steps, changes, expr(weights), alphas), at)
                       .first;
    return -ir::operand(r, at);
  }
};

}  // namespace atled::optim
