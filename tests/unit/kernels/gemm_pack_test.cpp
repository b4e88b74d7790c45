// tests/unit/kernels/gemm_pack_test.cpp: packed panels hold what the operands held, and nothing
// more. Reads: kernels/gemm_pack.hpp.
// SPDX-License-Identifier: MIT
#include "atled/kernels/gemm_pack.hpp"

#include "atled/core/bf16.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cstdint>
#include <vector>

namespace {

using atled::bf16;
using atled::kernels::lhs_block;
using atled::kernels::pack_lhs;
using atled::kernels::pack_rhs;
using atled::kernels::packed_lhs_size;
using atled::kernels::tile_columns;
using atled::kernels::tile_rows;

// Small whole numbers: exact in bf16 too, and no two neighbours alike.
template <class S>
std::vector<S> numbers(std::int64_t count) {
  std::vector<S> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<S>(static_cast<float>(i * 37 % 251));
  }
  return values;
}

template <class T, class S>
void check_rhs(std::int64_t k, int columns, std::int64_t k_stride, std::int64_t column_stride) {
  constexpr std::int64_t width = tile_columns<T>;
  // Exactly the memory that the operand covers: a sanitizer sees a read behind it.
  const std::int64_t size =
      k > 0 ? (k - 1) * k_stride + (columns - 1) * column_stride + 1 : std::int64_t{0};
  const auto rhs = numbers<S>(size);
  std::vector<T> out(static_cast<std::size_t>(k * width + 1), T{-1});
  pack_rhs(k, columns, rhs.data(), k_stride, column_stride, out.data());

  std::vector<T> expected(out.size(), T{-1});
  const std::int64_t filled = columns <= width / 2 ? width / 2 : width;
  for (std::int64_t row = 0; row < k; ++row) {
    for (std::int64_t column = 0; column < filled; ++column) {
      expected[static_cast<std::size_t>(row * width + column)] = T{0};
    }
    for (std::int64_t column = 0; column < columns; ++column) {
      expected[static_cast<std::size_t>(row * width + column)] =
          static_cast<T>(rhs[static_cast<std::size_t>(row * k_stride + column * column_stride)]);
    }
  }
  CAPTURE(k, columns, k_stride, column_stride);
  CHECK(atled::same_bits(out, expected));
}

template <class T, class S>
void check_rhs_layouts() {
  constexpr int width = static_cast<int>(tile_columns<T>);
  for (const std::int64_t k : {0, 1, 3, 4, 9, 33}) {
    for (const int columns : {1, 2, width / 2 - 1, width / 2, width / 2 + 1, width - 1, width}) {
      check_rhs<T, S>(k, columns, width + 3, 1);
      check_rhs<T, S>(k, columns, 1, k + 2);
      check_rhs<T, S>(k, columns, 2, 2 * k + 1);
      check_rhs<T, S>(k, columns, 0, 1);
    }
  }
}

template <class T, class S>
void check_lhs(std::int64_t rows, std::int64_t k, std::int64_t row_stride, std::int64_t k_stride) {
  const std::int64_t size =
      rows > 0 && k > 0 ? (rows - 1) * row_stride + (k - 1) * k_stride + 1 : std::int64_t{0};
  const auto lhs = numbers<S>(size);
  std::vector<T> out(static_cast<std::size_t>(packed_lhs_size<T>(rows, k)), T{-1});
  const lhs_block<T> block = pack_lhs(rows, k, lhs.data(), row_stride, k_stride, out.data());

  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* tile = block.data + row / tile_rows * block.tile_stride;
    for (std::int64_t i = 0; i < k; ++i) {
      const T packed = tile[row % tile_rows * block.row_stride + i * block.k_stride];
      const S source = lhs[static_cast<std::size_t>(row * row_stride + i * k_stride)];
      wrong += packed != static_cast<T>(source);
    }
  }
  CAPTURE(rows, k, row_stride, k_stride);
  CHECK(wrong == 0);
}

template <class T, class S>
void check_lhs_layouts() {
  for (const std::int64_t k : {0, 1, 5, 16, 65}) {
    for (const std::int64_t rows : {1, 3, tile_rows, tile_rows + 1, 3 * tile_rows + 2, 64}) {
      check_lhs<T, S>(rows, k, k + 1, 1);
      check_lhs<T, S>(rows, k, 1, rows);
      check_lhs<T, S>(rows, k, 1, rows + 3);
      check_lhs<T, S>(rows, k, 3, 3 * rows + 1);
      check_lhs<T, S>(rows, k, 0, 1);
    }
  }
}

}  // namespace

TEST_CASE("gemm_pack: a panel of rhs is whole registers, filled with 0, for any strides",
          "[kernels]") {
  check_rhs_layouts<float, float>();
  check_rhs_layouts<double, double>();
}

TEST_CASE("gemm_pack: a block of lhs is read back by its strides, whatever they were",
          "[kernels]") {
  check_lhs_layouts<float, float>();
  check_lhs_layouts<double, double>();
}

TEST_CASE("gemm_pack: bf16 is widened while it is packed", "[kernels]") {
  check_rhs_layouts<float, bf16>();
  check_lhs_layouts<float, bf16>();
}

TEST_CASE("gemm_pack: a packed lhs has the strides that the tile knows as constants", "[kernels]") {
  const auto lhs = numbers<float>(8 * 1024);
  std::vector<float> out(static_cast<std::size_t>(packed_lhs_size<float>(8, 1024)));
  for (const std::int64_t row_stride : {1, 1024}) {
    const auto block =
        pack_lhs(8, 1000, lhs.data(), row_stride, row_stride == 1 ? 8 : 1, out.data());

    CHECK(block.row_stride == 1);
    CHECK(block.k_stride == atled::kernels::packed_lhs_stride<float>);
  }
}
