// The plan of a step on a mesh that is not here, against counts by hand.
// SPDX-License-Identifier: MIT
#include "gpt/dry_run.hpp"

#include "atled/core/diagnostic.hpp"

#include "support/catch.hpp"
#include <string>

using gpt::config;
using gpt::parse_planned_mesh;
using gpt::plan_step;

namespace {

constexpr config nano{
    .layers = 4, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = 65};
constexpr config nano_128{
    .layers = 4, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = 128};
constexpr double peak = 29.8e6;

std::string sentence(const config& sizes, const char* mesh) {
  try {
    (void)plan_step(sizes, parse_planned_mesh(mesh), peak);
  } catch (const atled::error& why) {
    return why.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("dry_run: ranks of data hold everything and send 2 (n - 1) / n of the gradient",
          "[gpt]") {
  const auto plan = plan_step(nano, parse_planned_mesh("data=4"), peak);
  CHECK(plan.parameters == 4 * 809'856);
  CHECK(plan.gradients == 4 * 809'856);
  CHECK(plan.optimizer == 8 * 809'856);
  CHECK(plan.activations == Approx(peak));
  CHECK(plan.data == 4'859'136);  // 2 * 3 / 4 * 3239424
  CHECK(plan.sent() == plan.data);
  CHECK(plan.bubble == 0);
}

TEST_CASE("dry_run: fully sharded state falls as 1 / n; it is gathered twice and scattered once",
          "[gpt]") {
  const auto plan = plan_step(nano, parse_planned_mesh("fsdp=4"), peak);
  CHECK(plan.parameters == 809'856);
  CHECK(plan.optimizer == 2 * 809'856);
  CHECK(plan.fsdp == 7'288'704);  // 3 * 3 / 4 * 3239424
  const auto many = plan_step(nano, parse_planned_mesh("fsdp=1024"), peak);
  CHECK(many.parameters == Approx(3239424.0 / 1024));
}

TEST_CASE("dry_run: ranks of a model send four activations a layer and two at the ends", "[gpt]") {
  const auto plan = plan_step(nano_128, parse_planned_mesh("model=2"), peak);
  // A layer (12 C C + 7 C) / 2 + 6 C = 99520; the ends 128 C / 2 + 64 C + 2 C = 16640.
  CHECK(plan.parameters == 4 * (4 * 99'520 + 16'640));
  CHECK(plan.model == 18 * 12 * 64 * 128 * 4);  // (4 L + 2) all_reduces, 2 * 1 / 2 each
  // Of 34 + 5 H T / C = 44 parts 10 are whole and 24 + 10 split.
  CHECK(plan.activations == Approx(peak * 27 / 44));
}

TEST_CASE("dry_run: a pipeline waits (p - 1) / (m + p - 1) of the time", "[gpt]") {
  const auto plan = plan_step(nano, parse_planned_mesh("pipe=2,microbatches=8"), peak);
  CHECK(plan.bubble == Approx(1.0 / 9));
  CHECK(plan.parameters == 4 * (2 * 198'272 + 16'768));
  // Rows of 24 there and back, and the sum of the gradient of the ends.
  CHECK(plan.pipe == Approx(2 * 24 * 64 * 128 * 4 + 4 * 16'768));
  const gpt::planned_speeds speeds{.flops = 1e11, .link = 1e10};
  CHECK(plan.most_seconds(speeds) == Approx(plan.flops / 1e11 * 9 / 8 + plan.pipe / 1e10));
  CHECK(plan.least_seconds(speeds) == Approx(plan.flops / 1e11 * 9 / 8));
}

TEST_CASE("dry_run: products of axes, and 1,024 ranks, as text", "[gpt]") {
  const auto mesh = parse_planned_mesh("data=128,model=4,pipe=2,microbatches=6");
  CHECK(mesh.ranks() == 1024);
  const auto plan = plan_step(nano_128, mesh, peak);
  CHECK(plan.data == Approx(2 * 127.0 / 128 * plan.gradients));
  const std::string text = to_text(plan, nano_128, mesh, {.flops = 1e12, .link = 1e10});
  CHECK(text.find("ranks                             1024  data=128 fsdp=1 model=4 pipe=2\n") == 0);
  CHECK(text.find("rows of a step                    3072\n") != text.npos);
  CHECK(text.find("bubble                            0.1429  6 microbatches\n") != text.npos);
  CHECK(text.find("along fsdp") == text.npos);
  CHECK(to_text(plan, nano_128, mesh, {}).find("n/a") != text.npos);
}

TEST_CASE("dry_run: what cannot be is a sentence", "[gpt]") {
  CHECK(sentence(nano, "model=3") ==
        "--dry-run: train: model=3: its heads (4) must be divisible by model (3)");
  CHECK(sentence(nano, "model=2") ==
        "--dry-run: train: model=2: its vocabulary (65) must be divisible by model (2)");
  CHECK(sentence(nano, "pipe=2,microbatches=7").find("must be divisible by microbatches (7)") !=
        std::string::npos);
  for (const char* mesh : {"", "data", "rows=2", "data=2,data=2", "data=2,"}) {
    CHECK(sentence(nano, mesh).find("it must be axes with sizes, as data=512,model=2") !=
          std::string::npos);
  }
  for (const char* mesh : {"data=0", "data=x", "data=1.5", "data=-1", "data="}) {
    CHECK(sentence(nano, mesh).find("a size must be from 1 to 1000000") != std::string::npos);
  }
}
