// atled/kernels/gemm_pack.hpp: operands of any strides become panels that the tile reads in order.
// Reads: kernels/gemm_tile.hpp. Next: kernels/gemm.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/kernels/gemm_tile.hpp"
#include "atled/loops/simd.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace atled::kernels {

/// The block of `lhs` as the tile reads it: packed or where it was.
template <class T>
struct lhs_block {
  const T* data;
  std::int64_t row_stride, k_stride;
  std::int64_t tile_stride;  // from the first row of a tile to the first row of the next
};

namespace detail {

// The first `count` of N values as T, 0 in the lanes behind; bf16 and f16 in memory are f32.
template <int N, class T, class S>
ATLED_INLINE loops::vec<T, N> load_as(const S* p, std::int64_t count = N) noexcept {
  if constexpr (std::is_same_v<decltype(loops::load<N>(p)), loops::vec<T, N>>) {
    return count >= N ? loops::load<N>(p) : loops::load_partial<N>(p, static_cast<int>(count));
  } else {
    T wide[static_cast<std::size_t>(N)] = {};
    for (int i = 0; i < N && i < count; ++i) wide[i] = static_cast<T>(p[i]);
    return loops::load<N>(static_cast<const T*>(wide));
  }
}

// One register of columns, 16 bytes deep: 16 x 4 (f32) or 8 x 2 (f64) become rows.
template <class T>
ATLED_INLINE void transpose_strip(const T* p, std::int64_t column_stride, T* out,
                                  std::int64_t out_stride) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  constexpr int depth = 16 / static_cast<int>(sizeof(T));
  const auto column = [&](int first) {  // and each `depth`th after it
    return loops::load_groups<lanes>(p + first * column_stride, depth * column_stride);
  };
  using loops::shuffle_groups;
  if constexpr (depth == 4) {
    const auto a = column(0), b = column(1), c = column(2), d = column(3);
    const auto ab01 = shuffle_groups<0, 4, 1, 5>(a, b), ab23 = shuffle_groups<2, 6, 3, 7>(a, b);
    const auto cd01 = shuffle_groups<0, 4, 1, 5>(c, d), cd23 = shuffle_groups<2, 6, 3, 7>(c, d);
    loops::store(out, shuffle_groups<0, 1, 4, 5>(ab01, cd01));
    loops::store(out + out_stride, shuffle_groups<2, 3, 6, 7>(ab01, cd01));
    loops::store(out + 2 * out_stride, shuffle_groups<0, 1, 4, 5>(ab23, cd23));
    loops::store(out + 3 * out_stride, shuffle_groups<2, 3, 6, 7>(ab23, cd23));
  } else {
    const auto a = column(0), b = column(1);
    loops::store(out, shuffle_groups<0, 2>(a, b));
    loops::store(out + out_stride, shuffle_groups<1, 3>(a, b));
  }
}

// One register of columns, k deep, each column's values side by side. What lies `ahead` elements
// further on is fetched meanwhile: the columns that are packed next.
template <class T>
void transpose_columns(std::int64_t k, const T* p, std::int64_t column_stride, T* out,
                       std::int64_t out_stride, std::int64_t ahead) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  constexpr int depth = 16 / static_cast<int>(sizeof(T));
  constexpr int line = 64 / static_cast<int>(sizeof(T));
  std::int64_t row = 0;
  for (; row + depth <= k; row += depth) {
    if (row % line == 0) {
      for (int column = 0; column < lanes; ++column) {
        __builtin_prefetch(p + row + column * column_stride + ahead, 0, 2);
      }
    }
    transpose_strip(p + row, column_stride, out + row * out_stride, out_stride);
  }
  for (; row < k; ++row) {
    for (int column = 0; column < lanes; ++column) {
      out[row * out_stride + column] = p[row + column * column_stride];
    }
  }
}

// The same for another type: it is widened some columns at a time, then transposed.
template <class T, class S>
void transpose_columns(std::int64_t k, const S* p, std::int64_t column_stride, T* out,
                       std::int64_t out_stride, std::int64_t) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  constexpr int deep = 32;
  T wide[static_cast<std::size_t>(lanes * deep)];
  for (std::int64_t row = 0; row < k; row += deep) {
    const std::int64_t rest = k - row < deep ? k - row : deep;
    for (int column = 0; column < lanes; ++column) {
      const S* from = p + row + column * column_stride;
      for (std::int64_t i = 0; i < rest; ++i) wide[column * deep + i] = static_cast<T>(from[i]);
    }
    transpose_columns<T>(rest, wide, deep, out + row * out_stride, out_stride, 0);
  }
}

}  // namespace detail

