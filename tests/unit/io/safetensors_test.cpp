// tests/unit/io/safetensors_test.cpp: for atled/io/safetensors.hpp.
// Reads: atled/io/safetensors.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/safetensors.hpp"

#include "support/catch.hpp"
#include "support/resident.hpp"
#include "unit/io/temp_dir.hpp"
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace io = atled::io;
using atled::dtype;
using atled::shape;
using atled_test::bytes_of;
using atled_test::contains;
using atled_test::safetensors_bytes;
using atled_test::temp_dir;

namespace {
std::string open_file(const temp_dir& dir, const std::string& name) {
  return dir.sentence([&] { (void)io::safetensors_file(dir / name); });
}

std::string open_bytes(const temp_dir& dir, std::string_view bytes) {
  dir.file("m", bytes);
  return open_file(dir, "m");
}
}  // namespace

TEST_CASE("safetensors: files too short for the header length are refused", "[io]") {
  const temp_dir dir;
  for (const std::size_t size : {0U, 1U, 7U}) {
    CHECK(open_bytes(dir, std::string(size, '\1')) ==
          "m @0: read header: a file of " + std::to_string(size) +
              " bytes: the header length alone takes 8; the file is truncated or not safetensors");
  }
  CHECK(open_bytes(dir, bytes_of(std::uint64_t{0})) ==
        "m @0: read header: length 0 in a file of 8 bytes: the header must begin with {; this is "
        "not safetensors");
  CHECK(contains(open_bytes(dir, safetensors_bytes(" {}", "")), "the header must begin with {"));
}

TEST_CASE("safetensors: header lengths that wrap, or exceed the cap or the file, are refused",
          "[io]") {
  const temp_dir dir;
  for (const std::uint64_t length : {~std::uint64_t{0}, std::uint64_t{1} << 63,
                                     (std::uint64_t{1} << 32) + 2, std::uint64_t{100'000'001}}) {
    CHECK(open_bytes(dir, bytes_of(length) + "{}") ==
          "m @0: read header: length " + std::to_string(length) +
              " in a file of 10 bytes: at most 100000000 is allowed; the file is truncated or not "
              "safetensors");
  }
  CHECK(open_bytes(dir, bytes_of(std::uint64_t{3}) + "{}") ==
        "m @0: read header: length 3 in a file of 10 bytes: at most file size - 8 is allowed; the "
        "file is truncated or not safetensors");
}

TEST_CASE("safetensors: a sparse file with a header over the cap costs no memory", "[io]") {
  const temp_dir dir;
  const std::string path = dir.file("m", bytes_of(std::uint64_t{100'000'001}) + "{");
  std::filesystem::resize_file(path, 100'000'009);
  const std::int64_t before = resident_bytes();
  CHECK(contains(open_file(dir, "m"), "at most 100000000 is allowed"));
  CHECK(resident_bytes() - before < 10'000'000);
}

