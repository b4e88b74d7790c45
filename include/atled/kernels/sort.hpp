// atled/kernels/sort.hpp: the order of the elements along an axis, by counting their digits.
// Reads: core/dtype.hpp. An element becomes a key, an unsigned number in whose order elements
// stand; short rows are sorted by insertion, long ones digit by digit, the last digit first.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace atled::kernels {

/// in[outer, size, inner], out[outer, count, inner].
struct sort_shape {
  std::int64_t outer, size, inner, count;
  bool descends;  ///< the largest first; equal elements keep their order all the same
};

namespace detail {

template <class T>
using sort_key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

template <class Key>
struct sort_entry {
  Key key;
  i32 place;
};

/// The key of an element: -0 is 0, and NaN of either sign the largest of all.
template <class T>
[[nodiscard]] constexpr sort_key<T> key_of(T x) {
  using key = sort_key<T>;
  if constexpr (half_float<T>) {
    return key_of(static_cast<f32>(x));
  } else if constexpr (std::is_floating_point_v<T>) {
    constexpr key sign = key{1} << (8 * sizeof(T) - 1);
    if (x != x) return static_cast<key>(~key{});
    const key bits = std::bit_cast<key>(x == T{} ? T{} : x);
    return (bits & sign) != 0 ? static_cast<key>(~bits) : static_cast<key>(bits | sign);
  } else if constexpr (std::is_signed_v<T>) {
    constexpr key sign = key{1} << (8 * sizeof(T) - 1);
    return static_cast<key>(static_cast<key>(x) ^ sign);
  } else {
    return static_cast<key>(x);
  }
}

/// Places `next` among the sorted `entries`, of which there are at most `room`.
template <class Key>
void insert_sorted(sort_entry<Key>* entries, std::int64_t& size, std::int64_t room,
                   const sort_entry<Key>& next) {
  if (size == room && (room == 0 || entries[size - 1].key <= next.key)) return;
  std::int64_t at = size < room ? size++ : size - 1;
  for (; at > 0 && entries[at - 1].key > next.key; --at) entries[at] = entries[at - 1];
  entries[at] = next;
}

/// Sorts by one digit after the other, stably; gives whichever of the two buffers holds the result.
template <class Key>
sort_entry<Key>* sort_by_digits(sort_entry<Key>* from, sort_entry<Key>* to, std::int64_t size) {
  constexpr std::size_t digits = sizeof(Key);
  std::int64_t counts[digits][256]{};
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::size_t d = 0; d < digits; ++d) ++counts[d][(from[i].key >> (8 * d)) & 255];
  }
  for (std::size_t d = 0; d < digits; ++d) {
    if (counts[d][(from[0].key >> (8 * d)) & 255] == size) continue;  // all alike
    std::int64_t begin = 0;
    for (std::int64_t& count : counts[d]) {
      const std::int64_t end = begin + count;
      count = begin;
      begin = end;
    }
    for (std::int64_t i = 0; i < size; ++i) {
      to[counts[d][(from[i].key >> (8 * d)) & 255]++] = from[i];
    }
    sort_entry<Key>* const done = to;
    to = from;
    from = done;
  }
  return from;
}

}  // namespace detail

/// Units: bytes; two buffers of one row.
[[nodiscard]] constexpr std::int64_t argsort_workspace_bytes(dtype element, std::int64_t size) {
  return 2 * size * (size_of(element) == 8 ? 16 : 8);
}

/// out[o, i, k] is the place in in[o, :, k] of the element that is i-th in order.
///
/// Cost: O(size) for each byte of an element that differs; for a few of many, O(size) comparisons.
template <class T>
void argsort(const sort_shape& s, const T* in, i32* out, std::byte* workspace) {
  using key = detail::sort_key<T>;
  using entry = detail::sort_entry<key>;
  constexpr std::int64_t few = 48;  // insertion is faster than counting digits
  auto* const entries = reinterpret_cast<entry*>(workspace);
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t k = 0; k < s.inner; ++k) {
      const T* row = in + o * s.size * s.inner + k;
      const auto entry_at = [&](std::int64_t i) {
        const key order = detail::key_of(row[i * s.inner]);
        return entry{s.descends ? static_cast<key>(~order) : order, static_cast<i32>(i)};
      };
      const entry* sorted = entries;
      if (s.count <= few) {
        std::int64_t size = 0;
        for (std::int64_t i = 0; i < s.size; ++i) {
          detail::insert_sorted(entries, size, s.count, entry_at(i));
        }
      } else {
        for (std::int64_t i = 0; i < s.size; ++i) entries[i] = entry_at(i);
        sorted = detail::sort_by_digits(entries, entries + s.size, s.size);
      }
      for (std::int64_t i = 0; i < s.count; ++i) {
        out[(o * s.count + i) * s.inner + k] = sorted[i].place;
      }
    }
  }
}

}  // namespace atled::kernels
