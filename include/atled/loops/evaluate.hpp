// atled/loops/evaluate.hpp: what each term of a fused group does: at a packet of a row, where a row
// or a chunk of rows begins and ends, and where partial results are added up.
// Reads: loops/terms.hpp. Next: loops/loop.hpp, which calls these for every packet.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/terms.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace atled::loops {

namespace detail {

template <int I, class P>
struct cell {
  P value;
};
template <int I, class P>
ATLED_INLINE P& at(cell<I, P>& c) {
  return c.value;
}

/// The values of all terms; after inlining each is a register.
template <class Sequence, int N, class... Terms>
struct frame;
template <int... I, int N, class... Terms>
struct frame<std::integer_sequence<int, I...>, N, Terms...>
    : cell<I, packet<typename Terms::element, N>>... {};

template <class T>
ATLED_INLINE T* pointer(std::int64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT: slots are kept as numbers
}

template <class T, walk Walk, bool Full, int N>
ATLED_INLINE packet<T, N> load_packet(const T* p, std::int64_t column, std::int64_t step,
                                      [[maybe_unused]] int count) {
  if constexpr (Walk == walk::splat) {
    return splat_of<T, N>(*p);
  } else if constexpr (Walk == walk::unit) {
    if constexpr (Full) {
      return load<N>(p + column);
    } else {
      return load_partial<N>(p + column, count);
    }
  } else {
    return load_strided<N>(p + column * step, step, count);
  }
}

template <class T, walk Walk, bool Full, int N>
ATLED_INLINE void store_packet(T* p, packet<T, N> value, std::int64_t column, std::int64_t step,
                               [[maybe_unused]] int count) {
  if constexpr (Walk == walk::splat) {
    store_partial(p, value, 1);
  } else if constexpr (Walk == walk::stream && Full) {
    store_stream(p + column, value);
  } else if constexpr (Walk == walk::unit || Walk == walk::stream) {
    if constexpr (Full) {
      store(p + column, value);
    } else {
      store_partial(p + column, value, count);
    }
  } else {
    store_strided(p + column * step, value, step, count);
  }
}

/// A term's value at one packet. `Full`: all lanes count; else the first `count` do.
template <int I, bool Full, int N, int Stage, int Slot, class T, walk Walk, class Frame, class Row>
ATLED_INLINE void evaluate(load_term<Stage, Slot, T, Walk>, Frame& f, const Row& row,
                           std::int64_t column, int count) {
  at<I>(f) = load_packet<T, Walk, Full, N>(pointer<T>(row.at[Slot]), column, row.step[Slot], count);
}
template <int I, bool Full, int N, int Stage, int Slot, class T, walk Walk, class Frame, class Row>
ATLED_INLINE void evaluate(index_term<Stage, Slot, T, Walk>, Frame& f, const Row& row,
                           std::int64_t column, int) {
  const auto first = static_cast<T>(row.at[Slot] + column * row.step[Slot]);
  if constexpr (Walk == walk::splat) {
    at<I>(f) = splat_of<T, N>(static_cast<T>(row.at[Slot]));
  } else if constexpr (std::integral<T> && !std::same_as<T, bool> && sizeof(T) >= 4) {
    if constexpr (Walk == walk::unit) {
      at<I>(f) = splat<N>(first) + iota<T, N>();
    } else {
      at<I>(f) = splat<N>(first) + iota<T, N>() * splat<N>(static_cast<T>(row.step[Slot]));
    }
  } else if constexpr (std::same_as<T, bool>) {
    at<I>(f) = (splat<N>(static_cast<i32>(first)) + iota<i32, N>()) != splat<N>(0);
  } else {
    const auto index = splat<N>(static_cast<i32>(row.at[Slot] + column * row.step[Slot])) +
                       iota<i32, N>() * splat<N>(static_cast<i32>(row.step[Slot]));
    at<I>(f) = convert_to<T>::apply(index);
  }
}
template <int I, bool Full, int N, int Stage, class T, std::int64_t Bits, class Frame, class Row>
ATLED_INLINE void evaluate(constant_term<Stage, T, Bits>, Frame& f, const Row&, std::int64_t, int) {
  if constexpr (std::floating_point<T>) {
    at<I>(f) = splat_of<T, N>(static_cast<T>(std::bit_cast<double>(Bits)));
  } else if constexpr (half_float<T>) {
    at<I>(f) = splat<N>(static_cast<f32>(std::bit_cast<double>(Bits)));
  } else {
    at<I>(f) = splat_of<T, N>(static_cast<T>(Bits));
  }
}
template <int I, bool Full, int N, int Stage, class Function, class T, int... Operand, class Frame,
          class Row>
ATLED_INLINE void evaluate(compute_term<Stage, Function, T, Operand...>, Frame& f, const Row&,
                           std::int64_t, int) {
  if constexpr (half_float<T>) {
    at<I>(f) = convert<T>(Function::apply(at<Operand>(f)...));  // rounded after each operation
  } else {
    at<I>(f) = Function::apply(at<Operand>(f)...);
  }
}
template <int I, bool Full, int N, int Stage, int Slot, class T, walk Walk, int Operand,
          class Frame, class Row>
ATLED_INLINE void evaluate(store_term<Stage, Slot, T, Walk, Operand>, Frame& f, const Row& row,
                           std::int64_t column, int count) {
  store_packet<T, Walk, Full, N>(pointer<T>(row.at[Slot]), at<Operand>(f), column, row.step[Slot],
                                 count);
}
template <int I, bool Full, int N, int Stage, class Combine, class T, int Operand, class Frame,
          class Row>
ATLED_INLINE void evaluate(row_reduce_term<Stage, Combine, T, Operand>, Frame& f, const Row&,
                           std::int64_t, int count) {
  auto value = at<Operand>(f);
  if constexpr (!Full) {
    value = select(first_lanes<N>(count), value, splat_of<T, N>(Combine::template neutral<T>()));
  }
  at<I>(f) = Combine::apply(at<I>(f), value);
}
template <int I, bool Full, int N, int Stage, class Combine, class T, int Slot, bool Whole,
          walk Walk, int Operand, class Frame, class Row>
ATLED_INLINE void evaluate(partial_term<Stage, Combine, T, Slot, Whole, Walk, Operand>, Frame& f,
                           const Row& row, std::int64_t column, int count) {
  if constexpr (Whole) {
    auto value = at<Operand>(f);
    if constexpr (!Full) {
      value = select(first_lanes<N>(count), value, splat_of<T, N>(Combine::template neutral<T>()));
    }
    at<I>(f) = Combine::apply(at<I>(f), value);
  } else {
    T* p = pointer<T>(row.at[Slot]);
    const auto so_far = load_packet<T, Walk, Full, N>(p, column, row.step[Slot], count);
    store_packet<T, Walk, Full, N>(p, Combine::apply(so_far, at<Operand>(f)), column,
                                   row.step[Slot], count);
  }
}

// What happens to accumulators before a row's stage, after it, and around a chunk.
template <int I, int N, class Term, class Frame>
ATLED_INLINE void begin_row(Term, Frame&) {}
template <int I, int N, int Stage, class Combine, class T, int Operand, class Frame>
ATLED_INLINE void begin_row(row_reduce_term<Stage, Combine, T, Operand>, Frame& f) {
  at<I>(f) = splat_of<T, N>(Combine::template neutral<T>());
}
template <int I, int N, class Term, class Frame>
ATLED_INLINE void end_row(Term, Frame&) {}
template <int I, int N, int Stage, class Combine, class T, int Operand, class Frame>
ATLED_INLINE void end_row(row_reduce_term<Stage, Combine, T, Operand>, Frame& f) {
  at<I>(f) = splat_of<T, N>(static_cast<T>(Combine::across(at<I>(f))));
}
template <int I, int N, class Term, class Frame>
ATLED_INLINE void begin_chunk(Term, Frame&) {}
template <int I, int N, int Stage, class Combine, class T, int Slot, bool Whole, walk Walk,
          int Operand, class Frame>
ATLED_INLINE void begin_chunk(partial_term<Stage, Combine, T, Slot, Whole, Walk, Operand>,
                              Frame& f) {
  if constexpr (Whole) at<I>(f) = splat_of<T, N>(Combine::template neutral<T>());
}
template <int I, class Term, class Frame>
ATLED_INLINE void end_chunk(Term, Frame&, const std::int64_t*) {}
template <int I, int Stage, class Combine, class T, int Slot, bool Whole, walk Walk, int Operand,
          class Frame>
ATLED_INLINE void end_chunk(partial_term<Stage, Combine, T, Slot, Whole, Walk, Operand>, Frame& f,
                            const std::int64_t* partials) {
  if constexpr (Whole) *pointer<T>(partials[Slot]) = static_cast<T>(Combine::across(at<I>(f)));
}

template <class Term>
inline constexpr bool is_streaming = false;
template <int Stage, int Slot, class T, int Operand>
inline constexpr bool is_streaming<store_term<Stage, Slot, T, walk::stream, Operand>> = true;

// Partial results of all chunks, in order, into the result.
template <class Term>
inline void fill_partial(Term, std::byte* const*, const std::int64_t*, std::int64_t) {}
template <int Stage, class Combine, class T, int Slot, bool Whole, walk Walk, int Operand>
inline void fill_partial(partial_term<Stage, Combine, T, Slot, Whole, Walk, Operand>,
                         std::byte* const* partials, const std::int64_t* sizes,
                         std::int64_t chunk) {
  T* p = reinterpret_cast<T*>(partials[Slot]) + chunk * sizes[Slot];
  for (std::int64_t i = 0; i < sizes[Slot]; ++i) p[i] = Combine::template neutral<T>();
}
template <class Term>
inline void combine_partials(Term, std::byte* const*, std::byte* const*, const std::int64_t*,
                             std::int64_t) {}
template <int Stage, class Combine, class T, int Slot, bool Whole, walk Walk, int Operand>
inline void combine_partials(partial_term<Stage, Combine, T, Slot, Whole, Walk, Operand>,
                             std::byte* const* slots, std::byte* const* partials,
                             const std::int64_t* sizes, std::int64_t chunks) {
  constexpr int lanes = native_lanes<f32>;
  T* out = reinterpret_cast<T*>(slots[Slot]);
  const T* in = reinterpret_cast<const T*>(partials[Slot]);
  const std::int64_t size = sizes[Slot];
  for (std::int64_t i = 0; i < size; i += lanes) {
    const int count = static_cast<int>(size - i < lanes ? size - i : lanes);
    auto sum = load_packet<T, walk::unit, false, lanes>(in, i, 1, count);
    for (std::int64_t c = 1; c < chunks; ++c) {
      sum =
          Combine::apply(sum, load_packet<T, walk::unit, false, lanes>(in + c * size, i, 1, count));
    }
    store_packet<T, walk::unit, false, lanes>(out, sum, i, 1, count);
  }
}

}  // namespace detail

}  // namespace atled::loops
