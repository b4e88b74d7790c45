// atled/kernels/gemm.hpp: the matrix product: any strides, batches, threads, and an epilogue.
// Reads: kernels/gemm_plan.hpp (cuts), gemm_tile.hpp (computes), gemm_pack.hpp (copies).
// SPDX-License-Identifier: MIT
//
// The way of a product, from the outside in:
//
//   gemm         cuts batch x rows x columns into items; each item is one thread's, none waits
//   multiply     one item: chunks of k, then panels of columns, then tiles of rows
//   pack_lhs     rows x chunk, once an item and chunk       not if lhs can be read where it is
//   pack_rhs     chunk x panel, just before it is used      not if rhs can be read where it is
//   tile         14 x 32 sums in registers                  (AVX-512, f32)
//   epilogue     bias, activation, store ... on a row of a tile that is still in the L1 cache
//
// The bits of an element depend on its row of lhs, its column of rhs and K alone: chunks are cut by
// K, within a chunk k ascends, and the sums of chunks are added in order. Neither the number of
// threads, nor M, N, batch, strides or packing has a say.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#ifdef _OPENMP
#  include <atomic>
#endif

#include "atled/kernels/gemm_pack.hpp"
#include "atled/kernels/gemm_plan.hpp"
#include "atled/kernels/gemm_tile.hpp"

namespace atled::kernels {

/// Consumes `count` finished sums of one row, from `column` on; called once for each element.
template <class E, class Acc>
concept gemm_row_epilogue = requires(const E& e, const gemm_batch_index& batch, std::int64_t row,
                                     std::int64_t column, int count, const Acc* sums) {
  e(batch, row, column, count, sums);
};

/// An epilogue that takes the rows of a tile at once, `sums_row_stride` apart: one call for some
/// 400 elements, for those that have something to prepare.
template <class E, class Acc>
concept gemm_tile_epilogue = requires(const E& e, const gemm_batch_index& batch, std::int64_t row,
                                      int rows, std::int64_t column, int count, const Acc* sums,
                                      std::int64_t sums_row_stride) {
  e.tile(batch, row, rows, column, count, sums, sums_row_stride);
};

template <class E, class Acc>
concept gemm_epilogue = gemm_row_epilogue<E, Acc> || gemm_tile_epilogue<E, Acc>;

/// An epilogue that only stores: the tile may write to its memory directly.
template <class E, class Acc>
concept gemm_direct_epilogue = requires(const E& e, const gemm_batch_index& batch, std::int64_t row,
                                        std::int64_t column) {
  { e.address(batch, row, column) } -> std::same_as<Acc*>;
  { e.row_stride } -> std::convertible_to<std::int64_t>;
};

/// An epilogue that is told of each tile before it is computed, so that it can fetch what it reads.
template <class E>
concept gemm_fetching_epilogue = requires(const E& e, const gemm_batch_index& batch,
                                          std::int64_t row, int rows, std::int64_t column,
                                          int count) {
  e.prefetch(batch, row, rows, column, count);
};

/// Stores the product as `T`, columns side by side. Units: strides in elements.
template <class T>
struct store_epilogue {
  T* out;
  std::int64_t row_stride;
  std::array<std::int64_t, 3> batch_strides{};

  [[nodiscard]] T* address(const gemm_batch_index& batch, std::int64_t row,
                           std::int64_t column) const noexcept {
    return out + batch[0] * batch_strides[0] + batch[1] * batch_strides[1] +
           batch[2] * batch_strides[2] + row * row_stride + column;
  }

