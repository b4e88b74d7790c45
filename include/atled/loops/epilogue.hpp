// atled/loops/epilogue.hpp: what is done to each element of a product while it is in the cache.
// Reads: loops/loop.hpp. Called back by kernels/gemm.hpp with pieces of rows.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/loop.hpp"

#include <array>

namespace atled::loops {

/// Strides of the slots of an epilogue: [slot][three batch axes, row, column].
struct epilogue_shape {
  const std::int64_t* strides;
};

/// One launch: shape, and the memory behind each slot.
struct epilogue_call {
  epilogue_shape shape;
  std::byte* const* slots;
};

/// The terms of stage 0 once, then those of stage 1 for each packet of a finished piece of a row.
template <int N, class Acc, class Slots, class Terms>
struct fused_epilogue;

template <int N, class Acc, class... Slots, class... Terms>
struct fused_epilogue<N, Acc, slot_list<Slots...>, term_list<Terms...>> {
  static constexpr int num_slots = static_cast<int>(sizeof...(Slots));
  static constexpr std::size_t slot_count = sizeof...(Slots);

  /// A finished tile: `rows` x `columns` sums, `sums_stride` apart, from (row, column) on.
  static void run(const void* opaque, const std::array<std::int64_t, 3>& batch, std::int64_t row,
                  int rows, std::int64_t column, int columns, const Acc* sums,
                  std::int64_t sums_stride) {
    const auto& call = *static_cast<const epilogue_call*>(opaque);
    row_state state;
    std::int64_t row_steps[slot_count];
    constexpr std::int64_t sizes[] = {
        (Slots::use == slot_use::index
             ? 1
             : static_cast<std::int64_t>(sizeof(typename Slots::element)))...};
    const std::int64_t* strides = call.shape.strides;
    for (int s = 0; s < num_slots; ++s, strides += 5) {
      const std::int64_t offset = batch[0] * strides[0] + batch[1] * strides[1] +
                                  batch[2] * strides[2] + row * strides[3] + column * strides[4];
      state.at[s] = reinterpret_cast<std::int64_t>(call.slots[s]) + offset * sizes[s];
      state.step[s] = strides[4];
      row_steps[s] = strides[3] * sizes[s];
    }
    for (int r = 0; r < rows; ++r) {
      frame f;
      evaluate_all<0, true>(f, state, sums, 0, N, sequence{});
      int at = 0;
      for (; at + N <= columns; at += N) evaluate_all<1, true>(f, state, sums, at, N, sequence{});
      if (at < columns) evaluate_all<1, false>(f, state, sums, at, columns - at, sequence{});
      for (int s = 0; s < num_slots; ++s) state.at[s] += row_steps[s];
      sums += sums_stride;
    }
  }

  /// Fetches what `run` will touch: rows of a tile are pages apart, so that no hardware guesses
  /// them.
  static void prefetch(const void* opaque, const std::array<std::int64_t, 3>& batch,
                       std::int64_t row, int rows, std::int64_t column, int columns) {
    const auto& call = *static_cast<const epilogue_call*>(opaque);
    constexpr std::int64_t line = 64;
    constexpr std::int64_t sizes[] = {
        static_cast<std::int64_t>(sizeof(typename Slots::element))...};
    constexpr bool has_memory[] = {(Slots::use == slot_use::memory)...};
    const std::int64_t* strides = call.shape.strides;
    for (int s = 0; s < num_slots; ++s, strides += 5) {
      if (s < 2 || !has_memory[s] || strides[3] == 0 || strides[4] != 1) continue;
      if (is_in_place(call.slots, s)) continue;
      const std::int64_t offset = batch[0] * strides[0] + batch[1] * strides[1] +
                                  batch[2] * strides[2] + row * strides[3] + column;
      const std::byte* at = call.slots[s] + offset * sizes[s];
      for (int r = 0; r < rows; ++r, at += strides[3] * sizes[s]) {
        for (std::int64_t b = 0; b < columns * sizes[s]; b += line) __builtin_prefetch(at + b);
      }
    }
  }

 private:
  // A result that takes over what is read has been fetched with it.
  static bool is_in_place(std::byte* const* slots, int slot) {
    for (int s = 2; s < slot; ++s) {
      if (slots[s] == slots[slot]) return true;
    }
    return false;
  }

  using sequence = std::make_integer_sequence<int, static_cast<int>(sizeof...(Terms))>;
  static constexpr int stride = detail::value_stride<N, typename Terms::work...>;
  using frame = detail::frame<static_cast<std::size_t>(stride) * sizeof...(Terms)>;
  using row_state = detail::row_state<slot_count>;

  template <int Stage, bool Full, int... I>
  ATLED_INLINE static void evaluate_all(frame& f, const row_state& row, const Acc* sums,
                                        std::int64_t column, int count,
                                        std::integer_sequence<int, I...>) {
    std::byte* const v = f.values;
    ((Terms::stage == Stage ? Terms::work::template run<Full, N>(
                                  v + I * stride, place_of<Terms::slot>(row, sums, column, count),
                                  v + Terms::a * stride, v + Terms::b * stride,
                                  v + Terms::c * stride, v + Terms::d * stride)
                            : void()),
     ...);
  }
  template <int Slot>
  ATLED_INLINE static packet_place place_of(const row_state& row, const Acc* sums,
                                            std::int64_t column, int count) {
    if constexpr (Slot < 0) {
      return {reinterpret_cast<std::int64_t>(sums), 1, column, count};
    } else {
      return {row.at[Slot], row.step[Slot], column, count};
    }
  }
};

/// An epilogue as data, so that a product's code is built once for each element type.
template <class Acc>
struct erased_epilogue {
  const void* context;
  void (*call)(const void*, const std::array<std::int64_t, 3>&, std::int64_t, int, std::int64_t,
               int, const Acc*, std::int64_t);
  void (*fetch)(const void*, const std::array<std::int64_t, 3>&, std::int64_t, int, std::int64_t,
                int);

  /// Called before a tile is computed: its time hides that of memory.
  void prefetch(const std::array<std::int64_t, 3>& batch, std::int64_t row, int rows,
                std::int64_t column, int columns) const {
    fetch(context, batch, row, rows, column, columns);
  }
  void tile(const std::array<std::int64_t, 3>& batch, std::int64_t row, int rows,
            std::int64_t column, int columns, const Acc* sums, std::int64_t sums_stride) const {
    call(context, batch, row, rows, column, columns, sums, sums_stride);
  }
  void operator()(const std::array<std::int64_t, 3>& batch, std::int64_t row, std::int64_t column,
                  int count, const Acc* sums) const {
    call(context, batch, row, 1, column, count, sums, 0);
  }
};

}  // namespace atled::loops
