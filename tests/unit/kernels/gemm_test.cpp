// tests/unit/kernels/gemm_test.cpp: the product against three loops in f64, and its promises.
// Reads: kernels/gemm.hpp.
// SPDX-License-Identifier: MIT
#include "atled/kernels/gemm.hpp"

#include "atled/core/bf16.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace {

using atled::bf16;
using atled::kernels::gemm;
using atled::kernels::gemm_batch_index;
using atled::kernels::gemm_operand;
using atled::kernels::gemm_shape;
using atled::kernels::gemm_workspace_bytes;
using atled::kernels::store_epilogue;

struct aligned_delete {
  void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{64}); }
};

// The workspace that a shape asks for, and not one byte more.
template <class Acc>
auto workspace_for(const gemm_shape& shape, int threads) {
  const auto bytes = static_cast<std::size_t>(gemm_workspace_bytes<Acc>(shape, threads));
  return std::unique_ptr<std::byte, aligned_delete>(
      static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64})));
}

template <class S>
std::vector<S> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<S> values(static_cast<std::size_t>(count));
  for (S& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<S>(static_cast<float>(seed >> 8) / (1 << 23) - 1.0f);
  }
  return values;
}

using dims = std::array<std::int64_t, 3>;

// How an operand lies: its rows one after the other, or its columns, or neither side by side.
enum class layout { rows, columns, apart };

// The operand of batch x [rows, columns] in `how`, with `gap` unused elements between its lines;
// the first element of a vector of `size` is its first.
struct placed {
  gemm_operand operand;
  std::int64_t size;
};
placed place(layout how, std::int64_t rows, std::int64_t columns, dims batch, std::int64_t gap) {
  gemm_operand o{};
  std::int64_t matrix = 0;
  if (how == layout::rows) {
    o.row_stride = columns + gap;
    o.column_stride = 1;
    matrix = rows * o.row_stride;
  } else if (how == layout::columns) {
    o.row_stride = 1;
    o.column_stride = rows + gap;
    matrix = columns * o.column_stride;
  } else {
    o.row_stride = 2 * (columns + gap) + 1;
    o.column_stride = 2;
    matrix = rows * o.row_stride;
  }
  for (std::size_t d = 3; d-- > 0;) {
    o.batch_strides[d] = matrix;
    matrix *= batch[d];
  }
  return {o, matrix};
}

std::int64_t offset(const gemm_operand& o, const gemm_batch_index& b, std::int64_t row,
                    std::int64_t column) {
  return b[0] * o.batch_strides[0] + b[1] * o.batch_strides[1] + b[2] * o.batch_strides[2] +
         row * o.row_stride + column * o.column_stride;
}