/// Copies `rhs[k, columns]` to a panel, `tile_columns<T>` from row to row; a register that
/// `columns` do not fill is filled with 0.
///
/// Pre: columns <= tile_columns<T>; `out` has room for k * tile_columns<T> values.
/// Cost: 2 loads and 2 stores a row if `column_stride` is 1; 0.2 cycles an element if `k_stride` is
/// (4 x 4 transposes in registers); else a scalar copy.
template <class T, class S>
[[gnu::noinline]] void pack_rhs(std::int64_t k, int columns, const S* rhs, std::int64_t k_stride,
                                std::int64_t column_stride, T* out) noexcept {
  constexpr int width = tile_columns<T>;
  constexpr int lanes = loops::native_lanes<T>;
  if (k == 0) return;  // and `rhs` may be null
  if (column_stride == 1) {
    const bool two = columns > lanes;
    const int first = two ? lanes : columns, second = columns - first;
    for (std::int64_t row = 0; row < k; ++row, rhs += k_stride, out += width) {
      __builtin_prefetch(rhs + width, 0, 2);  // of the next panel, some ten thousand cycles ahead
      __builtin_prefetch(rhs + width + lanes, 0, 2);
      loops::store(out, detail::load_as<lanes, T>(rhs, first));
      if (two) loops::store(out + lanes, detail::load_as<lanes, T>(rhs + lanes, second));
    }
    return;
  }
  int done = 0;
  if (k_stride == 1) {
    for (; done + lanes <= columns; done += lanes) {
      detail::transpose_columns(k, rhs + done * column_stride, column_stride, out + done, width,
                                width * column_stride);
    }
  }
  for (std::int64_t row = 0; row < k && done < columns; ++row) {
    T* to = out + row * width;
    for (int column = done; column < columns; column += lanes) {
      loops::store(to + column, loops::splat<lanes>(T{}));
    }
    for (int column = done; column < columns; ++column) {
      to[column] = static_cast<T>(rhs[row * k_stride + column * column_stride]);
    }
  }
}

/// Elements that `pack_lhs` may write.
template <class T>
[[nodiscard]] constexpr std::int64_t packed_lhs_size(std::int64_t rows, std::int64_t k) noexcept {
  constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
  const std::int64_t tiles = (rows + tile_rows - 1) / tile_rows;
  return tiles * packed_lhs_stride<T> * ((k + line - 1) / line * line);
}

namespace detail {

// Rows that are not side by side in memory: one tile, each row along k.
template <class T, class S>
void pack_rows(std::int64_t rows, std::int64_t k, const S* lhs, std::int64_t row_stride,
               std::int64_t k_stride, T* out) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  constexpr int width = packed_lhs_stride<T>;
  int done = 0;
  if (k_stride == 1) {  // whole registers, the rows of the next tile among them
    for (; done + lanes <= rows && done < tile_rows; done += lanes) {
      transpose_columns(k, lhs + done * row_stride, row_stride, out + done, width,
                        tile_rows * row_stride);
    }
  }
  for (int row = done; row < rows && row < tile_rows; ++row) {
    const S* from = lhs + row * row_stride;
    for (std::int64_t i = 0; i < k; ++i) out[i * width + row] = static_cast<T>(from[i * k_stride]);
  }
}

// Rows side by side in memory: some steps of k at a time, each a stream over all tiles.
template <class T, class S>
void pack_columns(std::int64_t rows, std::int64_t k, const S* lhs, std::int64_t k_stride,
                  T* out) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  constexpr int width = packed_lhs_stride<T>;
  constexpr std::int64_t streams = 8;
  for (std::int64_t begin = 0; begin < k; begin += streams) {
    const std::int64_t end = begin + streams < k ? begin + streams : k;
    T* panel = out;
    for (std::int64_t row = 0; row < rows; row += tile_rows, panel += width * k) {
      for (std::int64_t i = begin; i < end; ++i) {
        const S* from = lhs + row + i * k_stride;
        __builtin_prefetch(from + streams * k_stride, 0, 2);
        // whole registers, into the next tile's rows, which are packed again
        for (int r = 0; r < width && r < rows - row; r += lanes) {
          loops::store(panel + i * width + r, load_as<lanes, T>(from + r, rows - row - r));
        }
      }
    }
  }
}

}  // namespace detail

/// Copies `lhs[rows, k]` to panels, a tile's rows side by side, `packed_lhs_stride<T>` from one
/// step of k to the next.
///
/// Pre: `out` has room for packed_lhs_size<T>(rows, k) values.
/// Cost: 0.3 cycles an element from the cache.
template <class T, class S>
[[nodiscard, gnu::noinline]] lhs_block<T> pack_lhs(std::int64_t rows, std::int64_t k, const S* lhs,
                                                   std::int64_t row_stride, std::int64_t k_stride,
                                                   T* out) noexcept {
  constexpr int width = packed_lhs_stride<T>;
  const lhs_block<T> packed{out, 1, width, width * k};
  if (k == 0) return packed;  // and `lhs` may be null
  if (row_stride == 1) {
    detail::pack_columns(rows, k, lhs, k_stride, out);
    return packed;
  }
  for (std::int64_t row = 0; row < rows; row += tile_rows) {
    detail::pack_rows(rows - row, k, lhs + row * row_stride, row_stride, k_stride, out);
    out += width * k;
  }
  return packed;
}

}  // namespace atled::kernels
