// atled/loops/eager_space.hpp: how broadcast operands are walked: few long rows, each one loop.
// Reads: core/broadcast.hpp, loops/simd.hpp. Next: loops/eager_expression.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/broadcast.hpp"
#include "atled/loops/simd.hpp"

#include <bit>
#include <cstdint>
#include <initializer_list>
#include <tuple>
#include <type_traits>
#include <utility>

namespace atled::loops::eager {

/// Units: bytes. Results from this size on exceed the caches and are stored past them.
inline constexpr std::int64_t stream_bytes = std::int64_t{32} << 20;
/// Units: multiplications, roughly. Loops from this cost on are worth waking threads.
inline constexpr std::int64_t parallel_cost = std::int64_t{1} << 18;
/// Units: elements. What a thread takes at once of a long row.
inline constexpr std::int64_t block_size = 16384;

/// The type in which elements of type T are computed.
template <element T>
using compute_t = std::conditional_t<half_float<T>, f32, T>;

template <element T>
[[nodiscard]] constexpr compute_t<T> in_registers(T value) {
  return static_cast<compute_t<T>>(value);
}

[[nodiscard]] constexpr shape broadcast_all(std::initializer_list<shape> all) {
  tensor_type out{};
  for (const shape& dims : all) out.dims = broadcast_dims(out, {dtype{}, dims}).dims;
  return out.dims;
}

/// Bit i is set where `operand` changes at result axis i between being repeated and being walked.
[[nodiscard]] constexpr unsigned cuts_of(const shape& operand, const shape& result) {
  unsigned cuts = 0;
  bool is_first = true;
  bool was_walked = false;
  for (int axis = 0; axis < result.rank; ++axis) {
    if (result.dims[axis] == 1) continue;
    const int own = axis - (result.rank - operand.rank);
    const bool is_walked = own >= 0 && operand.dims[own] != 1;
    if (!is_first && is_walked != was_walked) cuts |= 1U << axis;
    is_first = false;
    was_walked = is_walked;
  }
  return cuts;
}

/// The axes of a result, merged into as few as all operands allow.
///
/// Invariants: groups.rank >= 1; the last group is the row.
struct loop_space {
  shape result;
  shape groups;
  int last_axis[max_rank];  ///< the innermost result axis of each group, or -1 for a lone element

  [[nodiscard]] static constexpr loop_space of(const shape& result, unsigned cuts) {
    loop_space out{result, {}, {}};
    for (int axis = 0; axis < result.rank; ++axis) {
      if (result.dims[axis] == 1) continue;
      if (out.groups.rank == 0 || ((cuts >> axis) & 1U) != 0) {
        out.groups.push(result.dims[axis]);
      } else {
        out.groups.dims[out.groups.rank - 1] *= result.dims[axis];
      }
      out.last_axis[out.groups.rank - 1] = axis;
    }
    if (out.groups.rank == 0) {
      out.last_axis[0] = -1;
      out.groups.push(1);
    }
    return out;
  }
  [[nodiscard]] constexpr std::int64_t inner() const { return groups.dims[groups.rank - 1]; }

  /// The strides of an operand along the groups; 0 where it is repeated. Units: elements.
  [[nodiscard]] constexpr shape strides_of(const shape& operand) const {
    const shape own_strides = row_major_strides(operand);
    shape out{};
    for (int group = 0; group < groups.rank; ++group) {
      const int own = last_axis[group] - (result.rank - operand.rank);
      const bool is_walked = last_axis[group] >= 0 && own >= 0 && operand.dims[own] != 1;
      out.push(is_walked ? own_strides.dims[own] : 0);
    }
    return out;
  }
};

// ---- cursors: a node on its way through the space ------------------------------------------
// `seek` goes to a row, `load` gives lanes of it. They know no sizes, so that equal formulas on
// tensors of different shapes are one kernel.

/// A leaf; its row is contiguous, or one element repeated.
template <element T, bool Contiguous, int Outer>
struct leaf_cursor {
  const T* row;
  std::int64_t strides[static_cast<std::size_t>(Outer > 0 ? Outer : 1)];

  ATLED_INLINE void seek(const std::int64_t* index) {
    for (int i = 0; i < Outer; ++i) row += index[i] * strides[i];
  }
  template <int N>
  [[nodiscard]] ATLED_INLINE auto load(std::int64_t i) const {
    if constexpr (Contiguous) {
      return loops::load<N>(row + i);
    } else {
      return splat<N>(in_registers<T>(*row));
    }
  }
  template <int N>
  [[nodiscard]] ATLED_INLINE auto load_partial(std::int64_t i, int count) const {
    if constexpr (Contiguous) {
      return loops::load_partial<N>(row + i, count);
    } else {
      return splat<N>(in_registers<T>(*row));
    }
  }
};

template <loop_space Space, shape Dims, element T>
[[nodiscard]] auto cursor_of(const T* values) {
  constexpr shape strides = Space.strides_of(Dims);
  constexpr int outer = strides.rank - 1;
  leaf_cursor<T, strides.dims[outer] == 1, outer> out{values, {}};
  for (int i = 0; i < outer; ++i) out.strides[i] = strides.dims[i];
  return out;
}

template <class C>
struct literal_cursor {
  C value;

