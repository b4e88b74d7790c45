// atled/transform/pipeline.hpp: pipeline: layers on one rank after the other, microbatches on their
// way through all of them. Reads: passes/pipeline.hpp (the order), transform/pipeline_work.hpp (the
// work of a rank), transform/pipeline_messages.hpp (what goes from rank to rank).
//
// The first stage turns a microbatch into an activation, each stage applies its layers, the last
// one takes the loss. A rank keeps the input of its stages and computes the inside again on the way
// back, so that it holds one activation for each microbatch that is under way.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/grid.hpp"
#include "atled/core/mesh.hpp"
#include "atled/passes/pipeline.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/pipeline_messages.hpp"
#include "atled/transform/pipeline_work.hpp"

#include <array>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace atled {

using passes::pipeline_order;

/// What `pipeline` returns; see there.
template <int Microbatches, pipeline_order Order, class First, class Stage, class Last, int Ranks,
          int Repeats, int Layers>
class pipeline_function {
  static_assert(std::is_empty_v<First> && std::is_empty_v<Stage> && std::is_empty_v<Last>,
                "atled::pipeline: a function captures variables: it must be stateless; pass them "
                "as weights");

 public:
  static constexpr passes::pipeline_table table =
      passes::make_pipeline(Order, Ranks, Microbatches, Repeats);
  static constexpr passes::pipeline_facts facts = passes::check_pipeline(table);
  static_assert(facts.problem.empty(),
                "atled::pipeline: there is no such table of work; facts.problem says why");
  /// The part of its time in which a rank waits, if all stages take the same time.
  static constexpr double bubble = facts.bubble;
  static constexpr int num_stages = Ranks * Repeats;

  /// What a rank holds of `of_layers`: for each of its stages room for the layers of the longest.
  static constexpr int most_layers = passes::layers_of_stage(Layers, num_stages, 0);
  static constexpr int least_layers = passes::layers_of_stage(Layers, num_stages, num_stages - 1);
  static_assert(Layers == 0 || least_layers > 0,
                "atled::pipeline: more stages than layers: each must hold one at least");
  template <class Layer>
  using stages_type =
      std::array<std::array<Layer, static_cast<std::size_t>(most_layers)>, std::size_t{Repeats}>;

  pipeline_function(comm::grid& ranks, int axis) : ranks_(&ranks), axis_(axis) {}

  /// The mean loss of all microbatches, and its gradient by `ends` and by this rank's `blocks`.
  ///
  ///   blocks   of its only stage; with repeated<R> or of_layers<L>: an array of one for each stage
  ///   in       T[M, ...]   microbatches; the first rank reads them
  ///   targets  U[M, ...]   the last rank reads them
  ///   result   (f32[], a tree like ends, the same on all ranks; a tree like blocks)
  ///
  /// Blocks until: all ranks of the pipeline have called it. Throws: what the communicator reports.
  template <class Ends, class Blocks, class T, std::int64_t... In, class U, std::int64_t... Target>
  [[nodiscard]] auto operator()(const Ends& ends, const Blocks& blocks,
                                const tensor<T, Microbatches, In...>& in,
                                const tensor<U, Microbatches, Target...>& targets,
                                call_site at = call_site::here()) const {
    using microbatch = tensor_view<const T, In...>;
    using target = tensor_view<const U, Target...>;
    using stage_blocks = std::remove_cvref_t<decltype(blocks_of(blocks, 0))>;
    using activation = decltype(jit(typename longest::enter{})(ends, blocks_of(blocks, 0),
                                                               std::declval<microbatch>()));
    static_assert(
        std::is_same_v<activation, decltype(jit(stage<most_layers>{})(blocks_of(blocks, 0),
                                                                      std::declval<activation>()))>,
        "atled::pipeline: a stage must give what it takes: a tensor of the type that the first "
        "function makes");
    at = at.in("pipeline");
    comm::communicator& ranks = ranks_->along(axis_);
    const int rank = ranks.rank();
    const auto input = [&](int m) { return part_of<microbatch>(in, m); };
    const auto wanted = [&](int m) { return part_of<target>(targets, m); };

    gradients<Ends, Blocks, stage_blocks> total;
    std::vector<std::optional<activation>> kept(static_cast<std::size_t>(Repeats * Microbatches));
    detail::pipeline_outbox<activation> outbox(ranks);
    detail::pipeline_inbox<activation> inbox(ranks, table);
    for (int i = 0; i < table.num_actions; ++i) {
      const passes::pipeline_action& action = table.actions[rank][i];
      const int m = action.microbatch;
      const int s = action.stage;
      const int place = s / Ranks;  // among the stages of this rank
      const stage_blocks& own = blocks_of(blocks, place);
      std::optional<activation>& x = kept[static_cast<std::size_t>(place * Microbatches + m)];
      const auto take = [&](int from) { return inbox.take({action.is_backward, from, m}, at); };
      const auto give = [&](activation&& y) {
        const int to = passes::detail::target_of(table, action);
        if (to < 0) return inbox.put(action, std::move(y));  // to a stage of this rank
        outbox.send(std::move(y), to, at);
      };
      if constexpr (num_stages == 1) {
        if (!action.is_backward) continue;
        auto [value, slopes] =
            jit(typename longest::back_of_whole{})(ends, own, input(m), wanted(m));
        total.add_loss(std::move(value));
        total.add(place, std::move(std::get<0>(slopes)), std::move(std::get<1>(slopes)));
      } else if (!action.is_backward) {
        if (s > 0) x = take(s - 1);
        if (s == 0) {
          give(jit(typename longest::enter{})(ends, own, input(m)));
        } else if (s + 1 < num_stages) {  // of the last the loss is taken on the way back
          with_stage(s, [&]<class Stages>(Stages) { give(jit(Stages{})(own, *x)); });
        }
      } else if (s + 1 == num_stages) {
        auto [value, slopes] = jit(typename shortest::back_of_last{})(ends, own, *x, wanted(m));
        total.add_loss(std::move(value));
        total.add(place, std::move(std::get<0>(slopes)), std::move(std::get<1>(slopes)));
        give(std::move(std::get<2>(slopes)));
        x.reset();
      } else if (s == 0) {
        auto slopes = jit(typename longest::back_of_first{})(ends, own, input(m), take(s + 1));
        total.add(place, std::move(std::get<0>(slopes)), std::move(std::get<1>(slopes)));
      } else {
        with_stage(s, [&]<class Stages>(Stages) {
          using work = detail::pipeline_work<First, Stages, Last>;
          auto slopes = jit(typename work::back{})(own, *x, take(s + 1));
          total.add_blocks(place, std::move(std::get<0>(slopes)));
          give(std::move(std::get<1>(slopes)));
        });
        x.reset();
      }
    }
    outbox.wait();
    return total.mean(ranks, at);
  }

