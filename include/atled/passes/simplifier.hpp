// atled/passes/simplifier.hpp: what the rules of `simplify` share: a rule makes nodes that are
// simplified in turn. Reads: passes/fold.hpp. The rules are in passes/simplify_*.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/fold.hpp"

namespace atled::passes::detail {

/// What a rule works with: the new graph, and `simplified` for what the rule itself makes.
struct simplifier {
  ir::builder& into;
  const ir::graph& g;
  int (*simplified)(simplifier& b, const moving_node& n);

  [[nodiscard]] constexpr const tensor_type& type(int id) const { return g.type(id); }
};

/// A node that has been simplified.
constexpr int make(simplifier& b, op code, std::initializer_list<int> operands,
                   const ir::attribute_list& attributes = {}, const tensor_type& wanted = {}) {
  moving_node n{};
  n.code = code;
  n.attributes = attributes;
  ir::operand_types in{};
  for (const int x : operands) {
    if (x < 0) return ir::poison;
    n.operands[n.num_operands++] = x;
    in.types[in.size++] = b.type(x);
  }
  n.type = ir::infer_type(code, in, attributes, wanted).type;
  return b.simplified(b, n);
}

constexpr int make_broadcast(simplifier& b, int x, const shape& dims, std::int64_t mask) {
  return make(b, op::broadcast, {x}, ir::attribute_list::of(mask), {b.type(x).element, dims});
}
constexpr int make_reshape(simplifier& b, int x, const shape& dims) {
  return make(b, op::reshape, {x}, {}, {b.type(x).element, dims});
}

}  // namespace atled::passes::detail
