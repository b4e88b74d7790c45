// examples/13_bounded_sizes.cpp: sizes that come with the call: a prompt that grows token by token,
// and a model fitted to bags of different sizes. One program each, compiled once for all sizes.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cstdio>

using namespace atled;

// --- a growing prompt: attention of the last token to all that are there
using prompt = tensor<f32, upto<64, "tokens">, 16>;

constexpr auto attend = [](auto tokens, auto query) {
  const auto scores = softmax(matmul(tokens, query) * 0.25f);  // f32[tokens]
  return matmul(scores, tokens);                               // f32[16]
};

// --- bags of measurements: each has a number of points of its own
using bag = tensor<f32, upto<128>, 2>;  // rows (x, y)

constexpr auto misfit = [](auto line, auto points) {
  const auto x = points(range(), 0);
  const auto y = points(range(), 1);
  return mean(square(line(0) * x + line(1) - y));  // divides by the number of points in this bag
};

int main() {
  constexpr auto last_attention = jit(attend);
  prompt tokens;
  for (int step = 0; step < 24; ++step) {
    tensor<f32, 16> next;
    for (std::int64_t i = 0; i < 16; ++i) next(i) = static_cast<f32>((step * 7 + i * 3) % 11) / 11;
    tokens.push_back(next);
    if ((step & (step + 1)) != 0) continue;  // after 1, 2, 4, 8, 16 tokens
    const auto mixed = last_attention(tokens, next);
    std::printf("%2d tokens: attention gives %.4f %.4f ...\n", static_cast<int>(tokens.size(0)),
                static_cast<double>(mixed(0)), static_cast<double>(mixed(1)));
  }

  constexpr auto step = jit(value_and_grad(misfit));
  tensor<f32, 2> line;
  f32 loss = 0;
  for (int i = 0; i < 600; ++i) {
    bag points;
    for (int n = 0; n < 3 + i % 120; ++n) {  // y = 2 x - 1
      const f32 x = static_cast<f32>((n * 37 + i * 11) % 100) / 50 - 1;
      points.push_back(tensor<f32, 2>{x, 2 * x - 1});
    }
    const auto [value, d_line] = step(line, points);
    line = line - 0.3f * d_line;
    loss = value;
  }
  std::printf("fitted y = %.3f x %+.3f, loss %.1e\n", static_cast<double>(line(0)),
              static_cast<double>(line(1)), static_cast<double>(loss));

  using program = decltype(step)::program<tensor<f32, 2>, bag>;
  std::printf("one program for every size: %lld bytes for intermediate values at most\n",
              static_cast<long long>(program::peak_bytes));
}
