// atled/ir/graph.hpp: the program as a constexpr value: nodes in an order in which they can run.
// Reads: ir/op.hpp, core/shape.hpp. Only ir/builder.hpp makes nodes.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"
#include "atled/core/shape.hpp"
#include "atled/ir/checkpoint_scope.hpp"
#include "atled/ir/op.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace atled::ir {

/// Indices of nodes that are none: `no_node` is a symbolic zero or an absent value, `poison` the
/// result of an ill-typed operation, which swallows all that is done to it.
inline constexpr int no_node = -1;
inline constexpr int poison = -2;

/// One operation. All members are plain, so that an array of nodes starts as zeros at no cost.
struct node {
  op code;
  int num_operands;
  int operands_begin;  ///< in graph::operands
  int num_attributes;
  int attributes_begin;  ///< in graph::attributes
  tensor_type type;
  call_site at;
  std::uint32_t varies;  ///< the named axes along which its value differs, a bit each
  int scope;             ///< of the checkpointed call that made it; see ir/checkpoint_scope.hpp
  int home;              ///< the scope in which its value is at hand
};

/// An axis that has a name: of a `vmap` around the function, or of a mesh.
struct named_axis {
  static constexpr int name_capacity = 32;
  char name[name_capacity];
  int name_size;
  std::int64_t size;
  int bit;        ///< of node::varies
  int mesh_axis;  ///< + 1, of the mesh whose ranks are the lanes; 0 for lanes of a vmap

  /// A size of 0 is that of ranks whose number is known at run time only.
  [[nodiscard]] constexpr bool is_of_ranks() const { return mesh_axis > 0; }
  [[nodiscard]] constexpr bool is_open() const { return mesh_axis > 0 && size == 0; }

  [[nodiscard]] constexpr std::string_view view() const {
    return {name, static_cast<std::size_t>(name_size)};
  }
};

/// A list of integers given with an op: axes, sizes, masks. Meaning: ir/op.hpp.
struct attribute_list {
  std::int64_t values[2 * max_rank + 4];
  int size;

  [[nodiscard]] static constexpr attribute_list none() { return attribute_list{}; }
  [[nodiscard]] static constexpr attribute_list of(std::int64_t value) {
    attribute_list out{};
    out.push(value);
    return out;
  }
  constexpr void push(std::int64_t value) { values[size++] = value; }
};

/// A host function on memory: one pointer an argument, and where all results begin; and, if it has
/// one, the function for many lanes at once: for each argument, the bytes from lane to lane or 0.
struct external_function {
  void (*one)(const std::byte* const* in, std::byte* out);
  void (*many)(std::int64_t lanes, const std::byte* const* in, const std::int64_t* strides,
               std::byte* out);

  bool operator==(const external_function&) const = default;
};

/// A program: nodes in topological order, its parameters and outputs.
///
/// Invariants (checked by ir/verify.hpp): operands precede their node; types are those of
/// ir/type_rules.hpp; `num_parameters` parameters, numbered from 0.
/// The capacities are limits only: the compiler stores what is used.
struct graph {
  static constexpr int max_nodes = 1 << 17;
  static constexpr int max_operands = 1 << 18;
  static constexpr int max_attributes = 1 << 18;
  static constexpr int max_outputs = 1 << 14;
  static constexpr int max_axes = 1 << 10;
  static constexpr int max_scopes = 1 << 12;
  static constexpr int max_externals = 1 << 8;

  node nodes[max_nodes];
  int num_nodes;
  int operands[max_operands];
  int num_operands;
  std::int64_t attributes[max_attributes];
  int num_attributes;
  int parameters[max_outputs];  ///< node of each parameter
  int num_parameters;
  int outputs[max_outputs];
  int num_outputs;
  named_axis axes[max_axes];  ///< each use of a name is an axis of its own
  int num_axes;
  checkpoint_scope scopes[max_scopes];  ///< 0 is unused
  int num_scopes;                       ///< without 0: none where nothing is checkpointed
  int num_regions;  ///< numbers given to loops, branches and what they bind; 0: there are none
  external_function externals[max_externals];
  int num_externals;

  [[nodiscard]] constexpr const node& operator[](int id) const { return nodes[id]; }
  [[nodiscard]] constexpr int operand(int id, int index) const {
    return operands[nodes[id].operands_begin + index];
  }
  [[nodiscard]] constexpr std::int64_t attribute(int id, int index = 0) const {
    return attributes[nodes[id].attributes_begin + index];
  }
  [[nodiscard]] constexpr attribute_list attributes_of(int id) const {
    attribute_list out{};
    for (int i = 0; i < nodes[id].num_attributes; ++i) out.push(attribute(id, i));
    return out;
  }
  [[nodiscard]] constexpr const tensor_type& type(int id) const { return nodes[id].type; }

  /// `scope` is `outer` or lies inside of it.
  [[nodiscard]] constexpr bool is_inside(int scope, int outer) const {
    while (scope > outer) scope = scopes[scope].parent;
    return scope == outer;
  }

  [[nodiscard]] constexpr bool is_constant(int id) const { return nodes[id].code == op::constant; }
  /// The value of an op::constant; integers up to 2^53 are exact.
  [[nodiscard]] constexpr double constant_value(int id) const {
    const std::int64_t bits = attribute(id);
    return is_floating(nodes[id].type.element) ? std::bit_cast<double>(bits)
                                               : static_cast<double>(bits);
  }
};

