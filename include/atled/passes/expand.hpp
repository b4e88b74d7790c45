// atled/passes/expand.hpp: the last rewriting before fusion: forms that are whole for the sake of
// derivatives become what kernels can run.
// Reads: passes/rewrite.hpp. Next: passes/layout.hpp.
//
//   reduce_logsumexp               maximum, sum of exponentials, logarithm
//   exp(x - logsumexp(x))          exp(x - maximum) / sum: the exponential is there already
//   a constant or an index that a  a copy of it, which has memory
//   kernel of its own reads
//   a maximum of booleans          that of integers, which is not 0
//   a reduction beside a last      the same without that axis, which no kernel's row can be
//   axis of size 1
//   a reduction over the last and  first the last axis, then the others
//   some other axes
//   a dot over several axes that   a transpose first
//   do not follow one another
//   a collective along some axis   along the first, between transposes
//   an output that is a parameter, a copy of it: each output has memory of its own
//   a view or another output
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/lanes.hpp"
#include "atled/passes/rewrite.hpp"

namespace atled::passes {

namespace detail {

class expander {
 public:
  constexpr int operator()(ir::builder& b, const moving_node& n) {
    return lacks_memory(b.g, n) ? rewritten(b, with_operands_in_memory(b, n)) : rewritten(b, n);
  }

 private:
  constexpr int rewritten(ir::builder& b, const moving_node& n) {
    switch (n.code) {
      case op::reduce_logsumexp:
        return expand_logsumexp(b, n);
      case op::exp:
        return expand_exp(b, n);
      case op::reduce_sum:
      case op::reduce_prod:
      case op::reduce_max:
      case op::reduce_min:
        return expand_reduction(b, n.code, n[0], n.attributes.values[0]);
      case op::argmax:
      case op::argmin:
        return keep(b, n);
      case op::dot:
        return expand_dot(b, n);
      case op::pmax:
      case op::pmin:
      case op::all_gather:
      case op::psum_scatter:
      case op::all_to_all:
        return expand_collective(b, n);
      case op::variable:
      case op::stop_gradient:
        return n[0];
      default:
        return keep(b, n);
    }
  }

  int copy_of_[ir::graph::max_nodes]{};  // + 1, of a constant or an index

  static constexpr bool is_without_memory(const ir::graph& g, int x) {
    return g[x].code == op::constant || g[x].code == op::iota;
  }
  // Kernels that are no loops read memory, which constants and indices have none of.
  static constexpr bool lacks_memory(const ir::graph& g, const moving_node& n) {
    const op_kind kind = info(n.code).kind;
    if (kind == op_kind::elementwise || kind == op_kind::shape || kind == op_kind::source) {
      return false;
    }
    const bool reads_memory = kind == op_kind::index || kind == op_kind::ordering ||
                              kind == op_kind::cumulative || kind == op_kind::linear ||
                              kind == op_kind::product || kind == op_kind::collective ||
                              n.code == op::argmax || n.code == op::argmin;
    bool out = false;
    for (int i = 0; reads_memory && i < n.num_operands; ++i) out |= is_without_memory(g, n[i]);
    return out;
  }
  constexpr moving_node with_operands_in_memory(ir::builder& b, const moving_node& n) {
    moving_node out = n;
    for (int i = 0; i < n.num_operands; ++i) {
      const int x = n[i];
      if (!is_without_memory(b.g, x)) continue;
      if (copy_of_[x] == 0) copy_of_[x] = b.copy(x) + 1;
      out.operands[i] = copy_of_[x] - 1;
    }
    return out;
  }

  struct softmax_parts {
    int logits;
    int exponential;    // exp(logits - maximum)
    int sum;            // of the exponentials, 1 in a row without any
    int result;         // the logarithm of the sum
    std::int64_t kept;  // mask of the axes that are not summed over
  };
  static constexpr int most_parts = 4096;
  softmax_parts parts_[most_parts]{};
  int num_parts_ = 0;
  int part_of_[ir::graph::max_nodes]{};  // + 1, of a logarithm of a sum and of what selects it

