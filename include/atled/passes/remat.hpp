// atled/passes/remat.hpp: values of checkpointed calls that a derivative reads are computed again
// beside it, from what enters the call, instead of being kept.
// Reads: passes/rewrite.hpp, ir/checkpoint_scope.hpp. Runs after passes/expand.hpp, so that a
// program with checkpoints and one without consist of the same operations.
//
// A node reads another late if that one's home is neither the reader's scope nor around it: then it
// reads a clone. A clone reads clones of the same call, and what enters the call behind an
// op::barrier: the node under another name, so that equal nodes do not become one again and no
// clone joins a kernel of the forward pass. Clones stand before their first reader, in the order in
// which steps run.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/rewrite.hpp"

namespace atled::passes {
namespace detail {

/// Additions and multiplications of one node, roughly.
[[nodiscard]] constexpr double flops_of(const ir::graph& g, int id) {
  const op code = g[id].code;
  auto out = static_cast<double>(g.type(id).size());
  if (code == op::dot) {
    const auto axes = ir::dot_axes::unpacked(g.attributes_of(id));
    const shape& lhs = g.type(g.operand(id, 0)).dims;
    for (int i = 0; i < axes.num_contract; ++i) {
      out *= static_cast<double>(lhs[axes.lhs_contract[i]]);
    }
    return 2 * out;
  }
  if (info(code).kind == op_kind::reduction) {
    return static_cast<double>(g.type(g.operand(id, 0)).size());
  }
  return info(code).kind == op_kind::shape ? 0 : out;
}

class rematerializer {
 public:
  constexpr rematerializer(const ir::graph& from, ir::builder& into) : from_(from), into_(into) {
    for (int id = 0; id < from.num_nodes; ++id) home_[id] = from[id].home;
  }

  constexpr void run() {
    mark();
    if (spend_budgets()) {
      clear();
      mark();
    }
    copy();
  }

 private:
  /// A node that is computed again in a call's scope, or enters it there.
  struct clone {
    int node;
    int scope;
    int next;  // of the same node, + 1
    int copy;  // + 1, once it is there
    bool enters;
  };
  static constexpr int max_clones = ir::graph::max_nodes;

  const ir::graph& from_;
  ir::builder& into_;
  int home_[ir::graph::max_nodes]{};
  bool needed_[ir::graph::max_nodes]{};  // as it is
  int first_clone_[ir::graph::max_nodes]{};
  clone clones_[max_clones]{};
  int num_clones_ = 0;
  int place_of_[ir::graph::max_nodes]{};
  int stack_[max_clones]{};
  int next_operand_[max_clones]{};

  [[nodiscard]] constexpr bool is_late(int reader, int id) const {
    const int home = home_[id];
    return home != 0 && !from_.is_inside(from_[reader].scope, home);
  }
  [[nodiscard]] constexpr bool is_source(int id) const {
    const op code = from_[id].code;
    return code == op::constant || code == op::iota;
  }

  constexpr int find(int node, int scope, bool enters) const {
    for (int i = first_clone_[node]; i != 0; i = clones_[i - 1].next) {
      const clone& c = clones_[i - 1];
      if (c.scope == scope && c.enters == enters) return i - 1;
    }
    return -1;
  }
  constexpr int add(int node, int scope, bool enters) {
    clones_[num_clones_] = clone{node, scope, first_clone_[node], 0, enters};
    first_clone_[node] = ++num_clones_;
    return num_clones_ - 1;
  }

  /// Where a clone in `scope` gets an operand from: a clone in the scope of this number, or the
  /// node itself, 0.
  [[nodiscard]] constexpr int source_scope(int operand, int scope, int reader) const {
    const int home = home_[operand];
    if (home == 0 || from_.is_inside(from_[reader].scope, home)) return 0;
    return home != scope && from_.is_inside(scope, home) ? home : scope;
  }

  // --- what is needed --------------------------------------------------------------------------

  constexpr void mark() {
    for (int i = 0; i < from_.num_outputs; ++i) {
      if (from_.outputs[i] >= 0) needed_[from_.outputs[i]] = true;
    }
    for (int id = from_.num_nodes - 1; id >= 0; --id) {
      if (!needed_[id]) continue;
      for (int i = 0; i < from_[id].num_operands; ++i) {
        const int x = from_.operand(id, i);
        if (is_late(id, x)) {
          request(x, home_[x], id);
        } else {
          needed_[x] = true;
        }
      }
    }
  }
  constexpr void request(int node, int scope, int reader) {
    int size = 0;
    const auto want = [&](int x, int in) {
      if (find(x, in, false) < 0) stack_[size++] = add(x, in, false);
    };
    want(node, scope);
    while (size > 0) {
      const clone c = clones_[stack_[--size]];
      for (int i = 0; i < from_[c.node].num_operands; ++i) {
        const int x = from_.operand(c.node, i);
        if (const int in = source_scope(x, c.scope, reader); in > 0) {
          want(x, in);
        } else {
          needed_[x] = true;
        }
      }
    }
  }
  constexpr void clear() {
    for (int i = 0; i < num_clones_; ++i) first_clone_[clones_[i].node] = 0;
    for (int id = 0; id < from_.num_nodes; ++id) needed_[id] = false;
    num_clones_ = 0;
  }

  // --- budgets ---------------------------------------------------------------------------------

