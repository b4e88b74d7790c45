// unit/core/print_tensor_test.cpp: the layout of NumPy. The texts were printed by NumPy 2.
// Reads: atled/core/print_tensor.hpp.
// SPDX-License-Identifier: MIT
#include "atled/core/print_tensor.hpp"

#include "atled/core/creation.hpp"

#include "support/catch.hpp"
#include <limits>
#include <sstream>
#include <string>

namespace {
using namespace atled;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();
}  // namespace

TEST_CASE("print_tensor: points stand below each other, zeros at the end are left out", "[core]") {
  CHECK(to_string(tensor<f32, 2, 3>{1, 2.5, 3, 4, -5.25, 6}) ==
        "[[ 1.    2.5   3.  ]\n [ 4.   -5.25  6.  ]]");
  CHECK(to_string(tensor<f64, 2>{1.0 / 3, 200.0 / 3}) == "[ 0.33333333 66.66666667]");
  CHECK(to_string(tensor<f32, 3>{1.0F / 300, 0.1, 1}) == "[0.00333333 0.1        1.        ]");
  CHECK(to_string(tensor<bf16, 2>{0.1, 2}) == "[0.10009766 2.        ]");
}

TEST_CASE("print_tensor: wide ranges take exponents", "[core]") {
  CHECK(to_string(tensor<f32, 4>{1e-5, 1, 2e10, -3}) == "[ 1.e-05  1.e+00  2.e+10 -3.e+00]");
  CHECK(to_string(tensor<f64, 3>{1e100, 1, -1}) == "[ 1.e+100  1.e+000 -1.e+000]");
}

TEST_CASE("print_tensor: infinities and NaN are words", "[core]") {
  CHECK(to_string(tensor<f32, 3>{not_a_number, -infinity, 1.5}) == "[ nan -inf  1.5]");
  CHECK(to_string(tensor<f32, 2>{infinity, not_a_number}) == "[inf nan]");
}

TEST_CASE("print_tensor: integers are aligned right, truth values are words", "[core]") {
  CHECK(to_string(tensor<u8, 3>{1, 20, 255}) == "[  1  20 255]");
  CHECK(to_string(full<i32, 2, 2, 3>(-7)) ==
        "[[[-7 -7 -7]\n  [-7 -7 -7]]\n\n [[-7 -7 -7]\n  [-7 -7 -7]]]");
  CHECK(to_string(tensor<boolean, 2, 2>{true, false, false, true}) ==
        "[[ True False]\n [False  True]]");
}

TEST_CASE("print_tensor: scalars have no brackets, nothing has only them", "[core]") {
  CHECK(to_string(tensor<f32>(3)) == "3.0");
  CHECK(to_string(tensor<f32>(0.1)) == "0.1");
  CHECK(to_string(tensor<f64>(1e-5)) == "1e-05");
  CHECK(to_string(tensor<i32>(3)) == "3");
  CHECK(to_string(tensor<boolean>(true)) == "True");
  CHECK(to_string(zeros<f32, 0, 3>()) == "[]");
}

TEST_CASE("print_tensor: lines break before column 75", "[core]") {
  CHECK(to_string(arange<i32, 40>()) ==
        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
        " 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39]");
  CHECK(to_string(linspace<f32, 7>(0, 1)) ==
        "[0.         0.16666667 0.33333334 0.5        0.6666667  0.8333333\n 1.        ]");
}

TEST_CASE("print_tensor: more than 1000 elements are summarised", "[core]") {
  CHECK(to_string(arange<f32, 5000>()) ==
        "[0.000e+00 1.000e+00 2.000e+00 ... 4.997e+03 4.998e+03 4.999e+03]");
  CHECK(to_string(full<i32, 400, 3>(7)) ==
        "[[7 7 7]\n [7 7 7]\n [7 7 7]\n ...\n [7 7 7]\n [7 7 7]\n [7 7 7]]");
}

TEST_CASE("print_tensor: any stream will do", "[core]") {
  std::ostringstream out;
  out << "x = " << tensor<i32, 2>{1, 2} << '\n';
  CHECK(out.str() == "x = [1 2]\n");
}
