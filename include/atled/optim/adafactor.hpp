// atled/optim/adafactor.hpp: Adafactor: the mean squares of a matrix kept as those of its rows and
// columns. Reads: optim/rule.hpp, ops/reduce.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"
#include "atled/optim/rule.hpp"

namespace atled::optim {

/// The leaf policy of what adafactor keeps for rows: a matrix has one number a row, anything else
/// what it has.
struct row_factors {
  template <element T, std::int64_t... Dims>
  struct of {
    using type = tensor<T, Dims...>;
  };
  template <element T, std::int64_t M, std::int64_t N>
  struct of<T, M, N> {
    using type = tensor<T, M>;
  };
  template <element T, std::int64_t... Dims>
  using leaf = typename of<T, Dims...>::type;
};
/// The same for columns: a matrix has one number a column, anything else none but a 0.
struct column_factors {
  template <element T, std::int64_t... Dims>
  struct of {
    using type = tensor<T>;
  };
  template <element T, std::int64_t M, std::int64_t N>
  struct of<T, M, N> {
    using type = tensor<T, N>;
  };
  template <element T, std::int64_t... Dims>
  using leaf = typename of<T, Dims...>::type;
};

namespace detail {

/// A tree with the leaves of another policy, also where it is a tuple of tensors.
template <class Tree, class Policy>
struct with_leaves {
  using type = rebind_t<Tree, Policy>;
};
template <element T, std::int64_t... Dims, class Policy>
struct with_leaves<tensor<T, Dims...>, Policy> {
  using type = typename Policy::template leaf<T, Dims...>;
};
template <class... T, class Policy>
struct with_leaves<std::tuple<T...>, Policy> {
  using type = std::tuple<typename with_leaves<T, Policy>::type...>;
};
template <class T, class U, class Policy>
struct with_leaves<std::pair<T, U>, Policy> {
  using type =
      std::pair<typename with_leaves<T, Policy>::type, typename with_leaves<U, Policy>::type>;
};
template <class T, std::size_t N, class Policy>
struct with_leaves<std::array<T, N>, Policy> {
  using type = std::array<typename with_leaves<T, Policy>::type, N>;
};

}  // namespace detail

/// Adafactor: Adam's second moment in M + N numbers for a matrix T[M, N], and no first moment.
///
///   r = b r + (1 - b) row means of g^2 + eps      c likewise of columns      b = 1 - t^-0.8
///   u = g / sqrt(r c / mean(r)), divided by max(1, rms(u))
///   p = p - rate max(1e-3, rms(p)) u
///
/// A leaf that is no matrix keeps its squares whole. State: a tuple of r, c and the number of
/// steps. Numbers as of Optax with `min_dim_size_to_factor=1`. Source: Shazeer and Stern,
/// Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, ICML 2018, algorithms 4 and 5.
struct adafactor {
  static constexpr const char* name = "adafactor";
  double learning_rate = 1e-2;
  double decay_exponent = 0.8;
  double clip = 1;  ///< the largest root mean square of u; 0: any
  double eps = 1e-30;
  double least_scale = 1e-3;
  bool is_scaled = true;  ///< by the root mean square of the parameters

  template <class Params>
  [[nodiscard]] static constexpr auto init(const Params& params) {
    const auto steps = detail::zero_steps(params);
    if constexpr (holds_expressions<Params>()) {
      const auto zeros = [](const expr& leaf, int axis) {
        const ir::operand in(leaf, {});
        const shape dims = in.type().dims;
        const shape kept = dims.rank == 2 ? shape::of({dims[axis]}) : axis == 0 ? dims : shape{};
        return expr(leaf.builder(), leaf.builder().splat(0, {leaf.element(), kept}));
      };
      return std::tuple(tree_map([&](const expr& leaf) { return zeros(leaf, 0); }, params),
                        tree_map([&](const expr& leaf) { return zeros(leaf, 1); }, params), steps);
    } else {
      using rows = typename detail::with_leaves<Params, row_factors>::type;
      using columns = typename detail::with_leaves<Params, column_factors>::type;
      return std::tuple(rows{}, columns{}, steps);
    }
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, const located& rate) const {
    return detail::updated(*this, params, gradients, state, rate);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, call_site at = call_site::here()) const {
    return detail::updated(*this, params, gradients, state, located(learning_rate, at));
  }
  template <class Params>
  constexpr void step(Params& params, const Params& gradients,
                      std::tuple<Params, Params, expr>& state, const ir::operand& rate,
                      const call_site& at) const {
    auto& [rows, columns, steps] = state;
    const ir::operand made = ir::operand(steps, at) + 1.0;
    steps = made;
    const ir::operand t = made.as(rate.type().element);
    // 1 - b = t^-0.8: the weight of the new squares
    const ir::operand weight = (t.apply(op::log) * -decay_exponent).apply(op::exp);
    const auto rms = [&](const ir::operand& x) {
      return ir::operand(mean(x * x, {}, {}, at), at).apply(op::sqrt);
    };
    for_each_leaf(
        [&](expr& p_leaf, expr& r_leaf, expr& c_leaf, const expr& g_leaf) {
          const dtype type = p_leaf.element();
          const ir::operand p(p_leaf, at);
          const ir::operand g(g_leaf, at);
          const ir::operand squares = g * g + eps;
          const ir::operand w = weight.as(type);
          const auto moved = [&](const expr& old, const ir::operand& now) {
            return ir::operand(old, at) * (1.0 - w) + now * w;
          };
          ir::operand u = g;
          if (p_leaf.rank() == 2) {
            const ir::operand r = moved(r_leaf, ir::operand(mean(squares, 1, {}, at), at));
            const ir::operand c = moved(c_leaf, ir::operand(mean(squares, 0, {}, at), at));
            const ir::operand middle(mean(r, {}, {}, at), at);
            const ir::operand by_row = (r / middle).apply(op::rsqrt);
            const shape dims = p_leaf.dims();
            u = g * ir::spread(by_row, dims, 2) * ir::spread(c.apply(op::rsqrt), dims, 1);
            r_leaf = r;
            c_leaf = c;
          } else {
            const ir::operand v = moved(r_leaf, squares);
            u = g * v.apply(op::rsqrt);
            r_leaf = v;
          }
          ir::operand size = rate.as(type);
          if (clip > 0) {
            const ir::operand excess = rms(u) / clip;
            size = size / ir::operand::combine(op::max, excess, excess.like(1));
          }
          if (is_scaled) {
            const ir::operand scale = rms(p);
            size = size * ir::operand::combine(op::max, scale, scale.like(least_scale));
          }
          p_leaf = p - size * u;
        },
        params, rows, columns, gradients);
  }
};

}  // namespace atled::optim
