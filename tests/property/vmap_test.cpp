// property/vmap_test.cpp: the laws of vmap, for each op, each argument mapped or shared: row i is
// the single call, and derivatives may be taken before or after.
// Reads: support/op_cases.hpp, passes/vmap.hpp. The oracle is the interpreter, in f64.
// SPDX-License-Identifier: MIT
#include "atled/passes/vmap.hpp"

#include "atled/ir/verify.hpp"
#include "atled/passes/gradient.hpp"

#include "support/catch.hpp"
#include "support/op_cases.hpp"
#include <cmath>
#include <memory>
#include <vector>

using namespace atled;
using namespace atled::oracle;
using passes::ids;

namespace {

constexpr std::int64_t num_lanes = 3;

std::unique_ptr<ids> list() {
  return std::make_unique<ids>();
}

/// The argument of lane `k`: the same numbers in another order, so that they stay in their domain.
array argument_in(const array& x, std::int64_t k) {
  array out = x;
  const auto count = static_cast<std::int64_t>(x.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto from = static_cast<std::size_t>((i + k) % count);
    const auto to = static_cast<std::size_t>(i);
    if (!x.is_real()) {
      out.integers[to] = x.integers[from];
    } else {
      out.reals[to] = x.reals[from];
    }
  }
  if (count != 1) return out;
  if (x.is_real()) {
    out.reals[0] += 0.01 * static_cast<double>(k);
  } else {
    out.integers[0] += k;
    if (x.type.element == dtype::boolean) out.integers[0] %= 2;
  }
  return out;
}

/// Arrays of one type as one, with an axis in front.
array stacked_arrays(const std::vector<array>& rows) {
  const auto size = static_cast<std::int64_t>(rows.size());
  array out({rows[0].type.element, passes::detail::in_lanes(size, rows[0].type.dims)});
  out.reals.clear();
  out.integers.clear();
  for (const array& row : rows) {
    out.reals.insert(out.reals.end(), row.reals.begin(), row.reals.end());
    out.integers.insert(out.integers.end(), row.integers.begin(), row.integers.end());
  }
  return out;
}

/// Row `k` of an array.
array row_of(const array& x, std::int64_t k) {
  tensor_type type{x.type.element, {}};
  for (int i = 1; i < x.type.rank(); ++i) type.dims.push(x.type.dims[i]);
  array out(type);
  const std::size_t begin = static_cast<std::size_t>(k) * out.size();
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (x.is_real()) {
      out.reals[i] = x.reals[begin + i];
    } else {
      out.integers[i] = x.integers[begin + i];
    }
  }
  return out;
}

bool are_near(const array& x, const array& y, double epsilon) {
  if (!(x.type == y.type)) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double scale = std::max(1.0, std::max(std::abs(x[i]), std::abs(y[i])));
    if (!(std::abs(x[i] - y[i]) <= epsilon * scale)) return false;
  }
  return true;
}

/// One node of which some arguments are mapped.
struct lanes_of_case {
  builder_ptr b = make_builder();
  std::vector<array> arguments;
  std::vector<int> whole;                // variables with all lanes, or shared
  std::vector<int> in;                   // what the node sees
  std::unique_ptr<ids> lanes = list();   // variables of one lane
  std::unique_ptr<ids> mapped = list();  // and what they are in all lanes
  int z = 0;

  lanes_of_case(const op_case& one, unsigned mask) {
    for (std::size_t i = 0; i < one.arguments.size(); ++i) {
      const bool is_mapped = ((mask >> i) & 1U) != 0;
      std::vector<array> rows;
      for (std::int64_t k = 0; k < num_lanes; ++k) rows.push_back(argument_in(one.arguments[i], k));
      whole.push_back(b->variable(argument(is_mapped ? stacked_arrays(rows) : one.arguments[i])));
      in.push_back(is_mapped ? lane(whole.back()) : whole.back());
    }
    z = one.build(*b, in);
  }

  int argument(const array& value) {
    arguments.push_back(value);
    return b->parameter(value.type);
  }
  /// A variable of one lane of `all`.
  int lane(int all) {
    lanes->push(b->variable(b->reduce(op::reduce_sum, all, 1)));
    mapped->push(all);
    return (*lanes)[lanes->size - 1];
  }
  /// A node in all lanes.
  int in_all(int id) {
    const auto outputs = list();
    outputs->push(id);
    const auto results = std::make_unique<passes::lane_ids>();
    passes::vmap(*b, *outputs, *lanes, *mapped, num_lanes, -1, *results);
    const int out = results->values[0];
    return results->is_mapped[0] ? out : passes::detail::repeated(*b, out, num_lanes);
  }
  void output(int id) { b->g.outputs[b->g.num_outputs++] = id; }
  [[nodiscard]] std::vector<array> run() const { return interpret(b->g, arguments); }
};