  template <class Acc>
  void operator()(const gemm_batch_index& batch, std::int64_t row, std::int64_t column, int count,
                  const Acc* sums) const noexcept {
    T* to = address(batch, row, column);
    for (int i = 0; i < count; ++i) to[i] = static_cast<T>(sums[i]);
  }
};

namespace detail {

[[nodiscard]] constexpr std::int64_t offset(const gemm_operand& o, const gemm_batch_index& batch,
                                            std::int64_t row, std::int64_t column) noexcept {
  return batch[0] * o.batch_strides[0] + batch[1] * o.batch_strides[1] +
         batch[2] * o.batch_strides[2] + row * o.row_stride + column * o.column_stride;
}

template <class T>
[[nodiscard]] constexpr std::int64_t stride_bytes(std::int64_t stride) noexcept {
  return (stride < 0 ? -stride : stride) * static_cast<std::int64_t>(sizeof(T));
}

// The block of lhs that `columns` columns need: read where it is if they are few, unless each step
// of k is in another page.
template <class Acc, class L>
[[nodiscard]] lhs_block<Acc> left_block(const L* lhs, const gemm_operand& o, std::int64_t rows,
                                        std::int64_t k, std::int64_t columns, Acc* packed) {
  if constexpr (std::is_same_v<Acc, L>) {
    const bool is_near = o.column_stride == 1 || stride_bytes<Acc>(o.column_stride) <= 256;
    if (columns <= tile_columns<Acc> || (is_near && columns <= 2 * tile_columns<Acc>)) {
      return {lhs, o.row_stride, o.column_stride, tile_rows * o.row_stride};
    }
  }
  return pack_lhs(rows, k, lhs, o.row_stride, o.column_stride, packed);
}

// The panel of rhs that `rows` rows need; likewise, but its columns must be neighbours.
template <class Acc>
struct rhs_panel {
  const Acc* data;
  std::int64_t k_stride;
};
template <class Acc, class R>
[[nodiscard]] rhs_panel<Acc> right_panel(const R* rhs, const gemm_operand& o, std::int64_t k,
                                         int columns, std::int64_t rows, Acc* packed) {
  if constexpr (std::is_same_v<Acc, R>) {
    const bool whole = o.column_stride == 1 && columns % loops::native_lanes<Acc> == 0;
    const std::int64_t bytes = stride_bytes<Acc>(o.row_stride);
    const bool lies_well = bytes < 4096 && bytes % 2048 != 0;  // in many sets, a page for some
    if (whole && (rows <= 4 * tile_rows || (rows <= 12 * tile_rows && lies_well))) {
      return {rhs, o.row_stride};
    }
  }
  pack_rhs(k, columns, rhs, o.row_stride, o.column_stride, packed);
  return {packed, tile_columns<Acc>};
}

// Fetches a tile's rows of the steps [begin, end) of k: they are packed later, when the time that
// memory takes can no longer be hidden.
template <class L>
void fetch_rows(const L* lhs, const gemm_operand& o, int rows, std::int64_t begin,
                std::int64_t end) noexcept {
  constexpr std::int64_t line = 64 / sizeof(L);
  if (o.column_stride == 1) {
    for (int row = 0; row < rows; ++row) {
      for (std::int64_t k = begin; k < end; k += line) {
        __builtin_prefetch(lhs + row * o.row_stride + k, 0, 2);
      }
    }
  } else if (o.row_stride == 1) {
    for (std::int64_t k = begin; k < end; ++k) __builtin_prefetch(lhs + k * o.column_stride, 0, 2);
  }
}

template <class Acc, class L, class R>
struct gemm_problem {
  gemm_shape shape;
  const L* lhs;
  const R* rhs;
  gemm_plan plan;
};

// One item. The sums of all chunks but the last wait in `partial`, tile after tile.
template <class Acc, class L, class R, class Epilogue>
[[gnu::noinline]] void multiply(const gemm_problem<Acc, L, R>& problem, std::int64_t index,
                                const Epilogue& epilogue, std::byte* workspace) {
  constexpr std::int64_t width = tile_columns<Acc>;
  const auto& [shape, lhs, rhs, plan] = problem;
  const gemm_item item = item_at(shape, plan, index);
  const gemm_memory<Acc> memory(plan);
  Acc* const packed_lhs = reinterpret_cast<Acc*>(workspace);
  Acc* const packed_rhs = packed_lhs + memory.lhs;
  alignas(64) Acc finished[tile_rows * static_cast<std::size_t>(width)];

  for (std::int64_t chunk = 0; chunk < plan.num_chunks; ++chunk) {
    const std::int64_t k_begin = chunk * plan.chunk;
    const std::int64_t k = std::min(shape.k - k_begin, plan.chunk);
    const bool last = chunk + 1 == plan.num_chunks;
    const lhs_block<Acc> left = left_block(lhs + offset(shape.lhs, item.batch, item.row, k_begin),
                                           shape.lhs, item.rows, k, item.columns, packed_lhs);
    Acc* partial = packed_rhs + memory.rhs;
    for (std::int64_t column = item.column; column < item.column + item.columns; column += width) {
      const int columns = static_cast<int>(std::min(width, item.column + item.columns - column));
      const rhs_panel<Acc> right = right_panel(rhs + offset(shape.rhs, item.batch, k_begin, column),
                                               shape.rhs, k, columns, item.rows, packed_rhs);
      tile_operands<Acc> t{left.data, left.row_stride, left.k_stride, right.data, right.k_stride,
                           nullptr,   width,           nullptr,       width};
      for (std::int64_t tile = 0; tile < item.rows; tile += tile_rows) {
        const std::int64_t row = item.row + tile;
        const int rows = static_cast<int>(std::min<std::int64_t>(tile_rows, item.rows - tile));
        bool gives = last;
        t.sums = chunk > 0 ? partial : nullptr;
        t.out = last ? finished : partial;
        if constexpr (gemm_direct_epilogue<Epilogue, Acc>) {
          if (last && columns % loops::native_lanes<Acc> == 0) {
            t.out = epilogue.address(item.batch, row, column);
            t.out_row_stride = epilogue.row_stride;
            gives = false;
          }
        }
        if constexpr (gemm_fetching_epilogue<Epilogue>) {
          if (gives) epilogue.prefetch(item.batch, row, rows, column, columns);
        }
        const gemm_span needed = span_of_tile(shape, row, rows, column, columns);
        const std::int64_t first = std::max<std::int64_t>(needed.begin - k_begin, 0);
        const std::int64_t steps =
            std::max<std::int64_t>(std::min<std::int64_t>(needed.end - k_begin, k) - first, 0);
        tile_operands<Acc> part = t;
        part.lhs += first * left.k_stride;
        part.rhs += first * right.k_stride;
        if (!last) {  // this panel's share of the next chunk
          const std::int64_t next = std::min(shape.k - k_begin - k, plan.chunk);
          const std::int64_t done = column - item.column;
          fetch_rows(lhs + offset(shape.lhs, item.batch, row, k_begin + k), shape.lhs, rows,
                     next * done / item.columns,
                     next * std::min(done + width, item.columns) / item.columns);
        }
        multiply_tile(rows, columns, steps, part);
        if constexpr (gemm_tile_epilogue<Epilogue, Acc>) {
          if (gives) epilogue.tile(item.batch, row, rows, column, columns, finished, width);
        } else {
          for (int r = 0; gives && r < rows; ++r) {
            epilogue(item.batch, row + r, column, columns, finished + r * width);
          }
        }
        t.lhs += left.tile_stride;
        if (plan.num_chunks > 1) partial += tile_rows * width;
      }
    }
  }
}

}  // namespace detail

/// Bytes of workspace that `gemm` needs with up to `max_threads` threads, whatever its operands'
/// types.
template <class Acc>
[[nodiscard]] constexpr std::int64_t gemm_workspace_bytes(const gemm_shape& shape,
                                                          int max_threads) noexcept {
  const auto plan = detail::plan_gemm<Acc>(shape, 1);
  return detail::gemm_memory<Acc>(plan).bytes() * std::max(1, max_threads);
}

/// Multiplies each lhs[m, k] of a batch with its rhs[k, n] and gives the products to `epilogue`.
///
///   epilogue(batch, row, column, count, sums)    sums[0, count) of one row, at most a tile's width
///   epilogue.tile(batch, row, rows, column, count, sums, stride)    if it has that: all of a tile
///
/// Each element is given exactly once, by one thread; several threads call at the same time.
/// Products are summed as `Acc`; operands of another type (bf16, f16) are widened while they are
/// packed. With k = 0 the sums are 0.
///
/// Pre: `workspace` is aligned to 64 bytes and has gemm_workspace_bytes<Acc>(shape, threads) bytes.
/// Cost: 2*m*n*k flops for each batch item, at about nine tenths of what the FMA units can do.
template <class Acc, class L, class R, class Epilogue>
  requires gemm_epilogue<Epilogue, Acc>
void gemm(const gemm_shape& shape, const L* lhs, const R* rhs, const Epilogue& epilogue,
          std::byte* workspace, [[maybe_unused]] int threads = 1) {
  const std::int64_t batches = shape.batch[0] * shape.batch[1] * shape.batch[2];
  if (shape.m <= 0 || shape.n <= 0 || batches <= 0) return;
#ifdef _OPENMP
  threads = std::max(1, threads);
  constexpr double worth_a_thread = 1 << 18;  // multiply-adds: some microseconds
  const double work = static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                      static_cast<double>(shape.k) * static_cast<double>(batches);
  if (work < worth_a_thread * threads) threads = 1 + static_cast<int>(work / worth_a_thread);
#else
  threads = 1;
#endif
  detail::gemm_problem<Acc, L, R> problem{shape, lhs, rhs, detail::plan_gemm<Acc>(shape, threads)};
  if (shape.k <= 0) problem.shape.lhs = problem.shape.rhs = {};  // never step through no memory
  const std::int64_t items = batches * problem.plan.row_blocks * problem.plan.column_blocks;
#ifdef _OPENMP
  const std::int64_t bytes = detail::gemm_memory<Acc>(problem.plan).bytes();
  std::atomic<int> next_thread{0};
#  pragma omp parallel num_threads(threads) if (threads > 1)
  {
    std::byte* const mine = workspace + next_thread.fetch_add(1) * bytes;
#  pragma omp for schedule(dynamic)
    for (std::int64_t item = 0; item < items; ++item) {
      detail::multiply(problem, item, epilogue, mine);
    }
  }
#else
  for (std::int64_t item = 0; item < items; ++item) {
    detail::multiply(problem, item, epilogue, workspace);
  }
#endif
}

}  // namespace atled::kernels
