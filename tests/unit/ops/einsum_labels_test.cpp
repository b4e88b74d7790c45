// unit/ops/einsum_labels_test.cpp: the text of an einsum as terms and labels.
// SPDX-License-Identifier: MIT
#include "atled/ops/einsum_labels.hpp"

#include "support/catch.hpp"
#include <string>

using namespace atled;
using detail::einsum_spec;
using detail::labels;

namespace {
constexpr labels labels_of(std::string_view term, int rank) {
  labels out;
  static_cast<void>(detail::read_term(term, rank, out));
  return out;
}
constexpr bool reads(std::string_view term, int rank, std::string_view expected) {
  const labels out = labels_of(term, rank);
  return std::string_view(out.list, static_cast<std::size_t>(out.size)) == expected;
}
static_assert(einsum_spec("ij,jk->ik").num_inputs == 2);
static_assert(einsum_spec("ij,jk->ik").inputs[1] == "jk");
static_assert(einsum_spec("ij,jk->ik").output == "ik");
static_assert(!einsum_spec("ii").has_output);
static_assert(einsum_spec("ii->").has_output && einsum_spec("ii->").output.empty());
static_assert(einsum_spec("a,b,c,d,e,f,g,h,i,j").num_inputs == 10);
static_assert(reads("i j", 2, "ij"));
static_assert(reads("...ij", 4, "10ij"));  // axes under the ellipsis, numbered from the last
static_assert(reads("i...", 1, "i"));
}  // namespace

TEST_CASE("read_term: anything but a letter is named", "[ops]") {
  labels out;
  CHECK(detail::read_term("i1", 2, out).view() == "a label must be a letter, and 1 is none");
  CHECK(labels_of("abcdefghij", 10).size == 10);
}
