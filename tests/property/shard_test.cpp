// property/shard_test.cpp: the laws of passes/shard.hpp, for each op, spec and mesh: the blocks of
// all ranks are those of the whole result, or there is a sentence that says why it cannot be.
// Reads: support/op_cases.hpp, support/rank_interpreter.hpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/shard.hpp"

#include "atled/ir/verify.hpp"
#include "atled/passes/simplify.hpp"

#include "support/catch.hpp"
#include "support/op_cases.hpp"
#include "support/rank_interpreter.hpp"
#include <cmath>
#include <memory>
#include <string>
#include <vector>

using namespace atled;
using namespace atled::oracle;

namespace {

mesh_shape mesh_of(std::initializer_list<std::pair<const char*, std::int64_t>> axes) {
  mesh_shape out{};
  for (const auto& [name, size] : axes) out.push(name, size);
  return out;
}

struct tally {
  int same = 0;
  int refused = 0;
};

bool are_near(const array& x, const array& y) {
  if (!(x.type == y.type)) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double a = x[i];
    const double b = y[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= 1e-11 * std::max(1.0, std::max(std::abs(a), std::abs(b)))))
      return false;
  }
  return true;
}

/// Runs a graph on whole arguments, and its sharded form on blocks.
void check_law(const ir::graph& g, const std::vector<array>& arguments, const mesh_shape& mesh,
               const std::vector<partition_spec>& specs, tally& count) {
  const auto given = std::make_unique<passes::shardings>();
  const auto result = std::make_unique<passes::shardings>();
  given->mesh = mesh;
  for (std::size_t i = 0; i < specs.size(); ++i) given->parameters[i] = specs[i];
  const auto local = make_builder();
  passes::shard(g, *given, *local, *result);
  std::string spec_text;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    spec_text += ' ' + std::string(specs[i].text(mesh, arguments[i].type.rank()).view());
  }
  INFO("on " << std::string(mesh.text().view()) << " as" << spec_text);
  if (!local->problem.empty()) {
    ++count.refused;
    INFO(std::string(local->problem.view()));
    CHECK(local->problem.view().find("with_sharding_constraint") != std::string_view::npos);
    return;
  }
  REQUIRE(std::string(ir::verify(local->g).view()).empty());
  const std::vector<array> whole = interpret(g, arguments);
  std::vector<std::vector<array>> blocks;
  for (std::int64_t r = 0; r < mesh.known_size(); ++r) {
    blocks.emplace_back();
    for (std::size_t i = 0; i < specs.size(); ++i) {
      blocks.back().push_back(block_of_rank(arguments[i], mesh, specs[i], r));
    }
  }
  const auto outputs = interpret_on_ranks(local->g, mesh, blocks);
  for (std::int64_t r = 0; r < mesh.known_size(); ++r) {
    for (std::size_t k = 0; k < whole.size(); ++k) {
      const array expected = block_of_rank(whole[k], mesh, result->outputs[k], r);
      INFO("rank " << r << ", output " << k << " as "
                   << std::string(result->outputs[k].text(mesh, whole[k].type.rank()).view()));
      CHECK(are_near(outputs[static_cast<std::size_t>(r)][k], expected));
    }
  }
  ++count.same;
}

/// All ways to split the axes of a tensor over the axes of a mesh, each mesh axis once at most.
std::vector<partition_spec> all_specs(const mesh_shape& mesh, const shape& dims) {
  std::vector<partition_spec> out{{}};
  for (int a = 0; a < mesh.num_axes; ++a) {
    const auto before = out;
    for (const partition_spec& spec : before) {
      for (int i = 0; i < dims.rank; ++i) {
        partition_spec more = spec;
        more.set(i, spec.mask(i) | 1U << a);
        if (dims[i] > 0 && dims[i] % parts_of(mesh, more.mask(i)) == 0) out.push_back(more);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("shard: each op gives the blocks of its whole result, however its operands are split",
          "[property]") {
  const std::vector<mesh_shape> meshes{mesh_of({{"data", 3}}),
                                       mesh_of({{"data", 2}, {"model", 2}})};
  tally total;
  for (int code = 0; code < num_ops; ++code) {
    tally count;
    const std::vector<op_case> cases = cases_of(static_cast<op>(code));
    for (const op_case& c : cases) {
      // Elementwise ops have one rule: their last cases stand for all.
      if (is_elementwise(static_cast<op>(code)) && &c + 2 < cases.data() + cases.size()) continue;
      INFO(std::string(info(static_cast<op>(code)).name) << " " << c.name);
      const auto b = make_builder();
      std::vector<int> operands;
      for (const array& x : c.arguments) operands.push_back(b->parameter(x.type));
      const int out = c.build(*b, operands);
      if (out < 0) continue;
      b->g.outputs[b->g.num_outputs++] = out;
      bool has_collective = false;
      for (int id = 0; id < b->g.num_nodes; ++id) {
        has_collective = has_collective || is_collective(b->g[id].code);
      }
      if (has_collective) continue;
      for (const mesh_shape& mesh : meshes) {
        // All specs of each argument, the others whole; and all arguments of one rank alike.
        for (std::size_t k = 0; k < c.arguments.size(); ++k) {
          for (const partition_spec& spec : all_specs(mesh, c.arguments[k].type.dims)) {
            if (spec.masks == 0 && (k > 0 || mesh.num_axes > 1)) continue;
            std::vector<partition_spec> specs(c.arguments.size());
            specs[k] = spec;
            check_law(b->g, c.arguments, mesh, specs, count);
            bool is_new = false;
            for (std::size_t j = 0; j < c.arguments.size(); ++j) {
              if (j == k || !(c.arguments[j].type.dims == c.arguments[k].type.dims)) continue;
              specs[j] = spec;
              is_new = k == 0;
            }
            if (is_new && spec.masks != 0) check_law(b->g, c.arguments, mesh, specs, count);
          }
        }
      }
    }
    total.same += count.same;
    total.refused += count.refused;
  }
  CHECK(total.same > 2000);
  CHECK(total.refused < total.same / 5);
}
