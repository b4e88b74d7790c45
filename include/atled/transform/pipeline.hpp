// atled/transform/pipeline.hpp: pipeline: layers on one rank after the other, microbatches on their
// way through all of them. Reads: passes/pipeline.hpp (the order), transform/jit.hpp (the work of a
// rank), comm/grid.hpp (what goes from rank to rank).
//
// The first rank turns a microbatch into an activation, each rank applies its stage, the last one
// takes the loss. A rank keeps the input of its stage and computes the inside again on the way
// back, so that it holds one activation for each microbatch that is under way.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/grid.hpp"
#include "atled/core/mesh.hpp"
#include "atled/passes/pipeline.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace atled {

using passes::pipeline_order;

namespace detail {

/// What the ranks of a pipeline compute, as functions of whole microbatches.
template <class First, class Stage, class Last>
struct pipeline_work {
  struct enter {
    constexpr auto operator()(auto ends, auto blocks, auto in) const {
      return Stage{}(blocks, First{}(ends, in));
    }
  };
  struct leave {
    constexpr auto operator()(auto ends, auto blocks, auto x, auto target) const {
      return Last{}(ends, Stage{}(blocks, x), target);
    }
  };
  struct whole {
    constexpr auto operator()(auto ends, auto blocks, auto in, auto target) const {
      return Last{}(ends, enter{}(ends, blocks, in), target);
    }
  };
  struct back_of_first {
    constexpr auto operator()(auto ends, auto blocks, auto in, auto dy) const {
      const auto forward = [&](auto e, auto b) { return enter{}(e, b, in); };
      const auto [y, pullback] = vjp(forward, ends, blocks);
      return pullback(dy);
    }
  };
  struct back {
    constexpr auto operator()(auto blocks, auto x, auto dy) const {
      const auto [y, pullback] = vjp(Stage{}, blocks, x);
      return pullback(dy);
    }
  };
  struct back_of_last {
    constexpr auto operator()(auto ends, auto blocks, auto x, auto target) const {
      return value_and_grad(leave{}, argnums<0, 1, 2>)(ends, blocks, x, target);
    }
  };
  struct back_of_whole {
    constexpr auto operator()(auto ends, auto blocks, auto in, auto target) const {
      return value_and_grad(whole{}, argnums<0, 1>)(ends, blocks, in, target);
    }
  };
};

inline constexpr auto sum_of_trees = [](auto total, auto more) {
  return tree_map([](const auto& a, const auto& b) { return expr(a + b); }, total, more);
};
template <int Parts>
struct share_of_tree {
  constexpr auto operator()(auto total) const {
    return tree_map([](const auto& x) { return expr(x / static_cast<double>(Parts)); }, total);
  }
};

/// Sends that are under way, with what they send.
template <class Activation>
class pipeline_outbox {
 public:
  explicit pipeline_outbox(comm::communicator& ranks) : ranks_(ranks) {}

  void send(Activation&& x, int target, const call_site& at) {
    drop_done();
    under_way_.push_back({{}, std::move(x)});
    message& m = under_way_.back();
    constexpr tensor_type type = leaf_type<Activation>();
    m.request = ranks_.start({.what = comm::collective::send,
                              .element = type.element,
                              .target = target,
                              .count = type.dims.size(),
                              .in = std::as_const(m.value).data(),
                              .where = {at, type}});
  }
  void wait() {
    for (message& m : under_way_) ranks_.wait(m.request);
    under_way_.clear();
  }

 private:
  struct message {
    comm::request request;
    Activation value;  // its memory does not move with it
  };
  comm::communicator& ranks_;
  std::vector<message> under_way_;

  void drop_done() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < under_way_.size(); ++i) {
      if (ranks_.test(under_way_[i].request)) continue;
      if (kept != i) under_way_[kept] = std::move(under_way_[i]);
      ++kept;
    }
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(kept), under_way_.end());
  }
};

}  // namespace detail

/// What `pipeline` returns; see there.
template <int Microbatches, pipeline_order Order, class First, class Stage, class Last, int Ranks>
class pipeline_function {
  static_assert(std::is_empty_v<First> && std::is_empty_v<Stage> && std::is_empty_v<Last>,
                "atled::pipeline: a function captures variables: it must be stateless; pass them "
                "as weights");

 public:
  static constexpr passes::pipeline_table table = passes::make_pipeline(Order, Ranks, Microbatches);
  static constexpr passes::pipeline_facts facts = passes::check_pipeline(table);
  static_assert(facts.problem.empty(), "atled::pipeline: there is no such table of work");
  /// The part of its time in which a rank waits, if all stages take the same time.
  static constexpr double bubble = facts.bubble;

  pipeline_function(comm::grid& ranks, int axis) : ranks_(&ranks), axis_(axis) {}

  /// The mean loss of all microbatches, and its gradient by `ends` and by this rank's `blocks`.
  ///
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
    using work = detail::pipeline_work<First, Stage, Last>;
    using microbatch = tensor_view<const T, In...>;
    using target = tensor_view<const U, Target...>;
    using activation =
        decltype(jit(typename work::enter{})(ends, blocks, std::declval<microbatch>()));
    static_assert(
        std::is_same_v<activation, decltype(jit(Stage{})(blocks, std::declval<activation>()))>,
        "atled::pipeline: a stage must give what it takes: a tensor of the type that the first "
        "function makes");
    at = at.in("pipeline");
    comm::communicator& ranks = ranks_->along(axis_);
    const int rank = ranks.rank();
    const auto part = [&]<class View>(const auto& of, int m) {
      return View(of.data() + m * detail::leaf_type<View>().dims.size());
    };
    const auto receive = [&](int source) {
      constexpr tensor_type type = detail::leaf_type<activation>();
      auto x = activation::uninitialized();
      ranks.receive(x.data(), type.dims.size(), type.element, source, {at, type});
      return x;
    };