/// Axes as a bit mask.
[[nodiscard]] constexpr bool has_axis(std::int64_t mask, int axis) {
  return ((mask >> axis) & 1) != 0;
}

/// A permutation of axes packed four bits an axis.
[[nodiscard]] constexpr int permuted_axis(std::int64_t packed, int axis) {
  return static_cast<int>((packed >> (4 * axis)) & 15);
}
[[nodiscard]] constexpr std::int64_t with_permuted_axis(std::int64_t packed, int axis, int from) {
  return packed | (static_cast<std::int64_t>(from) << (4 * axis));
}

/// In attribute 1 of op::sharding_constraint: nothing is moved, but what is split so may be
/// gathered.
inline constexpr std::int64_t back_again = 256;

/// From which lane each lane receives, eight lanes an attribute: 0 for none, else the lane + 1.
struct lane_sources {
  static constexpr int capacity = 136;  // attributes that are left beside the axis, times eight
  int of[capacity];
  int size;

  [[nodiscard]] constexpr attribute_list packed(int axis) const {
    attribute_list out = attribute_list::of(axis);
    for (int i = 0; i < size; ++i) {
      if (i % 8 == 0) out.push(0);
      out.values[out.size - 1] |= static_cast<std::int64_t>(of[i] + 1) << (8 * (i % 8));
    }
    return out;
  }
  [[nodiscard]] static constexpr lane_sources unpacked(const attribute_list& list,
                                                       std::int64_t size) {
    lane_sources out{};
    for (; out.size < size; ++out.size) {
      const std::int64_t eight = list.values[1 + out.size / 8];
      out.of[out.size] = static_cast<int>((eight >> (8 * (out.size % 8))) & 255) - 1;
    }
    return out;
  }
  /// Each lane receives from the one it sent to.
  [[nodiscard]] constexpr lane_sources inverse() const {
    lane_sources out{};
    out.size = size;
    for (int i = 0; i < size; ++i) out.of[i] = no_node;
    for (int i = 0; i < size; ++i) {
      if (of[i] >= 0) out.of[of[i]] = i;
    }
    return out;
  }
};

/// Which axes of a dot's operands are paired; batch axes lead the result, then the free axes of the
/// left and of the right operand follow in their order.
struct dot_axes {
  int num_batch;
  int num_contract;
  int lhs_batch[max_rank], rhs_batch[max_rank];
  int lhs_contract[max_rank], rhs_contract[max_rank];

  constexpr void batch(int lhs, int rhs) {
    lhs_batch[num_batch] = lhs;
    rhs_batch[num_batch++] = rhs;
  }
  constexpr void contract(int lhs, int rhs) {
    lhs_contract[num_contract] = lhs;
    rhs_contract[num_contract++] = rhs;
  }

  /// The axes of the product with its operands exchanged.
  [[nodiscard]] constexpr dot_axes swapped() const {
    dot_axes out{};
    for (int i = 0; i < num_batch; ++i) out.batch(rhs_batch[i], lhs_batch[i]);
    for (int i = 0; i < num_contract; ++i) out.contract(rhs_contract[i], lhs_contract[i]);
    return out;
  }

  [[nodiscard]] constexpr attribute_list packed() const {
    attribute_list out{};
    out.push(num_batch);
    out.push(num_contract);
    std::int64_t lists[4]{};
    for (int i = 0; i < num_batch; ++i) {
      lists[0] = with_permuted_axis(lists[0], i, lhs_batch[i]);
      lists[1] = with_permuted_axis(lists[1], i, rhs_batch[i]);
    }
    for (int i = 0; i < num_contract; ++i) {
      lists[2] = with_permuted_axis(lists[2], i, lhs_contract[i]);
      lists[3] = with_permuted_axis(lists[3], i, rhs_contract[i]);
    }
    for (const std::int64_t list : lists) out.push(list);
    return out;
  }
  [[nodiscard]] static constexpr dot_axes unpacked(const attribute_list& list) {
    dot_axes out{};
    const int batches = static_cast<int>(list.values[0]);
    const int contracts = static_cast<int>(list.values[1]);
    for (int i = 0; i < batches; ++i) {
      out.batch(permuted_axis(list.values[2], i), permuted_axis(list.values[3], i));
    }
    for (int i = 0; i < contracts; ++i) {
      out.contract(permuted_axis(list.values[4], i), permuted_axis(list.values[5], i));
    }
    return out;
  }
  /// 'b' for a batch axis, 'c' for a contracted one, 'f' for a free one.
  [[nodiscard]] constexpr char role_of_lhs(int axis) const {
    for (int i = 0; i < num_batch; ++i) {
      if (lhs_batch[i] == axis) return 'b';
    }
    for (int i = 0; i < num_contract; ++i) {
      if (lhs_contract[i] == axis) return 'c';
    }
    return 'f';
  }
  [[nodiscard]] constexpr char role_of_rhs(int axis) const {
    for (int i = 0; i < num_batch; ++i) {
      if (rhs_batch[i] == axis) return 'b';
    }
    for (int i = 0; i < num_contract; ++i) {
      if (rhs_contract[i] == axis) return 'c';
    }
    return 'f';
  }
};

}  // namespace atled::ir
