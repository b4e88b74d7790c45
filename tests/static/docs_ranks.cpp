// static/docs_ranks.cpp: the code of docs/ranks.md, line for line; cmake/check_docs.cmake compares.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/io/checkpoint.hpp"
#include "atled/transform/pipeline.hpp"

#include <tuple>
#include <utility>

using namespace atled;

namespace ranks_guide {

// What stands for MPI here: the static tests are built without it.
using MPI_Comm = comm::single;

using grid = mesh<axis<"data">, axis<"model", 2>>;
grid on_ranks(MPI_Comm mine) {
  return grid{mine};
}

constexpr auto mean_of_all = [](auto w, auto x) {
  return pmean(mean(square(w * x)), axis<"data">);
};
constexpr auto slopes = [](auto w, auto x) { return grad(mean_of_all)(w, x); };
auto slope_on(const grid& devices, const tensor<f32, 8>& w, const tensor<f32, 32, 8>& x) {
  return shard_map(slopes, devices, in_specs<P<>, P<"data">>, out_specs<P<>>)(w, x);
}

// The table of collectives: each as a function of one rank's block.
constexpr auto calls = [](auto x) {
  const expr reduced = psum(x, axis<"data">) + pmean(x, axis<"data">) + pmax(x, axis<"data">) +
                       pmin(x, axis<"data">);
  const expr gathered_blocks = all_gather(x, axis<"model">);
  const expr scattered = psum_scatter(x, axis<"model">);
  const expr neighbour = pshift(x, axis<"data">, 1);
  const expr place = axis_index(x, axis<"data">) + axis_size(x, axis<"data">);
  const expr all = sum(reduced) + sum(gathered_blocks) + sum(scattered) + sum(neighbour) + place;
  return psum(psum(all, axis<"data">), axis<"model">);
};
auto called_on(const grid& devices, const tensor<f32, 2, 3>& x) {
  return shard_map(calls, devices, in_specs<P<"data", "model">>, out_specs<P<>>)(x);
}

template <class K>
struct network {
  nn::linear<K, f32, 784, 128, P<none, "model">> hidden;
  nn::linear<K, f32, 128, 10, P<"model", none>> out;
  ATLED_TREE(network, hidden, out)
  constexpr auto operator()(auto x) const { return out(tanh(hidden(x))); }
};
constexpr auto loss = [](auto model, auto x, auto y) { return mean(square(model(x) - y)); };
constexpr auto train = [](auto model, auto x, auto y) {
  const auto [value, gradient] = value_and_grad(loss)(model, x, y);
  return std::tuple(
      tree_map([](const auto& w, const auto& d) { return expr(w - 0.1F * d); }, model, gradient),
      value);
};
auto step_on(const grid& devices) {
  return jit(train, devices, in_specs<none, P<"data">, P<"data">>, out_specs<none, P<>>);
}

using four = mesh<axis<"data", 2>, axis<"model", 2>>;
auto same_on(const four& devices) {
  return jit(train, devices, in_specs<none, P<"data">, P<"data">>, out_specs<none, P<>>,
             reproducible<4>);
}

std::int64_t save(const std::string& folder, const network<on<grid>>& model, const grid& devices,
                  std::int64_t step) {
  return io::save_checkpoint(folder, model, devices, step);
}
std::optional<io::loaded_checkpoint> load(const std::string& folder, network<on<grid>>& model,
                                          const grid& devices) {
  return io::load_checkpoint(folder, model, devices);
}

using program =
    decltype(step_on(std::declval<const grid&>()))::program<network<on<grid>>, tensor<f32, 32, 784>,
                                                            tensor<f32, 32, 10>>;
static_assert(program::comm_bytes("model") == 2 * 32 * 10 * 4);

// The table of specs, against a mesh; and words that move data.
constexpr auto is_known = [](const named_spec& spec) {
  return resolve(spec, grid::shape_value).problem.empty();
};
static_assert(is_known(P<>) && is_known(P<"data">) && is_known(P<none, "model">));
static_assert(is_known(P<over<"data", "model">>) && is_known(P<gathered<"model">>));
constexpr auto words = [](auto x) {
  const expr rows = with_sharding_constraint(x, P<"model">);
  return reshard<P<>>(rows);
};
auto words_on(const grid& devices) {
  return jit(words, devices);
}
using word_program = decltype(words_on(std::declval<const grid&>()))::program<tensor<f32, 4, 4>>;
static_assert(word_program::comm_bytes("model") == (2 * 4 + 4 * 4) * 4);

constexpr auto first = [](auto ends, auto text) { return ends(text); };
constexpr auto stage = [](auto blocks, auto x) { return x + tanh(blocks(x)); };
constexpr auto last = [](auto ends, auto x, auto next) {
  return nn::cross_entropy(ends.as_head(x), next);
};
using pipe = mesh<axis<"pipe", 4>>;
auto pipeline_on(const pipe& devices) {
  return pipeline<8>(first, stage, last, devices, axis<"pipe">);
}
static_assert(decltype(pipeline_on(std::declval<const pipe&>()))::bubble < 0.2728);  // 3 of 11
constexpr auto layer = [](auto weights, auto x) { return x + tanh(weights(x)); };
auto interleaved_on(const pipe& devices) {
  return pipeline<8, pipeline_order::interleaved>(first, layer, last, devices, axis<"pipe">,
                                                  of_layers<10>, repeated<2>);
}
static_assert(decltype(interleaved_on(std::declval<const pipe&>()))::bubble < 0.1579);  // 3 of 19

}  // namespace ranks_guide

int main() {}