  // Values of the forward pass that would be computed again, the dearest a byte first, as long as
  // they fit: then their home is that of the call.
  constexpr bool spend_budgets() {
    bool any = false;
    for (int s = 1; s <= from_.num_scopes; ++s) any = any || from_.scopes[s].budget > 0;
    if (!any) return false;
    std::int64_t left[ir::graph::max_scopes]{};
    for (int s = 1; s <= from_.num_scopes; ++s) left[s] = from_.scopes[s].budget;
    int size = 0;
    int* heap = stack_;
    for (int i = 0; i < num_clones_; ++i) {
      const clone& c = clones_[i];
      if (!needed_[c.node] || c.scope != home_[c.node] || left[c.scope] == 0) continue;
      if (info(from_[c.node].code).kind == op_kind::shape || is_source(c.node)) continue;
      heap[size++] = c.node;
    }
    for (int i = size / 2 - 1; i >= 0; --i) sift(heap, i, size);
    while (size > 0) {
      const int node = heap[0];
      heap[0] = heap[--size];
      sift(heap, 0, size);
      const int scope = home_[node];
      const std::int64_t bytes = from_.type(node).bytes();
      if (bytes > left[scope]) continue;
      left[scope] -= bytes;
      home_[node] = from_.scopes[scope].parent;
    }
    return true;
  }
  [[nodiscard]] constexpr bool is_dearer(int a, int b) const {
    const double left = flops_of(from_, a) * static_cast<double>(from_.type(b).bytes());
    const double right = flops_of(from_, b) * static_cast<double>(from_.type(a).bytes());
    return left != right ? left > right : a < b;
  }
  constexpr void sift(int* heap, int i, int size) const {
    while (2 * i + 1 < size) {
      int child = 2 * i + 1;
      if (child + 1 < size && is_dearer(heap[child + 1], heap[child])) ++child;
      if (!is_dearer(heap[child], heap[i])) return;
      const int moved = heap[i];
      heap[i] = heap[child];
      heap[child] = moved;
      i = child;
    }
  }

  // --- the new graph ---------------------------------------------------------------------------

  constexpr void copy() {
    copy_names(from_, into_);
    for (int id = 0; id < from_.num_nodes; ++id) {
      const ir::node& n = from_[id];
      if (n.code == op::parameter) {
        into_.site = n.at;
        place_of_[id] = into_.parameter(n.type);
        continue;
      }
      if (!needed_[id]) continue;
      int operands[ir::operand_types::capacity]{};
      for (int i = 0; i < n.num_operands; ++i) {
        const int x = from_.operand(id, i);
        operands[i] = is_late(id, x) ? copied(find(x, home_[x], false), id) : place_of_[x];
      }
      place_of_[id] = append(id, operands);
    }
    for (int i = 0; i < from_.num_outputs; ++i) {
      const int output = from_.outputs[i];
      into_.g.outputs[into_.g.num_outputs++] = output < 0 ? output : place_of_[output];
    }
  }
  constexpr int append(int id, const int* operands) {
    into_.site = from_[id].at;
    return into_.append(from_[id].code, operands, from_[id].num_operands, from_.attributes_of(id),
                        from_.type(id));
  }

  // The clone and all that it needs, operands first; a stack, because chains are long.
  constexpr int copied(int wanted, int reader) {
    int size = 0;
    const auto enter = [&](int index) {
      next_operand_[size] = 0;
      stack_[size++] = index;
    };
    if (clones_[wanted].copy == 0) enter(wanted);
    while (size > 0) {
      const int index = stack_[size - 1];
      const clone c = clones_[index];
      int& at = next_operand_[size - 1];
      bool is_ready = true;
      for (; is_ready && at < from_[c.node].num_operands; ++at) {
        const int x = from_.operand(c.node, at);
        const int in = source_scope(x, c.scope, reader);
        if (in == 0) continue;
        const int needed = find(x, in, false);
        if (clones_[needed].copy == 0) {
          enter(needed);
          is_ready = false;
          break;
        }
      }
      if (!is_ready) continue;
      int operands[ir::operand_types::capacity]{};
      for (int i = 0; i < from_[c.node].num_operands; ++i) {
        const int x = from_.operand(c.node, i);
        const int in = source_scope(x, c.scope, reader);
        operands[i] =
            in == c.scope ? clones_[find(x, in, false)].copy - 1 : entered(x, in, c.scope);
      }
      clones_[index].copy = append(c.node, operands) + 1;
      --size;
    }
    return clones_[wanted].copy - 1;
  }

  // What enters a call: from around it, or a clone of a call around it.
  constexpr int entered(int x, int in, int scope) {
    if (is_source(x)) return place_of_[x];
    int found = find(x, scope, true);
    if (found < 0) {
      const int outside = in == 0 ? place_of_[x] : clones_[find(x, in, false)].copy - 1;
      const auto bound = ir::attribute_list::of(into_.g.num_nodes);
      found = add(x, scope, true);
      into_.site = from_[x].at;
      clones_[found].copy = into_.append(op::barrier, {outside}, bound) + 1;
    }
    return clones_[found].copy - 1;
  }
};

}  // namespace detail

/// Copies a graph into an empty builder; what checkpointed calls must not keep is computed again.
///
/// Pre: the last rewriting: a barrier's attribute is a number of a node. Post: the outputs have the
/// same bits; no node of a derivative reads a value whose home is inside of a call it is not in.
/// Cost: O(nodes + edges), for each call around a node; one more copy of the graph for budgets.
/// Source: Griewank, Achieving logarithmic growth, 1992; Chen et al., Training Deep Nets with
/// Sublinear Memory Cost, 2016.
constexpr void remat(const ir::graph& from, ir::builder& into) {
  detail::rematerializer(from, into).run();
}

}  // namespace atled::passes
