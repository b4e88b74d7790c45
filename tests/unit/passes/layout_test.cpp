// Tests of atled/passes/layout.hpp: what is a view, and which strides it has.
// Reads: atled/passes/layout.hpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/layout.hpp"

#include "atled/ir/builder.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {

/// The view of what `build` makes of a parameter f32[3,4,5].
template <class Build>
constexpr passes::view view_of(Build build) {
  ir::builder b;
  const int x = b.parameter({dtype::f32, shape::of({3, 4, 5})});
  const int y = build(b, x);
  passes::layout views{};
  passes::make_layout(b.g, views);
  return views.of[y];
}
constexpr bool strides_are(const passes::view& v, const shape& expected) {
  for (int i = 0; i < expected.rank; ++i) {
    if (v.strides[i] != expected[i]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("layout: a transpose is a view with permuted strides", "[passes]") {
  constexpr auto v =
      view_of([](ir::builder& b, int x) { return b.transpose(x, 2 + (0 << 4) + (1 << 8)); });
  STATIC_REQUIRE(v.base == 0);
  STATIC_REQUIRE(strides_are(v, shape::of({1, 20, 5})));
}

TEST_CASE("layout: a slice has an offset and longer strides", "[passes]") {
  constexpr auto v = view_of([](ir::builder& b, int x) {
    return b.slice(x, shape::of({1, 0, 2}), shape::of({2, 2, 3}), shape::of({1, 3, 1}));
  });
  STATIC_REQUIRE(v.offset == 22);
  STATIC_REQUIRE(strides_are(v, shape::of({20, 15, 1})));
}

TEST_CASE("layout: a broadcast has stride 0 along what it adds and repeats", "[passes]") {
  constexpr auto v = view_of([](ir::builder& b, int x) {
    return b.broadcast(x, shape::of({7, 3, 4, 5}), 0b1110);
  });
  STATIC_REQUIRE(strides_are(v, shape::of({0, 20, 5, 1})));
}

TEST_CASE("layout: a reshape of neighbouring axes is a view, of others a copy", "[passes]") {
  constexpr auto merged = view_of([](ir::builder& b, int x) {
    return b.reshape(x, shape::of({12, 5, 1}));
  });
  STATIC_REQUIRE(merged.base == 0);
  STATIC_REQUIRE(strides_are(merged, shape::of({5, 1, 0})));
  constexpr auto split = view_of([](ir::builder& b, int x) {
    return b.reshape(b.transpose(x, 2 + (0 << 4) + (1 << 8)), shape::of({5, 3, 2, 2}));
  });
  STATIC_REQUIRE(split.base == 0);
  STATIC_REQUIRE(strides_are(split, shape::of({1, 20, 10, 5})));
  constexpr auto copied = view_of([](ir::builder& b, int x) {
    return b.reshape(b.transpose(x, 2 + (0 << 4) + (1 << 8)), shape::of({15, 4}));
  });
  STATIC_REQUIRE(copied.base == 2);
  STATIC_REQUIRE(strides_are(copied, shape::of({4, 1})));
}

TEST_CASE("layout: an iota is read like memory that holds its index", "[passes]") {
  constexpr auto v = view_of([](ir::builder& b, int) {
    const int counts = b.iota({dtype::i32, shape::of({60})}, 0);
    return b.reshape(counts, shape::of({3, 4, 5}));
  });
  STATIC_REQUIRE(strides_are(v, shape::of({20, 5, 1})));
}
