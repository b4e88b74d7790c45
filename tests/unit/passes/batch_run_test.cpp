// Tests of atled/passes/batch_run.hpp: attention goes head by head; what it hands on stays apart.
// Reads: atled/transform/jit.hpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include "support/catch.hpp"
#include <algorithm>

using namespace atled;

namespace {

constexpr auto attend = [](auto q, auto k, auto v) {
  return nn::dot_product_attention(q, k, v, true);
};
constexpr auto gradients =
    grad([](auto q, auto k, auto v) { return sum(square(attend(q, k, v))); }, argnums<0, 1, 2>);

template <class F, class T>
using planned = typename decltype(jit(F{}, by_kernels))::template program<T, T, T>::planned;

/// 8 heads of 192 places: 1.2 MB of scores; 8 heads of 16 places: less than a cache holds.
using large = tensor<f32, 2, 192, 4, 16>;
using small = tensor<f32, 2, 16, 4, 16>;

template <class Plan>
constexpr bool items_never_meet(const ir::graph& g, const Plan& p) {
  for (int r = 0; r < p.num_runs; ++r) {
    const passes::batch_run& run = p.runs[r];
    for (int i = run.begin; i < run.end; ++i) {
      for (int k = 0; k < p.steps[i].num_slots; ++k) {
        const passes::slot& written = p.slots[p.steps[i].slots_begin + k];
        if (!written.is_output || p.place[written.base].space != passes::memory_space::arena) {
          continue;
        }
        // No other value that the run touches lies there, but one of the same size and place.
        const std::int64_t begin = p.place[written.base].offset;
        const std::int64_t end = begin + g.type(written.base).bytes();
        for (int j = run.begin; j < run.end; ++j) {
          for (int l = 0; l < p.steps[j].num_slots; ++l) {
            const passes::slot& other = p.slots[p.steps[j].slots_begin + l];
            if (other.base < 0 || other.base == written.base || !p.stored[other.base]) continue;
            if (p.place[other.base].space != passes::memory_space::arena) continue;
            const std::int64_t at = p.place[other.base].offset;
            const std::int64_t size = g.type(other.base).bytes();
            const bool is_taken_over = at == begin && size == end - begin;
            if (at < end && begin < at + size && !is_taken_over) return false;
          }
        }
      }
    }
  }
  return true;
}

template <class T>
T numbers(unsigned seed) {
  T out;
  for (auto& x : out) {
    seed = seed * 1664525U + 1013904223U;
    x = static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0F;
  }
  return out;
}

}  // namespace

TEST_CASE("batch_run: scores, softmax and product run head by head where they are large",
          "[passes]") {
  using p = planned<decltype(attend), large>;
  STATIC_REQUIRE(p::plan.num_runs == 1);
  STATIC_REQUIRE(p::plan.runs[0].items == 8);
  STATIC_REQUIRE(p::plan.runs[0].end - p::plan.runs[0].begin == 3);
  STATIC_REQUIRE(planned<decltype(attend), small>::plan.num_runs == 0);
  using d = planned<decltype(gradients), large>;
  STATIC_REQUIRE(d::plan.num_runs == 2);
  STATIC_REQUIRE(items_never_meet(p::kernel_graph(), p::plan));
  STATIC_REQUIRE(items_never_meet(d::kernel_graph(), d::plan));
}

TEST_CASE("batch_run: the bits are those of one step after the other", "[passes]") {
  const auto q = numbers<large>(1);
  const auto k = numbers<large>(2);
  const auto v = numbers<large>(3);
  const auto run = jit(gradients, by_kernels);
  const int before = num_threads();
  set_num_threads(16);  // more than there are heads: the steps run alone
  const auto apart = run(q, k, v);
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const auto together = run(q, k, v);
    CHECK(std::ranges::equal(std::get<0>(apart), std::get<0>(together)));
    CHECK(std::ranges::equal(std::get<1>(apart), std::get<1>(together)));
    CHECK(std::ranges::equal(std::get<2>(apart), std::get<2>(together)));
  }
  set_num_threads(before);
}