  ATLED_INLINE void seek(const std::int64_t*) {}
  template <int N>
  [[nodiscard]] ATLED_INLINE auto load(std::int64_t) const {
    return splat<N>(value);
  }
  template <int N>
  [[nodiscard]] ATLED_INLINE auto load_partial(std::int64_t, int) const {
    return splat<N>(value);
  }
};

template <class Op, class... Cursors>
struct apply_cursor {
  std::tuple<Cursors...> args;

  ATLED_INLINE void seek(const std::int64_t* index) {
    seek(index, std::index_sequence_for<Cursors...>{});
  }
  template <int N>
  [[nodiscard]] ATLED_INLINE auto load(std::int64_t i) const {
    return load<N>(i, std::index_sequence_for<Cursors...>{});
  }
  template <int N>
  [[nodiscard]] ATLED_INLINE auto load_partial(std::int64_t i, int count) const {
    return load_partial<N>(i, count, std::index_sequence_for<Cursors...>{});
  }

 private:
  template <std::size_t... I>
  ATLED_INLINE void seek(const std::int64_t* index, std::index_sequence<I...>) {
    (std::get<I>(args).seek(index), ...);
  }
  template <int N, std::size_t... I>
  [[nodiscard]] ATLED_INLINE auto load(std::int64_t i, std::index_sequence<I...>) const {
    return Op::apply(std::get<I>(args).template load<N>(i)...);
  }
  template <int N, std::size_t... I>
  [[nodiscard]] ATLED_INLINE auto load_partial(std::int64_t i, int count,
                                               std::index_sequence<I...>) const {
    return Op::apply(std::get<I>(args).template load_partial<N>(i, count)...);
  }
};

// ---- loops ---------------------------------------------------------------------------------

/// Lanes for rows of a length: a register of the result's type, or less for a short row.
template <element T>
[[nodiscard]] constexpr int lanes_for(std::int64_t inner) {
  constexpr int bytes = sizeof(T) == 8 ? 8 : 4;
  const auto wanted = std::bit_ceil(static_cast<std::uint64_t>(inner));
  constexpr auto most = static_cast<std::uint64_t>(simd_bytes / bytes);
  return static_cast<int>(wanted < most ? wanted : most);
}

/// Elements [begin, end) of a row. Pre: with `Stream`, `out + begin` is aligned to a register.
template <int N, bool Stream, class Cursor, class T>
ATLED_INLINE void run_span(const Cursor& cursor, T* out, std::int64_t begin, std::int64_t end) {
  std::int64_t i = begin;
  for (; i + N <= end; i += N) {
    if constexpr (Stream) {
      store_stream(out + i, cursor.template load<N>(i));
    } else {
      store(out + i, cursor.template load<N>(i));
    }
  }
  if (i < end) {
    const int count = static_cast<int>(end - i);
    store_partial(out + i, cursor.template load_partial<N>(i, count), count);
  }
}

template <int N, bool Stream, bool Parallel, class Cursor, class T>
void run_row(const Cursor& cursor, std::int64_t size, T* out) {
  const std::int64_t blocks = (size + block_size - 1) / block_size;
#if defined(_OPENMP)
#  pragma omp parallel if (Parallel)
#endif
  {
#if defined(_OPENMP)
#  pragma omp for schedule(static) nowait
#endif
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t begin = b * block_size;
      const std::int64_t end = begin + block_size < size ? begin + block_size : size;
      run_span<N, Stream>(cursor, out, begin, end);
    }
    if constexpr (Stream) stream_fence();  // each thread's own, before the others go on
  }
}

/// All rows of a space. `groups` are the sizes of its axes, the last one is the row.
template <int N, int Outer, bool Parallel, class Cursor, class T>
void run_rows(const Cursor& cursor, const shape& groups, T* out, bool stream) {
  const std::int64_t inner = groups.dims[Outer];
  if constexpr (Outer == 0) {
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(out) % simd_bytes == 0;
    if (stream && is_aligned) {
      run_row<N, true, Parallel>(cursor, inner, out);
    } else {
      run_row<N, false, Parallel>(cursor, inner, out);
    }
  } else {
    const std::int64_t rows = groups.size() / inner;
#if defined(_OPENMP)
#  pragma omp parallel for schedule(static) if (Parallel)
#endif
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int64_t index[static_cast<std::size_t>(Outer)];
      std::int64_t rest = r;
      for (int i = Outer - 1; i > 0; --i) {
        index[i] = rest % groups.dims[i];
        rest /= groups.dims[i];
      }
      index[0] = rest;
      Cursor row = cursor;
      row.seek(index);
      run_span<N, false>(row, out + r * inner, 0, inner);
    }
  }
}

}  // namespace atled::loops::eager
