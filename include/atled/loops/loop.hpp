// atled/loops/loop.hpp: runs a fused group, row by row, as a list of terms that the compiler
// inlines. Reads: loops/work.hpp. The types are built by runtime/lower.hpp.
//
// The domain is rows x inner. For each row the stages run in order: an even stage once, an odd one
// for each packet of the row. A reduction along the row in stage 2p + 1 is a value from stage
// 2p + 2 on: a softmax is stages 1 (maximum), 3 (exponentials and their sum) and 5 (quotient), all
// on a row that stays in the cache. Reductions over rows go to one partial result for each chunk of
// rows; the chunks are cut by the shape and added up in their order, on any number of threads.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/parallel.hpp"
#include "atled/loops/work.hpp"

#include <cstddef>
#include <utility>

namespace atled::loops {

inline constexpr int max_outer = 7;
inline constexpr int max_loop_slots = 64;
/// Longer kernels have one copy of their code for whole and partial packets, where registers of
/// masks make that cheap.
inline constexpr int max_copied_terms = 64;

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

/// Bytes between values: those of the largest.
template <int N, class... Work>
inline constexpr int value_stride = [] {
  std::size_t out = 1;
  ((out = sizeof(packet<typename Work::element, N>) > out
              ? sizeof(packet<typename Work::element, N>)
              : out),
   ...);
  return static_cast<int>(out);
}();

/// The values of all terms; after inlining each is a register.
template <std::size_t Bytes>
struct frame {
  alignas(64) std::byte values[Bytes];
};

/// Where the slots are in a row.
template <std::size_t Slots>
struct row_state {
  std::int64_t at[Slots];    ///< address of the row's first element, or the index there
  std::int64_t step[Slots];  ///< along the row
  std::int64_t coordinates[std::size_t{max_outer}];
};

// Partial results of all chunks, in order, into the result.
template <class Work>
void fill_partial(std::byte* partial, std::int64_t size, std::int64_t chunk) {
  if constexpr (requires { typename Work::combine; }) {
    using T = typename Work::element;
    T* p = reinterpret_cast<T*>(partial) + chunk * size;
    for (std::int64_t i = 0; i < size; ++i) p[i] = Work::combine::template neutral<T>();
  }
}
template <class Work>
void combine_partials(std::byte* slot, const std::byte* partial, std::int64_t size,
                      std::int64_t chunks) {
  if constexpr (requires { typename Work::combine; }) {
    using T = typename Work::element;
    constexpr int lanes = native_lanes<f32>;
    T* out = reinterpret_cast<T*>(slot);
    const T* in = reinterpret_cast<const T*>(partial);
    for (std::int64_t i = 0; i < size; i += lanes) {
      const int count = static_cast<int>(size - i < lanes ? size - i : lanes);
      auto sum = load_packet<T, walk::unit, false, lanes>(in, i, 1, count);
      for (std::int64_t c = 1; c < chunks; ++c) {
        sum = Work::combine::apply(
            sum, load_packet<T, walk::unit, false, lanes>(in + c * size, i, 1, count));
      }
      store_packet<T, walk::unit, false, lanes>(out, sum, i, 1, count);
    }
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
  static constexpr bool is_streaming = (false || ... || Terms::work::is_streaming);
  static constexpr bool is_long =
      ATLED_MASK_REGISTERS && sizeof...(Terms) > max_copied_terms && !is_streaming;
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
      ((is_partial<typename Terms::work>
            ? detail::combine_partials<typename Terms::work>(
                  context.slots[Terms::slot], context.partials[Terms::slot],
                  partial_sizes[Terms::slot], shape.chunks)
            : void()),
       ...);
    }
  }

 private:
  template <class Work>
  static constexpr bool is_partial = requires {
    typename Work::combine;
  };
  using sequence = std::make_integer_sequence<int, static_cast<int>(sizeof...(Terms))>;
  static constexpr int stride = detail::value_stride<N, typename Terms::work...>;
  using frame = detail::frame<static_cast<std::size_t>(stride) * sizeof...(Terms)>;
  using row_state = detail::row_state<slot_count>;

  struct launch {
    const loop_shape& shape;
    std::byte* slots[slot_count];
    std::byte* partials[slot_count];
    const std::int64_t* partial_sizes;
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
      ((is_partial<typename Terms::work>
            ? detail::fill_partial<typename Terms::work>(context.partials[Terms::slot],
                                                         context.partial_sizes[Terms::slot], chunk)
            : void()),
       ...);
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
    if constexpr (is_streaming) stream_fence();
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
      if constexpr (is_long) {
        for (; column < last; column += N) {
          const int count = last - column < N ? static_cast<int>(last - column) : N;
          evaluate_all<Stage, false>(f, row, column, count, sequence{});
        }
      } else {
        for (; column + N <= last; column += N) {
          evaluate_all<Stage, true>(f, row, column, N, sequence{});
        }
        if (column < last) {
          evaluate_all<Stage, false>(f, row, column, static_cast<int>(last - column), sequence{});
        }
      }
      end_row<Stage>(f, sequence{});
    }
  }

  template <int Stage, bool Full, int... I>
  ATLED_INLINE static void evaluate_all(frame& f, const row_state& row, std::int64_t column,
                                        int count, std::integer_sequence<int, I...>) {
    std::byte* const v = f.values;
    ((Terms::stage == Stage
          ? Terms::work::template run<Full, N>(
                v + I * stride, place_of<Terms::slot>(row, column, count), v + Terms::a * stride,
                v + Terms::b * stride, v + Terms::c * stride, v + Terms::d * stride)
          : void()),
     ...);
  }
  template <int Slot>
  ATLED_INLINE static packet_place place_of(const row_state& row, std::int64_t column, int count) {
    return {row.at[Slot < 0 ? 0 : Slot], row.step[Slot < 0 ? 0 : Slot], column, count};
  }
  // What happens to accumulators before a row's stage, after it, and around a chunk.
  template <int Stage, int... I>
  ATLED_INLINE static void begin_row(frame& f, std::integer_sequence<int, I...>) {
    ((Terms::stage == Stage && Terms::work::is_row_reduction
          ? Terms::work::template begin<N>(f.values + I * stride)
          : void()),
     ...);
  }
  template <int Stage, int... I>
  ATLED_INLINE static void end_row(frame& f, std::integer_sequence<int, I...>) {
    ((Terms::stage == Stage && Terms::work::is_row_reduction
          ? Terms::work::template end<N>(f.values + I * stride, 0)
          : void()),
     ...);
  }
  template <int... I>
  ATLED_INLINE static void begin_chunk(frame& f, std::integer_sequence<int, I...>) {
    ((Terms::work::is_whole_partial ? Terms::work::template begin<N>(f.values + I * stride)
                                    : void()),
     ...);
  }
  template <int... I>
  ATLED_INLINE static void end_chunk(frame& f, const std::int64_t* partials,
                                     std::integer_sequence<int, I...>) {
    ((Terms::work::is_whole_partial
          ? Terms::work::template end<N>(f.values + I * stride, partials[Terms::slot])
          : void()),
     ...);
  }
};

}  // namespace atled::loops
