// atled/nn/recurrent.hpp: one step of a recurrent layer: gru_cell, lstm_cell;
// `scan` runs them. Reads: nn/linear.hpp, ops/control.hpp for scan.
//
//   scan([&](auto h, auto x) { const auto next = cell(h, x); return
//   std::pair(next, next); }, h0, xs)
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/nn/linear.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/slice.hpp"

#include <utility>

namespace atled::nn {

/// A gated recurrent unit.
///
///   h  T[..., H]     x  T[..., In]     out  T[..., H]
///
///   r, z, n = parts of x weight, and of h weight;  r = sigmoid(rx + rh), z
///   likewise out = (1 - z) tanh(nx + r nh) + z h
///
/// Numbers as of PyTorch's GRUCell, its weights transposed.
/// Source: Cho et al., Learning Phrase Representations using RNN
/// Encoder-Decoder, EMNLP 2014.
template <class K, element T, std::int64_t In, std::int64_t H>
struct gru_cell {
  linear<K, T, In, 3 * H> input;
  linear<K, T, H, 3 * H> hidden;
  ATLED_TREE(gru_cell, input, hidden)

  [[nodiscard]] constexpr expr operator()(const expr& h, const expr& x,
                                          call_site at = call_site::here()) const {
    at = at.in("gru_cell");
    const auto [rx, zx, nx] = split<3>(input(x, at), -1, at);
    const auto [rh, zh, nh] = split<3>(hidden(h, at), -1, at);
    const auto sum = [&](const expr& a, const expr& b) {
      return ir::operand(a, at) + ir::operand(b, at);
    };
    const ir::operand r(sigmoid(sum(rx, rh), at), at);
    const ir::operand z(sigmoid(sum(zx, zh), at), at);
    const ir::operand n = sum(nx, r * ir::operand(nh, at)).apply(op::tanh);
    return n + z * (ir::operand(h, at) - n);
  }
};

/// A cell with a memory and three gates.
///
///   state (h, c), each T[..., H]     x  T[..., In]     out  (h, c)
///
///   i, f, g, o = parts of x weight + h weight
///   c = sigmoid(f) c + sigmoid(i) tanh(g)          h = sigmoid(o) tanh(c)
///
/// Numbers as of PyTorch's LSTMCell, its weights transposed.
/// Source: Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; Gers et
/// al., 2000.
template <class K, element T, std::int64_t In, std::int64_t H>
struct lstm_cell {
  linear<K, T, In, 4 * H> input;
  linear<K, T, H, 4 * H> hidden;
  ATLED_TREE(lstm_cell, input, hidden)

  [[nodiscard]] constexpr std::pair<expr, expr> operator()(const std::pair<expr, expr>& state,
                                                           const expr& x,
                                                           call_site at = call_site::here()) const {
    at = at.in("lstm_cell");
    const expr parts = ir::operand(input(x, at), at) + ir::operand(hidden(state.first, at), at);
    const auto [i, f, g, o] = split<4>(parts, -1, at);
    const auto gate = [&](const expr& y) { return ir::operand(sigmoid(y, at), at); };
    const ir::operand c =
        gate(f) * ir::operand(state.second, at) + gate(i) * ir::operand(g, at).apply(op::tanh);
    return {gate(o) * c.apply(op::tanh), c};
  }
};

}  // namespace atled::nn
