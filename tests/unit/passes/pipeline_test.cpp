// Tests of atled/passes/pipeline.hpp: tables of pipelines end, and cost what the papers say.
// Reads: atled/passes/pipeline.hpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/pipeline.hpp"

#include "support/catch.hpp"

using namespace atled;
using namespace atled::passes;

namespace {

constexpr bool is_near(double a, double b) {
  return a - b < 1e-12 && b - a < 1e-12;
}
constexpr double expected_bubble(int ranks, int microbatches, int repeats) {
  return static_cast<double>(ranks - 1) / (repeats * microbatches + ranks - 1);
}

/// A table with two neighbouring actions of a rank exchanged.
constexpr pipeline_table with_exchange(int rank, int at) {
  pipeline_table t = make_pipeline(pipeline_order::one_f_one_b, 4, 8);
  const pipeline_action kept = t.actions[rank][at];
  t.actions[rank][at] = t.actions[rank][at + 1];
  t.actions[rank][at + 1] = kept;
  return t;
}

}  // namespace

TEST_CASE("pipeline: 4 stages and 8 microbatches wait 3 of 11, with 2 repeats 3 of 19",
          "[passes]") {
  constexpr auto plain = check_pipeline(make_pipeline(pipeline_order::one_f_one_b, 4, 8));
  STATIC_REQUIRE(plain.problem.empty());
  STATIC_REQUIRE(is_near(plain.bubble, 3.0 / 11));
  constexpr auto twice = check_pipeline(make_pipeline(pipeline_order::interleaved, 4, 8, 2));
  STATIC_REQUIRE(twice.problem.empty());
  STATIC_REQUIRE(is_near(twice.bubble, 3.0 / 19));
}

TEST_CASE("pipeline: 1F1B holds 4, 3, 2, 1 microbatches, GPipe all of them", "[passes]") {
  constexpr auto plain = check_pipeline(make_pipeline(pipeline_order::one_f_one_b, 4, 8));
  STATIC_REQUIRE(
      (plain.held[0] == 4 && plain.held[1] == 3 && plain.held[2] == 2 && plain.held[3] == 1));
  constexpr auto all = check_pipeline(make_pipeline(pipeline_order::gpipe, 4, 8));
  STATIC_REQUIRE((all.held[0] == 8 && all.held[3] == 8));
  STATIC_REQUIRE(is_near(all.bubble, 3.0 / 11));
}

TEST_CASE("pipeline: every size ends, with the bubble of the formula", "[passes]") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (int microbatches = 1; microbatches <= 24; ++microbatches) {
      for (int repeats = 1; repeats <= 3; ++repeats) {
        for (const auto order :
             {pipeline_order::gpipe, pipeline_order::one_f_one_b, pipeline_order::interleaved}) {
          if (repeats > 1 && microbatches % ranks != 0) continue;
          if (repeats > 1 && order == pipeline_order::one_f_one_b) continue;
          const auto facts = check_pipeline(make_pipeline(order, ranks, microbatches, repeats));
          CAPTURE(ranks, microbatches, repeats, static_cast<int>(order));
          CHECK(facts.problem.view() == "");
          CHECK(is_near(facts.bubble, expected_bubble(ranks, microbatches, repeats)));
        }
      }
    }
  }
}

TEST_CASE("pipeline: a table that would hang or mix up messages is refused", "[passes]") {
  // Rank 3 would go backward before it has gone forward.
  constexpr auto hangs = check_pipeline(with_exchange(3, 0));
  STATIC_REQUIRE(hangs.problem.view() ==
                 "pipeline: after 4 ticks rank 0 waits for ever before backward of microbatch 0 in "
                 "stage 0: what it needs must come first");
  // Rank 0 sends microbatch 1 before microbatch 0.
  constexpr auto mixes = check_pipeline(with_exchange(0, 0));
  STATIC_REQUIRE(mixes.problem.view() ==
                 "pipeline: ranks 0 and 1: messages are not wanted in the order in which they are "
                 "sent");
}

TEST_CASE("pipeline: numbers that make no table are a sentence", "[passes]") {
  CHECK(make_pipeline(pipeline_order::gpipe, 0, 8).problem.view() ==
        "pipeline: 0 ranks, 8 microbatches, 1 repeats: each must be at least 1, ranks at most 64, "
        "microbatches times repeats at most 1024");
  CHECK(make_pipeline(pipeline_order::one_f_one_b, 4, 8, 2).problem.view() ==
        "pipeline: one_f_one_b with 2 repeats: it must be 1; use interleaved");
  CHECK(make_pipeline(pipeline_order::interleaved, 4, 6, 2).problem.view() ==
        "pipeline: 6 microbatches on 4 ranks with repeats: they must be a multiple of the ranks");
}

TEST_CASE("pipeline: layers that do not divide lie on the first stages", "[passes]") {
  int next = 0;
  for (int stage = 0; stage < 4; ++stage) {
    CHECK(first_layer_of_stage(10, 4, stage) == next);
    next += layers_of_stage(10, 4, stage);
  }
  CHECK(next == 10);
  CHECK(layers_of_stage(10, 4, 0) == 3);
  CHECK(layers_of_stage(10, 4, 3) == 2);
}