  /// What this rank holds of all layers; what a shorter stage has no use for is left as zeros.
  template <class Layer, std::size_t Count>
  [[nodiscard]] stages_type<Layer> cut(const std::array<Layer, Count>& all) const {
    static_assert(Count == Layers, "atled::pipeline: cut must be given all layers of of_layers");
    stages_type<Layer> out{};
    for_each_layer(
        ranks_->along(axis_).rank(),
        [&](std::size_t place, std::size_t i, std::size_t layer) { out[place][i] = all[layer]; });
    return out;
  }
  /// Puts the layers of all ranks in their places, on all ranks.
  ///
  /// Blocks until: all ranks have called it.
  template <class Layer, std::size_t Count>
  void gather(const stages_type<Layer>& mine, std::array<Layer, Count>& all,
              call_site at = call_site::here()) const {
    static_assert(Count == Layers, "atled::pipeline: gather must be given all layers of of_layers");
    at = at.in("gather");
    comm::communicator& ranks = ranks_->along(axis_);
    for (int r = 0; r < Ranks; ++r) {
      for_each_layer(r, [&](std::size_t place, std::size_t i, std::size_t layer) {
        if (r == ranks.rank()) all[layer] = mine[place][i];
        for_each_leaf(
            [&](auto& leaf) {
              constexpr tensor_type type = detail::leaf_type<std::remove_cvref_t<decltype(leaf)>>();
              ranks.broadcast(leaf.data(), leaf.data(), type.dims.size(), type.element, r,
                              {at, type});
            },
            all[layer]);
      });
    }
  }

 private:
  comm::grid* ranks_;
  int axis_;

  template <int Count>
  using stage = typename detail::stage_of<Stage, Count>::type;
  using longest = detail::pipeline_work<First, stage<most_layers>, Last>;
  using shortest = detail::pipeline_work<First, stage<least_layers>, Last>;

  template <class View, class Batch>
  [[nodiscard]] static View part_of(const Batch& of, int m) {
    return View(of.data() + m * detail::leaf_type<View>().dims.size());
  }
  template <class Blocks>
  [[nodiscard]] static decltype(auto) blocks_of(Blocks& blocks, int place) {
    if constexpr (Repeats == 1 && Layers == 0) {
      return (blocks);
    } else {
      static_assert(
          detail::is_array_v<std::remove_const_t<Blocks>>,
          "atled::pipeline: blocks must be an array of one tree for each stage of a rank");
      return (blocks[static_cast<std::size_t>(place)]);
    }
  }
  /// Calls `run` with the function of a stage between the first and the last.
  template <class Run>
  static void with_stage(int s, const Run& run) {
    if constexpr (num_stages > 2) {
      if constexpr (most_layers == least_layers) {
        run(stage<most_layers>{});
      } else if (passes::layers_of_stage(Layers, num_stages, s) == most_layers) {
        run(stage<most_layers>{});
      } else {
        run(stage<least_layers>{});
      }
    }
  }
  template <class Visit>
  static void for_each_layer(int rank, const Visit& visit) {
    for (int place = 0; place < Repeats; ++place) {
      const int s = place * Ranks + rank;
      const int first = passes::first_layer_of_stage(Layers, num_stages, s);
      for (int i = 0; i < passes::layers_of_stage(Layers, num_stages, s); ++i) {
        visit(static_cast<std::size_t>(place), static_cast<std::size_t>(i),
              static_cast<std::size_t>(first + i));
      }
    }
  }

