// tests/unit/io/json_document_test.cpp: for atled/io/json_document.hpp.
// Reads: atled/io/json_document.hpp, atled/io/json.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/json_document.hpp"

#include "atled/io/json.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

namespace io = atled::io;
using atled_test::contains;
using atled_test::sentence_of;

TEST_CASE("json_document: integers are exact to the last of 64 bits, or refused", "[io]") {
  const auto u64 = [](std::string_view text) {
    return io::parse_json(std::string(text)).root().unsigned_integer();
  };
  const auto i64 = [](std::string_view text) {
    return io::parse_json(std::string(text)).root().integer();
  };
  CHECK(u64("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  CHECK(i64("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  CHECK(u64("9007199254740993") == 9007199254740993U);  // 2^53 + 1
  for (const auto bad : {"-1", "-0", "1.0", "1.5", "1e3", "18446744073709551616", "1e300", "\"4\"",
                         "true", "null", "[1]", "{}", "12345678901234567890123"}) {
    CAPTURE(bad);
    CHECK(contains(sentence_of([&] { (void)u64(bad); }),
                   ": it must be a non-negative integer of 64 bits"));
  }
  CHECK(sentence_of([&] { (void)i64("9223372036854775808"); }) ==
        "json @0 (line 1, column 1): parse json: number 9223372036854775808: it must be an integer "
        "of 64 bits");
}

TEST_CASE("json_document: numbers round to the nearest f64, and never to infinity", "[io]") {
  const auto f64 = [](std::string_view text) {
    return io::parse_json(std::string(text)).root().number();
  };
  CHECK(f64("0.1") == 0.1);
  CHECK(f64("-3") == -3.0);
  CHECK(f64("5e-324") == 5e-324);
  CHECK(f64("1.7976931348623157e308") == std::numeric_limits<double>::max());
  CHECK(std::signbit(f64("-0")));
  CHECK(contains(sentence_of([&] { (void)f64("1e309"); }), "number 1e309: it must be a number"));
  CHECK(contains(sentence_of([&] { (void)f64("\"1\""); }), "string 1: it must be a number"));
}

TEST_CASE("json_document: a value of another kind is refused with its position", "[io]") {
  const auto document = io::parse_json("{\"a\":\n  [\"x\", \"\\u0079\"]}", "c.json");
  const auto root = document.root();
  CHECK(sentence_of([&] { (void)root.at("b"); }) ==
        "c.json @0 (line 1, column 1): parse json: object without b: this key must be there");
  CHECK(sentence_of([&] { (void)root.at("a").members(); }) ==
        "c.json @8 (line 2, column 3): parse json: array: it must be an object");
  CHECK(sentence_of([&] { (void)root.elements(); }) ==
        "c.json @0 (line 1, column 1): parse json: object: it must be an array");
  std::string sentences;
  for (const auto item : root.at("a").elements()) {
    sentences += sentence_of([&] { (void)item.boolean(); }) + '\n';
  }
  CHECK(sentences ==
        "c.json @9 (line 2, column 4): parse json: string x: it must be true or false\n"
        "c.json @14 (line 2, column 9): parse json: string y: it must be true or false\n");
  CHECK(contains(sentence_of([&] { (void)root.string(); }), "object: it must be a string"));
  CHECK(io::parse_json("true").root().boolean());
  CHECK(!io::parse_json("false").root().boolean());
}

TEST_CASE("json_document: a document that is moved keeps its values", "[io]") {
  auto first = io::parse_json("{\"k\":\"short\"}");
  const auto second = std::move(first);
  CHECK(second.root().at("k").string() == "short");
}
