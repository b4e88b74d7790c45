// atled/comm/combine.hpp: reductions over rows of memory, in the order of the rows.
// Reads: comm/communicator.hpp. Used by comm/mpi.hpp and comm/mpi_shared.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/communicator.hpp"
#include "atled/core/dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace atled::comm {

namespace detail {

/// A reduction on two numbers; a NaN wins, as in the reductions inside a program.
template <reduction Combine, class T>
[[nodiscard]] constexpr T combine(T lhs, T rhs) {
  if constexpr (std::is_same_v<T, bool>) {
    return Combine == reduction::min ? lhs && rhs : lhs || rhs;
  } else if constexpr (Combine == reduction::sum && std::is_integral_v<T>) {
    using bits = std::make_unsigned_t<T>;  // wraps round, as in a program
    return static_cast<T>(static_cast<bits>(static_cast<bits>(lhs) + static_cast<bits>(rhs)));
  } else if constexpr (Combine == reduction::sum) {
    return lhs + rhs;
  } else if constexpr (Combine == reduction::max) {
    return rhs > lhs || rhs != rhs ? rhs : lhs;
  } else {
    return rhs < lhs || rhs != rhs ? rhs : lhs;
  }
}

/// Rows are combined in registers, so many elements at a time.
inline constexpr std::int64_t combine_width = 32;

template <reduction Combine, class T, class Accumulator>
void combine_rows(const void* const* rows, int num_rows, T* out, std::int64_t count) {
  Accumulator sums[combine_width];
  std::int64_t i = 0;
  for (; i + combine_width <= count; i += combine_width) {
    const T* first = static_cast<const T*>(rows[0]) + i;
    for (int k = 0; k < combine_width; ++k) sums[k] = static_cast<Accumulator>(first[k]);
    for (int r = 1; r < num_rows; ++r) {
      const T* row = static_cast<const T*>(rows[r]) + i;
      for (int k = 0; k < combine_width; ++k) {
        sums[k] = combine<Combine>(sums[k], static_cast<Accumulator>(row[k]));
      }
    }
    for (int k = 0; k < combine_width; ++k) out[i + k] = static_cast<T>(sums[k]);
  }
  for (; i < count; ++i) {
    auto sum = static_cast<Accumulator>(static_cast<const T*>(rows[0])[i]);
    for (int r = 1; r < num_rows; ++r) {
      sum = combine<Combine>(sum, static_cast<Accumulator>(static_cast<const T*>(rows[r])[i]));
    }
    out[i] = static_cast<T>(sum);
  }
}

template <class T, class Accumulator = T>
void combine_rows(reduction how, const void* const* rows, int num_rows, void* out,
                  std::int64_t count) {
  T* const to = static_cast<T*>(out);
  switch (how) {
    case reduction::sum:
      return combine_rows<reduction::sum, T, Accumulator>(rows, num_rows, to, count);
    case reduction::max:
      return combine_rows<reduction::max, T, Accumulator>(rows, num_rows, to, count);
    case reduction::min:
      return combine_rows<reduction::min, T, Accumulator>(rows, num_rows, to, count);
  }
  __builtin_unreachable();
}

}  // namespace detail

/// Combines rows of `count` elements in the order of the rows; `out` may be one of them.
///
/// A bf16 or f16 is combined in f32 and rounded once; a sum of booleans is their `or`.
inline void combine_rows(reduction how, dtype element, const void* const* rows, int num_rows,
                         void* out, std::int64_t count) {
  switch (element) {
    case dtype::boolean:
      return detail::combine_rows<bool>(how, rows, num_rows, out, count);
    case dtype::u8:
      return detail::combine_rows<u8>(how, rows, num_rows, out, count);
    case dtype::i32:
      return detail::combine_rows<i32>(how, rows, num_rows, out, count);
    case dtype::u32:
      return detail::combine_rows<u32>(how, rows, num_rows, out, count);
    case dtype::i64:
      return detail::combine_rows<i64>(how, rows, num_rows, out, count);
    case dtype::f16:
      return detail::combine_rows<f16, float>(how, rows, num_rows, out, count);
    case dtype::bf16:
      return detail::combine_rows<bf16, float>(how, rows, num_rows, out, count);
    case dtype::f32:
      return detail::combine_rows<f32>(how, rows, num_rows, out, count);
    case dtype::f64:
      return detail::combine_rows<f64>(how, rows, num_rows, out, count);
  }
  __builtin_unreachable();
}

}  // namespace atled::comm
