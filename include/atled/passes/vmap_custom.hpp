// atled/passes/vmap_custom.hpp: rules of the user's own, and host functions, on many lanes.
// Reads: passes/vmap_collective.hpp, ir/custom_rule.hpp. Called by passes/vmap.hpp, and calls it: a
// rule of one lane is run when a derivative wants it, and what it appends is then put on all lanes.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/vmap_collective.hpp"

namespace atled::passes {

struct lane_ids;
constexpr void vmap(ir::builder& b, const ids& outputs, const ids& inputs, const ids& mapped_inputs,
                    std::int64_t size, int axis, lane_ids& results);

namespace detail {

/// Values of one lane, and what they are on all lanes.
struct lane_map {
  static constexpr int capacity = 4 * ir::operand_types::capacity;
  int inputs[capacity];
  int mapped[capacity];
  int count;
  std::int64_t size;
  int axis;

  constexpr void push(int input, int value) {
    inputs[count] = input;
    mapped[count++] = value;
  }
};

/// A value of one lane that stands for `mapped` on all of them; the shared ones are themselves.
constexpr int in_one_lane(ir::builder& b, lane_map& map, int value, bool is_mapped) {
  if (value < 0 || !is_mapped) return value;
  tensor_type type = b.type(value);
  type.dims = shape{};
  for (int i = 1; i < b.type(value).rank(); ++i) type.dims.push(b.type(value).dims[i]);
  const int one = b.variable(b.splat(0, type));
  map.push(one, value);
  return one;
}

/// `outputs` on all lanes: each is replaced; `is_mapped` says how. `ir::no_node` stays.
constexpr void on_all_lanes(ir::builder& b, const lane_map& map, int* outputs, int count,
                            bool* is_mapped);

/// The user's rule on all lanes.
class rule_in_lanes final : public ir::custom_rule {
 public:
  std::int64_t inner = 0;
  std::int64_t size = 0;
  int axis = -1;
  int count = 0;
  bool is_mapped[ir::operand_types::capacity]{};  // of each input

  constexpr rule_in_lanes() = default;
  constexpr ~rule_in_lanes() override {}  // NOLINT: g++ 12 finds no defaulted one in time

  constexpr void differentiate(ir::builder& b, const int* inputs, const int* tangents,
                               int* out) const override {
    lane_map map{};
    map.size = size;
    map.axis = axis;
    int primals[ir::operand_types::capacity]{};
    int directions[ir::operand_types::capacity]{};
    for (int i = 0; i < count; ++i) {
      primals[i] = in_one_lane(b, map, inputs[i], is_mapped[i]);
      directions[i] = in_one_lane(b, map, tangents[i], is_mapped[i]);
    }
    b.rule(inner).differentiate(b, primals, directions, out);
    bool moved[ir::operand_types::capacity]{};
    on_all_lanes(b, map, out, num_outputs, moved);
    for (int k = 0; k < num_outputs; ++k) {  // the value has its lanes in front
      if (out[k] >= 0 && !moved[k]) out[k] = repeated(b, out[k], size);
    }
  }
  [[nodiscard]] constexpr const char* name() const override { return "custom_jvp"; }
};

/// The user's bwd on all lanes.
class pullback_in_lanes final : public ir::custom_pullback {
 public:
  std::int64_t inner = 0;
  std::int64_t size = 0;
  int axis = -1;
  int count = 0;  // of inputs
  int num_kept = 0;
  bool is_mapped[ir::operand_types::capacity]{};  // of each input, then of what is kept

  constexpr pullback_in_lanes() = default;
  constexpr ~pullback_in_lanes() override {}  // NOLINT: g++ 12 finds no defaulted one in time

