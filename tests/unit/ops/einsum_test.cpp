// unit/ops/einsum_test.cpp: sums of products by labels.
// SPDX-License-Identifier: MIT
#include "atled/ops/einsum.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
template <std::int64_t... D>
using t = tensor<f32, D...>;
using q = t<2, 5, 3, 4>;
using k = t<2, 6, 3, 4>;
using m = t<3, 4>;
using s = t<3, 3>;

static_assert(types_of<q, k>([](auto x, auto y) {
                return std::tuple{einsum("bthd,bshd->bhts", x, y), einsum("bthd,bshd->bhst", x, y),
                                  einsum("...hd,...hd->...h", x, x), einsum("b t h d -> d b", x)};
              }).view() == "f32[2,3,5,6] f32[2,3,6,5] f32[2,5,3] f32[4,2]");
static_assert(types_of<m, s>([](auto x, auto y) {
                return std::tuple{einsum("ii", y),         einsum("ii->i", y),
                                  einsum("ji", x),         einsum("...ij->...ji", x),
                                  einsum("ij,ki", x, y),   einsum("ij,kl->ljki", x, y),
                                  einsum("ij,ij->", x, x), einsum("ab,bc,ad->cd", y, x, x)};
              }).view() == "f32[] f32[3] f32[4,3] f32[4,3] f32[4,3] f32[3,4,3,3] f32[] f32[4,4]");
static_assert(types_of<t<2, 3, 4>, t<1, 4, 5>>([](auto x, auto y) {
                return std::tuple{einsum("...ij,...jk", x, y), einsum("...ij,bjk->...bik", x, y)};
              }).view() == "f32[2,3,5] f32[2,1,3,5]");
}  // namespace

TEST_CASE("einsum: one operand is summed, transposed, or taken along its diagonal", "[ops]") {
  const tensor<f64, 2, 2> x{1, 2, 3, 4};
  CHECK(values_of([](auto y) { return einsum("ij->j", y); }, x) == numbers{4, 6});
  CHECK(values_of([](auto y) { return einsum("ij->ji", y); }, x) == numbers{1, 3, 2, 4});
  CHECK(values_of([](auto y) { return einsum("ii->i", y); }, x) == numbers{1, 4});
  CHECK(values_of([](auto y) { return einsum("ii", y); }, x) == numbers{5});
  CHECK(gradient_of([](auto y) { return einsum("ii", y) * 3; }, x) == numbers{3, 0, 0, 3});
}

TEST_CASE("einsum: equals the loop over its labels", "[ops]") {
  tensor<f64, 2, 3, 4> x;
  tensor<f64, 2, 5, 4> y;
  for (int i = 0; i < 24; ++i) x.data()[i] = i % 7 - 3;
  for (int i = 0; i < 40; ++i) y.data()[i] = i % 5 - 2;
  numbers bts(2 * 3 * 5);
  numbers sb(5 * 2);
  for (int b = 0; b < 2; ++b) {
    for (int t = 0; t < 3; ++t) {
      for (int s = 0; s < 5; ++s) {
        for (int d = 0; d < 4; ++d) {
          const double product = x(b, t, d) * y(b, s, d);
          bts[static_cast<std::size_t>((b * 3 + t) * 5 + s)] += product;
          sb[static_cast<std::size_t>(s * 2 + b)] += product;
        }
      }
    }
  }
  CHECK(values_of([](auto u, auto v) { return einsum("btd,bsd->bts", u, v); }, x, y) == bts);
  CHECK(values_of([](auto u, auto v) { return einsum("btd,bsd->sb", u, v); }, x, y) == sb);
  CHECK(values_of([](auto u, auto v) { return einsum("bsd,btd->bts", v, u); }, x, y) == bts);
  CHECK(values_of([](auto u, auto v) { return einsum("...td,...sd->...ts", u, v); }, x, y) == bts);
}

TEST_CASE("einsum: an axis of 1 under an ellipsis repeats", "[ops]") {
  const tensor<f64, 2, 2> x{1, 2, 3, 4};
  const tensor<f64, 1, 2> y{5, 6};
  CHECK(values_of([](auto u, auto v) { return einsum("...i,...i->...", u, v); }, x, y) ==
        numbers{17, 39});
}

TEST_CASE("einsum: three operands", "[ops]") {
  const tensor<f64, 2, 2> a{1, 2, 3, 4};
  const auto f = [](auto x) { return einsum("ij,jk,kl->il", x, x, x); };
  CHECK(values_of(f, a) == numbers{37, 54, 81, 118});
  CHECK(are_near(gradient_of(f, a), difference_of(f, a), 1e-8));
}

TEST_CASE("einsum: the graph has no more nodes than it needs", "[ops]") {
  // One dot, and no transpose where the order of the result allows.
  CHECK(count_of<op::dot, q, k>([](auto x, auto y) { return einsum("bthd,bshd->bhts", x, y); }) ==
        1);
  CHECK(count_of<op::transpose, q, k>([](auto x, auto y) {
          return std::pair{einsum("bthd,bshd->bhts", x, y), einsum("bthd,bshd->bhst", x, y)};
        }) == 0);
  CHECK(count_of<op::transpose, m, s>([](auto x, auto y) { return einsum("ij,ki->kj", x, y); }) ==
        0);
  CHECK(count_of<op::dot, m>([](auto x) { return einsum("ij,ij->ij", x, x); }) == 0);
}

TEST_CASE("einsum: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<m, s>([](auto x, auto y) { return einsum("ij,jk->ik", x, y); }) ==
        "einsum: ij,jk->ik: label j is 4 and, in operand 1 f32[3,3], 3: the sizes must be equal");
  CHECK(sentence_of<m>([](auto x) { return einsum("ij,jk->ik", x); }) ==
        "einsum: ij,jk->ik: 2 terms and 1 operands: there must be one term for each, at most 8");
  CHECK(sentence_of<m>([](auto x) { return einsum("ijk->i", x); }) ==
        "einsum: ijk->i: operand 0 is f32[3,4]: it must have one axis for each of its 3 labels");
  CHECK(sentence_of<m>([](auto x) { return einsum("ij->ik", x); }) ==
        "einsum: ij->ik: label k of the result must be in it once, and in an operand");
  CHECK(sentence_of<m>([](auto x) { return einsum("ij->ii", x); }) ==
        "einsum: ij->ii: label i of the result must be in it once, and in an operand");
  CHECK(sentence_of<m>([](auto x) { return einsum("i1->i", x); }) ==
        "einsum: i1->i: a label must be a letter, and 1 is none");
}