    gradients<Ends, Blocks> total;
    std::vector<activation> kept(rank == 0 ? 0 : Microbatches);
    detail::pipeline_outbox<activation> outbox(ranks);
    for (int i = 0; i < table.num_actions; ++i) {
      const passes::pipeline_action& action = table.actions[rank][i];
      const int m = action.microbatch;
      const auto slot = static_cast<std::size_t>(m);
      if (!action.is_backward) {
        if (rank > 0) kept[slot] = receive(rank - 1);
        if (rank + 1 == Ranks) continue;  // the loss is taken on the way back
        if (rank == 0) {
          outbox.send(jit(typename work::enter{})(ends, blocks,
                                                  part.template operator()<microbatch>(in, m)),
                      1, at);
        } else {
          outbox.send(jit(Stage{})(blocks, kept[slot]), rank + 1, at);
        }
      } else if constexpr (Ranks == 1) {
        auto [value, slopes] = jit(typename work::back_of_whole{})(
            ends, blocks, part.template operator()<microbatch>(in, m),
            part.template operator()<target>(targets, m));
        total.add_loss(std::move(value));
        total.add(std::move(std::get<0>(slopes)), std::move(std::get<1>(slopes)));
      } else if (rank + 1 == Ranks) {
        auto [value, slopes] = jit(typename work::back_of_last{})(
            ends, blocks, kept[slot], part.template operator()<target>(targets, m));
        total.add_loss(std::move(value));
        total.add(std::move(std::get<0>(slopes)), std::move(std::get<1>(slopes)));
        outbox.send(std::move(std::get<2>(slopes)), rank - 1, at);
        kept[slot] = {};
      } else if (rank == 0) {
        auto slopes = jit(typename work::back_of_first{})(
            ends, blocks, part.template operator()<microbatch>(in, m), receive(1));
        total.add(std::move(std::get<0>(slopes)), std::move(std::get<1>(slopes)));
      } else {
        auto slopes = jit(typename work::back{})(blocks, kept[slot], receive(rank + 1));
        total.add_blocks(std::move(std::get<0>(slopes)));
        outbox.send(std::move(std::get<1>(slopes)), rank - 1, at);
        kept[slot] = {};
      }
    }
    outbox.wait();
    return total.mean(ranks, at);
  }

 private:
  comm::grid* ranks_;
  int axis_;

  /// Sums over microbatches, and over the ranks of what they share.
  template <class Ends, class Blocks>
  struct gradients {
    tensor<f32> loss = tensor<f32>(0.0F);
    Ends ends = zeros_of<Ends>();
    Blocks blocks = zeros_of<Blocks>();

    void add_loss(tensor<f32>&& value) { loss = tensor<f32>(loss.item() + value.item()); }
    void add_blocks(Blocks&& more) {
      blocks = jit(detail::sum_of_trees)(std::move(blocks), std::move(more));
    }
    void add(Ends&& more_ends, Blocks&& more_blocks) {
      ends = jit(detail::sum_of_trees)(std::move(ends), std::move(more_ends));
      add_blocks(std::move(more_blocks));
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
///   const auto step = pipeline<8>(embed, layers, loss, devices, axis<"pipe">);
///   auto [value, d_ends, d_blocks] = step(ends, blocks, texts, nexts);
///
///   first(ends, microbatch) -> x      on the first rank
///   stage(blocks, x)        -> x      on each rank, with its own blocks
///   last(ends, x, target)   -> f32[]  on the last rank: the mean loss of a microbatch
///
/// `ends` are weights that all ranks hold alike, such as a table of tokens that is the head as
/// well; their gradient is summed over the ranks. The order is 1F1B, or `pipeline<8,
/// pipeline_order::gpipe>`; `decltype(step)::bubble` is the part of the time that ranks wait.
/// Cost: the forward pass twice; a rank holds at most S - rank activations (1F1B).
/// Ill-formed: a function captures; the axis is none of the mesh, or has no size; a stage changes
/// the type. Source: Narayanan et al., SC 2021.
template <int Microbatches, pipeline_order Order = pipeline_order::one_f_one_b, class First,
          class Stage, class Last, auto... Axis, axis_label Label>
[[nodiscard]] auto pipeline(First, Stage, Last, const mesh<Axis...>& devices,
                            const axis_tag<Label, 0>&) {
  constexpr mesh_shape shape = mesh<Axis...>::shape_value;
  constexpr int axis = shape.axis_named(Label.name.view());
  static_assert(axis >= 0, "atled::pipeline: the mesh has no axis of this name");
  static_assert(axis < 0 || !shape.is_open(axis < 0 ? 0 : axis),
                "atled::pipeline: the axis of a pipeline must have a size: axis<pipe, 4> with the "
                "name as a string literal");
  constexpr int ranks = static_cast<int>(shape.sizes[axis < 0 ? 0 : axis]);
  return pipeline_function<Microbatches, Order, First, Stage, Last, ranks>(devices.ranks(), axis);
}

}  // namespace atled
