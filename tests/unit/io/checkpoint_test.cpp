// tests/unit/io/checkpoint_test.cpp: for atled/io/checkpoint.hpp, on one process. Ranks:
// tests/mpi/checkpoint_test.cpp.
// Reads: atled/io/checkpoint.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/checkpoint.hpp"

#include "atled/core/tensor.hpp"
#include "atled/core/tree.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include "unit/io/temp_dir.hpp"
#include <chrono>
#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>

namespace io = atled::io;
using atled::f32;
using atled::i32;
using atled::tensor;
using atled_test::contains;
using atled_test::temp_dir;

namespace {

/// More than one piece, a scalar, and a tensor without elements.
using tree = std::tuple<tensor<f32, 300, 500>, tensor<i32>, tensor<f32, 0, 3>>;

tree tree_of(std::int64_t step) {
  tree out;
  auto& numbers = std::get<0>(out);
  for (std::int64_t i = 0; i < numbers.size(); ++i) {
    numbers.data()[i] = static_cast<f32>((i * 37 + step * 1001) % 65537);
  }
  std::get<1>(out) = static_cast<i32>(step);
  return out;
}
bool is_tree_of(const tree& found, std::int64_t step) {
  const tree expected = tree_of(step);
  return bool(atled::same_bits(std::get<0>(found), std::get<0>(expected))) &&
         std::get<1>(found).item() == std::get<1>(expected).item();
}

/// Changes one bit of a file.
void flip(const std::string& path, std::uintmax_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

/// Saves steps 1 and 2 and returns the folder of the newer one.
std::string save_two(const temp_dir& dir) {
  REQUIRE(io::save_checkpoint(dir / "run", tree_of(1), 1) == 1);
  REQUIRE(io::save_checkpoint(dir / "run", tree_of(2), 2) == 2);
  return dir / "run/checkpoint-2";
}

/// What a load says of a newest checkpoint that is damaged; it must have taken the one before.
std::string sentence_of_damage(const temp_dir& dir) {
  tree found = tree_of(9);
  std::string out;
  const std::string thrown = dir.sentence([&] {
    const auto loaded = io::load_checkpoint(dir / "run", found);
    REQUIRE(loaded);
    CHECK(loaded->step == 1);
    CHECK(is_tree_of(found, 1));
    REQUIRE(loaded->skipped.size() == 1);
    throw atled::error(loaded->skipped[0]);
  });
  return thrown;
}

}  // namespace

TEST_CASE("checkpoint: a tree comes back with its bits, its step and its metadata", "[io]") {
  const temp_dir dir;
  tree found = tree_of(0);
  CHECK(!io::load_checkpoint(dir / "run", found));
  const std::vector<io::metadata_entry> metadata = {{"seed", "5"}, {"data", "a\n\"b\""}};
  CHECK(io::save_checkpoint(dir / "run", tree_of(7), 7, metadata) == 1);
  const auto loaded = io::load_checkpoint(dir / "run", found);
  REQUIRE(loaded);
  CHECK(is_tree_of(found, 7));
  CHECK(loaded->step == 7);
  CHECK(loaded->find_metadata("data") == "a\n\"b\"");
  CHECK(loaded->find_metadata("none") == std::nullopt);
  CHECK(loaded->skipped.empty());
}

TEST_CASE("checkpoint: the two newest are kept, and what was never finished is removed", "[io]") {
  const temp_dir dir;
  std::filesystem::create_directories(dir / "run/checkpoint-3");  // of a run that was killed
  for (std::int64_t step = 1; step <= 4; ++step) {
    CHECK(io::save_checkpoint(dir / "run", tree_of(step), step) == step + 3);
  }
  CHECK(io::checkpoint_folder(dir / "run").complete() == std::vector<std::int64_t>{7, 6});
  CHECK(!std::filesystem::exists(dir / "run/checkpoint-3"));
  CHECK(!std::filesystem::exists(dir / "run/checkpoint-5"));
}

TEST_CASE("checkpoint: a damaged newest one is named, and the one before is used", "[io]") {
  SECTION("a bit of the data") {
    const temp_dir dir;
    const std::string path = save_two(dir) + "/rank-0.safetensors";
    flip(path, std::filesystem::file_size(path) - 5);
    CHECK(contains(sentence_of_damage(dir), "run/checkpoint-2/rank-0.safetensors @"));
    CHECK(contains(sentence_of_damage(dir), "they must have the checksum of the checkpoint"));
  }
  SECTION("a bit of the header, also where nobody reads it") {
    const temp_dir dir;
    const std::string path = save_two(dir) + "/rank-0.safetensors";
    flip(path, 40);
    CHECK(sentence_of_damage(dir) ==
          "run/checkpoint-2/rank-0.safetensors @0: load: a header: it must have the checksum of "
          "the checkpoint; the file is damaged");
  }
  SECTION("each bit of the manifest") {
    const temp_dir dir;
    const std::string path = save_two(dir) + "/checkpoint.json";
    const std::uintmax_t size = std::filesystem::file_size(path);
    for (std::uintmax_t at = 0; at < size; at += 7) {
      flip(path, at);
      CHECK(contains(sentence_of_damage(dir), "run/checkpoint-2/checkpoint.json: load: "));
      flip(path, at);
    }
  }
  SECTION("a file cut short") {
    const temp_dir dir;
    const std::string path = save_two(dir) + "/rank-0.safetensors";
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
    CHECK(contains(sentence_of_damage(dir), "the file is damaged"));
  }
  SECTION("a file that is not there") {
    const temp_dir dir;
    std::filesystem::remove(save_two(dir) + "/rank-0.safetensors");
    CHECK(contains(sentence_of_damage(dir),
                   "run/checkpoint-2/rank-0.safetensors: open: No such file or directory"));
  }
  SECTION("the manifest of another checkpoint") {
    const temp_dir dir;
    const std::string path = save_two(dir);
    std::filesystem::copy_file(dir / "run/checkpoint-1/checkpoint.json", path + "/checkpoint.json",
                               std::filesystem::copy_options::overwrite_existing);
    CHECK(sentence_of_damage(dir) ==
          "run/checkpoint-2/checkpoint.json: load: number 1: it must be that of its folder, 2");
  }
}

TEST_CASE("checkpoint: where all are damaged, the newest is named and the tree is as it was",
          "[io]") {
  const temp_dir dir;
  const std::string newest = save_two(dir);
  for (const std::string& path : {newest, dir / "run/checkpoint-1"}) {
    const std::string file = path + "/rank-0.safetensors";
    flip(file, std::filesystem::file_size(file) - 5);
  }
  tree found = tree_of(9);
  CHECK(contains(dir.sentence([&] { (void)io::load_checkpoint(dir / "run", found); }),
                 "run/checkpoint-2/rank-0.safetensors @"));
  CHECK(is_tree_of(found, 9));
}

TEST_CASE("checkpoint: another tree is refused with a list, and left as it was", "[io]") {
  const temp_dir dir;
  (void)save_two(dir);
  std::tuple<tensor<f32, 300, 400>, tensor<f32>> other;
  std::get<1>(other) = 5.0F;
  CHECK(dir.sentence([&] { (void)io::load_checkpoint(dir / "run", other); }) ==
        "run/checkpoint-2: load: 0 f32[300,400] (f32[300,500]), 1 f32[] (i32[]): the checkpoint, "
        "whose tensors are in brackets, must hold them");
  CHECK(std::get<1>(other).item() == 5.0F);
  std::tuple<tensor<f32, 300, 500>> less;
  CHECK(contains(dir.sentence([&] { (void)io::load_checkpoint(dir / "run", less); }),
                 "3 tensors for a tree of 1"));
  CHECK(io::load_checkpoint(dir / "run", less, io::unlisted::ignore)->step == 2);
}

TEST_CASE("checkpoint: a folder that cannot be written is a sentence, and nothing is lost",
          "[io]") {
  const temp_dir dir;
  dir.file("run", "a file");
  CHECK(contains(dir.sentence([&] { (void)io::save_checkpoint(dir / "run", tree_of(1), 1); }),
                 "run/checkpoint-1: save: Not a directory"));
  const std::vector<io::metadata_entry> twice = {{"a", "1"}, {"a", "2"}};
  (void)io::save_checkpoint(dir / "other", tree_of(1), 1);
  CHECK(contains(
      dir.sentence([&] { (void)io::save_checkpoint(dir / "other", tree_of(2), 2, twice); }),
      "save: key a twice: keys must differ"));
  CHECK(io::checkpoint_folder(dir / "other").complete() == std::vector<std::int64_t>{1});
  CHECK(!std::filesystem::exists(dir / "other/checkpoint-2"));
}

TEST_CASE("checkpoint: a process that is killed at any point of a save leaves a good one", "[io]") {
  const temp_dir dir;
  const std::string run = dir / "run";
  (void)io::save_checkpoint(run, tree_of(1), 1);
  (void)io::save_checkpoint(run, tree_of(2), 2);
  std::chrono::duration<double> longest = std::chrono::milliseconds(4);
  std::int64_t last = 2;
  std::uint64_t random = 12345;
  constexpr int points = 200;
  for (int point = 0; point < points; ++point) {
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (std::int64_t step = last + 1;; ++step)
        (void)io::save_checkpoint(run, tree_of(step), step);
    }
    random = random * 6364136223846793005U + 1442695040888963407U;
    std::this_thread::sleep_for(longest * (static_cast<double>(random >> 40) * 0x1p-24));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));
    tree found;
    const auto loaded = io::load_checkpoint(run, found);
    REQUIRE(loaded);
    REQUIRE(loaded->skipped.empty());
    REQUIRE(loaded->step >= last);
    REQUIRE(is_tree_of(found, loaded->step));
    longest *= loaded->step == last ? 1.02 : 0.8;
    last = loaded->step;
  }
  CHECK(last > 5);  // some saves were finished
}
