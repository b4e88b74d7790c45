// atled/passes/shard_state.hpp: what passes/shard.hpp knows of each value of a program: how it is
// split, where its block is, who uses it, and how its users wish it split.
// Reads: passes/shard_rules.hpp. Next: passes/shard_tree.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/shard_rules.hpp"

namespace atled::passes {

/// How the ends of a program are split over a mesh.
struct shardings {
  mesh_shape mesh;
  partition_spec parameters[ir::graph::max_outputs];
  partition_spec outputs[ir::graph::max_outputs];
  bool has_output[ir::graph::max_outputs];  ///< else an output stays split as it comes
  /// The caller holds all of it on each rank, and the program takes this rank's block.
  bool is_whole_parameter[ir::graph::max_outputs];
  bool is_whole_output[ir::graph::max_outputs];  ///< it is made whole in the end
  int num_parts;  ///< of sums over split axes, so that they do not depend on the mesh; 0: as it
                  ///< comes
};

namespace detail {

/// How carries of loops begin where that is not as their first values are split.
struct carry_specs {
  partition_spec of[ir::graph::max_nodes];
  bool is_known[ir::graph::max_nodes];
  bool again;  ///< something was learnt: run once more
};

class shard_state {
 public:
  constexpr shard_state(const ir::graph& g, const shardings& given, ir::builder& b,
                        carry_specs& carries, shardings& result)
      : g_(g), given_(given), b_(b), carries_(carries), result_(result) {}

 protected:
  const ir::graph& g_;
  const shardings& given_;
  ir::builder& b_;
  carry_specs& carries_;
  shardings& result_;

  partition_spec state_[ir::graph::max_nodes]{};
  int place_[ir::graph::max_nodes]{};   // the node of the block, or of this rank's part of a sum
  int addend_[ir::graph::max_nodes]{};  // + 1: a whole value that belongs to the sum
  int uses_[ir::graph::max_nodes]{};
  int bound_[ir::graph::max_nodes]{};  // what a loop binds in place of a carry or item
  bool was_sum_[ir::graph::max_nodes]{};
  split_masks wish_[ir::graph::max_nodes]{};  // how what becomes of it is split in the end
  int users_begin_[ir::graph::max_nodes]{};
  int users_[ir::graph::max_operands]{};
  int axis_[mesh_shape::max_axes]{};  // of the mesh, in graph::axes
  int now_ = 0;                       // nodes before it have their place
  int depth_ = 0;

  struct other_form {
    split_masks split;
    int place;
    int next;
  };
  int first_form_[ir::graph::max_nodes]{};
  other_form forms_[ir::graph::max_nodes]{};
  int num_forms_ = 0;

  // --- before the first node -----------------------------------------------------------------

  constexpr void open_axes() {
    copy_tables_of(g_);
    for (int a = 0; a < given_.mesh.num_axes; ++a) {
      axis_[a] = b_.open_axis(given_.mesh.name(a), given_.mesh.sizes[a], a + 1);
    }
    result_.mesh = given_.mesh;
  }
  constexpr void copy_tables_of(const ir::graph& from) {
    b_.copy_tables(from);
    b_.g.num_regions = from.num_regions;
  }

  /// Uses by what the outputs depend on; the outputs are uses.
  constexpr void count_uses() {
    for (int i = 0; i < g_.num_outputs; ++i) {
      if (g_.outputs[i] >= 0) ++uses_[g_.outputs[i]];
    }
    for (int id = g_.num_nodes - 1; id >= 0; --id) {
      for (int i = 0; uses_[id] > 0 && i < g_[id].num_operands; ++i) ++uses_[g_.operand(id, i)];
    }
    int at = 0;
    for (int id = 0; id < g_.num_nodes; ++id) {
      at += uses_[id];
      users_begin_[id] = at;  // filled from the end
    }
    for (int id = 0; id < g_.num_nodes; ++id) {
      for (int i = 0; uses_[id] > 0 && i < g_[id].num_operands; ++i) {
        users_[--users_begin_[g_.operand(id, i)]] = id + 1;
      }
    }
    for (int i = 0; i < g_.num_outputs; ++i) {
      if (g_.outputs[i] >= 0) users_[--users_begin_[g_.outputs[i]]] = 0;
    }
  }

  static constexpr split_masks no_wish = ~split_masks{0};
  constexpr void wish(int id, split_masks split) {
    if (split == 0 || split == no_wish || wish_[id] == split) return;
    wish_[id] = wish_[id] == 0 ? split : no_wish;
  }
  /// From the outputs back through ops that keep elements where they are.
  constexpr void find_wishes() {
    for (int i = 0; i < g_.num_outputs; ++i) {
      if (g_.outputs[i] >= 0 && given_.has_output[i]) wish(g_.outputs[i], given_.outputs[i].masks);
    }
    for (int id = g_.num_nodes - 1; id >= 0; --id) {
      if (uses_[id] == 0) continue;
      split_masks own = wish_[id] == no_wish ? 0 : wish_[id];
      const op code = g_[id].code;
      if (code == op::sharding_constraint && (g_.attribute(id, 1) & ir::back_again) != 0) {
        wish(g_.operand(id, 0), own);
      } else if (code == op::sharding_constraint) {
        wish(g_.operand(id, 0), static_cast<split_masks>(g_.attribute(id)));
      } else if (code == op::transpose && own != 0) {
        wish(g_.operand(id, 0), unpermuted_split(own, g_.attribute(id), g_.type(id).rank()));
      } else if (is_elementwise(code) || code == op::variable) {
        for (int i = 0; own == 0 && i < g_[id].num_operands; ++i) {
          const int x = g_.operand(id, i);
          if (g_[x].code == op::parameter) own = given_.parameters[g_.attribute(x)].masks;
        }
        for (int i = 0; own != 0 && i < g_[id].num_operands; ++i) wish(g_.operand(id, i), own);
      }
    }
  }

  // --- sentences -----------------------------------------------------------------------------

  [[nodiscard]] constexpr text spec_text(int x) const {
    return state_[x].text(given_.mesh, g_.type(x).rank());
  }
  constexpr bool refuse(int id, const text& why) {
    b_.site = g_[id].at;
    b_.fail(g_[id].code, why);
    return false;
  }
  constexpr int no_open_axis(int axis, std::string_view what) {
    text why;
    why << what << " along mesh axis " << given_.mesh.name(axis) << " of " << given_.mesh.text()
        << " needs its size at build time: give the axis a size";
    return b_.fail("shard", why);
  }

  /// The split of operand `i`, some axes of which must be whole: it is gathered if it may be.
  constexpr split_masks whole_along(int id, int i, std::int64_t axes) {
    const int x = g_.operand(id, i);
    split_masks out = state_[x].masks;
    for (int k = 0; out != 0 && k < g_.type(x).rank(); ++k) {
      const std::uint32_t mask = mask_of(out, k);
      if (mask == 0 || !ir::has_axis(axes, k)) continue;
      if ((mask & ~std::uint32_t{state_[x].gathered}) != 0) {
        text why;
        why << g_.type(x) << " as " << spec_text(x) << ": axis " << k
            << " must be whole here; put with_sharding_constraint on the operand";
        refuse(id, why);
        return 0;
      }
      out = with_mask(out, k, 0);
    }
    return out;
  }
};

}  // namespace detail
}  // namespace atled::passes
