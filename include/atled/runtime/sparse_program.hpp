// atled/runtime/sparse_program.hpp: a program as one function that computes only what is not known
// at build time. Reads: runtime/sparse_layout.hpp. Called by transform/program.hpp.
//
//   elementwise   the elements that are not known, side by side; an operand whose elements lie
//                 elsewhere is collected first
//   shape         nothing: the table of places of who reads it says where the elements are
//   reductions    in the order of their elements
//   dot           fused multiply-adds, k ascending
//   a result      the number that is there most often everywhere, then the others
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/runtime/sparse_layout.hpp"

#include <cstring>
#include <type_traits>

namespace atled::runtime {

template <class Planned>
class sparse_program {
  static constexpr sparse_layout make() {
    if (inline_program<Planned>::fits) return {};
    return make_sparse_layout(Planned::kernel_graph());
  }
  static constexpr sparse_layout layout = make();

 public:
  static constexpr bool fits = layout.fits;

  /// Runs it. Results may lie where arguments are: they are written last.
  static void run(const std::byte* const* parameters, std::byte* const* outputs) {
    alignas(64) std::byte memory[static_cast<std::size_t>(layout.bytes > 0 ? layout.bytes : 1)];
    give_known(memory);
    compute_from<0>(parameters, memory);
    [&]<int... Output>(std::integer_sequence<int, Output...>) {
      (give<Output>(memory, outputs[Output]), ...);
    }
    (std::make_integer_sequence<int, layout.num_outputs>{});
  }

 private:
  template <int Id>
  using element_of = element_t<layout.nodes[Id].element>;
  template <int Id>
  static constexpr auto count_of = static_cast<std::size_t>(layout.nodes[Id].count);