TEST_CASE("safetensors: files of other formats are recognised", "[io]") {
  using namespace std::string_view_literals;
  const temp_dir dir;
  CHECK(contains(open_bytes(dir, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
                 "this is a Git LFS pointer, not weights"));
  CHECK(contains(open_bytes(dir, "<!DOCTYPE html><html></html>"), "this is an HTML page"));
  CHECK(contains(open_bytes(dir, "<html>"), "this is an HTML page"));
  CHECK(contains(open_bytes(dir, "PK\3\4\0\0\0\0\0\0 archive"sv), "this is a zip archive"));
  CHECK(contains(open_bytes(dir, "\x80\2}q\0X\4\0\0\0"sv), "this is a Python pickle"));
  CHECK(contains(open_bytes(dir, "\x1f\x8b\x08\0\0\0\0\0\0\0"sv), "this is gzip"));
  CHECK(contains(open_bytes(dir, "GGUF\3\0\0\0\0\0"sv), "this is GGUF"));
}

TEST_CASE("safetensors: a bomb of 50 million brackets is refused at depth 64", "[io]") {
  const temp_dir dir;
  CHECK(contains(open_bytes(dir, safetensors_bytes("{\"a\":" + std::string(50'000'000, '['), "")),
                 "m @76 (line 1, column 69): read header: depth 65: at most 64 is allowed"));
}

TEST_CASE("safetensors: what is no regular file is refused without waiting", "[io]") {
  const temp_dir dir;
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink(dir / "loop", dir / "loop");
  CHECK(contains(open_file(dir, "pipe"), "a pipe: it must be a regular file"));
  CHECK(contains(open_file(dir, "."), "a directory: it must be a regular file"));
  CHECK(contains(open_file(dir, "loop"), "it must be a regular file"));
  CHECK(contains(dir.sentence([] { (void)io::safetensors_file("/dev/zero"); }), "a device"));
}

TEST_CASE("safetensors: tensors of each dtype survive a round trip", "[io]") {
  const temp_dir dir;
  const std::array<float, 6> f{1, -2, 3.5F, std::nanf(""), std::numeric_limits<float>::infinity(),
                               0};
  const std::array<double, 1> d{0.1};
  const std::array<atled::bf16, 3> b{atled::bf16(1.0F), atled::bf16(2.0F), atled::bf16(3.0F)};
  const std::array<std::int64_t, 2> l{-1, std::numeric_limits<std::int64_t>::max()};
  const std::array<std::int32_t, 2> i{-7, 7};
  const std::array<std::uint32_t, 2> u{0, ~0U};
  const std::array<std::uint8_t, 3> c{0, 127, 255};
  const std::array<bool, 3> t{true, false, true};
  const std::array<io::tensor_source, 9> sources{
      io::source_of("f", shape::of({2, 3}), std::span(f)),
      io::source_of("d", shape::of({}), std::span(d)),
      io::source_of("b", shape::of({3}), std::span(b)),
      io::source_of("l", shape::of({2, 1}), std::span(l)),
      io::source_of("i", shape::of({2}), std::span(i)),
      io::source_of("u", shape::of({2}), std::span(u)),
      io::source_of("c", shape::of({3}), std::span(c)),
      io::source_of("t", shape::of({3}), std::span(t)),
      io::source_of("empty/../\xf0\x9f\x98\x80", shape::of({0, 4}), std::span<const float>())};
  const std::array<io::metadata_entry, 2> metadata{{{"format", "pt"}, {"a", "line\n\"two\""}}};
  io::write_safetensors(dir / "m", sources, metadata);

  const io::safetensors_file file(dir / "m");
  REQUIRE(file.tensors().size() == 9);
  std::uint64_t begin = std::filesystem::file_size(dir / "m");
  for (const auto& entry : file.tensors()) {
    CHECK(entry.begin % static_cast<std::uint64_t>(atled::size_of(entry.element)) == 0);
    begin = std::min(begin, entry.begin);
  }
  CHECK(begin % 8 == 0);
  for (const auto& source : sources) {
    CAPTURE(source.name);
    const auto* entry = file.find(source.name);
    REQUIRE(entry != nullptr);
    CHECK(entry->type() == atled::tensor_type{source.element, source.dims});
    const auto bytes = file.read(source.name);
    CHECK(io::as_text(bytes.span()) == io::as_text(source.bytes));
  }
  CHECK(io::count_non_finite(dtype::f32, file.read("f").span()) == 2);
  CHECK(file.find_metadata("format") == std::string_view("pt"));
  CHECK(file.find_metadata("a") == std::string_view("line\n\"two\""));
  CHECK(!file.find_metadata("b"));
}

TEST_CASE("safetensors: the same tensors give the same file in whatever order they come", "[io]") {
  const temp_dir dir;
  const std::array<float, 2> x{1, 2};
  const std::array<double, 1> y{3};
  const auto a = io::source_of("a", shape::of({2}), std::span(x));
  const auto b = io::source_of("b", shape::of({1}), std::span(y));
  io::write_safetensors(dir / "1", std::array{a, b},
                        std::array<io::metadata_entry, 2>{{{"k", "1"}, {"j", "2"}}});
  io::write_safetensors(dir / "2", std::array{b, a},
                        std::array<io::metadata_entry, 2>{{{"j", "2"}, {"k", "1"}}});
  CHECK(dir.contents("1") == dir.contents("2"));
  const std::string expected =
      R"({"__metadata__":{"j":"2","k":"1"},"b":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
      R"("a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
  CHECK(dir.contents("1").substr(8, expected.size()) == expected);
}

TEST_CASE("safetensors: no tensors and metadata alone are written and read", "[io]") {
  const temp_dir dir;
  io::write_safetensors(dir / "none", {});
  CHECK(dir.contents("none").substr(8) == "{}      ");
  CHECK(io::safetensors_file(dir / "none").tensors().empty());
  io::write_safetensors(dir / "meta", {}, std::array<io::metadata_entry, 1>{{{"k", "v"}}});
  CHECK(io::safetensors_file(dir / "meta").find_metadata("k") == std::string_view("v"));
}

TEST_CASE("safetensors: data at an odd offset is read by copying", "[io]") {
  const temp_dir dir;
  const std::string header = R"({"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}} )";
  REQUIRE(header.size() % 2 == 0);
  dir.file("m", safetensors_bytes(header + " ", bytes_of(1.5) + bytes_of(-2.5)));
  std::array<double, 2> out{};
  io::safetensors_file(dir / "m").read(io::target_of("w", shape::of({2}), std::span(out)));
  CHECK(out == std::array<double, 2>{1.5, -2.5});
}

