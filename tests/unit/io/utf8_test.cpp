// tests/unit/io/utf8_test.cpp: for atled/io/utf8.hpp.
// Reads: atled/io/utf8.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/utf8.hpp"

#include "support/catch.hpp"
#include <string>
#include <string_view>

namespace io = atled::io;

TEST_CASE("utf8: each scalar value survives a round trip, and no other is read", "[io]") {
  std::size_t wrong = 0;
  for (char32_t value = 0; value <= 0x10ffffU; ++value) {
    std::string bytes;
    io::append_utf8(bytes, value);
    const io::code_point back = io::decode_utf8(bytes, 0);
    const bool surrogate = value >= 0xd800U && value <= 0xdfffU;
    const bool same = back.value == value && back.size == bytes.size();
    wrong += (surrogate ? back.size == 0 : same) ? 0U : 1U;
  }
  CHECK(wrong == 0);
}

TEST_CASE("utf8: overlong forms, lone tails, cut sequences and too large values are refused",
          "[io]") {
  using namespace std::string_view_literals;
  for (const auto bad :
       {"\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x80\x80"sv, "\xe0\x9f\xbf"sv, "\xf0\x80\x80\x80"sv,
        "\xf0\x8f\xbf\xbf"sv, "\x80"sv, "\xbf"sv, "\xc3"sv, "\xe2\x82"sv, "\xf0\x9f\x98"sv,
        "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv, "\xff"sv, "\xed\xa0\x80"sv, "\xc3\x28"sv}) {
    CHECK(io::decode_utf8(bad, 0).size == 0);
    CHECK(io::find_invalid_utf8(bad) == 0);
  }
  CHECK(io::find_invalid_utf8("ab\xff") == 2);
  CHECK(io::find_invalid_utf8("a\xc3\xa9\xf0\x9f\x98\x80") == std::string_view::npos);
}

TEST_CASE("utf8: a foreign string is shown without controls, and cut", "[io]") {
  using namespace std::string_view_literals;
  CHECK(io::printable("a\nb\0c\xff"sv) == "a<0A>b<00>c<FF>");
  CHECK(io::printable("caf\xc3\xa9") == "caf\xc3\xa9");
  CHECK(io::printable("\xe2\x80\xae") == "<202E>");  // right-to-left override
  CHECK(io::printable(std::string(1000, 'x'), 8) == "xxxxxxxx...");
}