template <class S>
double widened(S value) {
  if constexpr (std::is_same_v<S, bf16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

// The oracle: out[batch, row, column] densely, summed in f64.
template <class L, class R>
std::vector<double> three_loops(const gemm_shape& s, const std::vector<L>& lhs,
                                const std::vector<R>& rhs) {
  std::vector<double> out;
  for (std::int64_t b0 = 0; b0 < s.batch[0]; ++b0) {
    for (std::int64_t b1 = 0; b1 < s.batch[1]; ++b1) {
      for (std::int64_t b2 = 0; b2 < s.batch[2]; ++b2) {
        for (std::int64_t row = 0; row < s.m; ++row) {
          for (std::int64_t column = 0; column < s.n; ++column) {
            double sum = 0;
            for (std::int64_t i = 0; i < s.k; ++i) {
              const auto l = offset(s.lhs, {b0, b1, b2}, row, i);
              const auto r = offset(s.rhs, {b0, b1, b2}, i, column);
              sum += widened(lhs[static_cast<std::size_t>(l)]) *
                     widened(rhs[static_cast<std::size_t>(r)]);
            }
            out.push_back(sum);
          }
        }
      }
    }
  }
  return out;
}

std::int64_t out_size(const gemm_shape& s) {
  return s.batch[0] * s.batch[1] * s.batch[2] * s.m * s.n;
}

// Where a dense out[batch, m, n] lies.
dims dense_batch_strides(const gemm_shape& s) {
  return {s.batch[1] * s.batch[2] * s.m * s.n, s.batch[2] * s.m * s.n, s.m * s.n};
}

template <class Acc, class L, class R>
std::vector<Acc> product(const gemm_shape& shape, const std::vector<L>& lhs,
                         const std::vector<R>& rhs, int threads = 1) {
  std::vector<Acc> out(static_cast<std::size_t>(out_size(shape)), Acc{99});
  const auto workspace = workspace_for<Acc>(shape, threads);
  const store_epilogue<Acc> store{out.data(), shape.n, dense_batch_strides(shape)};
  gemm<Acc>(shape, lhs.data(), rhs.data(), store, workspace.get(), threads);
  return out;
}

template <class Acc, class L = Acc, class R = L>
void check(std::int64_t m, std::int64_t n, std::int64_t k, dims batch = {1, 1, 1},
           std::int64_t gap = 0) {
  for (const layout left : {layout::rows, layout::columns, layout::apart}) {
    for (const layout right : {layout::rows, layout::columns, layout::apart}) {
      const placed l = place(left, m, k, batch, gap), r = place(right, k, n, batch, gap);
      const gemm_shape shape{m, n, k, batch, l.operand, r.operand};
      const auto lhs = numbers<L>(l.size, 1);
      const auto rhs = numbers<R>(r.size, 2);
      CAPTURE(m, n, k, batch, gap, static_cast<int>(left), static_cast<int>(right));
      // A sum of k products of numbers up to 1 is off by some sqrt(k) roundings.
      const double eps = sizeof(Acc) == 8 ? 0x1p-53 : 0x1p-24;
      const double allowed = 4 * eps * (2 + static_cast<double>(k));
      CHECK(atled::near(product<Acc>(shape, lhs, rhs), three_loops(shape, lhs, rhs),
                        atled::tolerance{0, allowed}));
    }
  }
}

}  // namespace

TEST_CASE("gemm: equals three loops in f64 for sizes around the tile's", "[kernels]") {
  for (const std::int64_t m : {1, 2, 3, 5, 13, 14, 15, 31, 64, 65}) {
    for (const std::int64_t n : {1, 2, 7, 16, 17, 31, 32, 33, 65}) {
      check<float>(m, n, 19);
      check<double>(m, n, 6);
    }
  }
}

TEST_CASE("gemm: equals three loops in f64 where k is cut into chunks", "[kernels]") {
  check<float>(17, 35, 513);
  check<float>(64, 64, 1100);
  check<float>(3, 600, 1030);
  check<double>(15, 9, 1500);
}

TEST_CASE("gemm: equals three loops in f64 where rows and columns are cut into items",
          "[kernels]") {
  check<float>(800, 40, 9);
  check<float>(790, 33, 400);
  check<float>(20, 1000, 390);
  check<double>(800, 20, 5);
}

TEST_CASE("gemm: reads operands with gaps, and rows that meet in one cache set", "[kernels]") {
  check<float>(30, 100, 40, {1, 1, 1}, 5);
  check<float>(70, 130, 64, {1, 1, 1}, 448);  // rows 2048 bytes apart
}

TEST_CASE("gemm: multiplies batches of three dimensions", "[kernels]") {
  check<float>(9, 33, 8, {2, 3, 2});
  check<float>(64, 64, 32, {3, 1, 2});
  check<double>(5, 6, 7, {1, 4, 1}, 3);
}

TEST_CASE("gemm: a batch stride of 0 repeats an operand", "[kernels]") {
  placed l = place(layout::rows, 20, 12, {1, 1, 1}, 0);
  placed r = place(layout::rows, 12, 40, {1, 3, 2}, 0);
  l.operand.batch_strides = {0, 0, 0};
  const gemm_shape shape{20, 40, 12, {1, 3, 2}, l.operand, r.operand};
  const auto lhs = numbers<float>(l.size, 1), rhs = numbers<float>(r.size, 2);

  CHECK(atled::near(product<float>(shape, lhs, rhs), three_loops(shape, lhs, rhs)));
}

TEST_CASE("gemm: strides may be 0 or run backwards within a matrix", "[kernels]") {
  const auto lhs = numbers<float>(20 * 12, 1), rhs = numbers<float>(40, 2);
  std::vector<float> reversed(lhs.rbegin(), lhs.rend());
  const gemm_operand row_for_all_k{0, 1, {}};
  const gemm_shape forward{20, 40, 12, {1, 1, 1}, {12, 1, {}}, row_for_all_k};
  const gemm_shape backward{20, 40, 12, {1, 1, 1}, {-12, -1, {}}, row_for_all_k};
  std::vector<float> out(20 * 40);
  const auto workspace = workspace_for<float>(backward, 1);
  gemm<float>(backward, reversed.data() + reversed.size() - 1, rhs.data(),
              store_epilogue<float>{out.data(), 40}, workspace.get());

  CHECK(atled::same_bits(out, product<float>(forward, lhs, rhs)));
}

TEST_CASE("gemm: bf16 operands are summed in f32, and mix with f32", "[kernels]") {
  check<float, bf16, bf16>(33, 70, 50);
  check<float, bf16, float>(64, 64, 32, {2, 1, 1});
  check<float, float, bf16>(15, 40, 600);
}

TEST_CASE("gemm: f32 operands may be summed in f64", "[kernels]") {
  check<double, float, float>(21, 20, 700);
}

TEST_CASE("gemm: a store epilogue rounds to the type of its memory", "[kernels]") {
  const gemm_shape shape{30, 40, 20, {1, 1, 1}, {20, 1, {}}, {40, 1, {}}};
  const auto lhs = numbers<float>(30 * 20, 1), rhs = numbers<float>(20 * 40, 2);
  std::vector<bf16> out(30 * 40);
  const auto workspace = workspace_for<float>(shape, 1);
  gemm<float>(shape, lhs.data(), rhs.data(), store_epilogue<bf16>{out.data(), 40}, workspace.get());

  std::vector<bf16> expected;
  for (const float sum : product<float>(shape, lhs, rhs)) expected.push_back(bf16(sum));
  CHECK(atled::same_bits(out, expected));
}

TEST_CASE("gemm: an epilogue gets each element once, with its place, and the sums that are stored",
          "[kernels]") {
  for (const std::int64_t k : {0, 19, 700}) {
    const dims batch{2, 1, 2};
    const placed l = place(layout::rows, 75, k, batch, 1), r = place(layout::rows, k, 65, batch, 1);
    const gemm_shape shape{75, 65, k, batch, l.operand, r.operand};
    const auto lhs = numbers<float>(l.size, 1), rhs = numbers<float>(r.size, 2);
    std::vector<float> out(static_cast<std::size_t>(out_size(shape)));
    std::vector<std::atomic<int>> calls(out.size());
    const dims strides = dense_batch_strides(shape);
    const auto epilogue = [&](const gemm_batch_index& b, std::int64_t row, std::int64_t column,
                              int count, const float* sums) {
      for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(b[0] * strides[0] + b[1] * strides[1] +
                                                 b[2] * strides[2] + row * shape.n + column + i);
        out[at] = sums[i];
        ++calls[at];
      }
    };
    const auto workspace = workspace_for<float>(shape, 2);
    gemm<float>(shape, lhs.data(), rhs.data(), epilogue, workspace.get(), 2);

    std::size_t wrong = 0;
    for (const auto& count : calls) wrong += count != 1;
    CHECK(wrong == 0);
    CHECK(atled::same_bits(out, product<float>(shape, lhs, rhs)));
  }
}

