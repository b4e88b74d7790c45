// tests/unit/io/fingerprint_test.cpp: for atled/io/fingerprint.hpp.
// Reads: atled/io/fingerprint.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/fingerprint.hpp"

#include "support/catch.hpp"
#include <string>

namespace io = atled::io;

TEST_CASE("fingerprint: how the bytes are cut into pieces does not matter", "[io]") {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  const auto whole = io::fingerprint_of(io::as_byte_span(text));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    for (std::size_t next = cut; next <= text.size(); next += 3) {
      io::fingerprint_builder builder;
      builder.add(io::as_byte_span(text).first(cut));
      builder.add(io::as_byte_span(text).subspan(cut, next - cut));
      builder.add(io::as_byte_span(text).subspan(next));
      REQUIRE(builder.finish() == whole);
    }
  }
}

TEST_CASE("fingerprint: each flipped bit and each missing zero is seen", "[io]") {
  std::string text(41, '\0');
  const auto whole = io::fingerprint_of(io::as_byte_span(text));
  CHECK(io::fingerprint_of(io::as_byte_span(text).first(40)).hash != whole.hash);
  for (std::size_t bit = 0; bit < text.size() * 8; ++bit) {
    text[bit / 8] = static_cast<char>(1U << (bit % 8));
    REQUIRE(io::fingerprint_of(io::as_byte_span(text)).hash != whole.hash);
    text[bit / 8] = '\0';
  }
}
