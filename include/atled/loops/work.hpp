// atled/loops/work.hpp: what each kind of instruction of a fused kernel does to one packet.
// Reads: loops/terms.hpp. Next: loops/loop.hpp runs a list of terms.
//
// A kernel is a list of terms in the order of execution. Operands are positions in that list, so a
// value that is used twice is computed once. `Stage` says when a term runs; see loops/loop.hpp.
//
// The values of a kernel lie in bytes (after inlining each is a register), and a term hands its
// work their addresses: so the work of a product is one function, whatever the kernel, and no name
// of a function but those of the loop holds the list of terms. Compilers compare each part of a
// name with all before it: names that hold the list cost its length cubed.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/terms.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace atled::loops {

namespace detail {

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

/// The value of a term of type T.
template <class T, int N>
ATLED_INLINE packet<T, N>& value_at(std::byte* at) {
  return *reinterpret_cast<packet<T, N>*>(at);
}

// The neutral element in the lanes that do not count.
template <class Combine, class T, bool Full, int N>
ATLED_INLINE packet<T, N> counted(packet<T, N> value, [[maybe_unused]] int count) {
  if constexpr (Full) {
    return value;
  } else {
    return select(first_lanes<N>(count), value, splat_of<T, N>(Combine::template neutral<T>()));
  }
}

}  // namespace detail

/// Where a term works: along a row, `first` is the address of the row's first element (or the index
/// there), `step` the distance of neighbours; `count` lanes count, unless all do.
struct packet_place {
  std::int64_t first;
  std::int64_t step;
  std::int64_t column;
  int count;
};

/// What is the same for all kinds of work. `run` has the addresses of its value and of operands.
template <class T>
struct plain_work {
  using element = T;
  static constexpr bool is_row_reduction = false;
  static constexpr bool is_whole_partial = false;
  static constexpr bool is_streaming = false;

  /// Of a reduction's value, before its row or chunk and after it; of others nothing.
  template <int N>
  static void begin(std::byte*) {}
  template <int N>
  static void end(std::byte*, std::int64_t) {}
};

/// Reads memory.
template <class T, walk Walk>
struct load_work : plain_work<T> {
  template <bool Full, int N>
  ATLED_INLINE static void run(std::byte* to, const packet_place& p, std::byte*, std::byte*,
                               std::byte*, std::byte*) {
    detail::value_at<T, N>(to) = detail::load_packet<T, Walk, Full, N>(detail::pointer<T>(p.first),
                                                                       p.column, p.step, p.count);
  }
};

/// The affine index that a slot describes: its value at the row's start and its step along the row.
template <class T, walk Walk>
struct index_work : plain_work<T> {
  template <bool Full, int N>
  ATLED_INLINE static void run(std::byte* to, const packet_place& p, std::byte*, std::byte*,
                               std::byte*, std::byte*) {
    auto& out = detail::value_at<T, N>(to);
    const std::int64_t first = p.first + p.column * p.step;
    if constexpr (Walk == walk::splat) {
      out = splat_of<T, N>(static_cast<T>(p.first));
    } else if constexpr (std::integral<T> && !std::same_as<T, bool> && sizeof(T) >= 4) {
      if constexpr (Walk == walk::unit) {
        out = splat<N>(static_cast<T>(first)) + iota<T, N>();
      } else {
        out = splat<N>(static_cast<T>(first)) + iota<T, N>() * splat<N>(static_cast<T>(p.step));
      }
    } else if constexpr (std::same_as<T, bool>) {
      const auto is_first = static_cast<T>(first);
      out = (splat<N>(static_cast<i32>(is_first)) + iota<i32, N>()) != splat<N>(0);
    } else {
      const auto index =
          splat<N>(static_cast<i32>(first)) + iota<i32, N>() * splat<N>(static_cast<i32>(p.step));
      out = convert_to<T>::apply(index);
    }
  }
};

/// A number; `Bits` are those of an f64 for floating types, else the integer.
template <class T, std::int64_t Bits>
struct constant_work : plain_work<T> {
  template <bool Full, int N>
  ATLED_INLINE static void run(std::byte* to, const packet_place&, std::byte*, std::byte*,
                               std::byte*, std::byte*) {
    auto& out = detail::value_at<T, N>(to);
    if constexpr (std::floating_point<T>) {
      out = splat_of<T, N>(static_cast<T>(std::bit_cast<double>(Bits)));
    } else if constexpr (half_float<T>) {
      out = splat<N>(static_cast<f32>(std::bit_cast<double>(Bits)));
    } else {
      out = splat_of<T, N>(static_cast<T>(Bits));
    }
  }
};

/// A function that is called where it fits registers: kernels that apply some function of many
/// instructions again and again hold it once.
template <class Function>
struct called {
  template <class... Packet>
  ATLED_INLINE static auto apply(const Packet&... x) {
    if constexpr (((sizeof(Packet) <= simd_bytes) && ...)) {
      return out_of_line(x...);
    } else {
      return Function::apply(x...);
    }
  }

 private:
  template <class... Packet>
  [[gnu::noinline]] static auto out_of_line(Packet... x) {
    return Function::apply(x...);
  }
};

