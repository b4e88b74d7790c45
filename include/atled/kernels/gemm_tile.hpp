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

/// Elements from one step of k to the next where a packed lhs has a tile's rows side by side: whole
/// registers.
template <class T>
inline constexpr int packed_lhs_stride =
    (tile_rows + loops::native_lanes<T> - 1) / loops::native_lanes<T>* loops::native_lanes<T>;

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

// One step of k: `Vectors` registers of rhs, and one element of each lhs row in all lanes. Every
// other row's broadcast is part of its multiply-adds: fewer instructions, yet no more loads than
// two a cycle.
template <int Rows, int Vectors, class T, int N>
ATLED_INLINE void tile_step(const T* lhs, std::int64_t lhs_row_stride, const T* rhs,
                            loops::vec<T, N> (&sums)[std::size_t{Rows}][std::size_t{Vectors}]) {
  loops::vec<T, N> right[std::size_t{Vectors}];
#pragma GCC unroll 2
  for (int v = 0; v < Vectors; ++v) right[v] = loops::load<N>(rhs + v * N);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    const T* left = lhs + r * lhs_row_stride;
    if (r % 2 == 1) {
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sums[r][v] = loops::fma_scalar(left, right[v], sums[r][v]);
    } else {
      const auto all = loops::splat<N>(*left);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sums[r][v] = loops::fma(all, right[v], sums[r][v]);
    }
  }
}

// Rows x Vectors accumulators stay in registers for the whole loop over k. With packed operands
// all addresses are constants beside two pointers, and four steps share the loop's own work.
template <int Rows, int Vectors, bool Packed, class T>
[[gnu::noinline]] void tile(std::int64_t k, const tile_operands<T>& t) noexcept {
  constexpr int lanes = loops::native_lanes<T>;
  using vec = loops::vec<T, lanes>;
  const T* lhs = t.lhs;
  const T* rhs = t.rhs;

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
  if constexpr (Packed) {
    constexpr int unroll = 4;
    for (; k >= unroll; k -= unroll) {
#pragma GCC unroll 4
      for (int u = 0; u < unroll; ++u) {
        tile_step<Rows, Vectors>(lhs + u * packed_lhs_stride<T>, 1, rhs + u * tile_columns<T>,
                                 sums);
      }
      lhs += unroll * packed_lhs_stride<T>;
      rhs += unroll * tile_columns<T>;
    }
  }
  const std::int64_t lhs_row_stride = Packed ? 1 : t.lhs_row_stride;
  const std::int64_t lhs_k_stride = Packed ? packed_lhs_stride<T> : t.lhs_k_stride;
  const std::int64_t rhs_k_stride = Packed ? tile_columns<T> : t.rhs_k_stride;
  for (; k > 0; --k) {
    tile_step<Rows, Vectors>(lhs, lhs_row_stride, rhs, sums);
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

template <int Vectors, bool Packed, class T>
void tile_any_rows(int rows, std::int64_t k, tile_operands<T> t) noexcept {
  const auto advance = [&](int done) {
    t.lhs += done * t.lhs_row_stride;
    if (t.sums != nullptr) t.sums += done * t.sums_row_stride;
    t.out += done * t.out_row_stride;
    rows -= done;
  };
  if constexpr (tile_rows > 8) {
    if (rows >= 8) tile<8, Vectors, Packed>(k, t), advance(8);
  }
  if constexpr (tile_rows > 4) {
    if (rows >= 4) tile<4, Vectors, Packed>(k, t), advance(4);
  }
  if (rows >= 2) tile<2, Vectors, Packed>(k, t), advance(2);
  if (rows >= 1) tile<1, Vectors, Packed>(k, t);
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
  const bool packed = t.lhs_row_stride == 1 && t.lhs_k_stride == packed_lhs_stride<T> &&
                      t.rhs_k_stride == tile_columns<T>;
  if (columns > loops::native_lanes<T>) {
    if (packed && rows == tile_rows) return detail::tile<tile_rows, 2, true>(k, t);
    if (packed) return detail::tile_any_rows<2, true>(rows, k, t);
    if (rows == tile_rows) return detail::tile<tile_rows, 2, false>(k, t);
    return detail::tile_any_rows<2, false>(rows, k, t);
  }
  if (rows == tile_rows) return detail::tile<tile_rows, 1, false>(k, t);
  detail::tile_any_rows<1, false>(rows, k, t);
}

}  // namespace atled::kernels