TEST_CASE("safetensors: targets that do not fit are refused and stay as they were", "[io]") {
  const temp_dir dir;
  const std::array<float, 2> x{1, 2};
  const std::array<float, 3> y{3, 4, 5};
  io::write_safetensors(dir / "m", std::array{io::source_of("x", shape::of({2}), std::span(x)),
                                              io::source_of("y", shape::of({3}), std::span(y))});
  const io::safetensors_file file(dir / "m");
  std::array<float, 2> a{-1, -1};
  std::array<float, 3> b{-1, -1, -1};
  std::array<std::int32_t, 3> wrong{};
  const auto ta = io::target_of("x", shape::of({2}), std::span(a));
  const auto tb = io::target_of("y", shape::of({3}), std::span(b));
  const auto read = [&](std::vector<io::tensor_target> targets,
                        io::unlisted others = io::unlisted::refuse) {
    std::string sentence = dir.sentence([&] { file.read(targets, others); });
    const auto colon = sentence.find(": ");
    return colon == sentence.npos ? sentence : sentence.substr(colon + 2);
  };
  CHECK(read({ta}) ==
        "read: 1 tensors more than asked for, the first is y: each must have a target; use "
        "unlisted::ignore to skip them");
  CHECK(read({ta, io::target_of("z", shape::of({3}), std::span(b))}) ==
        "read: no tensor z: it must be among the 2 of the file");
  CHECK(read({ta, io::target_of("y", shape::of({3}), std::span(wrong))}) ==
        "read: tensor y f32[3]: it must be i32[3]");
  CHECK(read({ta, io::target_of("y", shape::of({3, 1}), std::span(b))}) ==
        "read: tensor y f32[3]: it must be f32[3,1]");
  CHECK(read({ta, io::target_of("y", shape::of({3}), std::span(a))}) ==
        "read: tensor y into 8 bytes: it needs 12");
  CHECK(read({ta, ta}) == "read: tensor x twice: each may be listed once");
  CHECK(a == std::array<float, 2>{-1, -1});

  CHECK(read({tb}, io::unlisted::ignore) == "no error");
  CHECK(b == y);
  CHECK(read({tb, ta}) == "no error");
  CHECK(a == x);
}

