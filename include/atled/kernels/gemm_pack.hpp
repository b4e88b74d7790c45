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

// The first `count` of N values as T, 0 in the lanes behind; bf16 in memory is f32 in registers.
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

// One register of columns, k deep, each column's values side by side.
template <class T>
void transpose_columns(std::int64_t k, const T* p, std::int64_t column_stride, T* out,
                       std::int64_t out_stride) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  constexpr int depth = 16 / static_cast<int>(sizeof(T));
  std::int64_t row = 0;
  for (; row + depth <= k; row += depth) {
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
                       std::int64_t out_stride) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  constexpr int deep = 32;
  T wide[static_cast<std::size_t>(lanes * deep)];
  for (std::int64_t row = 0; row < k; row += deep) {
    const std::int64_t rest = k - row < deep ? k - row : deep;
    for (int column = 0; column < lanes; ++column) {
      const S* from = p + row + column * column_stride;
      for (std::int64_t i = 0; i < rest; ++i) wide[column * deep + i] = static_cast<T>(from[i]);
    }
    transpose_columns<T>(rest, wide, deep, out + row * out_stride, out_stride);
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
      loops::store(out, detail::load_as<lanes, T>(rhs, first));
      if (two) loops::store(out + lanes, detail::load_as<lanes, T>(rhs + lanes, second));
    }
    return;
  }
  int done = 0;
  if (k_stride == 1) {
    for (; done + lanes <= columns; done += lanes) {
      detail::transpose_columns(k, rhs + done * column_stride, column_stride, out + done, width);
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

// Rows of a packed tile whose rows lie side by side: whole registers.
template <class T>
inline constexpr int packed_tile_rows =
    (tile_rows + loops::native_lanes<T> - 1) / loops::native_lanes<T>* loops::native_lanes<T>;

/// Elements that `pack_lhs` may write.
template <class T>
[[nodiscard]] constexpr std::int64_t packed_lhs_size(std::int64_t rows, std::int64_t k) noexcept {
  constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
  const std::int64_t tiles = (rows + tile_rows - 1) / tile_rows;
  return tiles * packed_tile_rows<T> * ((k + line - 1) / line + 1) * line;
}

/// Copies `lhs[rows, k]` so that a tile reads it from neighbouring cache lines and pages.
///
/// Rows stay rows if `k_stride` is 1 (an odd number of cache lines apart: no two of a tile meet in
/// one set); else each tile becomes a panel with its rows side by side, k by k. Nothing is
/// transposed either way, because the tile takes both.
template <class T, class S>
[[nodiscard, gnu::noinline]] lhs_block<T> pack_lhs(std::int64_t rows, std::int64_t k, const S* lhs,
                                                   std::int64_t row_stride, std::int64_t k_stride,
                                                   T* out) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  if (k == 0) return {out, 0, 0, 0};  // and `lhs` may be null
  if (k_stride == 1) {
    constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
    const std::int64_t stride = (((k + line - 1) / line) | 1) * line;
    for (std::int64_t row = 0; row < rows; ++row) {
      const S* from = lhs + row * row_stride;
      T* to = out + row * stride;
      for (std::int64_t i = 0; i < k; i += lanes) {
        loops::store(to + i, detail::load_as<lanes, T>(from + i, k - i));
      }
    }
    return {out, stride, 1, tile_rows * stride};
  }
  constexpr int width = packed_tile_rows<T>;
  const std::int64_t panel = width * k;
  for (std::int64_t i = 0; i < k; ++i) {
    const S* from = lhs + i * k_stride;
    T* to = out + i * width;
    for (std::int64_t row = 0; row < rows; row += tile_rows, to += panel) {
      const std::int64_t rest = rows - row;
      if (row_stride == 1) {  // whole registers, into the next tile's rows, which are packed again
        for (int r = 0; r < width && r < rest; r += lanes) {
          loops::store(to + r, detail::load_as<lanes, T>(from + row + r, rest - r));
        }
      } else {
        for (int r = 0; r < tile_rows && r < rest; ++r) {
          to[r] = static_cast<T>(from[(row + r) * row_stride]);
        }
      }
    }
  }
  return {out, 1, width, panel};
}

}  // namespace atled::kernels
