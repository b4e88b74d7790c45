// unit/passes/graphs.hpp: what the tests of passes share: small graphs made by hand, before and
// after. Reads: passes/simplify.hpp, support/interpreter.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/print.hpp"
#include "atled/ir/verify.hpp"
#include "atled/passes/simplify.hpp"

#include "support/interpreter.hpp"
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace atled::test {

/// A graph of parameters of these types whose outputs are what `fn(builder, ids of them)` returns.
template <class Fn>
oracle::builder_ptr graph_of(std::initializer_list<tensor_type> parameters, Fn fn) {
  auto b = oracle::make_builder();
  std::vector<int> ids;
  for (const tensor_type& type : parameters) ids.push_back(b->parameter(type));
  for (const int id : std::vector<int>(fn(*b, ids))) b->g.outputs[b->g.num_outputs++] = id;
  if (!b->problem.empty()) throw std::runtime_error(std::string(b->problem.view()));
  return b;
}

/// Simplified, without what is dead.
inline oracle::builder_ptr simplified_copy(const ir::graph& g) {
  const auto simple = oracle::make_builder();
  passes::simplify(g, *simple);
  auto live = oracle::make_builder();
  passes::copy_live(simple->g, *live);
  if (const text law = ir::verify(live->g); !law.empty()) {
    throw std::logic_error(std::string(law.view()));
  }
  return live;
}

/// The equations of a graph without indentation, types or the frame: `c = mul a b; d = neg c`.
inline std::string equations_of(const ir::graph& g) {
  std::string out;
  for (int id = 0; id < g.num_nodes; ++id) {
    if (g[id].code == op::parameter || g[id].code == op::constant) continue;
    if (!out.empty()) out += "; ";
    out += info(g[id].code).name;
    out += std::string(ir::detail::attributes_text(g, id).view());
    for (int i = 0; i < g[id].num_operands; ++i) {
      out += ' ';
      out += std::string(ir::detail::operand_text(g, g.operand(id, i)).view());
    }
  }
  return out;
}

/// What `fn` becomes: its equations, `; ` between them; empty if it is a parameter.
template <class Fn>
std::string simplified_equations(std::initializer_list<tensor_type> parameters, Fn fn) {
  const auto b = graph_of(parameters, [&](ir::builder& into, const std::vector<int>& x) {
    return std::vector<int>{fn(into, x)};
  });
  return equations_of(simplified_copy(b->g)->g);
}

inline tensor_type f32_of(std::initializer_list<std::int64_t> dims) {
  return {dtype::f32, shape::of(dims)};
}
inline tensor_type f64_of(std::initializer_list<std::int64_t> dims) {
  return {dtype::f64, shape::of(dims)};
}
inline tensor_type i32_of(std::initializer_list<std::int64_t> dims) {
  return {dtype::i32, shape::of(dims)};
}

}  // namespace atled::test
