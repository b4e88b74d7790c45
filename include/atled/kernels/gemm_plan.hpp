// atled/kernels/gemm_plan.hpp: what a matrix product is, and how it is cut into items of work.
// Reads: kernels/gemm_pack.hpp (sizes of packed blocks). Next: kernels/gemm.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/kernels/gemm_pack.hpp"
#include "atled/kernels/gemm_tile.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace atled::kernels {

/// A batch of matrices in memory. Units: strides in elements; 0 repeats, negative runs backwards.
struct gemm_operand {
  std::int64_t row_stride, column_stride;
  std::array<std::int64_t, 3> batch_strides;
};

/// What need not be computed because a triangle of an operand is 0, or one of the result is not
/// used. +1: terms with k > row (k > column) are 0, sums with column > row are not used; -1: those
/// with <.
struct gemm_limits {
  std::int8_t k_by_row = 0, k_by_column = 0, column_by_row = 0;
};

/// batch x (lhs[m, k] times rhs[k, n]); unused batch dimensions are 1.
struct gemm_shape {
  std::int64_t m, n, k;
  std::array<std::int64_t, 3> batch;
  gemm_operand lhs, rhs;
  gemm_limits limits{};
};

using gemm_batch_index = std::array<std::int64_t, 3>;

namespace detail {

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}

// The longest chunk of k, and the most rows and columns of an item: what tiles read again and
// again, a block of lhs and the sums that wait for the next chunk, is to stay in the L2 cache.
inline constexpr std::int64_t longest_chunk = 384, most_rows = 512, most_columns_in_chunks = 768;

// How a product is cut into items. Only `num_chunks` changes bits, and it depends on k alone.
struct gemm_plan {
  std::int64_t num_chunks, chunk;
  std::int64_t row_blocks, rows;        // of an item, whole tiles
  std::int64_t column_blocks, columns;  // of an item, whole panels

  [[nodiscard]] constexpr std::int64_t tiles() const noexcept { return ceil_div(rows, tile_rows); }
};

template <class Acc>
[[nodiscard]] constexpr gemm_plan plan_gemm(const gemm_shape& shape, int threads) noexcept {
  constexpr std::int64_t width = tile_columns<Acc>;
  gemm_plan p{};
  const std::int64_t chunks = std::max<std::int64_t>(1, ceil_div(shape.k, longest_chunk));
  p.chunk = ceil_div(ceil_div(shape.k, chunks), 8) * 8;
  p.num_chunks = shape.k > 0 ? ceil_div(shape.k, p.chunk) : 1;
  const std::int64_t row_tiles = ceil_div(shape.m, tile_rows);
  const std::int64_t panels = ceil_div(shape.n, width);
  const std::int64_t batches =
      std::max<std::int64_t>(1, shape.batch[0] * shape.batch[1] * shape.batch[2]);
  p.row_blocks = std::max<std::int64_t>(1, (shape.m + most_rows / 2) / most_rows);
  p.column_blocks =
      p.num_chunks == 1 ? 1 : std::max<std::int64_t>(1, ceil_div(shape.n, most_columns_in_chunks));
  // Each thread the same, or many items: columns are cut first, because lhs is cheaper to pack
  // twice.
  const auto uneven = [&] {
    const std::int64_t items = batches * p.row_blocks * p.column_blocks;
    return items % threads != 0 && items < 4 * threads;
  };
  while (uneven() && p.column_blocks < panels / 4) ++p.column_blocks;
  while (uneven() && p.row_blocks < row_tiles / 4) ++p.row_blocks;
  p.rows = ceil_div(row_tiles, p.row_blocks) * tile_rows;
  p.columns = ceil_div(panels, p.column_blocks) * width;
  p.row_blocks = p.rows > 0 ? ceil_div(shape.m, p.rows) : 0;
  p.column_blocks = p.columns > 0 ? ceil_div(shape.n, p.columns) : 0;
  return p;
}

// The memory of one thread. Units: elements.
template <class Acc>
struct gemm_memory {
  std::int64_t lhs, rhs, sums;

  constexpr explicit gemm_memory(const gemm_plan& p) noexcept
      : lhs(packed_lhs_size<Acc>(p.rows, p.chunk)),
        rhs(ceil_div(p.chunk * tile_columns<Acc>, 64) * 64),
        sums(p.num_chunks == 1 ? 0 : ceil_div(p.tiles() * tile_rows * p.columns, 64) * 64) {}

  [[nodiscard]] constexpr std::int64_t bytes() const noexcept {
    return (lhs + rhs + sums) * static_cast<std::int64_t>(sizeof(Acc));
  }
};

// Rows and columns of one matrix of the batch: what a thread does at a time.
struct gemm_item {
  gemm_batch_index batch;
  std::int64_t row, rows, column, columns;
};

[[nodiscard]] constexpr gemm_item item_at(const gemm_shape& shape, const gemm_plan& p,
                                          std::int64_t index) noexcept {
  const auto take = [&](std::int64_t count) {
    const std::int64_t part = index % count;
    index /= count;
    return part;
  };
  gemm_item item{};
  item.column = take(p.column_blocks) * p.columns;
  item.columns = std::min(shape.n - item.column, p.columns);
  item.row = take(p.row_blocks) * p.rows;
  item.rows = std::min(shape.m - item.row, p.rows);
  for (std::size_t d = 3; d-- > 0;) item.batch[d] = take(shape.batch[d]);
  return item;
}

// The steps of k that a tile needs: [begin, end), empty if none.
struct gemm_span {
  std::int64_t begin, end;
};
[[nodiscard]] constexpr gemm_span span_of_tile(const gemm_shape& shape, std::int64_t row, int rows,
                                               std::int64_t column, int columns) noexcept {
  gemm_span span{0, shape.k};
  const auto limit = [&](std::int8_t sign, std::int64_t first, int count) {
    if (sign > 0) span.end = std::min(span.end, first + count);
    if (sign < 0) span.begin = std::max(span.begin, first);
  };
  limit(shape.limits.k_by_row, row, rows);
  limit(shape.limits.k_by_column, column, columns);
  const std::int8_t used = shape.limits.column_by_row;
  const bool is_unused = used > 0 ? column >= row + rows : used < 0 && row >= column + columns;
  return is_unused || span.end < span.begin ? gemm_span{} : span;
}

}  // namespace detail
}  // namespace atled::kernels
