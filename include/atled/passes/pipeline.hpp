// atled/passes/pipeline.hpp: which rank of a pipeline does what, in which order: GPipe, 1F1B and
// interleaved tables, as values, with the proof that they end.
// Reads: core/diagnostic.hpp.
//
// A pipeline of S ranks has S R stages; stage s lies on rank s mod S. A batch is cut into M
// microbatches. Each goes forward through all stages and backward again; a rank does one thing at a
// time.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"

#include <cstdint>

namespace atled::passes {

/// The order in which a rank goes through its work.
///
/// - gpipe: everything forward, then everything backward. Holds all M microbatches.
/// - one_f_one_b: as soon as the first one can come back, forward and backward in turn.
/// - interleaved: the same with R stages a rank, so that the pipeline fills R times as fast.
///
/// Source: Huang et al., GPipe, NeurIPS 2019; Narayanan et al., PipeDream, SOSP 2019, and Efficient
/// Large-Scale Language Model Training on GPU Clusters, SC 2021 (interleaved).
enum class pipeline_order { gpipe, one_f_one_b, interleaved };

/// One piece of work of a rank.
struct pipeline_action {
  bool is_backward;
  int stage;
  int microbatch;

  friend constexpr bool operator==(const pipeline_action&, const pipeline_action&) = default;
};

/// What each rank does, in order; `problem` says why there is no such table.
struct pipeline_table {
  static constexpr int max_ranks = 64;
  static constexpr int max_actions = 1 << 11;  ///< of a rank
  int ranks, repeats, microbatches;
  pipeline_action actions[max_ranks][max_actions];
  int num_actions;  ///< of each rank
  text problem;

  [[nodiscard]] constexpr int num_stages() const { return ranks * repeats; }
  [[nodiscard]] constexpr int rank_of(int stage) const { return stage % ranks; }
};

/// What a table costs, if each action takes the same time. `problem` says which law it breaks.
struct pipeline_facts {
  int ticks;                            ///< from the first action to the last
  double bubble;                        ///< the part of its time in which a rank waits
  int held[pipeline_table::max_ranks];  ///< microbatches whose backward is due, at most, by rank
  text problem;
};

namespace detail {

/// The k-th forward action of a rank, and the k-th backward one: groups of S microbatches go
/// through the rank's stages one after the other.
[[nodiscard]] constexpr pipeline_action forward_action(const pipeline_table& t, int rank, int k) {
  const int group = t.ranks * t.repeats;
  const int repeat = k % group / t.ranks;
  return {false, repeat * t.ranks + rank, k / group * t.ranks + k % t.ranks};
}
[[nodiscard]] constexpr pipeline_action backward_action(const pipeline_table& t, int rank, int k) {
  const pipeline_action forward = forward_action(t, rank, k);
  const int repeat = t.repeats - 1 - forward.stage / t.ranks;
  return {true, repeat * t.ranks + rank, forward.microbatch};
}

/// How many forward actions a rank is ahead before it goes back and forth.
[[nodiscard]] constexpr int head_start(const pipeline_table& t, pipeline_order order, int rank) {
  const int all = t.num_actions / 2;
  const int behind = t.ranks - 1 - rank;
  const int ahead = order == pipeline_order::gpipe         ? all
                    : order == pipeline_order::one_f_one_b ? behind
                                                           : 2 * behind + (t.repeats - 1) * t.ranks;
  return ahead < all ? ahead : all;
}

/// Plays a table: at each tick a rank does its next action if what that needs is done.
class pipeline_player {
 public:
  constexpr explicit pipeline_player(const pipeline_table& table) : t_(table) {}

  constexpr pipeline_facts play() {
    pipeline_facts out{};
    int left = t_.ranks * t_.num_actions;
    for (int tick = 0; left > 0; ++tick) {
      int done = 0;
      for (int r = 0; r < t_.ranks; ++r) {
        if (next_[r] < t_.num_actions && is_ready(t_.actions[r][next_[r]], tick)) {
          finish(r, tick, out);
          ++done;
        }
      }
      if (done == 0) return stuck(tick);
      left -= done;
      out.ticks = tick + 1;
    }
    out.bubble = 1 - static_cast<double>(t_.num_actions) / out.ticks;
    return out;
  }

