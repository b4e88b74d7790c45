// tests/unit/io/json_writer_test.cpp: for atled/io/json_writer.hpp.
// Reads: atled/io/json_writer.hpp, atled/io/json.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/json_writer.hpp"

#include "atled/io/json.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace io = atled::io;
using atled_test::contains;
using atled_test::sentence_of;

TEST_CASE("json_writer: commas and colons stand where they belong", "[io]") {
  io::json_writer w;
  w.begin_object().key("a").begin_array().value(1).value("x").begin_object().end().null().end();
  w.key("b").value(true).key("c").begin_object().key("d").value(-0.5).end().end();
  CHECK(w.finish() == R"({"a":[1,"x",{},null],"b":true,"c":{"d":-0.5}})");
  CHECK(io::json_writer().begin_array().end().finish() == "[]");
  CHECK(io::json_writer().value("alone").finish() == "\"alone\"");
}

TEST_CASE("json_writer: strings with every character below 128 read back the same", "[io]") {
  std::string text;
  for (int c = 0; c < 128; ++c) text += static_cast<char>(c);
  text += "\xc3\xa9\xf0\x9f\x98\x80";
  const std::string json = io::json_writer().value(text).finish();
  CHECK(io::parse_json(json).root().string() == text);
  CHECK(sentence_of([] { (void)io::json_writer().value("\xff"); }) ==
        "write json: string <FF>: a string must be UTF-8");
}

TEST_CASE("json_writer: numbers read back to the same bits", "[io]") {
  std::uint64_t state = 1;
  int wrong = 0;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const auto number = std::bit_cast<double>(state ^ (state >> 31));
    if (!std::isfinite(number)) continue;
    const auto back = io::parse_json(io::json_writer().value(number).finish()).root().number();
    wrong += std::bit_cast<std::uint64_t>(back) == std::bit_cast<std::uint64_t>(number) ? 0 : 1;
  }
  CHECK(wrong == 0);
  CHECK(io::json_writer().value(0.1F).finish() == "0.1");
  CHECK(io::json_writer().value(std::numeric_limits<std::uint64_t>::max()).finish() ==
        "18446744073709551615");
}

TEST_CASE("json_writer: NaN and infinity are refused, or null by policy", "[io]") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(sentence_of([&] { (void)io::json_writer().value(infinity); }) ==
        "write json: inf: a number must be finite");
  CHECK(sentence_of([&] { (void)io::json_writer().value(std::nanf("")); }) ==
        "write json: nan: a number must be finite");
  CHECK(io::json_writer(io::non_finite::as_null).value(-infinity).finish() == "null");
}

TEST_CASE("json_writer: misuse is an error, not broken text", "[io]") {
  CHECK(contains(sentence_of([] { (void)io::json_writer().begin_object().value(1); }),
                 "needs a key"));
  CHECK(contains(sentence_of([] { (void)io::json_writer().begin_array().key("a"); }), "key a"));
  CHECK(contains(sentence_of([] { (void)io::json_writer().value(1).value(2); }), "alone"));
  CHECK(contains(sentence_of([] { (void)io::json_writer().end(); }), "write json: end"));
  CHECK(
      contains(sentence_of([] { (void)io::json_writer().begin_object().key("a").end(); }), "end"));
  CHECK(contains(sentence_of([] { (void)io::json_writer().begin_array().finish(); }), "complete"));
}