TEST_CASE("safetensors: a boolean that is neither 0 nor 1 is refused with its place", "[io]") {
  const temp_dir dir;
  const std::string header = R"({"w":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})";
  dir.file("m", safetensors_bytes(header, "\1\1\2"));
  CHECK(dir.sentence([&] { (void)io::safetensors_file(dir / "m").read("w"); }) ==
        "m @" + std::to_string(8 + header.size() + 2) +
            ": read: tensor w with the byte 2: a BOOL must be 0 or 1");
}

TEST_CASE("safetensors: a file that changes while it is open is refused", "[io]") {
  const temp_dir dir;
  const std::array<float, 2> x{1, 2};
  const auto source = io::source_of("x", shape::of({2}), std::span(x));
  std::array<float, 2> out{-1, -1};
  const auto target = io::target_of("x", shape::of({2}), std::span(out));
  io::write_safetensors(dir / "m", std::array{source});
  {
    const io::safetensors_file file(dir / "m");
    std::filesystem::resize_file(dir / "m", std::filesystem::file_size(dir / "m") - 1);
    CHECK(contains(dir.sentence([&] { file.read(target); }), "must not shrink while it is read"));
  }
  io::write_safetensors(dir / "m", std::array{source});
  {
    const io::safetensors_file file(dir / "m");
    std::filesystem::resize_file(dir / "m", std::filesystem::file_size(dir / "m") + 1);
    CHECK(contains(dir.sentence([&] { file.read(target); }), "must not change while it is read"));
  }
  io::write_safetensors(dir / "m", std::array{source});
  {
    const io::safetensors_file file(dir / "m");
    std::filesystem::last_write_time(dir / "m", std::filesystem::file_time_type{});
    CHECK(contains(dir.sentence([&] { file.read(target); }), "another time of change"));
    CHECK(out == std::array<float, 2>{-1, -1});
  }
  io::write_safetensors(dir / "m", std::array{source});
  {
    const io::safetensors_file file(dir / "m");
    io::write_file(dir / "m", "another file in its place");
    file.read(target);  // the file that was opened is still whole
    CHECK(out == x);
  }
}

TEST_CASE("safetensors: what readers would refuse is not written, and the old file stays", "[io]") {
  const temp_dir dir;
  dir.file("m", "old");
  const std::array<float, 2> x{1, 2};
  const auto write = [&](std::vector<io::tensor_source> tensors,
                         std::vector<io::metadata_entry> metadata = {}) {
    return dir.sentence([&] { io::write_safetensors(dir / "m", tensors, metadata); });
  };
  const auto named = [&](std::string_view name) {
    return io::source_of(name, shape::of({2}), std::span(x));
  };
  CHECK(write({named("x"), named("y"), named("x")}) ==
        "m: write: tensor x twice: names must differ");
  CHECK(write({named("__metadata__")}) ==
        "m: write: tensor __metadata__ f32[2]: this name is reserved");
  CHECK(contains(write({named(std::string(4097, 'n'))}), "at most 4096 are allowed"));
  CHECK(write({named("\xff")}) == "write json: string <FF>: a string must be UTF-8");
  CHECK(write({io::source_of("x", shape::of({3}), std::span(x))}) ==
        "m: write: tensor x f32[3] with 8 bytes: it takes 12");
  CHECK(write({named("x")}, {{"k", "1"}, {"k", "2"}}) ==
        "m: write: metadata key k twice: keys must differ");
  const std::array<std::byte, 1> two{std::byte{2}};
  CHECK(contains(write({{"t", dtype::boolean, shape::of({1}), two}}), "its bytes must be 0 or 1"));
  CHECK(
      contains(write({}, {{"k", std::string(100'000'000, 'v')}}), "at most 100000000 are allowed"));
  CHECK(dir.contents("m") == "old");
  CHECK(dir.num_files() == 1);
}
