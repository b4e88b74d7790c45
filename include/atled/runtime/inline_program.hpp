// atled/runtime/inline_program.hpp: a small program as one function, node by node, without steps,
// tables or memory outside it: the compiler sees all of it at once.
// Reads: runtime/inline_layout.hpp, runtime/function_of.hpp. Called by transform/transformed.hpp.
//
//   elementwise   packets as wide as the registers allow, then narrower ones: each op's function
//                 of loops/terms.hpp, as in fused kernels
//   shape         element by element, by a table of places that is known at build time
//   reductions    in the order of their elements
//   dot           fused multiply-adds, k ascending
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/loop.hpp"
#include "atled/runtime/function_of.hpp"
#include "atled/runtime/inline_layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace atled::runtime {

namespace detail {

/// The element of operand 0 (of all operands, one behind the other, for a concatenate) that each
/// element of a node is; -1 for the filler of a pad.
constexpr void moved_places(const ir::graph& g, int id, int* out) {
  const ir::node& n = g[id];
  const shape& to = n.type.dims;
  const shape from = n.num_operands > 0 ? g.type(g.operand(id, 0)).dims : shape{};
  const shape from_strides = row_major_strides(from);
  const std::int64_t size = n.type.size();
  for (std::int64_t i = 0; i < size; ++i) {
    std::int64_t index[max_rank]{};
    std::int64_t rest = i;
    for (int a = to.rank - 1; a >= 0; --a) {
      index[a] = rest % to[a];
      rest /= to[a];
    }
    std::int64_t place = 0;
    int axis = 0;
    switch (n.code) {
      case op::broadcast:
        for (int a = 0; a < to.rank; ++a) {
          if (!ir::has_axis(n.num_attributes > 0 ? g.attribute(id) : 0, a)) continue;
          if (from[axis] != 1) place += index[a] * from_strides[axis];
          ++axis;
        }
        break;
      case op::transpose:
        for (int a = 0; a < to.rank; ++a) {
          place += index[a] * from_strides[ir::permuted_axis(g.attribute(id), a)];
        }
        break;
      case op::slice:
        for (int a = 0; a < to.rank; ++a) {
          const std::int64_t at = g.attribute(id, a) + index[a] * g.attribute(id, to.rank + a);
          place += at * from_strides[a];
        }
        break;
      case op::reverse:
        for (int a = 0; a < to.rank; ++a) {
          const bool turns = ir::has_axis(g.attribute(id), a);
          place += (turns ? to[a] - 1 - index[a] : index[a]) * from_strides[a];
        }
        break;
      case op::pad:
        for (int a = 0; a < to.rank; ++a) {
          const std::int64_t step = g.attribute(id, to.rank + a) + 1;
          const std::int64_t at = index[a] - g.attribute(id, a);
          const bool is_filled = at < 0 || at % step != 0 || at / step >= from[a];
          if (is_filled) {
            place = -1;
            break;
          }
          place += at / step * from_strides[a];
        }
        break;
      case op::concatenate: {
        const auto along = static_cast<int>(g.attribute(id));
        std::int64_t before = 0;  // elements of earlier operands
        for (int k = 0; k < n.num_operands; ++k) {
          const shape& part = g.type(g.operand(id, k)).dims;
          if (index[along] < part[along]) {
            const shape strides = row_major_strides(part);
            for (int a = 0; a < to.rank; ++a) place += index[a] * strides[a];
            break;
          }
          index[along] -= part[along];
          before += part.size();
        }
        place += before;
        break;
      }
      default:
        place = i;
        break;
    }
    out[i] = static_cast<int>(place);
  }
}
template <std::int64_t Size>
constexpr std::array<int, static_cast<std::size_t>(Size)> moved_places(const ir::graph& g, int id) {
  std::array<int, static_cast<std::size_t>(Size)> out{};
  moved_places(g, id, out.data());
  return out;
}

/// The element of a reduction's result to which each element of its operand goes.
template <std::int64_t Size>
constexpr std::array<int, static_cast<std::size_t>(Size)> reduced_places(const ir::graph& g,
                                                                         int id) {
  std::array<int, static_cast<std::size_t>(Size)> out{};
  const shape& from = g.type(g.operand(id, 0)).dims;
  const std::int64_t mask = g.attribute(id);
  for (std::int64_t i = 0; i < Size; ++i) {
    std::int64_t rest = i;
    std::int64_t stride = 1;
    std::int64_t place = 0;
    for (int a = from.rank - 1; a >= 0; --a) {
      if (!ir::has_axis(mask, a)) {
        place += rest % from[a] * stride;
        stride *= from[a];
      }
      rest /= from[a];
    }
    out[static_cast<std::size_t>(i)] = static_cast<int>(place);
  }
  return out;
}

/// Where the sum of each element of a dot begins in an operand, and where its steps are.
template <std::int64_t Size, std::int64_t Steps>
struct dot_walk {
  std::array<int, static_cast<std::size_t>(Size)> begin;
  std::array<int, static_cast<std::size_t>(Steps)> step;
};
template <std::int64_t Size, std::int64_t Steps>
constexpr dot_walk<Size, Steps> walk_of_dot(const ir::graph& g, int id, bool is_lhs) {
  dot_walk<Size, Steps> out{};
  const auto axes = ir::dot_axes::unpacked(g.attributes_of(id));
  const shape& to = g.type(id).dims;
  const shape& lhs = g.type(g.operand(id, 0)).dims;
  const shape& in = g.type(g.operand(id, is_lhs ? 0 : 1)).dims;
  const shape strides = row_major_strides(in);
  int free = is_lhs ? axes.num_batch : lhs.rank - axes.num_contract;
  std::int64_t stride_of[max_rank]{};  // of each result axis
  for (int i = 0; i < axes.num_batch; ++i) {
    stride_of[i] = strides[is_lhs ? axes.lhs_batch[i] : axes.rhs_batch[i]];
  }
  for (int a = 0; a < in.rank; ++a) {
    if ((is_lhs ? axes.role_of_lhs(a) : axes.role_of_rhs(a)) == 'f') stride_of[free++] = strides[a];
  }
  for (std::int64_t i = 0; i < Size; ++i) {
    std::int64_t rest = i;
    std::int64_t place = 0;
    for (int a = to.rank - 1; a >= 0; --a) {
      place += rest % to[a] * stride_of[a];
      rest /= to[a];
    }
    out.begin[static_cast<std::size_t>(i)] = static_cast<int>(place);
  }
  for (std::int64_t k = 0; k < Steps; ++k) {
    std::int64_t rest = k;
    std::int64_t place = 0;
    for (int i = axes.num_contract - 1; i >= 0; --i) {
      const std::int64_t size = lhs[axes.lhs_contract[i]];
      place += rest % size * strides[is_lhs ? axes.lhs_contract[i] : axes.rhs_contract[i]];
      rest /= size;
    }
    out.step[static_cast<std::size_t>(k)] = static_cast<int>(place);
  }
  return out;
}

}  // namespace detail