/// Applies a function to values of the types A, B, C, D, as many as it takes.
template <class Function, class T, class A, class B = void, class C = void, class D = void>
struct compute_work : plain_work<T> {
  template <bool Full, int N>
  ATLED_INLINE static void run(std::byte* to, const packet_place&, std::byte* a, std::byte* b,
                               std::byte* c, std::byte* d) {
    using detail::value_at;
    auto& out = value_at<T, N>(to);
    if constexpr (!std::is_void_v<D>) {
      out = rounded(Function::apply(value_at<A, N>(a), value_at<B, N>(b), value_at<C, N>(c),
                                    value_at<D, N>(d)));
    } else if constexpr (!std::is_void_v<C>) {
      out = rounded(Function::apply(value_at<A, N>(a), value_at<B, N>(b), value_at<C, N>(c)));
    } else if constexpr (!std::is_void_v<B>) {
      out = rounded(Function::apply(value_at<A, N>(a), value_at<B, N>(b)));
    } else {
      out = rounded(Function::apply(value_at<A, N>(a)));
    }
  }

 private:
  // Floats of 16 bits are rounded after each operation.
  template <class Packet>
  ATLED_INLINE static Packet rounded(Packet value) {
    if constexpr (half_float<T>) {
      return convert<T>(value);
    } else {
      return value;
    }
  }
};

/// Writes memory.
template <class T, walk Walk>
struct store_work : plain_work<T> {
  static constexpr bool is_streaming = Walk == walk::stream;

  template <bool Full, int N>
  ATLED_INLINE static void run(std::byte*, const packet_place& p, std::byte* from, std::byte*,
                               std::byte*, std::byte*) {
    detail::store_packet<T, Walk, Full, N>(detail::pointer<T>(p.first),
                                           detail::value_at<T, N>(from), p.column, p.step, p.count);
  }
};

/// Combines its operand into one packet, from where `begin` is called on.
template <class Combine, class T>
struct fold_work : plain_work<T> {
  template <int N>
  ATLED_INLINE static void begin(std::byte* to) {
    detail::value_at<T, N>(to) = splat_of<T, N>(Combine::template neutral<T>());
  }
  template <bool Full, int N>
  ATLED_INLINE static void run(std::byte* to, const packet_place& p, std::byte* from, std::byte*,
                               std::byte*, std::byte*) {
    auto& out = detail::value_at<T, N>(to);
    out = Combine::apply(
        out, detail::counted<Combine, T, Full, N>(detail::value_at<T, N>(from), p.count));
  }
};

/// Combines a row of its operand; the value is there from the next stage on.
template <class Combine, class T>
struct row_reduce_work : fold_work<Combine, T> {
  static constexpr bool is_row_reduction = true;

  template <int N>
  ATLED_INLINE static void end(std::byte* to, std::int64_t) {
    auto& out = detail::value_at<T, N>(to);
    out = splat_of<T, N>(static_cast<T>(Combine::across(out)));
  }
};

/// Combines its operand over rows into a partial result in memory.
template <class Combine, class T, walk Walk>
struct partial_work : plain_work<T> {
  using combine = Combine;

  template <bool Full, int N>
  ATLED_INLINE static void run(std::byte*, const packet_place& p, std::byte* from, std::byte*,
                               std::byte*, std::byte*) {
    T* at = detail::pointer<T>(p.first);
    const auto so_far = detail::load_packet<T, Walk, Full, N>(at, p.column, p.step, p.count);
    detail::store_packet<T, Walk, Full, N>(at, Combine::apply(so_far, detail::value_at<T, N>(from)),
                                           p.column, p.step, p.count);
  }
};

/// The same over all elements: one number.
template <class Combine, class T>
struct whole_partial_work : fold_work<Combine, T> {
  using combine = Combine;
  static constexpr bool is_whole_partial = true;

  template <int N>
  ATLED_INLINE static void end(std::byte* to, std::int64_t address) {
    *detail::pointer<T>(address) = static_cast<T>(Combine::across(detail::value_at<T, N>(to)));
  }
};

/// The finished sum of a product, in an epilogue: `first` is where the row's sums are.
template <class T, class Sum>
struct accumulator_work : plain_work<T> {
  template <bool Full, int N>
  ATLED_INLINE static void run(std::byte* to, const packet_place& p, std::byte*, std::byte*,
                               std::byte*, std::byte*) {
    const auto sum = detail::load_packet<Sum, walk::unit, Full, N>(
        detail::pointer<const Sum>(p.first), p.column, 1, p.count);
    if constexpr (std::same_as<T, Sum>) {
      detail::value_at<T, N>(to) = sum;
    } else {
      detail::value_at<T, N>(to) = convert<T>(sum);
    }
  }
};

/// One instruction of a kernel. `Slot`: where it reads or writes; -1: nowhere, or the sums of a
/// product. A to D: the terms that it reads.
template <class Work, int Stage, int Slot, int A = 0, int B = 0, int C = 0, int D = 0>
struct term {
  using work = Work;
  static constexpr int stage = Stage;
  static constexpr int slot = Slot;
  static constexpr int a = A, b = B, c = C, d = D;
};

}  // namespace atled::loops
