// atled/kernels/index.hpp: gather and scatter, and slices at places known at run time.
// Reads: core/dtype.hpp. The plain loops are their own specification.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace atled::kernels {

/// value[batch, before, axis, after], indices[batch, count], result[batch, before, count, after].
struct gather_shape {
  std::int64_t batch, before, axis, count, after;
  bool clips;  ///< else an index outside reads 0 and is not written
};

namespace detail {
// The place an index means, or -1.
template <class Index>
[[nodiscard]] constexpr std::int64_t place_of(Index index, const gather_shape& s) {
  const auto at = static_cast<std::int64_t>(index);
  if (at >= 0 && at < s.axis) return at;
  if (!s.clips || s.axis == 0) return -1;
  return at < 0 ? 0 : s.axis - 1;
}

[[nodiscard]] constexpr std::int64_t clamped(std::int64_t start, std::int64_t room) {
  return start < 0 ? 0 : start > room ? room : start;
}
}  // namespace detail

/// out[b, p, i, s] = value[b, p, indices[b, i], s]
template <class T, class Index>
void gather(const gather_shape& s, const T* value, const Index* indices, T* out) {
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t p = 0; p < s.before; ++p) {
      const T* from = value + (b * s.before + p) * s.axis * s.after;
      for (std::int64_t i = 0; i < s.count; ++i, out += s.after) {
        const std::int64_t at = detail::place_of(indices[b * s.count + i], s);
        for (std::int64_t k = 0; k < s.after; ++k) out[k] = at < 0 ? T{} : from[at * s.after + k];
      }
    }
  }
}

/// What `scatter` does where an update meets an element.
struct meet_added {
  template <class T>
  static constexpr T of(T x, T y) {
    if constexpr (std::is_same_v<T, bool>) {
      return x || y;
    } else {
      return static_cast<T>(x + y);
    }
  }
};
/// The larger; NaN where one is.
struct meet_max {
  template <class T>
  static constexpr T of(T x, T y) {
    return x != x || x > y ? x : y;
  }
};

/// Each out[b, p, indices[b, i], s] meets updates[b, p, i, s], in the order of i.
template <class Meet, class T, class Index>
void scatter(const gather_shape& s, const Index* indices, const T* updates, T* out) {
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t p = 0; p < s.before; ++p) {
      T* to = out + (b * s.before + p) * s.axis * s.after;
      for (std::int64_t i = 0; i < s.count; ++i, updates += s.after) {
        const std::int64_t at = detail::place_of(indices[b * s.count + i], s);
        if (at < 0) continue;
        for (std::int64_t k = 0; k < s.after; ++k) {
          T& x = to[at * s.after + k];
          if constexpr (half_float<T>) {
            x = T(Meet::of(static_cast<f32>(x), static_cast<f32>(updates[k])));
          } else {
            x = Meet::of(x, updates[k]);
          }
        }
      }
    }
  }
}

/// Copies the box of `box` sizes at `starts` (clamped so that it fits) between a tensor of `dims`
/// and a dense one; `into_box` from the tensor to the box, else the other way.
template <class T, class Index>
void move_box(int rank, const std::int64_t* dims, const std::int64_t* box,
              const std::byte* const* starts, const T* from, T* to, bool into_box) {
  std::int64_t origin = 0;
  std::int64_t step = 1;
  std::int64_t strides[8]{};
  std::int64_t count = 1;
  for (int a = rank - 1; a >= 0; --a) {
    Index start{};
    std::memcpy(&start, starts[a], sizeof(Index));
    origin += detail::clamped(static_cast<std::int64_t>(start), dims[a] - box[a]) * step;
    strides[a] = step;
    step *= dims[a];
    count *= box[a];
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::int64_t at = origin;
    for (int a = rank - 1; a >= 0; --a) {
      at += rest % box[a] * strides[a];
      rest /= box[a];
    }
    if (into_box) {
      to[i] = from[at];
    } else {
      to[at] = from[i];
    }
  }
}

/// The first place of the largest (or smallest) element along the middle of [outer, size, inner];
/// a NaN counts as the extremum, as in NumPy.
template <class T>
void arg_extremum(std::int64_t outer, std::int64_t size, std::int64_t inner, bool largest,
                  const T* in, i32* out) {
  const auto number = [](T x) {
    if constexpr (half_float<T>) {
      return static_cast<f32>(x);
    } else {
      return x;
    }
  };
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t k = 0; k < inner; ++k) {
      std::int64_t best = 0;
      for (std::int64_t i = 1; i < size; ++i) {
        const auto x = number(in[(o * size + i) * inner + k]);
        const auto y = number(in[(o * size + best) * inner + k]);
        const bool is_nan = x != x && y == y;
        if (is_nan || (y == y && (largest ? x > y : x < y))) best = i;
      }
      out[o * inner + k] = static_cast<i32>(best);
    }
  }
}

}  // namespace atled::kernels