  static constexpr int zeros(ir::builder& b, int like) { return b.splat(0, b.type(like)); }
  static constexpr int expand_reduction(ir::builder& b, op code, int x, std::int64_t mask) {
    if (b.type(x).element == dtype::boolean) {  // kernels combine numbers
      const int number = expand_reduction(b, code, b.convert(x, dtype::i32), mask);
      return number < 0 ? number : b.binary(op::ne, number, zeros(b, number));
    }
    const int rank = b.type(x).rank();
    const std::int64_t last = std::int64_t{1} << (rank - 1);
    if (rank > 1 && (mask & last) == 0 && mask != 0 && b.type(x).dims[rank - 1] == 1) {
      // A kernel's row is the last axis that has a size.
      shape rows = b.type(x).dims;
      rows[--rows.rank] = 0;
      shape dims{};
      for (int i = 0; i < rank; ++i) {
        if (!ir::has_axis(mask, i)) dims.push(b.type(x).dims[i]);
      }
      return b.reshape(expand_reduction(b, code, b.reshape(x, rows), mask), dims);
    }
    const std::int64_t all = 2 * last - 1;
    if (rank < 2 || (mask & last) == 0 || mask == last || mask == all) {
      return b.reduce(code, x, mask);
    }
    return b.reduce(code, b.reduce(code, x, last), mask & ~last);
  }

  // Rows from which their largest element was subtracted (where that is finite) need no shift.
  static constexpr bool is_less_its_maximum(const ir::builder& b, int x, std::int64_t mask,
                                            std::int64_t kept) {
    const ir::graph& g = b.g;
    if (g[x].code != op::sub) return false;
    const int spread = g.operand(x, 1);
    if (g[spread].code != op::broadcast || g.attribute(spread) != kept) return false;
    const int chosen = g.operand(spread, 0);
    if (g[chosen].code != op::select) return false;
    const int most = g.operand(chosen, 1);
    return g[most].code == op::reduce_max && g.attribute(most) == mask &&
           g.operand(most, 0) == g.operand(x, 0);
  }

  constexpr int expand_logsumexp(ir::builder& b, const moving_node& n) {
    const int x = n[0];
    const tensor_type type = b.type(x);
    const std::int64_t mask = n.attributes.values[0];
    const std::int64_t kept = ((std::int64_t{1} << type.rank()) - 1) & ~mask;
    const bool is_shifted = is_less_its_maximum(b, x, mask, kept);
    int shift = ir::no_node;
    int shifted = x;
    if (!is_shifted) {
      const int most = expand_reduction(b, op::reduce_max, x, mask);
      // A row that is all -inf (or holds +inf) is shifted by nothing.
      shift = b.select(b.unary(op::is_finite, most), most, b.splat(0, b.type(most)));
      shifted = b.sub(x, b.broadcast(shift, type.dims, kept));
    }
    const int exponential = b.unary(op::exp, shifted);
    const int total = expand_reduction(b, op::reduce_sum, exponential, mask);
    const tensor_type row = b.type(total);
    const int sum = b.select(b.binary(op::eq, total, b.splat(0, row)), b.splat(1, row), total);
    const int logarithm = b.unary(op::log, total);
    const int result = is_shifted ? logarithm : b.add(logarithm, shift);
    if (num_parts_ < most_parts) {
      parts_[num_parts_] = {x, exponential, sum, result, kept};
      part_of_[result] = ++num_parts_;
    }
    return result;
  }

  // exp(x - z) where z is the logarithm of the sum of x's own exponentials, or a selection of it.
  constexpr int expand_exp(ir::builder& b, const moving_node& n) {
    const int difference = n[0];
    if (b.g[difference].code == op::sub) {
      const int x = b.g.operand(difference, 0);
      const int repeated = b.g.operand(difference, 1);
      if (b.g[repeated].code == op::broadcast) {
        int z = b.g.operand(repeated, 0);
        if (b.g[z].code == op::select) {
          const int first = b.g.operand(z, 1);
          z = part_of_[first] != 0 ? first : b.g.operand(z, 2);
        }
        const int part = part_of_[z] - 1;
        if (part >= 0 && parts_[part].logits == x && parts_[part].kept == b.g.attribute(repeated)) {
          const softmax_parts& p = parts_[part];
          const tensor_type row = b.type(p.sum);
          const int inverse = b.div(b.splat(1, row), p.sum);
          return b.mul(p.exponential, b.broadcast(inverse, n.type.dims, p.kept));
        }
      }
    }
    return keep(b, n);
  }