 private:
  static constexpr int max_pairs = 1 << 16;  // stages x microbatches
  const pipeline_table& t_;
  int next_[pipeline_table::max_ranks]{};
  int held_[pipeline_table::max_ranks]{};
  int end_of_[2][max_pairs]{};  // the tick after which it is done, + 1

  [[nodiscard]] constexpr int pair(int stage, int microbatch) const {
    return stage * t_.microbatches + microbatch;
  }
  [[nodiscard]] constexpr bool is_done(bool is_backward, int stage, int microbatch,
                                       int tick) const {
    const int end = end_of_[is_backward ? 1 : 0][pair(stage, microbatch)];
    return end != 0 && end <= tick;
  }
  [[nodiscard]] constexpr bool is_ready(const pipeline_action& a, int tick) const {
    if (!a.is_backward) return a.stage == 0 || is_done(false, a.stage - 1, a.microbatch, tick);
    return is_done(false, a.stage, a.microbatch, tick) &&
           (a.stage + 1 == t_.num_stages() || is_done(true, a.stage + 1, a.microbatch, tick));
  }
  constexpr void finish(int rank, int tick, pipeline_facts& out) {
    const pipeline_action& a = t_.actions[rank][next_[rank]++];
    end_of_[a.is_backward ? 1 : 0][pair(a.stage, a.microbatch)] = tick + 1;
    held_[rank] += a.is_backward ? -1 : 1;
    if (held_[rank] > out.held[rank]) out.held[rank] = held_[rank];
  }
  [[nodiscard]] constexpr pipeline_facts stuck(int tick) const {
    pipeline_facts out{};
    int rank = 0;
    while (next_[rank] == t_.num_actions) ++rank;
    const pipeline_action& a = t_.actions[rank][next_[rank]];
    out.problem << "pipeline: after " << tick << " ticks rank " << rank << " waits for ever before "
                << (a.is_backward ? "backward" : "forward") << " of microbatch " << a.microbatch
                << " in stage " << a.stage << ": what it needs must come first";
    return out;
  }
};

/// The action whose result `a` needs from another rank; false if it needs none.
[[nodiscard]] constexpr bool find_source(const pipeline_table& t, const pipeline_action& a,
                                         pipeline_action& from) {
  const int stage = a.is_backward ? a.stage + 1 : a.stage - 1;
  if (stage < 0 || stage == t.num_stages() || t.ranks == 1) return false;
  from = {a.is_backward, stage, a.microbatch};
  return true;
}

/// The rank to which the result of `a` goes; -1 for none, or for its own.
[[nodiscard]] constexpr int target_of(const pipeline_table& t, const pipeline_action& a) {
  const int stage = a.is_backward ? a.stage - 1 : a.stage + 1;
  return stage < 0 || stage == t.num_stages() || t.ranks == 1 ? -1 : t.rank_of(stage);
}

/// Messages of one kind between two ranks must be wanted in the order in which they are sent.
[[nodiscard]] constexpr bool messages_match(const pipeline_table& t, int from, int to,
                                            bool is_backward) {
  int sent = 0;
  for (int i = 0; i < t.num_actions; ++i) {
    pipeline_action source{};
    const pipeline_action& a = t.actions[to][i];
    if (a.is_backward != is_backward || !find_source(t, a, source)) continue;
    if (t.rank_of(source.stage) != from) continue;
    while (sent < t.num_actions) {
      const pipeline_action& s = t.actions[from][sent];
      if (s.is_backward == is_backward && target_of(t, s) == to) break;
      ++sent;
    }
    if (sent == t.num_actions || !(t.actions[from][sent++] == source)) return false;
  }
  return true;
}

}  // namespace detail

/// The table of a pipeline.
///
///   static constexpr auto table = make_pipeline(pipeline_order::one_f_one_b, 4, 8);
///
/// Cost: O(ranks x microbatches x repeats). Its `problem`: a number is below 1 or too large;
/// one_f_one_b with repeats; interleaved microbatches that are no multiple of the ranks.
[[nodiscard]] constexpr pipeline_table make_pipeline(pipeline_order order, int ranks,
                                                     int microbatches, int repeats = 1) {
  pipeline_table t{};
  t.ranks = ranks;
  t.microbatches = microbatches;
  t.repeats = repeats;
  const bool is_positive = ranks > 0 && microbatches > 0 && repeats > 0;
  if (!is_positive || ranks > pipeline_table::max_ranks ||
      microbatches > pipeline_table::max_actions / 2 / repeats) {
    t.problem << "pipeline: " << ranks << " ranks, " << microbatches << " microbatches, " << repeats
              << " repeats: each must be at least 1, ranks at most " << pipeline_table::max_ranks
              << ", microbatches times repeats at most " << pipeline_table::max_actions / 2;
    return t;
  }
  if (order == pipeline_order::one_f_one_b && repeats > 1) {
    t.problem << "pipeline: one_f_one_b with " << repeats
              << " repeats: it must be 1; use interleaved";
    return t;
  }
  if (repeats > 1 && microbatches % ranks != 0) {
    t.problem << "pipeline: " << microbatches << " microbatches on " << ranks
              << " ranks with repeats: they must be a multiple of the ranks";
    return t;
  }
  const int all = microbatches * repeats;
  t.num_actions = 2 * all;
  for (int r = 0; r < ranks; ++r) {
    const int ahead = detail::head_start(t, order, r);
    int at = 0;
    for (int k = 0; k < ahead; ++k) t.actions[r][at++] = detail::forward_action(t, r, k);
    for (int k = 0; k < all; ++k) {
      if (ahead + k < all) t.actions[r][at++] = detail::forward_action(t, r, ahead + k);
      t.actions[r][at++] = detail::backward_action(t, r, k);
    }
  }
  return t;
}

/// Plays a table and checks its laws: it ends, and every message is sent and wanted in one order.
///
/// The bubble of all three orders is (S - 1) / (R M + S - 1).
/// Cost: O(ticks x ranks). Source: Narayanan et al., SC 2021, section 2.2.
[[nodiscard]] constexpr pipeline_facts check_pipeline(const pipeline_table& t) {
  pipeline_facts out{};
  out.problem = t.problem;
  if (!out.problem.empty()) return out;
  for (int r = 0; r < t.ranks; ++r) {
    const int next = (r + 1) % t.ranks;
    if (detail::messages_match(t, r, next, false) && detail::messages_match(t, next, r, true)) {
      continue;
    }
    out.problem << "pipeline: ranks " << r << " and " << next
                << ": messages are not wanted in the order in which they are sent";
    return out;
  }
  return detail::pipeline_player(t).play();
}

/// The place in the actions of rank `from`, from `begin` on, of the next one whose result goes to
/// rank `to`: so a rank knows what arrives without being told. num_actions if there is none.
[[nodiscard]] constexpr int next_message(const pipeline_table& t, int from, int to, int begin) {
  while (begin < t.num_actions && detail::target_of(t, t.actions[from][begin]) != to) ++begin;
  return begin;
}

/// How many of `layers` layers a stage holds: the first ones hold one more where they do not
/// divide.
[[nodiscard]] constexpr int layers_of_stage(int layers, int num_stages, int stage) {
  return layers / num_stages + (stage < layers % num_stages ? 1 : 0);
}
/// The first layer of a stage.
[[nodiscard]] constexpr int first_layer_of_stage(int layers, int num_stages, int stage) {
  const int longer = layers % num_stages;
  return stage * (layers / num_stages) + (stage < longer ? stage : longer);
}

}  // namespace atled::passes
