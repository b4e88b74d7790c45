// atled/optim/muon.hpp: Muon: for matrices, steps all of whose singular values are near 1.
// Reads: optim/adam.hpp, which moves the other leaves, ops/linalg.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/reshape.hpp"
#include "atled/optim/adam.hpp"

namespace atled::optim {

/// A matrix with the same singular vectors whose singular values are all near 1, in 0.7 ... 1.2.
///
///   x  T[M, N]     out  T[M, N]
///
/// Five steps of x = a x + (b x x^T + c (x x^T)^2) x from x / |x|.
/// Cost: 20 m m n + 10 m m m flops, m the shorter side, n the longer.
/// Ill-formed: x is no matrix.
/// Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024.
[[nodiscard]] constexpr expr orthogonalized(const expr& x, int steps = 5,
                                            call_site at = call_site::here()) {
  at = at.in("orthogonalized");
  const ir::operand in = ir::floating_operand(x, at);
  if (in.is_poison()) return in;
  if (in.type().rank() != 2) {
    text why;
    return ir::fail(in.builder(), why << in.type() << ": it must be a matrix");
  }
  const bool is_tall = in.type().dims[0] > in.type().dims[1];
  const ir::operand length(sum(in * in, {}, {}, at), at);
  ir::operand y = in / (length.apply(op::sqrt) + 1e-8);
  if (is_tall) y = {y.builder(), transpose(y, {1, 0}, at).id()};
  for (int i = 0; i < steps; ++i) {
    const ir::operand a(inner(y, y, at), at);
    const ir::operand polynomial = a * -4.7750 + ir::operand(matmul(a, a, at), at) * 2.0315;
    y = y * 3.4445 + ir::operand(matmul(polynomial, y, at), at);
  }
  return is_tall ? transpose(y, {1, 0}, at) : expr(y);
}

/// Leaves that are matrices.
struct is_matrix_leaf {
  [[nodiscard]] constexpr bool operator()(const expr& leaf) const { return leaf.rank() == 2; }
};

/// Muon: the momentum of a matrix, made orthogonal; AdamW for all other leaves.
///
///   m = beta m + (1 - beta) g          u = orthogonalized((1 - beta) g + beta m)
///   p = p - rate (sqrt(max(1, N / M)) u + decay p),   p T[M, N]
///
/// `is_matrix(leaf)` chooses among leaves with two axes; without it, all of them: embeddings and
/// output layers are better left to AdamW, which goes at `adam_ratio` times the rate.
/// State as of `adamw`; that of the squares stays 0 for matrices.
/// Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024.
struct muon {
  static constexpr const char* name = "muon";
  double learning_rate = 0.02;
  double beta = 0.95;
  bool is_nesterov = true;
  int steps = 5;
  double decay = 0;
  double adam_ratio = 0.05;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.95;
  double adam_eps = 1e-8;

  template <class Params>
  [[nodiscard]] static constexpr auto init(const Params& params) {
    return adamw::init(params);
  }
  template <class Params, class State, class... Mask>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, const located& rate,
                                      const Mask&... mask) const {
    return detail::updated(*this, params, gradients, state, rate, mask...);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, call_site at = call_site::here()) const {
    return detail::updated(*this, params, gradients, state, located(learning_rate, at));
  }
  template <class Params, class Mask = is_matrix_leaf>
  constexpr void step(Params& params, const Params& gradients, adam_state<Params, expr>& state,
                      const ir::operand& rate, const call_site& at,
                      const Mask& is_matrix = {}) const {
    auto& [means, squares, made] = state;
    const ir::operand t = detail::next_step(made, rate.type().element, at);
    const detail::adam_direction direction(adam_beta1, adam_beta2, adam_eps, t);
    for_each_leaf(
        [&](expr& p_leaf, expr& m_leaf, expr& v_leaf, const expr& g_leaf) {
          const ir::operand p(p_leaf, at);
          const ir::operand g(g_leaf, at);
          const auto moved = [&](const ir::operand& u, double scale) {
            const ir::operand size = (rate * scale).as(p_leaf.element());
            return decay != 0 && p_leaf.rank() >= 2 ? p - size * (u + p * decay) : p - size * u;
          };
          if (p_leaf.rank() != 2 || !is_matrix(p_leaf)) {
            p_leaf = moved(direction(m_leaf, v_leaf, g, at), adam_ratio);
            return;
          }
          const ir::operand m = ir::operand(m_leaf, at) * beta + g * (1 - beta);
          m_leaf = m;
          const ir::operand along = is_nesterov ? g * (1 - beta) + m * beta : m;
          const ir::operand u(orthogonalized(along, steps, at), at);
          const double shape_ratio =
              static_cast<double>(p_leaf.dim(1)) / static_cast<double>(p_leaf.dim(0));
          p_leaf = moved(shape_ratio > 1 ? u * detail::root_of(shape_ratio) : u, 1);
        },
        params, means, squares, gradients);
  }
};

}  // namespace atled::optim
