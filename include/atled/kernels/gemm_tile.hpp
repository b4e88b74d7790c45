// atled/kernels/gemm_tile.hpp: the register tile: the one place where products are computed.
// Reads: loops/simd.hpp. Next: kernels/gemm_pack.hpp, kernels/gemm.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/config.hpp"
#include "atled/loops/simd.hpp"

#include <cstddef>
#include <cstdint>

namespace atled::kernels {

/// Rows of a full tile: as many accumulators as leave room for two vectors of `rhs` and one value
/// of `lhs` in all its lanes (and a product, where there is no fused multiply-add).
#if defined(__AVX512F__)
inline constexpr int tile_rows = 14;  // 28 of 32 registers
#elif defined(__AVX__)
inline constexpr int tile_rows = 6;  // 12 of 16
#elif defined(__aarch64__)
inline constexpr int tile_rows = 12;  // 24 of 32
#else
inline constexpr int tile_rows = 4;  // 8 of 16
#endif

/// Columns of a full tile: two registers.
template <class T>
inline constexpr int tile_columns = 2 * loops::native_lanes<T>;

/// Where one tile reads and writes. Strides are in elements; `lhs` may lie either way, or any way.
///
/// - lhs: element (row, k) at `lhs[row * lhs_row_stride + k * lhs_k_stride]`.
/// - rhs: element (k, column) at `rhs[k * rhs_k_stride + column]`.
/// - sums: what is added to the products before they are stored, or null; it may be `out`.
template <class T>
struct tile_operands {
  const T* lhs;
  std::int64_t lhs_row_stride, lhs_k_stride;
  const T* rhs;
  std::int64_t rhs_k_stride;
  const T* sums;
  std::int64_t sums_row_stride;
  T* out;
  std::int64_t out_row_stride;
};

namespace detail {

// Rows x Vectors accumulators stay in registers for the whole loop over k; each step loads
// `Vectors` registers of rhs and broadcasts one element of each lhs row. All strides are variables:
// the same code reads packed panels and the operands themselves, and costs the same.
template <int Rows, int Vectors, class T>
[[gnu::noinline]] void tile(std::int64_t k, const tile_operands<T>& t) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  using vec = loops::vec<T, lanes>;
  const T* lhs = t.lhs;
  const T* rhs = t.rhs;
  const std::int64_t lhs_row_stride = t.lhs_row_stride;
  const std::int64_t lhs_k_stride = t.lhs_k_stride;
  const std::int64_t rhs_k_stride = t.rhs_k_stride;

  vec sums[std::size_t{Rows}][std::size_t{Vectors}];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sums[r][v] = loops::splat<lanes>(T{});
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {  // needed after the loop: on its way meanwhile
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      __builtin_prefetch(t.out + r * t.out_row_stride + v * lanes, 1);
    }
  }
  for (; k > 0; --k) {
    vec right[std::size_t{Vectors}];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) right[v] = loops::load<lanes>(rhs + v * lanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const vec left = loops::splat<lanes>(lhs[r * lhs_row_stride]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sums[r][v] = loops::fma(left, right[v], sums[r][v]);
    }
    lhs += lhs_k_stride;
    rhs += rhs_k_stride;
    asm("" : "+r"(lhs));  // one pointer and a few multiples of the stride, not a pointer a row
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    T* out = t.out + r * t.out_row_stride;
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) {
      vec sum = sums[r][v];
      if (t.sums != nullptr) {
        sum = loops::load<lanes>(t.sums + r * t.sums_row_stride + v * lanes) + sum;
      }
      loops::store(out + v * lanes, sum);
    }
  }
}

template <int Vectors, class T>
void tile_any_rows(int rows, std::int64_t k, tile_operands<T> t) noexcept {
  const auto advance = [&](int done) {
    t.lhs += done * t.lhs_row_stride;
    if (t.sums != nullptr) t.sums += done * t.sums_row_stride;
    t.out += done * t.out_row_stride;
    rows -= done;
  };
  if constexpr (tile_rows > 8) {
    if (rows >= 8) tile<8, Vectors>(k, t), advance(8);
  }
  if constexpr (tile_rows > 4) {
    if (rows >= 4) tile<4, Vectors>(k, t), advance(4);
  }
  if (rows >= 2) tile<2, Vectors>(k, t), advance(2);
  if (rows >= 1) tile<1, Vectors>(k, t);
}

}  // namespace detail

/// out[rows, columns] = sums + lhs[rows, k] * rhs[k, columns], one tile.
///
/// `columns` is rounded up to whole registers: `rhs` is read, and `sums` and `out` are accessed, as
/// far as that. Each element is the sum over k in ascending order by fused multiply-adds from 0, to
/// which `sums` is added last: its bits do not depend on the size of the tile or the place in it.
///
/// Pre: 1 <= rows <= tile_rows, 1 <= columns <= tile_columns<T>, k >= 0.
/// Cost: rows * columns * k / lanes multiply-adds; at 14 x 32 two of them a cycle, from L2 too.
template <class T>
void multiply_tile(int rows, int columns, std::int64_t k, const tile_operands<T>& t) noexcept {
  if (columns > loops::native_lanes<T>) {
    if (rows == tile_rows) return detail::tile<tile_rows, 2>(k, t);
    return detail::tile_any_rows<2>(rows, k, t);
  }
  if (rows == tile_rows) return detail::tile<tile_rows, 1>(k, t);
  detail::tile_any_rows<1>(rows, k, t);
}

}  // namespace atled::kernels
