// atled/loops/loop.hpp: runs a fused group, row by row, as a list of terms that the compiler
// inlines. Reads: loops/terms.hpp. The types are built by runtime/lower.hpp.
//
// The domain is rows x inner. For each row the stages run in order: an even stage once, an odd one
// for each packet of the row. A reduction along the row in stage 2p + 1 is a value from stage
// 2p + 2 on: a softmax is stages 1 (maximum), 3 (exponentials and their sum) and 5 (quotient), all
// on a row that stays in the cache. Reductions over rows go to one partial result for each chunk of
// rows; the chunks are cut by the shape and added up in their order, on any number of threads.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/parallel.hpp"
#include "atled/loops/terms.hpp"

#include <cstddef>
#include <utility>

namespace atled::loops {

inline constexpr int max_outer = 7;
inline constexpr int max_loop_slots = 64;

/// The sizes of one launch. Units: elements.
struct loop_shape {
  std::int64_t rows;
  std::int64_t inner;
  int num_outer;
  std::int64_t outer[max_outer];
  /// [slot][axis], num_outer + 1 for each slot, the last one along the row.
  const std::int64_t* strides;
  std::int64_t block;   ///< elements of a row that are one item of work; `inner` if rows are whole
  std::int64_t blocks;  ///< items in a row
  std::int64_t chunks;  ///< pieces of work, each some items in a row
};

/// What a slot holds, and how far apart its elements are.
enum class slot_use : std::uint8_t { memory, index, partial };

template <class T, slot_use Use>
struct slot_type {
  using element = T;
  static constexpr slot_use use = Use;
};

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
  } else if constexpr (std::same_as<T, bf16>) {
    at<I>(f) = splat<N>(static_cast<f32>(std::bit_cast<double>(Bits)));
  } else {
    at<I>(f) = splat_of<T, N>(static_cast<T>(Bits));
  }
}
template <int I, bool Full, int N, int Stage, class Function, class T, int... Operand, class Frame,
          class Row>