  constexpr void pull(ir::builder& b, const int* kept, const int* cotangents,
                      int* out) const override {
    lane_map map{};
    map.size = size;
    map.axis = axis;
    int kept_in_lane[ir::operand_types::capacity]{};
    int in_lane[ir::operand_types::capacity]{};
    for (int i = 0; i < num_kept; ++i) {
      kept_in_lane[i] = in_one_lane(b, map, kept[i], is_mapped[count + i]);
    }
    for (int k = 0; k < ir::operand_types::capacity; ++k) {
      in_lane[k] = in_one_lane(b, map, cotangents[k], true);
    }
    b.pullback(inner).pull(b, kept_in_lane, in_lane, out);
    bool moved[ir::operand_types::capacity]{};
    on_all_lanes(b, map, out, count, moved);
    for (int i = 0; i < count; ++i) {
      if (out[i] < 0) continue;
      if (is_mapped[i] && !moved[i]) {
        out[i] = repeated(b, out[i], size);
      } else if (!is_mapped[i]) {  // lanes share the argument: its cotangents are summed
        out[i] = sum_of_lanes(b, {out[i], moved[i]}, size);
      }
    }
  }
};

/// A call with a rule of its own, on all lanes; its results share one rule.
constexpr int vmap_custom(ir::builder& b, const lane_node& n, int axis) {
  const std::int64_t inner = b.g.attribute(n.z, 0);
  const int output = static_cast<int>(b.g.attribute(n.z, 1));
  ir::custom_rule& of_one = b.rule(inner);
  int operands[ir::operand_types::capacity]{};
  for (int i = 0; i < n.count; ++i) operands[i] = i == 0 ? n.in_front(b, 0) : n[i];
  std::int64_t in_lanes_rule = of_one.lanes_rule - 1;
  bool is_same = in_lanes_rule >= 0;
  for (int i = 1; i < n.count && is_same; ++i) {
    is_same = of_one.lanes_operands[i - 1] == operands[i];
  }
  if (!is_same) {
    auto* rule = new rule_in_lanes();
    rule->inner = inner;
    rule->size = n.size;
    rule->axis = axis;
    rule->count = n.count - 1;
    rule->num_outputs = of_one.num_outputs;
    for (int i = 1; i < n.count; ++i) {
      rule->is_mapped[i - 1] = n.is_mapped(i);
      of_one.lanes_operands[i - 1] = operands[i];
    }
    in_lanes_rule = b.keep_rule(rule);
    b.rule(inner).lanes_rule = static_cast<int>(in_lanes_rule) + 1;
  }
  ir::attribute_list attributes{};
  attributes.push(in_lanes_rule);
  attributes.push(output);
  return b.append(op::custom, operands, n.count, attributes);
}

/// The linear part of such a call: only a transpose looks into it.
constexpr int vmap_custom_linear(ir::builder& b, const lane_node& n, int axis) {
  auto* pullback = new pullback_in_lanes();
  pullback->inner = b.g.attribute(n.z);
  pullback->size = n.size;
  pullback->axis = axis;
  pullback->count = static_cast<int>(b.g.attribute(n.z, 1));
  pullback->num_kept = n.count - pullback->count;
  int operands[ir::operand_types::capacity]{};
  for (int i = 0; i < n.count; ++i) {
    operands[i] = n[i];
    pullback->is_mapped[i] = n.is_mapped(i);
  }
  auto attributes = ir::attribute_list::of(b.keep_pullback(pullback));
  attributes.push(b.g.attribute(n.z, 1));
  return b.append(op::custom_linear, operands, n.count, attributes, n.type(b));
}

/// A host function is called once for each lane; lanes of lanes are one row of calls.
constexpr int vmap_external(ir::builder& b, const lane_node& n) {
  ir::attribute_list attributes{};
  const std::int64_t calls = b.g.attribute(n.z, 1);
  const std::int64_t moving = b.g.attribute(n.z, 2);
  std::int64_t mask = 0;
  int operands[ir::operand_types::capacity]{};
  for (int i = 0; i < n.count; ++i) {
    operands[i] = n[i];
    if (calls >= 0 && ir::has_axis(moving, i)) {
      operands[i] = n.in_front(b, i);
      mask |= std::int64_t{1} << i;
    } else if (n.is_mapped(i)) {
      mask |= std::int64_t{1} << i;
      if (calls < 0 || n[i] < 0) continue;
      shape dims = shape::of({n.size, calls});  // the same for the calls of one lane
      std::int64_t kept = 1;
      for (int a = 1; a < b.type(n[i]).rank(); ++a) {
        kept |= std::int64_t{1} << dims.rank;
        dims.push(b.type(n[i]).dims[a]);
      }
      operands[i] = b.broadcast(n[i], dims, kept);
    }
  }
  attributes.push(b.g.attribute(n.z, 0));
  attributes.push(calls < 0 ? n.size : calls * n.size);
  attributes.push(mask);
  return b.append(op::external, operands, n.count, attributes, n.type(b));
}

}  // namespace detail
}  // namespace atled::passes

#include "atled/passes/vmap.hpp"  // the two call each other: a rule is mapped like a graph
