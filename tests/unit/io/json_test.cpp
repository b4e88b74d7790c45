// tests/unit/io/json_test.cpp: for atled/io/json.hpp.
// Reads: atled/io/json.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/json.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <string>
#include <string_view>

namespace io = atled::io;
using atled_test::contains;
using atled_test::sentence_of;

namespace {
std::string refusal(std::string_view text) {
  return sentence_of([&] { (void)io::parse_json(std::string(text)); });
}
}  // namespace

TEST_CASE("json: every kind of value is read", "[io]") {
  const auto document = io::parse_json(
      " {\"a\": [1, -2.5e3, true, false, null, \"x\"], \"b\": {}, \"c\": [[], [{}]] }\r\n\t");
  const auto root = document.root();
  CHECK(root.kind() == io::json_kind::object);
  std::string kinds;
  for (const auto item : root.at("a").elements()) kinds += item.described() + ' ';
  CHECK(kinds == "number 1 number -2.5e3 true false null string x ");
  CHECK(root.at("b").kind() == io::json_kind::object);
  int count = 0;
  for ([[maybe_unused]] const auto item : root.at("c").elements()) ++count;
  CHECK(count == 2);
  CHECK(!root.find("d"));
  CHECK(io::parse_json("7").root().unsigned_integer() == 7);
}

TEST_CASE("json: escapes become UTF-8, surrogate pairs one character", "[io]") {
  const auto document =
      io::parse_json(R"(["\"\\\/\b\f\n\r\t", "\u0041\u00e9\u20AC\ud83d\ude00", "\u0000", "a\tb"])");
  std::string all;
  for (const auto item : document.root().elements()) all += item.string();
  CHECK(all == std::string("\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\0a\tb", 22));
}

TEST_CASE("json: what is not JSON is refused with offset, line and column", "[io]") {
  CHECK(refusal("") == "json @0 (line 1, column 1): parse json: end of text: a value must follow");
  CHECK(refusal("[1,\n 2,\n x]") ==
        "json @9 (line 3, column 2): parse json: character x: a value must follow");
  CHECK(refusal("[1 2]") ==
        "json @3 (line 1, column 4): parse json: character 2: a comma or ] must follow");
  CHECK(refusal("1 1") ==
        "json @2 (line 1, column 3): parse json: character 1: nothing may follow the value");
  CHECK(refusal("{\"a\":1,}") ==
        "json @7 (line 1, column 8): parse json: character }: a key in quotes must follow");
  for (const auto bad : {"[",
                         "{",
                         "[1",
                         "[1,",
                         "[1,]",
                         "[,1]",
                         "{\"a\"",
                         "{\"a\":",
                         "{\"a\":1",
                         "{a:1}",
                         "{'a':1}",
                         "{1:1}",
                         "{\"a\" 1}",
                         "[1}",
                         "{\"a\":1]",
                         "]",
                         "}",
                         "tru",
                         "nul",
                         "True",
                         "NaN",
                         "Infinity",
                         "-Infinity",
                         "+1",
                         ".5",
                         "5.",
                         "1e",
                         "1e+",
                         "-",
                         "--1",
                         "01",
                         "-01",
                         "1.e1",
                         "0x10",
                         "1_0",
                         "\"",
                         "\"a",
                         "\"\\",
                         "\"\\x\"",
                         "\"\\u12\"",
                         "\"\\u12g4\"",
                         "\"\\u-123\"",
                         "\"\\u",
                         "// c\n1",
                         "/**/1",
                         "\xef\xbb\xbf{}",
                         "[1]]",
                         "{}{}",
                         "\"\t\"",
                         "\"a\nb\"",
                         "\x0c"
                         "1"}) {
    CAPTURE(bad);
    CHECK(refusal(bad) != "no error");
  }
  CHECK(refusal(std::string_view("[\"a\0\"]", 6)) ==
        "json @3 (line 1, column 4): parse json: character <00>: controls in a string must be "
        "escaped");
  CHECK(contains(refusal(std::string_view("{}\0", 3)), "@2"));
}

TEST_CASE("json: invalid UTF-8 and lone surrogates are refused", "[io]") {
  CHECK(refusal("\"ab\xff\"") ==
        "json @3 (line 1, column 4): parse json: character <FF>: a string must be UTF-8");
  for (const auto bad : {"\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"",
                         "\"a\\n\xc3\"", "{\"\xff\":1}"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(bad), "a string must be UTF-8"));
  }
  for (const auto bad : {R"("\ud800")", R"("\udc00")", R"("\ud800\ud800")", R"("\ud800x")",
                         R"("\ud83d\u0041")", R"("\ude00\ud83d")", R"("\ud83d\n")"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(bad), "a lone surrogate: a high surrogate and a low one must stand"));
  }
}

TEST_CASE("json: a key twice is refused at each level, also when spelt with escapes", "[io]") {
  CHECK(refusal(R"({"a":1,"b":2,"a":3})") ==
        "json @13 (line 1, column 14): parse json: key a twice: keys must differ");
  CHECK(
      contains(refusal(R"({"w":1,"\u0077":2})"), "@7 (line 1, column 8): parse json: key w twice"));
  CHECK(contains(refusal(R"([{"x":{"":{},"":[]}}])"), "key  twice"));
  CHECK(refusal(R"({"a":{"a":{"a":1}},"b":{"a":1}})") == "no error");
}

TEST_CASE("json: depth 64 is read, depth 65 and millions of brackets are refused", "[io]") {
  CHECK(refusal(std::string(64, '[') + std::string(64, ']')) == "no error");
  CHECK(refusal(std::string(65, '[') + std::string(65, ']')) ==
        "json @64 (line 1, column 65): parse json: depth 65: at most 64 is allowed");
  CHECK(contains(refusal("{\"a\":" + std::string(50'000'000, '[')), "depth 65: at most 64"));
}

TEST_CASE("json: sentences count from the base and carry the names given", "[io]") {
  CHECK(sentence_of([] { (void)io::parse_json("{", "m.bin", "read header", 8); }) ==
        "m.bin @9 (line 1, column 2): read header: end of text: a key in quotes must follow");
}

TEST_CASE("json: a million values take linear time", "[io]") {
  std::string text = "[";
  for (int i = 0; i < 1'000'000; ++i) text += "0,";
  text += "1]";
  const auto document = io::parse_json(text);
  std::uint64_t sum = 0;
  for (const auto item : document.root().elements()) sum += item.unsigned_integer();
  CHECK(sum == 1);
}