  /// Sums over microbatches, and over the ranks of what they share.
  template <class Ends, class Blocks, class StageBlocks>
  struct gradients {
    tensor<f32> loss = tensor<f32>(0.0F);
    Ends ends = zeros_of<Ends>();
    Blocks blocks = zeros_of<Blocks>();

    void add_loss(tensor<f32>&& value) { loss = tensor<f32>(loss.item() + value.item()); }
    void add_blocks(int place, StageBlocks&& more) {
      StageBlocks& sum = blocks_of(blocks, place);
      sum = jit(detail::sum_of_trees)(std::move(sum), std::move(more));
    }
    void add(int place, Ends&& more_ends, StageBlocks&& more_blocks) {
      ends = jit(detail::sum_of_trees)(std::move(ends), std::move(more_ends));
      add_blocks(place, std::move(more_blocks));
    }
    std::tuple<tensor<f32>, Ends, Blocks> mean(comm::communicator& ranks, const call_site& at) {
      const auto sum = [&](auto& leaf) {
        constexpr tensor_type type = detail::leaf_type<std::remove_cvref_t<decltype(leaf)>>();
        ranks.all_reduce(leaf.data(), leaf.data(), type.dims.size(), type.element,
                         comm::reduction::sum, {at, type});
      };
      sum(loss);
      for_each_leaf(sum, ends);
      const auto share = jit(detail::share_of_tree<Microbatches>{});
      return {share(std::move(loss)), share(std::move(ends)), share(std::move(blocks))};
    }

    template <class Tree>
    [[nodiscard]] static Tree zeros_of() {
      Tree out;
      for_each_leaf(
          [](auto& leaf) {
            for (auto& x : leaf.span()) x = {};
          },
          out);
      return out;
    }
  };
};

/// Layers on one rank after the other: value and gradient of a loss over M microbatches.
///
///   const mesh<axis<"pipe", 4>> devices{MPI_COMM_WORLD};
///   const auto step = pipeline<8>(embed, stage, loss, devices, axis<"pipe">);
///   auto [value, d_ends, d_blocks] = step(ends, blocks, texts, nexts);
///
///   first(ends, microbatch) -> x      in the first stage
///   stage(blocks, x)        -> x      in each stage, with its own blocks
///   last(ends, x, target)   -> f32[]  in the last stage: the mean loss of a microbatch
///
/// `ends` are weights that all ranks hold alike, such as a table of tokens that is the head as
/// well; their gradient is summed over the ranks. The order is 1F1B, or `pipeline<8,
/// pipeline_order::gpipe>`; `decltype(step)::bubble` is the part of the time that ranks wait.
///
///   pipeline<8>(embed, layer, loss, devices, axis<"pipe">, of_layers<10>)
///   pipeline<8, pipeline_order::interleaved>(..., of_layers<10>, repeated<2>)
///
/// With `of_layers` the second function is that of one layer: `step.cut(all)` is what a rank holds
/// of an array of all, `step.gather(blocks, all)` the way back. With `repeated<R>` each rank has R
/// stages, and the pipeline fills R times as fast.
/// Cost: the forward pass twice; a rank holds at most S - rank activations (1F1B).
/// Ill-formed: a function captures; the axis is none of the mesh, or has no size; a stage changes
/// the type; more stages than layers. Source: Narayanan et al., SC 2021.
template <int Microbatches, pipeline_order Order = pipeline_order::one_f_one_b, class First,
          class Stage, class Last, auto... Axis, axis_label Label, class... Options>
[[nodiscard]] auto pipeline(First, Stage, Last, const mesh<Axis...>& devices,
                            const axis_tag<Label, 0>&, const Options&...) {
  constexpr mesh_shape shape = mesh<Axis...>::shape_value;
  constexpr int axis = shape.axis_named(Label.name.view());
  static_assert(axis >= 0, "atled::pipeline: the mesh has no axis of this name");
  static_assert(axis < 0 || !shape.is_open(axis < 0 ? 0 : axis),
                "atled::pipeline: the axis of a pipeline must have a size: axis<pipe, 4> with the "
                "name as a string literal");
  constexpr int ranks = static_cast<int>(shape.sizes[axis < 0 ? 0 : axis]);
  using given = detail::pipeline_options<Options...>;
  return pipeline_function<Microbatches, Order, First, Stage, Last, ranks, given::repeats,
                           given::layers>(devices.ranks(), axis);
}

}  // namespace atled
