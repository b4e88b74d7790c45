// atled/passes/layout.hpp: which nodes are mere views, and of what: a base, an offset and strides.
// Reads: ir/graph.hpp. Used by passes/fuse.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/graph.hpp"

namespace atled::passes {

/// A node as a walk over the memory of `base`, which lies row-major. Units: elements.
///
/// An op::iota is a base too: its "memory" holds at each place the index itself.
struct view {
  int base;
  std::int64_t offset;
  std::int64_t strides[max_rank];
};

/// The view of every node. A node that computes is its own base.
struct layout {
  view of[ir::graph::max_nodes];
};

namespace detail {

constexpr view contiguous_view(int id, const shape& dims) {
  view out{id, 0, {}};
  const shape strides = row_major_strides(dims);
  for (int i = 0; i < dims.rank; ++i) out.strides[i] = strides[i];
  return out;
}

constexpr view broadcast_view(const view& in, const shape& from, const shape& to,
                              std::int64_t mask) {
  view out{in.base, in.offset, {}};
  int axis = 0;
  for (int i = 0; i < to.rank; ++i) {
    if (!ir::has_axis(mask, i)) continue;
    out.strides[i] = from[axis] == 1 ? 0 : in.strides[axis];
    ++axis;
  }
  return out;
}

/// Strides after a reshape, if no copy is needed.
///
/// Groups of axes with equal products are matched from the left; inside a group the old axes must
/// lie at one common distance.
constexpr bool reshape_view(const view& in, const shape& from, const shape& to, view& out) {
  out = view{in.base, in.offset, {}};
  if (from.size() == 0) return true;
  int i = 0;
  int j = 0;
  while (i < from.rank || j < to.rank) {
    std::int64_t old_size = i < from.rank ? from[i] : 1;
    std::int64_t new_size = j < to.rank ? to[j] : 1;
    int i_end = i < from.rank ? i + 1 : i;
    int j_end = j < to.rank ? j + 1 : j;
    while (old_size != new_size) {
      if (old_size < new_size) {
        old_size *= from[i_end++];
      } else {
        new_size *= to[j_end++];
      }
    }
    // The old axes [i, i_end) must be one axis in memory (sizes of 1 do not matter).
    std::int64_t step = 0;
    std::int64_t expected = -1;
    for (int a = i_end - 1; a >= i; --a) {
      if (from[a] == 1) continue;
      if (expected < 0) {
        step = in.strides[a];
      } else if (in.strides[a] != expected) {
        return false;
      }
      expected = in.strides[a] * from[a];
    }
    for (int a = j_end - 1; a >= j; --a) {
      out.strides[a] = to[a] == 1 ? 0 : step;
      step *= to[a];
    }
    i = i_end;
    j = j_end;
  }
  return true;
}

}  // namespace detail

/// True for a view that reads its base in order, from the first to the last element.
[[nodiscard]] constexpr bool is_contiguous(const view& v, const shape& dims) {
  if (v.offset != 0) return false;
  std::int64_t step = 1;
  for (int i = dims.rank - 1; i >= 0; --i) {
    if (dims[i] != 1 && v.strides[i] != step) return false;
    step *= dims[i];
  }
  return true;
}

/// Finds the view of every node. Cost: O(nodes x rank).
constexpr void make_layout(const ir::graph& g, layout& out) {
  for (int id = 0; id < g.num_nodes; ++id) {
    const ir::node& n = g[id];
    view& v = out.of[id];
    switch (n.code) {
      case op::constant:
        v = view{id, 0, {}};
        break;
      case op::iota:
        v = view{id, 0, {}};
        v.strides[g.attribute(id)] = 1;
        break;
      case op::broadcast: {
        const int x = g.operand(id, 0);
        v = detail::broadcast_view(out.of[x], g.type(x).dims, n.type.dims, g.attribute(id));
        break;
      }
      case op::reshape: {
        const int x = g.operand(id, 0);
        if (!detail::reshape_view(out.of[x], g.type(x).dims, n.type.dims, v)) {
          v = detail::contiguous_view(id, n.type.dims);
        }
        break;
      }
      case op::transpose: {
        const view& x = out.of[g.operand(id, 0)];
        v = view{x.base, x.offset, {}};
        for (int i = 0; i < n.type.rank(); ++i) {
          v.strides[i] = x.strides[ir::permuted_axis(g.attribute(id), i)];
        }
        break;
      }
      case op::slice: {
        const view& x = out.of[g.operand(id, 0)];
        v = view{x.base, x.offset, {}};
        for (int i = 0; i < n.type.rank(); ++i) {
          v.offset += g.attribute(id, i) * x.strides[i];
          v.strides[i] = g.attribute(id, n.type.rank() + i) * x.strides[i];
        }
        break;
      }
      case op::reverse: {
        const view& x = out.of[g.operand(id, 0)];
        v = x;
        for (int i = 0; i < n.type.rank(); ++i) {
          if (!ir::has_axis(g.attribute(id), i) || n.type.dims[i] == 0) continue;
          v.offset += (n.type.dims[i] - 1) * x.strides[i];
          v.strides[i] = -x.strides[i];
        }
        break;
      }
      case op::variable:
      case op::stop_gradient:
      case op::barrier:
        v = out.of[g.operand(id, 0)];
        break;
      default:
        v = detail::contiguous_view(id, n.type.dims);
        break;
    }
  }
}

}  // namespace atled::passes
