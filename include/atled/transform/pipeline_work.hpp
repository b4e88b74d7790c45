// atled/transform/pipeline_work.hpp: what the stages of a pipeline compute: each a function of one
// microbatch. Reads: transform/grad.hpp. Used by transform/pipeline.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/grad.hpp"
#include "atled/transform/vjp.hpp"

#include <array>
#include <cstddef>

namespace atled {

template <int Repeats>
struct repeated_option {};
/// So many stages on each rank, for `pipeline_order::interleaved`.
template <int Repeats>
inline constexpr repeated_option<Repeats> repeated{};

template <int Layers>
struct of_layers_option {};
/// The second function of a pipeline is that of one of so many layers, which are dealt out to the
/// stages: the first ones hold one more where they do not divide.
template <int Layers>
inline constexpr of_layers_option<Layers> of_layers{};

namespace detail {

template <class... Options>
struct pipeline_options {
  static constexpr int repeats = 1;
  static constexpr int layers = 0;  ///< 0: a function of whole stages
};
template <int Repeats, class... Rest>
struct pipeline_options<repeated_option<Repeats>, Rest...> : pipeline_options<Rest...> {
  static constexpr int repeats = Repeats;
};
template <int Layers, class... Rest>
struct pipeline_options<of_layers_option<Layers>, Rest...> : pipeline_options<Rest...> {
  static_assert(Layers > 0, "atled::pipeline: of_layers must be of 1 layer or more");
  static constexpr int layers = Layers;
};

/// The first `Count` layers of an array, one after the other.
template <class Layer, int Count>
struct layers_in_turn {
  template <class Layers>
  constexpr expr operator()(const Layers& layers, const expr& in) const {
    expr x = in;
    for (int i = 0; i < Count; ++i) x = Layer{}(layers[static_cast<std::size_t>(i)], x);
    return x;
  }
};
/// The function of a stage that holds `Count` layers.
template <class Stage, int Count>
struct stage_of {
  using type = layers_in_turn<Stage, Count>;
};
template <class Stage>
struct stage_of<Stage, 0> {
  using type = Stage;
};

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

}  // namespace detail

}  // namespace atled
