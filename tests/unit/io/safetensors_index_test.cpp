// tests/unit/io/safetensors_index_test.cpp: for atled/io/safetensors_index.hpp.
// Reads: atled/io/safetensors_index.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/safetensors_index.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <array>
#include <string>

namespace io = atled::io;
using atled::shape;
using atled_test::contains;
using atled_test::temp_dir;

namespace {
const std::array<float, 2> x{1, 2};

void write(const std::string& path, std::initializer_list<std::string_view> names) {
  std::vector<io::tensor_source> sources;
  for (const auto name : names) {
    sources.push_back(io::source_of(name, shape::of({2}), std::span(x)));
  }
  io::write_safetensors(path, sources);
}

std::string open(const temp_dir& dir, std::string_view index) {
  dir.file("index.json", index);
  return dir.sentence([&] { (void)io::sharded_safetensors(dir / "index.json"); });
}
}  // namespace

TEST_CASE("safetensors_index: a tensor is found in the file that holds it", "[io]") {
  const temp_dir dir;
  write(dir / "1.safetensors", {"a", "b"});
  write(dir / "2.safetensors", {"c"});
  dir.file("index.json", R"({"metadata":{"total_size":24},"weight_map":)"
                         R"({"a":"1.safetensors","b":"1.safetensors","c":"2.safetensors"}})");
  const io::sharded_safetensors model(dir / "index.json");
  CHECK(model.files().size() == 2);
  REQUIRE(model.find("c") == &model.files()[1]);
  CHECK(model.find("c")->read("c").size == 8);
  CHECK(model.find("d") == nullptr);
}

TEST_CASE("safetensors_index: an index that disagrees with its files is refused", "[io]") {
  const temp_dir dir;
  write(dir / "1", {"a", "b"});
  write(dir / "2", {"b"});
  write(dir / "3", {"c"});
  CHECK(contains(open(dir, R"({"weight_map":{"a":"1","b":"1","x":"absent"}})"),
                 "absent: open: No such file or directory"));
  CHECK(contains(open(dir, R"({"weight_map":{"a":"1","b":"2"}})"),
                 "tensor b in 1 and 2: it must be in one file"));
  CHECK(contains(open(dir, R"({"weight_map":{"a":"1","b":"1","c":"3","d":"3"}})"),
                 "tensor d in 3: this file must hold it"));
  CHECK(contains(open(dir, R"({"weight_map":{"a":"1","b":"3","c":"3"}})"),
                 "tensor b in 3: this file must hold it"));
  CHECK(
      contains(open(dir, R"({"weight_map":{"a":"1"}})"), "tensor b of 1: the index must list it"));
  CHECK(contains(open(dir, R"({"metadata":{"total_size":25},"weight_map":{"c":"3"}})"),
                 "total_size number 25: the tensors take 8 bytes"));
  CHECK(open(dir, R"({"metadata":{"total_size":8},"weight_map":{"c":"3"}})") == "no error");
  CHECK(contains(open(dir, R"({"weight_map":{"a":"1","a":"2"}})"), "key a twice"));
  CHECK(contains(open(dir, "{}"), "object without weight_map"));
}

TEST_CASE("safetensors_index: a file's name must be plain", "[io]") {
  const temp_dir dir;
  for (const auto name : {"../../etc/x", "/etc/passwd", "sub/x", "..", ".", "", "a\\u0000b"}) {
    CHECK(contains(open(dir, R"({"weight_map":{"a":")" + std::string(name) + "\"}}"),
                   "it must be a plain name in the directory"));
  }
}
