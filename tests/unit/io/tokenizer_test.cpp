// tests/unit/io/tokenizer_test.cpp: for atled/io/tokenizer.hpp.
// Reads: atled/io/tokenizer.hpp, atled/io/safetensors.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/tokenizer.hpp"

#include "atled/io/safetensors.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace io = atled::io;
using atled_test::contains;
using atled_test::sentence_of;
using atled_test::temp_dir;
using tokenizer = io::character_tokenizer;

TEST_CASE("tokenizer: characters are numbered in the order of their code points", "[io]") {
  const auto t = tokenizer::from_text("hello \xc3\xa9 world\n");
  CHECK(t.vocabulary_size() == 10);  // \n space d e h l o r w U+00E9
  CHECK(t.encode("\n dehlorw\xc3\xa9") == std::vector<io::token_id>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(t.decode(std::array<io::token_id, 3>{4, 3, 9}) == "he\xc3\xa9");
  CHECK(t.encode("").empty());
  CHECK(t.decode({}).empty());
}

TEST_CASE("tokenizer: every byte string decodes to itself", "[io]") {
  using namespace std::string_view_literals;
  for (const auto text : {"\xff\xfe\x80"sv, "\xc0\x80\xe0\x80\x80"sv, "\xed\xa0\x80\xed\xbf\xbf"sv,
                          "a\0b\0"sv, "\xef\xbb\xbfmarked"sv, "e\xcc\x81 \xc3\xa9"sv,
                          "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9"sv, "\xf4\x90\x80\x80"sv,
                          "\xc3"sv, "\xe2\x82"sv, "caf\xe9"sv, "a\r\nb"sv}) {
    const auto t = tokenizer::from_text(text);
    CHECK(t.decode(t.encode(text)) == text);
    CHECK(tokenizer::from_json(t.to_json()) == t);
  }
  std::uint32_t state = 7;
  for (int run = 0; run < 200; ++run) {
    std::string text;
    for (int i = 0; i < 300; ++i) {
      state = state * 1664525U + 1013904223U;
      text += static_cast<char>(state >> 24);
    }
    const auto t = tokenizer::from_text(text);
    REQUIRE(t.decode(t.encode(text)) == text);
    REQUIRE(tokenizer::from_json(t.to_json()) == t);
  }
}

TEST_CASE("tokenizer: an unknown character is refused with its place", "[io]") {
  const auto t = tokenizer::from_text("abc\n");
  const std::string rule =
      ": it must be one of the 4 characters of the text that the tokenizer was built from";
  CHECK(sentence_of([&] { (void)t.encode("ab\nc\xc3\xa9"); }) ==
        "text @4 (line 2, column 2): encode: character \xc3\xa9" + rule);
  CHECK(sentence_of([&] { (void)t.encode("\xff", "prompt"); }) ==
        "prompt @0 (line 1, column 1): encode: character <FF>" + rule);
  CHECK(contains(sentence_of([&] { (void)t.encode("d"); }), "character d"));
}

TEST_CASE("tokenizer: ids outside the vocabulary are refused with their position", "[io]") {
  const auto t = tokenizer::from_text("abc");
  CHECK(sentence_of([&] {
          (void)t.decode(std::array<io::token_id, 2>{0, 3});
        }) == "token 1: decode: id 3: it must be from 0 to 2");
  CHECK(sentence_of([&] { (void)t.decode(std::array<io::token_id, 1>{-1}); }) ==
        "token 0: decode: id -1: it must be from 0 to 2");
}

TEST_CASE("tokenizer: it travels in the metadata of the weights", "[io]") {
  const temp_dir dir;
  const auto t = tokenizer::from_text("\"quoted\"\\ \0\n\x7f\xc3\xa9\xff");
  const std::array<io::metadata_entry, 1> metadata{{{"tokenizer", t.to_json()}}};
  io::write_safetensors(dir / "m", {}, metadata);
  const io::safetensors_file file(dir / "m");
  CHECK(tokenizer::from_json(std::string(file.find_metadata("tokenizer").value())) == t);
  CHECK(tokenizer::from_text("ba\xff").to_json() ==
        R"({"type":"character","version":1,"characters":"ab","bytes":[255]})");
}

TEST_CASE("tokenizer: JSON that no tokenizer wrote is refused", "[io]") {
  const auto read = [](std::string_view json) {
    return sentence_of([&] { (void)tokenizer::from_json(std::string(json)); });
  };
  CHECK(contains(read(R"({"type":"bpe","version":1,"characters":"a","bytes":[]})"),
                 "string bpe: only character can be read"));
  CHECK(contains(read(R"({"type":"character","version":2,"characters":"a","bytes":[]})"),
                 "number 2: only version 1 can be read"));
  CHECK(contains(read(R"({"type":"character","version":1,"characters":"ba","bytes":[]})"),
                 "character 1: characters must ascend"));
  CHECK(
      contains(read(R"({"type":"character","version":1,"characters":"aa","bytes":[]})"), "ascend"));
  CHECK(contains(read(R"({"type":"character","version":1,"characters":"","bytes":[255,254]})"),
                 "ascend"));
  CHECK(contains(read(R"({"type":"character","version":1,"characters":"","bytes":[65]})"),
                 "it must be 128 to 255"));
  CHECK(contains(read(R"({"type":"character","version":1,"characters":"","bytes":[]})"),
                 "at least one is needed"));
  CHECK(contains(read(R"({"type":"character","version":1,"characters":"a"})"), "without bytes"));
  CHECK(contains(read(R"({"type":"character","version":1,"characters":"a","bytes":[],"x":1})"),
                 "key x: it must be one of the tokenizer's four"));
  CHECK(contains(read("[]"), "it must be an object"));
}

TEST_CASE("tokenizer: a text file may hold any bytes but UTF-16, and must not be empty", "[io]") {
  using namespace std::string_view_literals;
  const temp_dir dir;
  const auto read = [&](std::string_view bytes) {
    dir.file("t", bytes);
    return dir.sentence([&] { (void)io::read_text(dir / "t"); });
  };
  CHECK(read("") == "t @0: read text: an empty file: text is needed");
  CHECK(read("\xff\xfeh\0i\0"sv) ==
        "t @0: read text: UTF-16LE by its byte order mark: UTF-8 is needed; convert it with iconv "
        "-f UTF-16 -t UTF-8");
  CHECK(contains(read("\xfe\xff\0h"sv), "UTF-16BE"));
  CHECK(contains(read("\xff\xfe\0\0h\0\0\0"sv), "UTF-32LE by its byte order mark"));
  CHECK(contains(read("\0\0\xfe\xff\0\0\0h"sv), "UTF-32BE"));
  for (const auto good :
       {"no newline"sv, "a\r\nb\r\n"sv, "\0\0\0"sv, "caf\xe9"sv, "\xef\xbb\xbfx"sv}) {
    CHECK(read(good) == "no error");
    CHECK(io::read_text(dir / "t") == good);
  }
  CHECK(contains(sentence_of([] { (void)tokenizer::from_text(""); }), "at least one character"));
}

TEST_CASE("tokenizer: a text needs one token more than the context", "[io]") {
  CHECK(sentence_of([] { io::require_tokens(8, 8, "t.txt"); }) ==
        "t.txt: read tokens: 8 tokens for a context of 8: at least context + 1 are needed; use a "
        "longer text or a smaller context");
  CHECK(sentence_of([] { io::require_tokens(9, 8, "t.txt"); }) == "no error");
}

TEST_CASE("tokenizer: monotonous megabytes take linear time", "[io]") {
  for (const std::string& piece : {std::string("^"), std::string(" "), std::string("7"),
                                   std::string("\xf0\x9f\x98\x80"), std::string("\xff")}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    const auto start = std::chrono::steady_clock::now();
    const auto t = tokenizer::from_text(text);
    const bool same = t.decode(t.encode(text)) == text;
    CHECK(same);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
  }
}