ATLED_INLINE void evaluate(compute_term<Stage, Function, T, Operand...>, Frame& f, const Row&,
                           std::int64_t, int) {
  if constexpr (std::same_as<T, bf16>) {
    at<I>(f) = convert<bf16>(Function::apply(at<Operand>(f)...));  // rounded after each operation
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

template <class... Slots>
struct slot_list {};
template <class... Terms>
struct term_list {};

/// A fused group as code. `N`: lanes of a packet.
template <int N, class Slots, class Terms>
struct fused_loop;

template <int N, class... Slots, class... Terms>
struct fused_loop<N, slot_list<Slots...>, term_list<Terms...>> {
  static constexpr int num_slots = static_cast<int>(sizeof...(Slots));
  static constexpr std::size_t slot_count = sizeof...(Slots);
  static constexpr int last_stage = [] {
    int last = 0;
    ((last = Terms::stage > last ? Terms::stage : last), ...);
    return last;
  }();
  static constexpr bool has_partials = (false || ... || (Slots::use == slot_use::partial));

  /// One launch. `partial_sizes`: elements of each partial result, for the slots that are one;
  /// `workspace` holds chunks x these.
  static void run(const loop_shape& shape, std::byte* const* slots,
                  const std::int64_t* partial_sizes, std::byte* workspace, int threads) {
    launch context{shape, {}, {}, partial_sizes};
    for (int s = 0; s < num_slots; ++s) context.slots[s] = slots[s];
    if constexpr (has_partials) {
      int s = 0;
      const auto place = [&]<class Slot>(Slot) {
        if constexpr (Slot::use == slot_use::partial) {
          context.partials[s] = workspace;
          const auto bytes = shape.chunks * partial_sizes[s] *
                             static_cast<std::int64_t>(sizeof(typename Slot::element));
          workspace += (bytes + 63) / 64 * 64;
        }
        ++s;
      };
      (place(Slots{}), ...);
    }
    for_each_piece(run_chunk, &context, shape.chunks, threads);
    if constexpr (has_partials) {
      (detail::combine_partials(Terms{}, context.slots, context.partials, partial_sizes,
                                shape.chunks),
       ...);
    }
  }

 private:
  using sequence = std::make_integer_sequence<int, static_cast<int>(sizeof...(Terms))>;
  using frame = detail::frame<sequence, N, Terms...>;

  struct launch {
    const loop_shape& shape;
    std::byte* slots[slot_count];
    std::byte* partials[slot_count];
    const std::int64_t* partial_sizes;
  };

  struct row_state {
    std::int64_t at[slot_count];    // address of the row's first element, or the index there
    std::int64_t step[slot_count];  // along the row
    std::int64_t coordinates[std::size_t{max_outer}];
  };

  static void run_chunk(const void* opaque, std::int64_t chunk) {
    const auto& context = *static_cast<const launch*>(opaque);
    const loop_shape& shape = context.shape;
    const std::int64_t items = shape.rows * shape.blocks;
    std::int64_t item = items * chunk / shape.chunks;
    const std::int64_t end = items * (chunk + 1) / shape.chunks;

    std::int64_t origin[slot_count];
    for (int s = 0; s < num_slots; ++s)
      origin[s] = reinterpret_cast<std::int64_t>(context.slots[s]);
    if constexpr (has_partials) {
      int s = 0;
      const auto place = [&]<class Slot>(Slot) {
        if constexpr (Slot::use == slot_use::partial) {
          origin[s] = reinterpret_cast<std::int64_t>(context.partials[s]) +
                      chunk * context.partial_sizes[s] *
                          static_cast<std::int64_t>(sizeof(typename Slot::element));
        }
        ++s;
      };
      (place(Slots{}), ...);
      (detail::fill_partial(Terms{}, context.partials, context.partial_sizes, chunk), ...);
    }

    frame f;
    begin_chunk(f, sequence{});
    std::int64_t block = items == 0 ? 0 : item % shape.blocks;
    row_state state;
    if (item < end) move_to(shape, origin, item / shape.blocks, state);
    for (; item < end; ++item) {
      const std::int64_t first = block * shape.block;
      const std::int64_t last =
          first + shape.block < shape.inner ? first + shape.block : shape.inner;
      run_row(f, state, first, last, std::make_integer_sequence<int, last_stage + 1>{});
      if (++block == shape.blocks) {
        block = 0;
        if (item + 1 < end) advance(shape, state);
      }
    }
    end_chunk(f, origin, sequence{});
    if constexpr ((false || ... || detail::is_streaming<Terms>)) stream_fence();
  }

  static constexpr std::int64_t slot_bytes[slot_count] = {
      (Slots::use == slot_use::index
           ? 1
           : static_cast<std::int64_t>(sizeof(typename Slots::element)))...};

  // The address of each slot at the beginning of a row.
  static void move_to(const loop_shape& shape, const std::int64_t* origin, std::int64_t row,
                      row_state& state) {
    for (int a = shape.num_outer - 1; a >= 0; --a) {
      state.coordinates[a] = row % shape.outer[a];
      row /= shape.outer[a];
    }
    const std::int64_t* strides = shape.strides;
    for (int s = 0; s < num_slots; ++s) {
      std::int64_t offset = 0;
      for (int a = 0; a < shape.num_outer; ++a) offset += state.coordinates[a] * *strides++;
      state.at[s] = origin[s] + offset * slot_bytes[s];
      state.step[s] = *strides++;
    }
  }
  // The same for the next row: one axis steps on, or begins again while the one before it steps on.
  static void advance(const loop_shape& shape, row_state& state) {
    const int rank = shape.num_outer + 1;
    for (int a = shape.num_outer - 1; a >= 0; --a) {
      const bool wraps = ++state.coordinates[a] == shape.outer[a];
      const std::int64_t steps = wraps ? 1 - shape.outer[a] : 1;
      for (int s = 0; s < num_slots; ++s) {
        state.at[s] += steps * shape.strides[s * rank + a] * slot_bytes[s];
      }
      if (!wraps) return;
      state.coordinates[a] = 0;
    }
  }

  template <int... Stage>
  ATLED_INLINE static void run_row(frame& f, const row_state& row, std::int64_t first,
                                   std::int64_t last, std::integer_sequence<int, Stage...>) {
    (run_stage<Stage>(f, row, first, last), ...);
  }

  template <int Stage>
  ATLED_INLINE static void run_stage(frame& f, const row_state& row, std::int64_t first,
                                     std::int64_t last) {
    if constexpr (!(false || ... || (Terms::stage == Stage))) {
      return;
    } else if constexpr (Stage % 2 == 0) {
      evaluate_all<Stage, true>(f, row, first, N, sequence{});
    } else {
      begin_row<Stage>(f, sequence{});
      std::int64_t column = first;
      for (; column + N <= last; column += N) {
        evaluate_all<Stage, true>(f, row, column, N, sequence{});
      }
      if (column < last) {
        evaluate_all<Stage, false>(f, row, column, static_cast<int>(last - column), sequence{});
      }
      end_row<Stage>(f, sequence{});
    }
  }

  template <int Stage, bool Full, int... I>
  ATLED_INLINE static void evaluate_all(frame& f, const row_state& row, std::int64_t column,
                                        int count, std::integer_sequence<int, I...>) {
    (evaluate_one<I, Stage, Full, Terms>(f, row, column, count), ...);
  }
  template <int I, int Stage, bool Full, class Term>
  ATLED_INLINE static void evaluate_one(frame& f, const row_state& row, std::int64_t column,
                                        int count) {
    if constexpr (Term::stage == Stage) {
      detail::evaluate<I, Full, N>(Term{}, f, row, column, count);
    }
  }
  template <int Stage, int... I>
  ATLED_INLINE static void begin_row(frame& f, std::integer_sequence<int, I...>) {
    ((Terms::stage == Stage ? detail::begin_row<I, N>(Terms{}, f) : void()), ...);
  }
  template <int Stage, int... I>
  ATLED_INLINE static void end_row(frame& f, std::integer_sequence<int, I...>) {
    ((Terms::stage == Stage ? detail::end_row<I, N>(Terms{}, f) : void()), ...);
  }
  template <int... I>
  ATLED_INLINE static void begin_chunk(frame& f, std::integer_sequence<int, I...>) {
    (detail::begin_chunk<I, N>(Terms{}, f), ...);
  }
  template <int... I>
  ATLED_INLINE static void end_chunk(frame& f, const std::int64_t* partials,
                                     std::integer_sequence<int, I...>) {
    (detail::end_chunk<I>(Terms{}, f, partials), ...);
  }
};

}  // namespace atled::loops
