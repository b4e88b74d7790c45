// unit/comm/watchdog_test.cpp: what is said of a rank that does not come.
// Reads: comm/watchdog.hpp.
// SPDX-License-Identifier: MIT
#include "atled/comm/watchdog.hpp"

#include "support/catch.hpp"
#include <memory>
#include <string>

namespace {

using namespace atled;

/// A board of two ranks that lie in one process.
struct two_ranks {
  two_ranks() : memory(sizeof(comm::board) + sizeof(comm::sighting)), shared(make(memory)) {
    for (int r = 0; r < 2; ++r) {
      settings[r].shared = shared;
      settings[r].place = r;
      settings[r].rank = r;
      settings[r].mine()->step = -1;
      groups.push_back({settings[r], 0, "data", {0, 1}, {0, 1}});
    }
  }

  static comm::board* make(std::vector<std::byte>& memory) {
    memory.resize(memory.size() + 64);
    void* first = memory.data();
    std::size_t space = memory.size();
    return static_cast<comm::board*>(std::align(64, 1, first, space));
  }

  std::vector<std::byte> memory;
  comm::board* shared;
  comm::watch_setting settings[2];
  std::vector<comm::watched_group> groups;
};

comm::call reduce_of(int line, std::int64_t size) {
  return {.what = comm::collective::all_reduce,
          .element = dtype::f32,
          .count = size,
          .where = {{"src/model.hpp", line, "psum"}, {dtype::f32, shape::of({size})}}};
}

TEST_CASE("watchdog: the sentence names the rank, the call, the time, and the last place",
          "[comm]") {
  two_ranks ranks;
  ranks.groups[1].enter(reduce_of(40, 8), 811);
  ranks.settings[1].mine()->step = 120;
  ranks.groups[0].enter(reduce_of(41, 9), 812);
  CHECK(std::string(ranks.groups[0].describe_wait(reduce_of(41, 9), 812, 30).view()) ==
        "model.hpp:41: all_reduce #812 over data, f32[9]: rank 1 has not entered for 30 s: every "
        "rank "
        "must enter; it was last seen in all_reduce #811 over data at model.hpp:40 of step 120");
  ranks.settings[1].mine()->state = comm::sighting::gone;
  CHECK(std::string(ranks.groups[0].describe_wait(reduce_of(41, 9), 812, 2.5).view()) ==
        "model.hpp:41: all_reduce #812 over data, f32[9]: rank 1 has not entered for 2.5 s: every "
        "rank "
        "must enter; it has left the mesh, after all_reduce #811 over data at model.hpp:40 of step "
        "120");
}

TEST_CASE("watchdog: a rank in another call of the same number is named", "[comm]") {
  two_ranks ranks;
  ranks.groups[0].enter(reduce_of(41, 9), 1);
  ranks.groups[1].enter(reduce_of(42, 10), 1);
  CHECK(std::string(ranks.groups[0].describe_wait(reduce_of(41, 9), 1, 2).view()) ==
        "model.hpp:41: all_reduce #1 over data, f32[9]: rank 1 is in all_reduce, f32[10] at "
        "model.hpp:42, for 2 s: every rank must enter the same");
  CHECK(ranks.groups[0].other_bytes(reduce_of(41, 9), 1) == 40);
}

TEST_CASE("watchdog: of two that have entered, the one that stands still is named", "[comm]") {
  two_ranks ranks;
  ranks.groups[0].enter(reduce_of(41, 9), 1);
  ranks.groups[1].enter(reduce_of(41, 9), 1);
  CHECK(std::string(ranks.groups[0].describe_wait(reduce_of(41, 9), 1, 2).view())
            .starts_with("model.hpp:41: all_reduce #1 over data, f32[9]: rank 1 has entered and "
                         "not gone on for 2 s"));
}

}  // namespace
