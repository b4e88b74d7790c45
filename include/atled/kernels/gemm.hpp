// atled/kernels/gemm.hpp: the matrix product: any strides, batches, threads, and an epilogue.
// Reads: kernels/gemm_tile.hpp (computes), kernels/gemm_pack.hpp (copies). Next:
// runtime/executor.hpp. SPDX-License-Identifier: MIT
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
#include "atled/kernels/gemm_tile.hpp"

namespace atled::kernels {

/// A batch of matrices in memory. Units: strides in elements; 0 repeats, negative runs backwards.
struct gemm_operand {
  std::int64_t row_stride, column_stride;
  std::array<std::int64_t, 3> batch_strides;
};

/// batch x (lhs[m, k] times rhs[k, n]); unused batch dimensions are 1.
struct gemm_shape {
  std::int64_t m, n, k;
  std::array<std::int64_t, 3> batch;
  gemm_operand lhs, rhs;
};

using gemm_batch_index = std::array<std::int64_t, 3>;

/// Consumes `count` finished sums of one row, from `column` on; called once for each element.
template <class E, class Acc>
concept gemm_epilogue = requires(const E& e, const gemm_batch_index& batch, std::int64_t row,
                                 std::int64_t column, int count, const Acc* sums) {
  e(batch, row, column, count, sums);
};

/// An epilogue that only stores: the tile may write to its memory directly.
template <class E, class Acc>
concept gemm_direct_epilogue = requires(const E& e, const gemm_batch_index& batch, std::int64_t row,
                                        std::int64_t column) {
  { e.address(batch, row, column) } -> std::same_as<Acc*>;
  { e.row_stride } -> std::convertible_to<std::int64_t>;
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

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}

// The longest chunk of k, and the most rows and columns of an item: what tiles read again and
// again, a block of lhs and the sums that wait for the next chunk, is to stay in the L2 cache.
inline constexpr std::int64_t longest_chunk = 512, most_rows = 256, most_columns_in_chunks = 512;

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
  // More items for more threads: narrower ones first, because lhs is the cheaper to pack twice.
  const std::int64_t wanted = threads > 1 ? 4 * std::int64_t{threads} : 1;
  const auto items = [&] { return batches * p.row_blocks * p.column_blocks; };
  if (items() < wanted) {
    p.column_blocks = std::clamp(ceil_div(wanted, batches * p.row_blocks), p.column_blocks,
                                 std::max(p.column_blocks, panels / 4));
  }
  if (items() < wanted) {
    p.row_blocks = std::clamp(ceil_div(wanted, batches * p.column_blocks), p.row_blocks,
                              std::max(p.row_blocks, row_tiles / 4));
  }
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

template <class Acc, class L, class R>
struct gemm_problem {
  gemm_shape shape;
  const L* lhs;
  const R* rhs;
  gemm_plan plan;
};

// Whether k steps (or rows) this far apart meet in few sets of a cache and need many pages.
template <class T>
[[nodiscard]] constexpr bool is_scattered(std::int64_t stride) noexcept {
  const std::int64_t bytes = (stride < 0 ? -stride : stride) * static_cast<std::int64_t>(sizeof(T));
  return bytes > 4096 || (bytes % 2048 == 0 && bytes > 0);
}

// Whether tiles read lhs where it is: if it is read for few columns, or lies well.
template <class Acc, class L>
[[nodiscard]] constexpr bool reads_lhs_directly(const gemm_operand& lhs,
                                                std::int64_t columns) noexcept {
  if (!std::is_same_v<Acc, L>) return false;
  if (columns <= 2 * tile_columns<Acc>) return true;
  if (lhs.column_stride == 1) return !is_scattered<Acc>(lhs.row_stride);
  return lhs.row_stride == 1 && !is_scattered<Acc>(lhs.column_stride);
}

// The same for rhs, whose columns must be neighbours.
template <class Acc, class R>
[[nodiscard]] constexpr bool reads_rhs_directly(const gemm_operand& rhs,
                                                std::int64_t rows) noexcept {
  if (!std::is_same_v<Acc, R> || rhs.column_stride != 1) return false;
  return rows <= 4 * tile_rows || (rows <= 12 * tile_rows && !is_scattered<Acc>(rhs.row_stride));
}

// One item: rows [row_begin, row_end) and columns [column_begin, column_end) of one matrix.
template <class Acc, class L, class R, class Epilogue>
[[gnu::noinline]] void multiply(const gemm_problem<Acc, L, R>& problem, std::int64_t item,
                                const Epilogue& epilogue, std::byte* workspace) {
  constexpr std::int64_t width = tile_columns<Acc>;
  constexpr std::int64_t lanes = loops::native_lanes<Acc>;
  constexpr bool direct = gemm_direct_epilogue<Epilogue, Acc>;
  const gemm_shape& shape = problem.shape;
  const gemm_plan& plan = problem.plan;
  const auto take = [&](std::int64_t count) {
    const std::int64_t index = item % count;
    item /= count;
    return index;
  };
  const std::int64_t column_begin = take(plan.column_blocks) * plan.columns;
  const std::int64_t column_end = std::min(shape.n, column_begin + plan.columns);
  const std::int64_t row_begin = take(plan.row_blocks) * plan.rows;
  const std::int64_t rows = std::min(shape.m, row_begin + plan.rows) - row_begin;
  gemm_batch_index batch{};
  for (std::size_t d = 3; d-- > 0;) batch[d] = take(shape.batch[d]);

  const L* lhs = problem.lhs + row_begin * shape.lhs.row_stride;
  const R* rhs = problem.rhs;
  for (std::size_t d = 0; d < 3; ++d) {
    lhs += batch[d] * shape.lhs.batch_strides[d];
    rhs += batch[d] * shape.rhs.batch_strides[d];
  }
  const gemm_memory<Acc> memory(plan);
  Acc* const packed_lhs = reinterpret_cast<Acc*>(workspace);
  Acc* const packed_rhs = packed_lhs + memory.lhs;
  Acc* const partial = packed_rhs + memory.rhs;
  alignas(64) Acc buffer[tile_rows * static_cast<std::size_t>(width)];

  for (std::int64_t chunk = 0; chunk < plan.num_chunks; ++chunk) {
    const std::int64_t k_begin = chunk * plan.chunk;
    const std::int64_t k = std::min(shape.k - k_begin, plan.chunk);
    const bool last = chunk + 1 == plan.num_chunks;
    const L* lhs_from = lhs + k_begin * shape.lhs.column_stride;
    const lhs_block<Acc> left = [&]() -> lhs_block<Acc> {
      if constexpr (std::is_same_v<Acc, L>) {
        if (reads_lhs_directly<Acc, L>(shape.lhs, column_end - column_begin)) {
          return {lhs_from, shape.lhs.row_stride, shape.lhs.column_stride,
                  tile_rows * shape.lhs.row_stride};
        }
      }
      return pack_lhs(rows, k, lhs_from, shape.lhs.row_stride, shape.lhs.column_stride, packed_lhs);
    }();

    for (std::int64_t column = column_begin; column < column_end; column += width) {
      const int columns = static_cast<int>(std::min(width, column_end - column));
      const bool whole = columns % lanes == 0;
      const R* rhs_from = rhs + k_begin * shape.rhs.row_stride + column * shape.rhs.column_stride;
      tile_operands<Acc> t{};
      t.lhs_row_stride = left.row_stride;
      t.lhs_k_stride = left.k_stride;
      t.rhs = packed_rhs;
      t.rhs_k_stride = width;
      bool packed = true;
      if constexpr (std::is_same_v<Acc, R>) {
        if (whole && reads_rhs_directly<Acc, R>(shape.rhs, rows)) {
          t.rhs = rhs_from;
          t.rhs_k_stride = shape.rhs.row_stride;
          packed = false;
        }
      }
      if (packed) {
        pack_rhs(k, columns, rhs_from, shape.rhs.row_stride, shape.rhs.column_stride, packed_rhs);
      }
      Acc* sums = partial + (column - column_begin) * plan.tiles() * tile_rows;

      t.lhs = left.data;
      for (std::int64_t row = 0; row < rows; row += tile_rows) {
        const int count = static_cast<int>(std::min<std::int64_t>(tile_rows, rows - row));
        t.out = last ? buffer : sums;
        t.out_row_stride = width;
        t.sums = sums;
        t.sums_row_stride = width;
        bool stored = !last;
        if constexpr (direct) {
          if (whole) {
            t.out = epilogue.address(batch, row_begin + row, column);
            t.out_row_stride = epilogue.row_stride;
            t.sums = t.out;
            t.sums_row_stride = t.out_row_stride;
            stored = true;
          }
        }
        if (chunk == 0) t.sums = nullptr;
        multiply_tile(count, columns, k, t);
        if (!stored) {
          for (int r = 0; r < count; ++r) {
            epilogue(batch, row_begin + row + r, column, columns, t.out + r * width);
          }
        }
        t.lhs += left.tile_stride;
        sums += tile_rows * width;
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
///   epilogue(batch, row, column, count, sums)    sums[0, count) of one row, count <= a tile's
///   width
///
/// Each element is given exactly once, by one thread; several threads call at the same time.
/// Products are summed as `Acc`; operands of another type (bf16) are widened while they are packed.
/// With k = 0 the sums are 0.
///
/// Pre: `workspace` is aligned to 64 bytes and has gemm_workspace_bytes<Acc>(shape, threads) bytes.
/// Cost: 2*m*n*k flops for each batch item, at about nine tenths of what the FMA units can do.
template <class Acc, class L, class R, gemm_epilogue<Acc> Epilogue>
void gemm(const gemm_shape& shape, const L* lhs, const R* rhs, const Epilogue& epilogue,
          std::byte* workspace, [[maybe_unused]] int threads = 1) {
  const std::int64_t batches = shape.batch[0] * shape.batch[1] * shape.batch[2];
  if (shape.m <= 0 || shape.n <= 0 || batches <= 0) return;
#ifdef _OPENMP
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
