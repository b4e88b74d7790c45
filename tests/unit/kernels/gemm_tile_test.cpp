// tests/unit/kernels/gemm_tile_test.cpp: the register tile against the same sums one by one.
// Reads: kernels/gemm_tile.hpp.
// SPDX-License-Identifier: MIT
#include "atled/kernels/gemm_tile.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cstdint>
#include <vector>

namespace {

using atled::kernels::multiply_tile;
using atled::kernels::packed_lhs_stride;
using atled::kernels::tile_columns;
using atled::kernels::tile_operands;
using atled::kernels::tile_rows;

template <class T>
std::vector<T> numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<T>(static_cast<double>(seed >> 8) / (1 << 23) - 1.0);
  }
  return values;
}

// One element the way the tile is specified: fused multiply-adds from 0, k ascending, sums last.
template <class T>
T element(const tile_operands<T>& t, std::int64_t k, std::int64_t row, std::int64_t column) {
  auto sum = atled::loops::splat<1>(T{});
  for (std::int64_t i = 0; i < k; ++i) {
    sum = fma(atled::loops::splat<1>(t.lhs[row * t.lhs_row_stride + i * t.lhs_k_stride]),
              atled::loops::splat<1>(t.rhs[i * t.rhs_k_stride + column]), sum);
  }
  return t.sums == nullptr ? sum.r : t.sums[row * t.sums_row_stride + column] + sum.r;
}

// How lhs lies: its rows along k, beside each other, or as packed (and rhs with it).
enum class layout { rows, columns, packed };

template <class T>
void check_all_sizes(std::int64_t k) {
  constexpr std::int64_t width = tile_columns<T>;
  constexpr std::int64_t lanes = width / 2;
  constexpr std::int64_t packed_stride = packed_lhs_stride<T>;
  const auto lhs = numbers<T>(packed_stride * (k + 3), 1);
  const auto rhs = numbers<T>((width + 5) * k, 2);
  const auto sums = numbers<T>(tile_rows * (width + 1), 3);
  for (const layout way : {layout::rows, layout::columns, layout::packed}) {
    for (const bool with_sums : {true, false}) {
      for (int rows = 1; rows <= tile_rows; ++rows) {
        for (const std::int64_t columns : {std::int64_t{1}, lanes, lanes + 1, width}) {
          std::vector<T> out(tile_rows * (width + 7), T{99});
          tile_operands<T> t{};
          t.lhs = lhs.data();
          t.lhs_row_stride = way == layout::rows ? k + 3 : 1;
          t.lhs_k_stride = way == layout::rows      ? 1
                           : way == layout::columns ? tile_rows
                                                    : packed_stride;
          t.rhs = rhs.data();
          t.rhs_k_stride = way == layout::packed ? width : width + 5;
          t.sums = with_sums ? sums.data() : nullptr;
          t.sums_row_stride = width + 1;
          t.out = out.data();
          t.out_row_stride = width + 7;
          multiply_tile(rows, static_cast<int>(columns), k, t);

          std::vector<T> expected(out.size(), T{99});
          const std::int64_t written = columns <= lanes ? lanes : width;
          for (std::int64_t row = 0; row < rows; ++row) {
            for (std::int64_t column = 0; column < written; ++column) {
              expected[static_cast<std::size_t>(row * (width + 7) + column)] =
                  element(t, k, row, column);
            }
          }
          CAPTURE(rows, columns, k, static_cast<int>(way), with_sums);
          CHECK(atled::same_bits(out, expected));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("gemm_tile: each size of tile gives the bits of one fused sum an element", "[kernels]") {
  check_all_sizes<float>(1);
  check_all_sizes<float>(37);
  check_all_sizes<double>(1);
  check_all_sizes<double>(37);
}

TEST_CASE("gemm_tile: without a k the sums pass through, or are 0", "[kernels]") {
  check_all_sizes<float>(0);
  check_all_sizes<double>(0);
}

TEST_CASE("gemm_tile: sums and out may be the same memory", "[kernels]") {
  constexpr std::int64_t width = tile_columns<float>;
  const auto lhs = numbers<float>(tile_rows * 5, 1);
  const auto rhs = numbers<float>(width * 5, 2);
  std::vector<float> once(tile_rows * width, 0.0f);
  tile_operands<float> t{lhs.data(), 5, 1, rhs.data(), width, nullptr, width, once.data(), width};
  multiply_tile(tile_rows, static_cast<int>(width), 5, t);
  std::vector<float> twice = once;
  t.sums = t.out = twice.data();
  multiply_tile(tile_rows, static_cast<int>(width), 5, t);

  for (float& value : once) value += value;
  CHECK(atled::same_bits(twice, once));
}
