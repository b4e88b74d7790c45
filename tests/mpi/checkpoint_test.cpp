// mpi/checkpoint_test.cpp: checkpoints hold whole tensors: what the ranks of one mesh save, those
// of any other load, each its own blocks. Reads: support/ranks.hpp, atled/io/checkpoint.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/checkpoint.hpp"

#include "atled/atled.hpp"

#include "support/near.hpp"
#include "support/ranks.hpp"
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>
#include <tuple>
#include <unistd.h>

using namespace atled;

namespace {

template <class K>
struct by_columns {
  nn::linear<K, f32, 8, 16, P<none, "model">> hidden;
  nn::linear<K, f32, 16, 4, P<"model", none>> out;
  ATLED_TREE(by_columns, hidden, out)
};
template <class K>
struct by_rows {  // the same tensors, split in another way
  nn::linear<K, f32, 8, 16, P<gathered<"model">>> hidden;
  nn::linear<K, f32, 16, 4> out;
  ATLED_TREE(by_rows, hidden, out)
};
template <class K>
struct by_heads {  // a rank has its heads of queries, keys and values
  nn::causal_attention<K, f32, 16, 4, P<"model">> attention;
  ATLED_TREE(by_heads, attention)
};
/// What an optimizer keeps: a second model, and a number that all ranks share.
template <class K, template <class> class Model>
struct state {
  Model<K> model;
  Model<K> moments;
  typename K::template leaf<i32> count;
  ATLED_TREE(state, model, moments, count)
};
template <class K>
using columns = state<K, by_columns>;
template <class K>
using rows = state<K, by_rows>;
template <class K>
using heads = state<K, by_heads>;
template <class K>
struct two_heads {
  nn::qkv_linear<K, f32, 16, 2, 8, P<"model">> qkv;
  ATLED_TREE(two_heads, qkv)
};

template <template <class> class State>
State<values> whole_state() {
  State<values> out;
  std::int64_t next = 7;
  for_each_leaf(
      [&](auto& leaf) {
        for (auto& x : leaf.span()) {
          x = static_cast<std::remove_reference_t<decltype(x)>>((next += 41) % 1009);
        }
      },
      out);
  return out;
}

template <class A, class B>
bool is_same(const A& a, const B& b) {
  bool same = true;
  for_each_leaf([&](const auto& x, const auto& y) { same = same && bool(same_bits(x, y)); }, a, b);
  return same;
}

/// A folder that all ranks see, and that goes with rank 0.
class shared_folder {
 public:
  shared_folder() {
    int number = static_cast<int>(::getpid());
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    path_ = (std::filesystem::temp_directory_path() / ("atled-ranks-" + std::to_string(number)));
  }
  shared_folder(const shared_folder&) = delete;
  shared_folder& operator=(const shared_folder&) = delete;
  ~shared_folder() {
    MPI_Barrier(MPI_COMM_WORLD);
    std::error_code ignored;
    if (support::rank() == 0) std::filesystem::remove_all(path_, ignored);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The first ranks of all.
class first_ranks {
 public:
  explicit first_ranks(int count) {
    is_in_ = support::rank() < count;
    MPI_Comm_split(MPI_COMM_WORLD, is_in_ ? 0 : MPI_UNDEFINED, 0, &ranks_);
  }
  first_ranks(const first_ranks&) = delete;
  first_ranks& operator=(const first_ranks&) = delete;
  ~first_ranks() {
    if (is_in_) MPI_Comm_free(&ranks_);
  }
  [[nodiscard]] bool is_in() const { return is_in_; }
  [[nodiscard]] MPI_Comm get() const { return ranks_; }

 private:
  bool is_in_ = false;
  MPI_Comm ranks_ = MPI_COMM_NULL;
};

template <template <class> class State, class Mesh>
void check_loads(const std::string& folder, const Mesh& devices) {
  State<on<Mesh>> found{};
  const auto loaded = io::load_checkpoint(folder, found, devices);
  REQUIRE(loaded);
  CHECK(loaded->step == 12);
  CHECK(is_same(found, device_put(whole_state<State>(), devices)));
}

using pair_of = mesh<axis<"model", 2>>;
using grid = mesh<axis<"data">, axis<"model", 2>>;
using quad = mesh<axis<"model", 4>>;
using alone = mesh<axis<"model", 1>>;

}  // namespace

TEST_CASE("checkpoint: what two ranks save, one, two and four load with the same bits", "[mpi]") {
  if (support::num_ranks() == 1) return;
  const shared_folder folder;
  {
    const first_ranks two(2);
    if (two.is_in()) {
      const pair_of devices{two.get()};
      CHECK(io::save_checkpoint(folder.path(), device_put(whole_state<columns>(), devices), devices,
                                12) == 1);
      check_loads<columns>(folder.path(), devices);
      check_loads<rows>(folder.path(), devices);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const alone self;  // each rank by itself
  check_loads<columns>(folder.path(), self);
  check_loads<rows>(folder.path(), self);
  if (support::num_ranks() != 4) return;
  check_loads<columns>(folder.path(), quad{MPI_COMM_WORLD});
  check_loads<rows>(folder.path(), quad{MPI_COMM_WORLD});
  check_loads<rows>(folder.path(), grid{MPI_COMM_WORLD});
}

TEST_CASE("checkpoint: columns that ranks hold by heads are whole tensors as declared", "[mpi]") {
  const shared_folder folder;
  const alone self;
  if (support::num_ranks() == 1) {
    (void)io::save_checkpoint(folder.path(), device_put(whole_state<heads>(), self), self, 12);
  } else {
    const first_ranks two(2);
    if (two.is_in()) {
      const pair_of devices{two.get()};
      (void)io::save_checkpoint(folder.path(), device_put(whole_state<heads>(), devices), devices,
                                12);
      check_loads<heads>(folder.path(), devices);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  check_loads<heads>(folder.path(), self);
  heads<values> whole{};
  REQUIRE(io::load_checkpoint(folder.path(), whole));
  CHECK(is_same(whole, whole_state<heads>()));
  if (support::num_ranks() == 4) {
    const quad devices{MPI_COMM_WORLD};
    check_loads<heads>(folder.path(), devices);
    two_heads<on<quad>> half_a_head{};
    CHECK_THROWS_WITH(io::save_checkpoint(folder.path(), half_a_head, devices, 13),
                      "checkpoint: leaf qkv.weight f32[16,12]: a block must hold whole units of 3 "
                      "times 8 columns");
  }

  MPI_Barrier(MPI_COMM_WORLD);
  if (support::rank() == 0) (void)io::save_checkpoint(folder.path(), whole, 12);
  MPI_Barrier(MPI_COMM_WORLD);
  if (support::num_ranks() == 2) check_loads<heads>(folder.path(), pair_of{MPI_COMM_WORLD});
}

TEST_CASE("checkpoint: blocks that several ranks hold are written once", "[mpi]") {
  const shared_folder folder;
  const mesh<axis<"data">> devices{MPI_COMM_WORLD};
  (void)io::save_checkpoint(folder.path(), whole_state<rows>(), devices, 12);
  rows<values> found{};
  REQUIRE(io::load_checkpoint(folder.path(), found, devices));
  CHECK(is_same(found, whole_state<rows>()));
  const std::string path = folder.path() + "/checkpoint-1/rank-";
  CHECK(std::filesystem::exists(path + "0.safetensors"));
  CHECK(!std::filesystem::exists(path + "1.safetensors"));
}

TEST_CASE("checkpoint: specs split what is in no model, along an open axis too", "[mpi]") {
  const shared_folder folder;
  const mesh<axis<"data">> devices{MPI_COMM_WORLD};
  std::tuple<tensor<f32, 3>, tensor<i32, 2, 2>> tree;
  std::get<0>(tree) = tensor<f32, 3>{1, 2, 3};
  for (auto& x : std::get<1>(tree).span()) x = support::rank();
  (void)io::save_checkpoint(folder.path(), tree, devices, 3, {}, in_specs<P<>, P<none, "data">>);
  auto found = tree;
  for_each_leaf([](auto& leaf) { std::ranges::fill(leaf.span(), 0); }, found);
  const auto loaded = io::load_checkpoint(folder.path(), found, devices, io::unlisted::refuse,
                                          in_specs<P<>, P<none, "data">>);
  REQUIRE(loaded);
  CHECK(is_same(found, tree));
  std::tuple<tensor<f32, 3>> first;
  REQUIRE(io::load_checkpoint(folder.path(), first, devices, io::unlisted::ignore));
  CHECK(is_same(first, std::tuple(std::get<0>(tree))));
}

TEST_CASE("checkpoint: all ranks skip one that is damaged where one of them reads", "[mpi]") {
  if (support::num_ranks() != 2) return;
  const shared_folder folder;
  const pair_of devices{MPI_COMM_WORLD};
  const auto blocks = device_put(whole_state<columns>(), devices);
  (void)io::save_checkpoint(folder.path(), blocks, devices, 12);
  (void)io::save_checkpoint(folder.path(), blocks, devices, 13);
  const std::string newest = folder.path() + "/checkpoint-2/rank-1.safetensors";
  if (support::rank() == 0) {
    std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-2, std::ios::end);
    file.put('!');
  }
  MPI_Barrier(MPI_COMM_WORLD);
  auto found = blocks;
  const auto loaded = io::load_checkpoint(folder.path(), found, devices);
  REQUIRE(loaded);
  CHECK(loaded->step == 12);
  REQUIRE(loaded->skipped.size() == 1);  // the same sentence on both
  CHECK(loaded->skipped[0].find("checkpoint-2/rank-1.safetensors @") != std::string::npos);
  CHECK(is_same(found, blocks));
}

TEST_CASE("checkpoint: a rank that cannot write ends the save on all, with its sentence", "[mpi]") {
  if (support::num_ranks() != 2) return;
  const shared_folder folder;
  const pair_of devices{MPI_COMM_WORLD};
  const auto blocks = device_put(whole_state<columns>(), devices);
  (void)io::save_checkpoint(folder.path(), blocks, devices, 12);
  const auto message_of = [&](std::span<const io::metadata_entry> metadata) {
    try {
      (void)io::save_checkpoint(folder.path(), blocks, devices, 13, metadata);
    } catch (const error& why) {
      return std::string(why.what());
    }
    return std::string("no error");
  };
  rlimit all{};
  ::getrlimit(RLIMIT_FSIZE, &all);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{100, all.rlim_max};
  if (support::rank() == 1) ::setrlimit(RLIMIT_FSIZE, &little);  // as on a full disk
  const std::string full = message_of({});
  ::setrlimit(RLIMIT_FSIZE, &all);
  std::signal(SIGXFSZ, old);
  CHECK(full == folder.path() + "/checkpoint-2/rank-1.safetensors: write: File too large: all " +
                    "bytes must be written; the old file is unchanged");
  const std::array<io::metadata_entry, 2> twice{{{"a", "1"}, {"a", "2"}}};
  CHECK(message_of(twice).find("save: key a twice: keys must differ") != std::string::npos);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(io::checkpoint_folder(folder.path()).complete() == std::vector<std::int64_t>{1});
  CHECK(!std::filesystem::exists(folder.path() + "/checkpoint-2"));
}