/// A program that is run as one function, if its values are few.
template <class Planned>
class inline_program {
  static constexpr inline_layout layout = make_inline_layout(Planned::kernel_graph());

 public:
  static constexpr bool fits = layout.fits;

  /// Runs it. Results may lie where arguments are: they are written last.
  static void run(const std::byte* const* parameters, std::byte* const* outputs) {
    alignas(64) std::byte memory[static_cast<std::size_t>(layout.bytes > 0 ? layout.bytes : 1)];
    const values_in in{parameters, memory};
    compute_from<0>(in);
    [&]<int... Output>(std::integer_sequence<int, Output...>) {
      (give<Output>(in, outputs[Output]), ...);
    }
    (std::make_integer_sequence<int, layout.num_outputs>{});
  }

 private:
  struct values_in {
    const std::byte* const* parameters;
    std::byte* memory;
  };

  template <int Id>
  using element_of = element_t<layout.nodes[Id].element>;
  template <int Id>
  static constexpr std::int64_t size_of_node = layout.nodes[Id].size;
  template <int Id>
  static constexpr bool is_one = layout.nodes[Id].is_one_value;

  // Tables of places, known at build time.
  template <int Id>
  static constexpr auto moved = detail::moved_places<size_of_node<Id>>(Planned::kernel_graph(), Id);
  template <int Id>
  static constexpr auto reduced =
      detail::reduced_places<size_of_node<layout.operand(Id, 0)>>(Planned::kernel_graph(), Id);
  template <int Id>
  static constexpr std::int64_t steps_of = detail::contracted_size(Planned::kernel_graph(), Id);
  template <int Id, bool IsLhs>
  static constexpr auto walk =
      detail::walk_of_dot<size_of_node<Id>, steps_of<Id>>(Planned::kernel_graph(), Id, IsLhs);
  template <int Id>
  static constexpr std::int64_t counted_stride = [] {
    const shape& dims = Planned::kernel_graph().type(Id).dims;
    return row_major_strides(dims)[static_cast<int>(layout.nodes[Id].bits)];
  }();
  template <int Id>
  static constexpr std::int64_t counted_size =
      Planned::kernel_graph().type(Id).dims[static_cast<int>(layout.nodes[Id].bits)];