namespace {
// Adds up what it gets, a tile at a time.
struct counting_epilogue {
  std::vector<float>* out;
  std::int64_t row_stride;
  void tile(const gemm_batch_index&, std::int64_t row, int rows, std::int64_t column, int count,
            const float* sums, std::int64_t sums_row_stride) const {
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < count; ++c) {
        (*out)[static_cast<std::size_t>((row + r) * row_stride + column + c)] +=
            sums[r * sums_row_stride + c];
      }
    }
  }
};
}  // namespace

TEST_CASE("gemm: an epilogue may take a whole tile in one call", "[kernels]") {
  for (const std::int64_t k : {0, 19, 700}) {
    const gemm_shape shape{75, 65, k, {1, 1, 1}, {k, 1, {}}, {65, 1, {}}};
    const auto lhs = numbers<float>(75 * k, 1), rhs = numbers<float>(k * 65, 2);
    std::vector<float> out(75 * 65, 0.0f);
    const auto workspace = workspace_for<float>(shape, 1);
    gemm<float>(shape, lhs.data(), rhs.data(), counting_epilogue{&out, 65}, workspace.get());

    CHECK(atled::same_bits(out, product<float>(shape, lhs, rhs)));
  }
}

TEST_CASE("gemm: an empty k gives 0, empty rows, columns or batches give nothing", "[kernels]") {
  const std::vector<float> none;
  const auto shape = [](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
    return gemm_shape{m, n, k, {batch, 1, 1}, {k, 1, {}}, {n, 1, {}}};
  };

  CHECK(atled::same_bits(product<float>(shape(3, 40, 0, 1), none, none),
                         std::vector<float>(3 * 40, 0.0f)));
  CHECK(product<float>(shape(0, 40, 7, 1), none, none).empty());
  CHECK(product<float>(shape(3, 0, 7, 1), none, none).empty());
  CHECK(product<float>(shape(3, 40, 7, 0), none, none).empty());
}

