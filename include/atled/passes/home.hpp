// atled/passes/home.hpp: a value that would only be copied into another is computed there.
// Reads: passes/store.hpp. Next: passes/emit.hpp, which writes results to their homes.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/store.hpp"

namespace atled::passes {

namespace detail {

/// Finds homes from the last node back, so that a chain of copies ends where the last one lies: the
/// heads' gradients of attention are transposed and stacked as their products write them.
class home_finder {
 public:
  constexpr home_finder(const ir::graph& g, const layout& views, const grouping& groups,
                        storage& kept)
      : g_(g), views_(views), groups_(groups), kept_(kept) {}

  constexpr void run() {
    count_uses();
    for (int id = g_.num_nodes - 1; id >= 0; --id) {
      if (!kept_.stored[id]) continue;
      if (is_copy(id)) {
        give_home_to_copied(id);
      } else if (is_concatenation(id)) {
        give_homes_to_parts(id);
      }
    }
  }

 private:
  const ir::graph& g_;
  const layout& views_;
  const grouping& groups_;
  storage& kept_;
  int uses_[ir::graph::max_nodes]{};  ///< of its memory, by what computes or copies

  [[nodiscard]] constexpr bool is_copy(int id) const { return groups_.copy_of[id] != 0; }
  [[nodiscard]] constexpr bool is_concatenation(int id) const {
    return g_[id].code == op::concatenate && !is_copy(id);
  }

  constexpr void count_uses() {
    for (int id = 0; id < g_.num_nodes; ++id) {
      if (is_copy(id)) {
        ++uses_[groups_.copies[groups_.copy_of[id]].base];
      } else if (views_.of[id].base == id) {
        for (int k = 0; k < g_[id].num_operands; ++k) ++uses_[views_.of[g_.operand(id, k)].base];
      }
    }
    constexpr int read_outside = 2;
    for (int i = 0; i < g_.num_outputs; ++i) uses_[views_.of[g_.outputs[i]].base] += read_outside;
  }

  constexpr void give_home_to_copied(int id) {
    const shape& domain = groups_.groups[groups_.of(id)].domain;
    view to{};
    if (!reshape_view(place_of(g_, kept_, id), g_.type(id).dims, domain, to)) return;
    give_home(groups_.copies[groups_.copy_of[id]], domain, to);
  }

  constexpr void give_homes_to_parts(int id) {
    const auto axis = static_cast<int>(g_.attribute(id));
    view to = place_of(g_, kept_, id);
    for (int k = 0; k < g_[id].num_operands; ++k) {
      const int x = g_.operand(id, k);
      give_home(views_.of[x], g_.type(x).dims, to);
      to.offset += g_.type(x).dims[axis] * to.strides[axis];
    }
  }

  // `from` is copied to `to`: its base may be computed there if that is all that happens to it.
  constexpr void give_home(const view& from, const shape& domain, const view& to) {
    const int id = from.base;
    if (uses_[id] != 1 || !kept_.stored[id] || from.offset != 0 || !can_move(id)) return;
    shape sizes{};  // of the axes of more than one place, as they lie in the base
    view sorted{to.base, to.offset, {}};
    std::int64_t step = g_.type(id).size();
    while (step > 1) {
      const int axis = axis_inside(from, domain, step);
      if (axis < 0) return;
      step = from.strides[axis];
      sorted.strides[sizes.rank] = to.strides[axis];
      sizes.push(domain[axis]);
    }
    view home{};
    if (!reshape_view(sorted, sizes, g_.type(id).dims, home)) return;
    if (!has_neighbours(home, g_.type(id).dims)) return;
    kept_.moved[id] = true;
    kept_.home[id] = home;
  }
  // The axis whose steps fill one step of the axis outside of it.
  [[nodiscard]] static constexpr int axis_inside(const view& from, const shape& domain,
                                                 std::int64_t step) {
    for (int a = 0; a < domain.rank; ++a) {
      if (domain[a] > 1 && from.strides[a] > 0 && from.strides[a] * domain[a] == step) return a;
    }
    return -1;
  }

  // One value for each element of its group's domain, or a copy itself.
  [[nodiscard]] constexpr bool can_move(int id) const {
    const int at = groups_.of(id);
    if (at < 0) return false;
    const group& in = groups_.groups[at];
    if (in.kind == group_kind::copy) return in.lead == id;
    if (in.kind == group_kind::opaque) return is_concatenation(id);
    return !groups_.per_row[id] && !groups_.after[id] && g_.type(id).dims == in.domain;
  }
  // Kernels write rows, not columns.
  [[nodiscard]] static constexpr bool has_neighbours(const view& home, const shape& dims) {
    for (int a = dims.rank - 1; a >= 0; --a) {
      if (dims[a] > 1) return home.strides[a] == 1;
    }
    return true;
  }
};

}  // namespace detail

/// Gives each stored value whose only use is to be copied, whole, into another one its place there.
///
/// Post: such a value is not read; the copy need not run. Cost: O(nodes + edges), times the rank.
constexpr void find_homes(const ir::graph& g, const layout& views, const grouping& groups,
                          storage& kept) {
  detail::home_finder(g, views, groups, kept).run();
}

}  // namespace atled::passes