  template <int Id>
  ATLED_INLINE static const element_of<Id>* values(const values_in& in) {
    constexpr int base = layout.nodes[Id].base;
    constexpr std::int64_t offset = layout.nodes[base].offset;
    if constexpr (layout.nodes[base].code == op::parameter) {
      constexpr auto index = static_cast<std::size_t>(layout.nodes[base].bits);
      return reinterpret_cast<const element_of<Id>*>(in.parameters[index]);
    } else {
      return reinterpret_cast<const element_of<Id>*>(in.memory + offset);
    }
  }
  template <int Id>
  ATLED_INLINE static element_of<Id>* own(const values_in& in) {
    constexpr std::int64_t offset = layout.nodes[Id].offset;
    return reinterpret_cast<element_of<Id>*>(in.memory + offset);
  }
  template <int Id>
  ATLED_INLINE static element_of<Id> value(const values_in& in, std::int64_t index) {
    return values<Id>(in)[is_one<Id> ? 0 : index];
  }

  // Some nodes at a time: compilers bound the length of a fold.
  template <int Begin>
  ATLED_INLINE static void compute_from(const values_in& in) {
    constexpr int count = std::min(layout.num_nodes - Begin, max_inline_fold);
    [&]<int... Id>(std::integer_sequence<int, Id...>) {
      (compute<Begin + Id>(in), ...);
    }
    (std::make_integer_sequence<int, count>{});
    if constexpr (Begin + count < layout.num_nodes) compute_from<Begin + count>(in);
  }

  template <int Id>
  ATLED_INLINE static void compute(const values_in& in) {
    constexpr op code = layout.nodes[Id].code;
    constexpr op_kind kind = info(code).kind;
    if constexpr (layout.nodes[Id].base != Id || code == op::parameter) {
      return;
    } else if constexpr (code == op::constant) {
      own<Id>(in)[0] = constant<Id>();
    } else if constexpr (code == op::iota) {
      count<Id>(in);
    } else if constexpr (kind == op_kind::elementwise) {
      elementwise<Id>(
          in, std::make_index_sequence<static_cast<std::size_t>(layout.nodes[Id].num_operands)>{});
    } else if constexpr (kind == op_kind::shape) {
      move<Id>(in);
    } else if constexpr (kind == op_kind::reduction) {
      reduce<Id>(in);
    } else {
      static_assert(code == op::dot, "atled: an op that is_inlinable has no case here");
      multiply<Id>(in);
    }
  }

  template <int Id>
  static constexpr element_of<Id> constant() {
    constexpr std::int64_t bits = layout.nodes[Id].bits;
    if constexpr (is_floating(layout.nodes[Id].element)) {
      return static_cast<element_of<Id>>(std::bit_cast<double>(bits));
    } else {
      return static_cast<element_of<Id>>(bits);
    }
  }

  template <int Id>
  ATLED_INLINE static void count(const values_in& in) {
    for (std::int64_t i = 0; i < size_of_node<Id>; ++i) {
      own<Id>(in)[i] = static_cast<element_of<Id>>(i / counted_stride<Id> % counted_size<Id>);
    }
  }

  template <int Id, std::size_t... K>
  ATLED_INLINE static void elementwise(const values_in& in, std::index_sequence<K...>) {
    constexpr std::int64_t size = is_one<Id> ? 1 : size_of_node<Id>;
    constexpr int lanes =
        sizeof(element_of<Id>) == 8 ||
                ((sizeof(element_of<layout.operand(Id, static_cast<int>(K))>) == 8) || ...)
            ? loops::native_lanes<f64>
            : loops::native_lanes<f32>;
    packets<Id, lanes, 0, size, layout.operand(Id, static_cast<int>(K))...>(in);
  }
  // Elements [begin, size): whole packets of N, then of N / 2 ...
  template <int Id, int N, std::int64_t Begin, std::int64_t Size, int... Operand>
  ATLED_INLINE static void packets(const values_in& in) {
    constexpr std::int64_t whole = (Size - Begin) / N * N;
    for (std::int64_t i = Begin; i < Begin + whole; i += N) packet<Id, N, Operand...>(in, i);
    if constexpr (Begin + whole < Size) {
      packets<Id, N / 2, Begin + whole, Size, Operand...>(in);
    }
  }
  template <int Id, int N, int... Operand>
  ATLED_INLINE static void packet(const values_in& in, std::int64_t at) {
    using T = element_of<Id>;
    constexpr op code = layout.nodes[Id].code;
    constexpr std::int64_t bits = layout.nodes[Id].bits;
    const auto out =
        function_of<code, T, bits>::apply(loops::detail::load_packet < element_of<Operand>,
                                          is_one<Operand> ? loops::walk::splat : loops::walk::unit,
                                          true, N > (values<Operand>(in), at, 1, N)...);
    loops::detail::store_packet<T, loops::walk::unit, true, N>(own<Id>(in), out, at, 1, N);
  }