  // Ranks exchange what lies in one piece: the axis of ranks comes first.
  static constexpr int expand_collective(ir::builder& b, const moving_node& n) {
    ir::attribute_list attributes = n.attributes;
    const auto at = static_cast<int>(attributes.values[1]);
    attributes.values[1] = 0;
    switch (n.code) {
      case op::all_gather: {
        tensor_type gathered = n.type;
        for (int i = at; i > 0; --i) gathered.dims[i] = gathered.dims[i - 1];
        gathered.dims[0] = n.type.dims[at];
        return moved_axis(b, b.append(n.code, {n[0]}, attributes, gathered), 0, at);
      }
      case op::psum_scatter:
        return b.append(n.code, {moved_axis(b, n[0], at, 0)}, attributes, n.type);
      case op::all_to_all: {
        const auto to = static_cast<int>(attributes.values[2]);
        attributes.values[2] = 0;
        const int split = moved_axis(b, n[0], at, 0);
        return moved_axis(b, b.append(n.code, {split}, attributes, b.type(split)), 0, to);
      }
      default:  // kernels combine numbers
        if (n.type.element != dtype::boolean) return keep(b, n);
        return b.binary(op::ne, b.append(n.code, {b.convert(n[0], dtype::i32)}, n.attributes),
                        b.splat(0, {dtype::i32, n.type.dims}));
    }
  }

  // Contracted axes that are not neighbours in order are brought together behind the others.
  static constexpr int expand_dot(ir::builder& b, const moving_node& n) {
    auto axes = ir::dot_axes::unpacked(n.attributes);
    const int lhs =
        in_order(b, n[0], axes.num_batch, axes.lhs_batch, axes.num_contract, axes.lhs_contract);
    const int rhs =
        in_order(b, n[1], axes.num_batch, axes.rhs_batch, axes.num_contract, axes.rhs_contract);
    return b.dot(lhs, rhs, axes);
  }
  static constexpr int in_order(ir::builder& b, int x, int num_batch, int* batch, int count,
                                int* axes) {
    bool fine = true;
    for (int i = 1; i < count; ++i) fine = fine && axes[i] == axes[i - 1] + 1;
    if (fine) return x;
    const int rank = b.type(x).rank();
    std::int64_t permutation = 0;
    int at = 0;
    int new_place[max_rank]{};
    for (int a = 0; a < rank; ++a) {
      bool contracted = false;
      for (int i = 0; i < count; ++i) contracted = contracted || axes[i] == a;
      if (contracted) continue;
      new_place[a] = at;
      permutation = ir::with_permuted_axis(permutation, at++, a);
    }
    for (int i = 0; i < count; ++i) {
      permutation = ir::with_permuted_axis(permutation, at, axes[i]);
      axes[i] = at++;
    }
    for (int i = 0; i < num_batch; ++i) batch[i] = new_place[batch[i]];
    return b.transpose(x, permutation);
  }
};

/// True for nodes whose memory is another node's.
[[nodiscard]] constexpr bool is_view_op(op code) {
  return code == op::broadcast || code == op::reshape || code == op::transpose ||
         code == op::slice || code == op::reverse;
}

}  // namespace detail

/// Gives each output memory of its own: a copy of what has none, or is an output already.
constexpr void separate_outputs(ir::builder& b) {
  bool taken[ir::graph::max_nodes]{};
  for (int i = 0; i < b.g.num_outputs; ++i) {
    int& id = b.g.outputs[i];
    const op code = b.g[id].code;
    const bool has_memory = code != op::parameter && code != op::constant && code != op::iota &&
                            !detail::is_view_op(code);
    if (!has_memory || taken[id]) {
      b.site = b.g[id].at;
      id = b.copy(id);
    }
    taken[id] = true;
  }
}

/// Rewrites `from` into an empty builder in the forms that kernels run.
///
/// Post: outputs are distinct nodes that compute; values as before to rounding (a softmax is a
/// quotient instead of an exponential). Cost: O(nodes + edges).
constexpr void expand(const ir::graph& from, ir::builder& into) {
  ir::builder whole;
  detail::expander rule;
  rewrite(from, whole, rule);
  copy_live(whole.g, into);  // a softmax leaves the logarithm of its sum behind
  separate_outputs(into);
}

}  // namespace atled::passes
