// unit/loops/vector_trigonometry_test.cpp: sin, cos and tan against the standard library in the
// next wider type, over dense samples of all floats. Reads: atled/loops/vector_trigonometry.hpp.
// SPDX-License-Identifier: MIT
#include "atled/loops/vector_trigonometry.hpp"

#include "unit/loops/samples.hpp"
#include <array>
#include <cmath>
#include <cstddef>

using namespace samples_of_floats;

namespace {

constexpr auto sin_of = [](auto x) { return loops::sin(x); };
constexpr auto cos_of = [](auto x) { return loops::cos(x); };
constexpr auto tan_of = [](auto x) { return loops::tan(x); };

}  // namespace

TEMPLATE_TEST_CASE("vector_trigonometry: sin, cos and tan are exact for small and for huge angles",
                   "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      sin_of, [](W x) { return std::sin(x); }, 1.5);
  check_function<TestType>(
      cos_of, [](W x) { return std::cos(x); }, 1.5);
  check_function<TestType>(
      tan_of, [](W x) { return std::tan(x); }, 3);
}

TEMPLATE_TEST_CASE("vector_trigonometry: a lane does not depend on its neighbours", "[loops]", f32,
                   f64) {
  // One huge angle sends its lane to the standard library, and no other lane.
  using T = TestType;
  std::array<T, 16> in;
  for (std::size_t i = 0; i < 16; ++i) in[i] = static_cast<T>(i) * T(0.37) - T(2);
  std::array<T, 16> alone;
  loops::store(alone.data(), loops::sin(loops::load<16>(in.data())));
  for (std::size_t huge = 0; huge < 16; ++huge) {
    auto mixed = in;
    mixed[huge] = T(1e20);
    std::array<T, 16> out;
    loops::store(out.data(), loops::sin(loops::load<16>(mixed.data())));
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(out[i] == (i == huge ? std::sin(T(1e20)) : alone[i]));
    }
  }
}

TEMPLATE_TEST_CASE("vector_trigonometry: a negative zero keeps its sign", "[loops]", f32, f64) {
  for (const auto odd : {at<TestType>(sin_of, -0.0), at<TestType>(tan_of, -0.0)}) {
    CHECK(odd == 0);
    CHECK(std::signbit(odd));
  }
}