TEST_CASE("gemm: gives the same bits on any number of threads", "[kernels]") {
  const auto check_threads = [](std::int64_t m, std::int64_t n, std::int64_t k, dims batch) {
    const placed l = place(layout::columns, m, k, batch, 0),
                 r = place(layout::rows, k, n, batch, 0);
    const gemm_shape shape{m, n, k, batch, l.operand, r.operand};
    const auto lhs = numbers<float>(l.size, 1), rhs = numbers<float>(r.size, 2);
    const auto one = product<float>(shape, lhs, rhs, 1);
    for (const int threads : {2, 3, 4}) {
      CAPTURE(m, n, k, threads);
      CHECK(atled::same_bits(product<float>(shape, lhs, rhs, threads), one));
    }
  };
  check_threads(300, 200, 100, {1, 1, 1});
  check_threads(300, 65, 1200, {1, 1, 1});
  check_threads(64, 64, 64, {4, 3, 1});
  check_threads(600, 17, 90, {1, 1, 1});
}

TEST_CASE("gemm: an element has the same bits in a small product and in a large one", "[kernels]") {
  const std::int64_t k = 700;
  const auto lhs = numbers<float>(200 * k, 1), rhs = numbers<float>(k * 300, 2);
  const gemm_operand right{300, 1, {}};
  const auto large =
      product<float>(gemm_shape{200, 300, k, {1, 1, 1}, {k, 1, {}}, right}, lhs, rhs);
  const auto small = product<float>(gemm_shape{3, 5, k, {1, 1, 1}, {k, 1, {}}, right}, lhs, rhs);

  std::vector<float> corner;
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 5; ++column) corner.push_back(large[row * 300 + column]);
  }
  CHECK(atled::same_bits(small, corner));
}

TEST_CASE("gemm: what limits leave out changes no bit of what counts", "[kernels]") {
  const std::int64_t m = 75, n = 70, k = 72;
  using atled::kernels::gemm_limits;
  const auto keeps = [](std::int8_t sign, std::size_t index, std::size_t fixed) {
    return sign == 0 || (sign > 0 ? index <= fixed : index >= fixed);
  };
  for (const auto [by_row, by_column, used] :
       {gemm_limits{1, 0, 0}, gemm_limits{-1, 0, 0}, gemm_limits{0, 1, 0}, gemm_limits{0, -1, 0},
        gemm_limits{0, 0, 1}, gemm_limits{0, 0, -1}, gemm_limits{1, -1, 1}}) {
    auto lhs = numbers<float>(m * k, 1), rhs = numbers<float>(k * n, 2);
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t row = 0; row < m; ++row) lhs[row * k + i] *= keeps(by_row, i, row);
      for (std::size_t column = 0; column < n; ++column) {
        rhs[i * n + column] *= keeps(by_column, i, column);
      }
    }
    gemm_shape shape{m, n, k, {1, 1, 1}, {k, 1, {}}, {n, 1, {}}};
    auto whole = product<float>(shape, lhs, rhs);
    shape.limits = {by_row, by_column, used};
    for (const int threads : {1, 2}) {
      auto limited = product<float>(shape, lhs, rhs, threads);
      for (std::size_t row = 0; row < m; ++row) {
        for (std::size_t column = 0; column < n; ++column) {
          if (keeps(used, column, row)) continue;
          whole[row * n + column] = limited[row * n + column] = 0;
        }
      }
      CAPTURE(static_cast<int>(by_row), static_cast<int>(by_column), static_cast<int>(used));
      CHECK(atled::same_bits(limited, whole));
    }
  }
}

TEST_CASE("gemm: NaN and infinity stay in their row and column", "[kernels]") {
  const std::int64_t m = 20, n = 37, k = 9;
  auto lhs = numbers<float>(m * k, 1);
  const auto rhs = numbers<float>(k * n, 2);
  lhs[3 * k + 2] = std::nanf("");
  const auto out = product<float>(gemm_shape{m, n, k, {1, 1, 1}, {k, 1, {}}, {n, 1, {}}}, lhs, rhs);

  std::size_t nans = 0;
  for (const float value : out) nans += std::isnan(value);
  CHECK(nans == static_cast<std::size_t>(n));
  CHECK(std::isnan(out[3 * n + 36]));
}

TEST_CASE("gemm: the workspace is known at build time and grows with the threads", "[kernels]") {
  constexpr gemm_shape shape{768, 384, 128, {1, 1, 1}, {128, 1, {}}, {384, 1, {}}};
  static_assert(gemm_workspace_bytes<float>(shape, 1) > 0);
  static_assert(gemm_workspace_bytes<float>(shape, 4) == 4 * gemm_workspace_bytes<float>(shape, 1));
  static_assert(gemm_workspace_bytes<float>(shape, 0) == gemm_workspace_bytes<float>(shape, 1));

  constexpr gemm_shape largest{50304, 50304, 50304, {1, 1, 1}, {50304, 1, {}}, {50304, 1, {}}};
  CHECK(gemm_workspace_bytes<float>(largest, 1) < 3'000'000);
}