  template <int Id>
  ATLED_INLINE static void move(const values_in& in) {
    constexpr std::int64_t size = size_of_node<Id>;
    const auto& places = moved<Id>;
    if constexpr (layout.nodes[Id].code == op::concatenate) {
      [&]<int... K>(std::integer_sequence<int, K...>) {
        (move_part<Id, K>(in, places), ...);
      }
      (std::make_integer_sequence<int, layout.nodes[Id].num_operands>{});
    } else {
      constexpr int x = layout.operand(Id, 0);
      for (std::int64_t i = 0; i < size; ++i) {
        const int place = places[static_cast<std::size_t>(i)];
        if constexpr (layout.nodes[Id].code == op::pad) {
          if (place < 0) {
            own<Id>(in)[i] = value<layout.operand(Id, 1)>(in, 0);
            continue;
          }
        }
        own<Id>(in)[i] = value<x>(in, place);
      }
    }
  }
  template <int Id, int K>
  ATLED_INLINE static void move_part(const values_in& in, const auto& places) {
    constexpr int x = layout.operand(Id, K);
    constexpr int begin = [] {
      std::int64_t before = 0;
      for (int k = 0; k < K; ++k) before += layout.nodes[layout.operand(Id, k)].size;
      return static_cast<int>(before);
    }();
    for (std::int64_t i = 0; i < size_of_node<Id>; ++i) {
      const int place = places[static_cast<std::size_t>(i)] - begin;
      if (place >= 0 && place < size_of_node<x>) own<Id>(in)[i] = value<x>(in, place);
    }
  }

  template <int Id>
  ATLED_INLINE static void reduce(const values_in& in) {
    using T = element_of<Id>;
    using combine = combine_of<layout.nodes[Id].code>;
    constexpr int x = layout.operand(Id, 0);
    constexpr std::int64_t size = size_of_node<x>;
    const auto& places = reduced<Id>;
    T* const out = own<Id>(in);
    for (std::int64_t i = 0; i < size_of_node<Id>; ++i) out[i] = combine::template neutral<T>();
    for (std::int64_t i = 0; i < size; ++i) {
      T& sum = out[places[static_cast<std::size_t>(i)]];
      sum = combine::apply(loops::splat<1>(sum), loops::splat<1>(value<x>(in, i))).r;
    }
  }

  template <int Id>
  ATLED_INLINE static void multiply(const values_in& in) {
    using T = element_of<Id>;
    constexpr int x = layout.operand(Id, 0);
    constexpr int y = layout.operand(Id, 1);
    constexpr std::int64_t size = size_of_node<Id>;
    constexpr std::int64_t steps = steps_of<Id>;
    const auto& lhs = walk<Id, true>;
    const auto& rhs = walk<Id, false>;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      auto sum = loops::splat<1>(T{});
      for (std::size_t k = 0; k < static_cast<std::size_t>(steps); ++k) {
        sum = loops::fma(loops::splat<1>(value<x>(in, lhs.begin[i] + lhs.step[k])),
                         loops::splat<1>(value<y>(in, rhs.begin[i] + rhs.step[k])), sum);
      }
      own<Id>(in)[i] = sum.r;
    }
  }

  template <int Output>
  ATLED_INLINE static void give(const values_in& in, std::byte* to) {
    constexpr int id = layout.outputs[Output];
    using T = element_of<id>;
    T* const out = reinterpret_cast<T*>(to);
    for (std::int64_t i = 0; i < size_of_node<id>; ++i) out[i] = value<id>(in, i);
  }
};

}  // namespace atled::runtime
