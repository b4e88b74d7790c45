// consumer/main.cpp: a user's program, built by each way in which a user may take the library.
// Reads: atled.hpp, and nothing else of the repository.
// SPDX-License-Identifier: MIT
#include <atled/atled.hpp>
#include <cstdio>

constexpr auto sum_of_squares = [](auto x) { return atled::sum(atled::square(x)); };

int main() {
  const atled::tensor<atled::f32, 3> x{1, -2, 3};
  const auto gradient = atled::jit(atled::grad(sum_of_squares))(x);  // 2 x
  std::printf("%g %g %g\n", static_cast<double>(gradient(0)), static_cast<double>(gradient(1)),
              static_cast<double>(gradient(2)));
  return gradient(0) == 2.0f && gradient(1) == -4.0f && gradient(2) == 6.0f ? 0 : 1;
}