/// Calls `check` with each case of each op and each choice of mapped arguments.
template <class Check>
void for_each_mapping(Check check) {
  for (int code = 0; code < num_ops; ++code) {
    const auto cases = cases_of(static_cast<op>(code));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (unsigned mask = 1; mask < (1U << cases[i].arguments.size()); ++mask) {
        INFO(info(static_cast<op>(code)).name << ", " << cases[i].name << ", case " << i
                                              << ", mapped " << mask);
        check(cases[i], mask);
      }
    }
  }
}

}  // namespace

TEST_CASE("vmap: row i is the single call, for each op", "[property]") {
  for_each_mapping([](const op_case& one, unsigned mask) {
    lanes_of_case all(one, mask);
    all.output(all.in_all(all.z));
    REQUIRE(all.b->problem.view() == "");
    CHECK(ir::verify(all.b->g).view() == "");
    const array out = all.run()[0];
    for (std::int64_t k = 0; k < num_lanes; ++k) {
      const auto b = make_builder();
      std::vector<array> arguments;
      std::vector<int> in;
      for (std::size_t i = 0; i < one.arguments.size(); ++i) {
        const bool is_mapped = ((mask >> i) & 1U) != 0;
        arguments.push_back(is_mapped ? argument_in(one.arguments[i], k) : one.arguments[i]);
        in.push_back(b->parameter(arguments.back().type));
      }
      b->g.outputs[b->g.num_outputs++] = one.build(*b, in);
      CHECK(are_near(row_of(out, k), interpret(b->g, arguments)[0], 1e-14));
    }
  });
}

TEST_CASE("vmap: the gradient in each lane is that lane of the gradient, for each op",
          "[property]") {
  for_each_mapping([](const op_case& one, unsigned mask) {
    lanes_of_case all(one, mask);
    if (!is_floating(all.b->type(all.z).element)) return;
    const auto inner = list();  // floating arguments as the node sees them
    const auto outer = list();  // and in all lanes
    std::vector<bool> is_shared;
    for (std::size_t i = 0; i < one.arguments.size(); ++i) {
      if (!one.arguments[i].is_real()) continue;
      inner->push(all.in[i]);
      outer->push(all.whole[i]);
      is_shared.push_back(((mask >> i) & 1U) == 0);
    }
    if (inner->size == 0) return;
    ir::builder& b = *all.b;
    numbers random(mask);
    const tensor_type type = b.type(all.z);
    array ct = random.reals(passes::detail::in_lanes(num_lanes, type.dims), -1, 1);
    ct.type.element = type.element;
    for (double& x : ct.reals) x = rounded(x, type.element);
    const int all_ct = all.argument(ct);

    const auto node = list();
    const auto seed = list();
    const auto in_lane = list();
    node->push(all.z);
    seed->push(all.lane(all_ct));
    passes::gradient(b, *node, *seed, *inner, *in_lane);
    const auto all_nodes = list();
    const auto all_seeds = list();
    const auto in_total = list();
    all_nodes->push(all.in_all(all.z));
    all_seeds->push(all_ct);
    passes::gradient(b, *all_nodes, *all_seeds, *outer, *in_total);

    for (int i = 0; i < inner->size; ++i) {
      const int lane = (*in_lane)[i];
      const int total = (*in_total)[i];
      const int zero = passes::zeros_like(b, (*outer)[i]);
      int rows = lane == ir::no_node ? zero : all.in_all(lane);
      if (is_shared[static_cast<std::size_t>(i)] && lane != ir::no_node) {
        rows = b.reduce(op::reduce_sum, rows, 1);
      }
      all.output(rows);
      all.output(total == ir::no_node ? zero : total);
    }
    REQUIRE(b.problem.view() == "");
    CHECK(ir::verify(b.g).view() == "");
    const auto out = all.run();
    const double epsilon = one.name == "convert" ? 1e-2 : 1e-12;
    for (std::size_t i = 0; i < out.size(); i += 2) CHECK(are_near(out[i], out[i + 1], epsilon));
  });
}
