// 03_print_the_graph.cpp: what a function has become is known when the program is built: its
// equations, its kernels, its memory. Next: 04_gradient_of_a_model.cpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cstdio>
#include <string>

using namespace atled;

constexpr auto layer = [](auto x, auto weight, auto bias) {
  return sum(tanh(matmul(x, weight) + bias));
};

using x_type = tensor<f32, 8, 16>;
using weight_type = tensor<f32, 16, 32>;
using bias_type = tensor<f32, 32>;

constexpr auto forward = jit(layer);
constexpr auto both = jit(value_and_grad(layer, argnums<1, 2>));
using forward_program = decltype(forward)::program<x_type, weight_type, bias_type>;
using both_program = decltype(both)::program<x_type, weight_type, bias_type>;

// Facts of the build: a program that needs too much need not be run to find out.
static_assert(both_program::peak_bytes < 16 * 1024);
static_assert(forward_program::num_parameters == 3 && both_program::num_outputs == 3);

template <class Program>
void print(const char* name) {
  std::printf("%s\n%s", name, Program::text().c_str());
  std::printf("%d kernels, %lld flops, %lld bytes at the worst moment\n\n", Program::num_kernels,
              static_cast<long long>(Program::flops), static_cast<long long>(Program::peak_bytes));
}

int main() {
  print<forward_program>("the layer");
  print<both_program>("the layer and its gradient");

  // One product forward; two where the gradient by the weight is wanted too.
  const auto count = [](const std::string& text, const std::string& word) {
    int found = 0;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
    return found;
  };
  const bool is_right =
      count(forward_program::text(), " dot") == 1 && count(both_program::text(), " dot") == 2;
  return is_right ? 0 : 1;
}