  static constexpr auto known_image = [] {
    std::array<std::uint64_t, static_cast<std::size_t>(layout.num_known) + 1> out{};
    for (int i = 0; i < layout.num_known; ++i) {
      const known_number& x = layout.known[i];
      std::uint64_t& word = out[static_cast<std::size_t>(i)];
      if (x.element == dtype::f32) {
        word = std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(x.bits)));
      } else {
        word = static_cast<std::uint64_t>(x.bits);
      }
    }
    return out;
  }();
  ATLED_INLINE static void give_known(std::byte* memory) {
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(memory + layout.known_offset, known_image.data(),
                static_cast<std::size_t>(8 * layout.num_known));
  }

  /// Where the elements of operand `K` are for each element of node `Id` that is computed.
  template <int Id, int K>
  static constexpr auto places = [] {
    // without calls: compilers evaluate this for each element of each operand
    std::array<int, count_of<Id>> out{};
    const sparse_node& n = layout.nodes[Id];
    const sparse_node& x = layout.nodes[layout.operand(Id, K)];
    const auto begin = static_cast<int>(n.offset);
    const int end = begin + n.count * static_cast<int>(size_of(n.element));
    const auto known = static_cast<int>(layout.known_offset);
    const int step = x.size == 1 ? 0 : 1;
    int* to = out.data();
    int left = n.count;
    for (int i = 0; left > 0; ++i) {
      const int here = layout.places[n.first + i];
      if (here < begin || here >= end) continue;
      const int from = layout.places[x.first + i * step];
      *to++ = from >= 0 ? from : known + 8 * (-1 - from);
      --left;
    }
    return out;
  }();
  /// Where all elements of a node are.
  template <int Id, std::size_t Size>
  static constexpr auto all_places = [] {
    std::array<int, Size> out{};
    for (std::size_t i = 0; i < Size; ++i) out[i] = layout.offset_of(Id, static_cast<int>(i));
    return out;
  }();

  enum class lie : std::uint8_t { one, side_by_side, scattered };
  template <std::size_t Size>
  static constexpr lie lie_of(const std::array<int, Size>& at, std::int64_t bytes) {
    bool is_one = true;
    bool is_row = true;
    for (std::size_t i = 1; i < Size; ++i) {
      is_one = is_one && at[i] == at[0];
      is_row = is_row && at[i] == at[i - 1] + static_cast<int>(bytes);
    }
    return is_one ? lie::one : is_row ? lie::side_by_side : lie::scattered;
  }

  /// The elements at `places`: where they are, or collected side by side.
  template <class T, std::size_t Size, lie How>
  struct elements {
    alignas(64) T own[How == lie::scattered ? Size : 1];
    const T* data;

    ATLED_INLINE elements(const std::array<int, Size>& places, const std::byte* memory) {
      if constexpr (How == lie::scattered) {
        for (std::size_t i = 0; i < Size; ++i) {
          own[i] = *reinterpret_cast<const T*>(memory + places[i]);
        }
        data = own;
      } else {
        data = reinterpret_cast<const T*>(memory + places[0]);
      }
    }
  };

  // Some nodes at a time: compilers bound the length of a fold.
  template <int Begin>
  ATLED_INLINE static void compute_from(const std::byte* const* parameters, std::byte* memory) {
    constexpr int count = std::min(layout.num_nodes - Begin, max_inline_fold);
    [&]<int... Id>(std::integer_sequence<int, Id...>) {
      (compute<Begin + Id>(parameters, memory), ...);
    }
    (std::make_integer_sequence<int, count>{});
    if constexpr (Begin + count < layout.num_nodes) {
      compute_from<Begin + count>(parameters, memory);
    }
  }

  template <int Id>
  ATLED_INLINE static void compute(const std::byte* const* parameters, std::byte* memory) {
    constexpr op code = layout.nodes[Id].code;
    constexpr op_kind kind = info(code).kind;
    if constexpr (layout.nodes[Id].count == 0) {
      return;
    } else if constexpr (code == op::parameter) {
      std::memcpy(memory + layout.nodes[Id].offset,
                  parameters[static_cast<std::size_t>(layout.nodes[Id].bits)],
                  count_of<Id> * sizeof(element_of<Id>));
    } else if constexpr (kind == op_kind::elementwise) {
      elementwise<Id>(memory);
    } else if constexpr (kind == op_kind::reduction) {
      reduce<Id>(memory);
    } else {
      static_assert(code == op::dot, "atled: an op that is_inlinable has no case here");
      multiply<Id>(memory);
    }
  }
  template <int Id>
  ATLED_INLINE static element_of<Id>* own(std::byte* memory) {
    return reinterpret_cast<element_of<Id>*>(memory + layout.nodes[Id].offset);
  }

  template <int Id, int K>
  using operand_t = element_of<layout.operand(Id, K)>;
  template <int Id, int K>
  static constexpr lie operand_lie = lie_of(places<Id, K>, sizeof(operand_t<Id, K>));

  template <int Id, int K>
  static constexpr loops::walk operand_walk =
      operand_lie<Id, K> == lie::one ? loops::walk::splat : loops::walk::unit;

  template <int Id, int K = 0, class... Pointers>
  ATLED_INLINE static void elementwise(std::byte* memory, Pointers... from) {
    if constexpr (K < layout.nodes[Id].num_operands) {
      const elements<operand_t<Id, K>, count_of<Id>, operand_lie<Id, K>> next(places<Id, K>,
                                                                              memory);
      elementwise<Id, K + 1>(memory, from..., next.data);
    } else {
      constexpr bool is_wide =
          sizeof(element_of<Id>) == 8 || ((sizeof(std::remove_pointer_t<Pointers>) == 8) || ...);
      constexpr int lanes = is_wide ? loops::native_lanes<f64> : loops::native_lanes<f32>;
      packets<Id, lanes, 0>(own<Id>(memory), std::make_integer_sequence<int, K>{}, from...);
    }
  }
  // Elements [begin, size): whole packets of N, then of N / 2 ...
  template <int Id, int N, std::int64_t Begin, int... K, class... T>
  ATLED_INLINE static void packets(element_of<Id>* to, std::integer_sequence<int, K...> all,
                                   const T*... from) {
    constexpr std::int64_t size = layout.nodes[Id].count;
    constexpr std::int64_t whole = (size - Begin) / N * N;
    for (std::int64_t i = Begin; i < Begin + whole; i += N) packet<Id, N>(to, i, all, from...);
    if constexpr (Begin + whole < size) packets<Id, N / 2, Begin + whole>(to, all, from...);
  }
  template <int Id, int N, int... K, class... T>
  ATLED_INLINE static void packet(element_of<Id>* to, std::int64_t at,
                                  std::integer_sequence<int, K...>, const T*... from) {
    using function = function_of<layout.nodes[Id].code, element_of<Id>, layout.nodes[Id].bits>;
    const auto out = function::apply(
        loops::detail::load_packet<T, operand_walk<Id, K>, true, N>(from, at, 1, N)...);
    loops::detail::store_packet<element_of<Id>, loops::walk::unit, true, N>(to, out, at, 1, N);
  }

  template <int Id>
  ATLED_INLINE static void reduce(std::byte* memory) {
    using T = element_of<Id>;
    using combine = combine_of<layout.nodes[Id].code>;
    constexpr int x = layout.operand(Id, 0);
    constexpr std::int64_t size = Planned::kernel_graph().type(x).size();
    static constexpr auto to = detail::reduced_places<size>(Planned::kernel_graph(), Id);
    const auto& from = all_places<x, static_cast<std::size_t>(size)>;
    T* const out = own<Id>(memory);
    for (std::size_t i = 0; i < count_of<Id>; ++i) out[i] = combine::template neutral<T>();
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      const T value = *reinterpret_cast<const T*>(memory + from[i]);
      T& sum = out[to[i]];
      sum = combine::apply(loops::splat<1>(sum), loops::splat<1>(value)).r;
    }
  }

  template <int Id>
  ATLED_INLINE static void multiply(std::byte* memory) {
    using T = element_of<Id>;
    constexpr int x = layout.operand(Id, 0);
    constexpr int y = layout.operand(Id, 1);
    constexpr auto x_size = static_cast<std::size_t>(Planned::kernel_graph().type(x).size());
    constexpr auto y_size = static_cast<std::size_t>(Planned::kernel_graph().type(y).size());
    constexpr std::int64_t size = layout.nodes[Id].count;
    constexpr std::int64_t steps = detail::contracted_size(Planned::kernel_graph(), Id);
    static constexpr auto lhs = detail::walk_of_dot<size, steps>(Planned::kernel_graph(), Id, true);
    static constexpr auto rhs =
        detail::walk_of_dot<size, steps>(Planned::kernel_graph(), Id, false);
    const elements<T, x_size, lie::scattered> a(all_places<x, x_size>, memory);
    const elements<T, y_size, lie::scattered> b(all_places<y, y_size>, memory);
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      auto sum = loops::splat<1>(T{});
      for (std::size_t k = 0; k < static_cast<std::size_t>(steps); ++k) {
        sum = loops::fma(loops::splat<1>(a.data[lhs.begin[i] + lhs.step[k]]),
                         loops::splat<1>(b.data[rhs.begin[i] + rhs.step[k]]), sum);
      }
      own<Id>(memory)[i] = sum.r;
    }
  }

  /// The elements of a result that are not its most frequent number.
  struct rest_of_result {
    int most;  ///< where the most frequent number is, or -1
    int count;
  };
  template <int Id, std::size_t Size>
  static constexpr rest_of_result rest_of = [] {
    std::array<int, max_known_numbers> times{};
    rest_of_result out{-1, static_cast<int>(Size)};
    for (std::size_t i = 0; i < Size; ++i) {
      const int at = layout.place(Id, static_cast<int>(i));
      if (at < 0) ++times[static_cast<std::size_t>(-1 - at)];
    }
    int best = 0;
    for (int i = 1; i < layout.num_known; ++i) {
      if (times[static_cast<std::size_t>(i)] > times[static_cast<std::size_t>(best)]) best = i;
    }
    const int most = layout.num_known > 0 ? times[static_cast<std::size_t>(best)] : 0;
    if (2 * most < static_cast<int>(Size)) return out;
    return rest_of_result{static_cast<int>(layout.known_offset) + 8 * best, out.count - most};
  }();
  template <int Id, std::size_t Size>
  static constexpr auto rest_places = [] {
    constexpr auto count = static_cast<std::size_t>(rest_of<Id, Size>.count);
    std::array<std::array<int, 2>, count> out{};  // to which element, from where
    std::size_t at = 0;
    for (std::size_t i = 0; i < Size; ++i) {
      const int from = layout.offset_of(Id, static_cast<int>(i));
      if (from != rest_of<Id, Size>.most) out[at++] = {static_cast<int>(i), from};
    }
    return out;
  }();

  template <int Output>
  ATLED_INLINE static void give(const std::byte* memory, std::byte* to) {
    constexpr int id = layout.outputs[Output];
    using T = element_of<id>;
    constexpr auto size = static_cast<std::size_t>(Planned::kernel_graph().type(id).size());
    T* const out = reinterpret_cast<T*>(to);
    if constexpr (rest_of<id, size>.most >= 0) {
      const T most = *reinterpret_cast<const T*>(memory + rest_of<id, size>.most);
      for (std::size_t i = 0; i < size; ++i) out[i] = most;
    }
    for (const auto& [at, from] : rest_places<id, size>) {
      out[at] = *reinterpret_cast<const T*>(memory + from);
    }
  }
};

}  // namespace atled::runtime
