// support/sharded.hpp: a function traced for a mesh, split by passes/shard.hpp, and run on all of
// its ranks in one process. Reads: support/rank_interpreter.hpp, unit/ops/traced.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/atled.hpp"
#include "atled/ir/verify.hpp"
#include "atled/passes/compile.hpp"
#include "atled/passes/shard.hpp"

#include "support/rank_interpreter.hpp"
#include "unit/ops/traced.hpp"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace atled::test {

using named_specs = std::vector<named_spec>;

/// A mesh of these axes; a size of 0 is open.
inline mesh_shape mesh_of(std::initializer_list<std::pair<const char*, std::int64_t>> axes) {
  mesh_shape out{};
  for (const auto& [name, size] : axes) out.push(name, size);
  return out;
}

/// The program of one rank of a mesh.
class sharded {
 public:
  /// Traces `f` on the types of whole tensors; an empty list of `out` leaves outputs as they come.
  /// With `num_parts` sums are reproducible.
  template <class... Args, class F>
  static sharded of(F f, const mesh_shape& mesh, const named_specs& in, const named_specs& out,
                    int num_parts = 0) {
    sharded s;
    s.mesh_ = mesh;
    s.whole_ = oracle::make_builder();
    s.local_ = oracle::make_builder();
    s.given_ = std::make_unique<passes::shardings>();
    s.result_ = std::make_unique<passes::shardings>();
    const auto traced = oracle::make_builder();
    traced->mesh = mesh;
    std::tuple<traced_t<Args>...> arguments{ir::make_parameters<Args>(*traced)...};
    ir::set_outputs(*traced,
                    std::apply([&](auto&... argument) { return f(argument...); }, arguments));
    s.problem_ = std::string(traced->problem.view());
    if (!s.problem_.empty()) return s;
    passes::simplify(traced->g, *s.whole_);
    s.given_->mesh = mesh;
    s.given_->num_parts = num_parts;
    for (std::size_t i = 0; i < in.size(); ++i) s.given_->parameters[i] = resolve(in[i], mesh).spec;
    for (std::size_t i = 0; i < out.size(); ++i) {
      s.given_->outputs[i] = resolve(out[i], mesh).spec;
      s.given_->has_output[i] = true;
    }
    const auto blocks = oracle::make_builder();
    passes::shard(s.whole_->g, *s.given_, *blocks, *s.result_);
    s.problem_ = std::string(blocks->problem.view());
    if (!s.problem_.empty()) return s;
    passes::simplify(blocks->g, *s.local_);
    s.problem_ = std::string(ir::verify(s.local_->g).view());
    return s;
  }

  /// Why it cannot be, without the line.
  [[nodiscard]] std::string problem() const {
    return problem_.empty() ? problem_ : problem_.substr(problem_.find(": ") + 2);
  }
  [[nodiscard]] const ir::graph& whole() const { return whole_->g; }
  [[nodiscard]] const ir::graph& local() const { return local_->g; }
  [[nodiscard]] const passes::shardings& result() const { return *result_; }

  /// `psum f32[32,10] over model`, one a line, of what the outputs need.
  [[nodiscard]] std::string collectives() const {
    const auto live = oracle::make_builder();
    passes::copy_live(local_->g, *live);
    std::string out;
    for (int id = 0; id < live->g.num_nodes; ++id) {
      const op code = live->g[id].code;
      if (!is_collective(code) || code == op::axis_index || code == op::axis_size) continue;
      text line;
      line << info(code).name << ' ' << live->g.type(live->g.operand(id, 0)) << " over "
           << live->g.axes[live->g.attribute(id)].view() << '\n';
      out += std::string(line.view());
    }
    return out;
  }

  /// Element 0 of the first output on each rank.
  [[nodiscard]] numbers run(const std::vector<oracle::array>& arguments,
                            std::int64_t open_size = 1) const {
    numbers out;
    for (const auto& outputs : outputs_of(arguments, mesh_with(open_size))) {
      out.push_back(outputs[0][0]);
    }
    return out;
  }

  /// The largest difference between the blocks of all ranks and those of the whole result, on
  /// ranks of a mesh in which open axes have this size.
  [[nodiscard]] double difference(const std::vector<oracle::array>& arguments,
                                  std::int64_t open_size = 1) const {
    const mesh_shape mesh = mesh_with(open_size);
    const auto outputs = outputs_of(arguments, mesh);
    const auto expected = oracle::interpret(whole_->g, arguments);
    double worst = 0;
    for (std::int64_t r = 0; r < mesh.known_size(); ++r) {
      for (std::size_t k = 0; k < expected.size(); ++k) {
        const auto block = oracle::block_of_rank(expected[k], mesh, result_->outputs[k], r);
        const auto& actual = outputs[static_cast<std::size_t>(r)][k];
        if (!(actual.type == block.type)) return infinity;
        for (std::size_t i = 0; i < block.size(); ++i) {
          if (actual[i] == block[i] || (std::isnan(actual[i]) && std::isnan(block[i]))) continue;
          const double d = std::abs(actual[i] - block[i]);
          worst = d > worst || std::isnan(d) ? d : worst;
        }
      }
    }
    return worst;
  }
  /// The same for numbers between -1 and 1 that look random, or small integers.
  [[nodiscard]] double difference_on_random(std::int64_t high = 4) const {
    oracle::numbers random(7);
    std::vector<oracle::array> arguments;
    for (int i = 0; i < whole_->g.num_parameters; ++i) {
      const tensor_type& type = whole_->g.type(whole_->g.parameters[i]);
      oracle::array x(type);
      for (std::size_t k = 0; k < x.size(); ++k) {
        if (x.is_real()) {
          x.reals[k] = oracle::rounded(random.next(-1, 1), type.element);
        } else {
          x.integers[k] = static_cast<std::int64_t>(random.next(0, static_cast<double>(high)));
        }
      }
      arguments.push_back(x);
    }
    return difference(arguments);
  }

  /// The outputs of each rank. Pre: no axis is open.
  [[nodiscard]] std::vector<std::vector<oracle::array>> outputs(
      const std::vector<oracle::array>& arguments) const {
    return outputs_of(arguments, mesh_);
  }

 private:
  [[nodiscard]] mesh_shape mesh_with(std::int64_t open_size) const {
    mesh_shape out = mesh_;
    for (int a = 0; a < out.num_axes; ++a) {
      if (out.is_open(a)) out.sizes[a] = open_size;
    }
    return out;
  }
  [[nodiscard]] std::vector<std::vector<oracle::array>> outputs_of(
      const std::vector<oracle::array>& arguments, const mesh_shape& mesh) const {
    std::vector<std::vector<oracle::array>> blocks;
    for (std::int64_t r = 0; r < mesh.known_size(); ++r) {
      blocks.emplace_back();
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        blocks.back().push_back(
            oracle::block_of_rank(arguments[i], mesh, given_->parameters[i], r));
      }
    }
    return oracle::interpret_on_ranks(local_->g, mesh, blocks);
  }

  mesh_shape mesh_{};
  oracle::builder_ptr whole_;
  oracle::builder_ptr local_;
  std::unique_ptr<passes::shardings> given_;
  std::unique_ptr<passes::shardings> result_;
  std::string problem_;
};

}  // namespace atled::test
