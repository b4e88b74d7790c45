// atled/runtime/term_types.hpp: from the instructions of a kernel, as values, to the types of the
// terms and slots of its loop. Reads: passes/plan.hpp, loops/loop.hpp. Next: runtime/lower.hpp.
//
// What one instruction does is found by a number, not by the program and the place in it, so that
// the compiler finds it once: a kernel costs one look at each of its instructions.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/loop.hpp"
#include "atled/passes/plan.hpp"
#include "atled/runtime/function_of.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace atled::runtime::detail {

consteval loops::walk walk_of(passes::access a) {
  switch (a) {
    case passes::access::splat:
      return loops::walk::splat;
    case passes::access::unit:
      return loops::walk::unit;
    case passes::access::strided:
      return loops::walk::strided;
    case passes::access::stream:
      return loops::walk::stream;
  }
  __builtin_unreachable();
}

/// A kernel with more long functions than this calls them.
inline constexpr int max_inlined_functions = 8;

/// All that the work of an instruction depends on. What its kind does not need is left at 0, so
/// that equal work is one type in all programs.
struct work_key {
  passes::instruction_kind kind;
  op code;
  dtype element;
  dtype sum;  ///< of the product, for an accumulator
  passes::access walk;
  bool per_row;
  bool is_called;
  int num_operands;
  dtype operands[4];

  /// As one number: g++ 12 takes no list of structs as template arguments.
  [[nodiscard]] constexpr std::uint64_t packed() const {
    std::uint64_t out = 0;
    for (const dtype d : operands) out = out << 6 | static_cast<std::uint64_t>(d);
    out = out << 6 | static_cast<std::uint64_t>(element);
    out = out << 6 | static_cast<std::uint64_t>(sum);
    out = out << 10 | static_cast<std::uint64_t>(code);
    out = out << 4 | static_cast<std::uint64_t>(kind);
    out = out << 3 | static_cast<std::uint64_t>(walk);
    out = out << 3 | static_cast<std::uint64_t>(num_operands);
    return out << 2 | static_cast<std::uint64_t>(2 * per_row + is_called);
  }
  [[nodiscard]] static constexpr work_key unpacked(std::uint64_t word) {
    const auto take = [&word](int bits) {
      const std::uint64_t out = word & ((std::uint64_t{1} << bits) - 1);
      word >>= bits;
      return static_cast<int>(out);
    };
    work_key out{};
    const int flags = take(2);
    out.per_row = flags >= 2;
    out.is_called = flags % 2 == 1;
    out.num_operands = take(3);
    out.walk = static_cast<passes::access>(take(3));
    out.kind = static_cast<passes::instruction_kind>(take(4));
    out.code = static_cast<op>(take(10));
    out.sum = static_cast<dtype>(take(6));
    out.element = static_cast<dtype>(take(6));
    for (int k = 3; k >= 0; --k) out.operands[k] = static_cast<dtype>(take(6));
    return out;
  }
};
/// An instruction as a term; operands count from the first instruction of their kernel.
struct term_key {
  std::uint64_t work;  ///< packed
  std::int64_t bits;
  int stage;
  int slot;
  int operands[4];
};

template <int Size>
consteval std::array<term_key, static_cast<std::size_t>(Size)> keys_of(const passes::plan& plan,
                                                                       int begin, dtype sum) {
  using enum passes::instruction_kind;
  std::array<term_key, static_cast<std::size_t>(Size)> out{};
  int long_functions = 0;
  for (int j = 0; j < Size; ++j) {
    const passes::instruction& i = plan.instructions[begin + j];
    long_functions += i.kind == compute && is_long_function(i.code) ? 1 : 0;
  }
  for (int j = 0; j < Size; ++j) {
    const passes::instruction& i = plan.instructions[begin + j];
    term_key& key = out[static_cast<std::size_t>(j)];
    work_key work{};
    const bool has_slot = i.kind == load || i.kind == index || i.kind == store || i.kind == partial;
    key.stage = i.stage;
    key.slot = has_slot ? i.slot : -1;
    work.kind = i.kind;
    work.element = i.element;
    if (has_slot) work.walk = i.walk;
    if (i.kind == accumulator) work.sum = sum;
    if (i.kind == partial) work.per_row = i.per_row;
    if (i.kind == compute || i.kind == constant) key.bits = i.bits;
    if (i.kind == compute || i.kind == row_reduce || i.kind == partial) work.code = i.code;
    if (i.kind == compute) {
      work.is_called = long_functions > max_inlined_functions && is_long_function(i.code);
      work.num_operands = i.num_operands;
    }
    for (int k = 0; k < i.num_operands; ++k) {
      key.operands[k] = i.operands[k];
      if (i.kind == compute) {
        work.operands[k] = plan.instructions[begin + i.operands[k]].element;
      }
    }
    key.work = work.packed();
  }
  return out;
}

template <std::uint64_t Word, std::int64_t Bits, std::size_t... K>
consteval auto compute_work(std::index_sequence<K...>) {
  constexpr work_key key = work_key::unpacked(Word);
  using T = element_t<key.element>;
  using function = function_of<key.code, T, Bits>;
  return std::type_identity<
      loops::compute_work<std::conditional_t<key.is_called, loops::called<function>, function>, T,
                          element_t<key.operands[K]>...>>{};
}
template <std::uint64_t Word, std::int64_t Bits>
consteval auto find_work() {
  using kind = passes::instruction_kind;
  constexpr work_key key = work_key::unpacked(Word);
  using T = element_t<key.element>;
  if constexpr (key.kind == kind::load) {
    return std::type_identity<loops::load_work<T, walk_of(key.walk)>>{};
  } else if constexpr (key.kind == kind::index) {
    return std::type_identity<loops::index_work<T, walk_of(key.walk)>>{};
  } else if constexpr (key.kind == kind::constant) {
    return std::type_identity<loops::constant_work<T, Bits>>{};
  } else if constexpr (key.kind == kind::compute) {
    return compute_work<Word, Bits>(
        std::make_index_sequence<static_cast<std::size_t>(key.num_operands)>{});
  } else if constexpr (key.kind == kind::accumulator) {
    return std::type_identity<loops::accumulator_work<T, element_t<key.sum>>>{};
  } else if constexpr (key.kind == kind::store) {
    return std::type_identity<loops::store_work<T, walk_of(key.walk)>>{};
  } else if constexpr (key.kind == kind::row_reduce) {
    return std::type_identity<loops::row_reduce_work<combine_of<key.code>, T>>{};
  } else if constexpr (key.per_row) {
    return std::type_identity<loops::whole_partial_work<combine_of<key.code>, T>>{};
  } else {
    return std::type_identity<loops::partial_work<combine_of<key.code>, T, walk_of(key.walk)>>{};
  }
}
template <std::uint64_t Word, std::int64_t Bits>
using work_of = typename decltype(find_work<Word, Bits>())::type;

struct slot_facts {
  dtype element;
  loops::slot_use use;
};

// Slots have no type of their own: the instructions that touch them tell it.
template <class Program, int Kernel>
consteval auto facts_of_slots() {
  using kind = passes::instruction_kind;
  constexpr passes::kernel k = Program::plan.kernels[Kernel];
  std::array<slot_facts, static_cast<std::size_t>(k.num_slots)> out{};
  for (slot_facts& facts : out) facts = {dtype::f32, loops::slot_use::memory};
  for (int j = k.begin; j < k.begin + k.size; ++j) {
    const passes::instruction& i = Program::plan.instructions[j];
    const auto at = static_cast<std::size_t>(i.slot);
    if (i.kind == kind::load || i.kind == kind::store) out[at].element = i.element;
    if (i.kind == kind::index) out[at] = {i.element, loops::slot_use::index};
    if (i.kind == kind::partial) out[at] = {i.element, loops::slot_use::partial};
  }
  return out;
}

// As many lanes as the widest registers hold of the narrowest type that is computed with.
template <class Program, int Kernel>
consteval int lanes_of() {
  constexpr passes::kernel k = Program::plan.kernels[Kernel];
  bool any_narrow = false;
  bool any_wide = false;
  for (int j = k.begin; j < k.begin + k.size; ++j) {
    const auto size = size_of(Program::plan.instructions[j].element);
    any_narrow = any_narrow || (size == 4 || size == 2);
    any_wide = any_wide || size == 8;
  }
  return any_wide && !any_narrow ? loops::native_lanes<f64> : loops::native_lanes<f32>;
}

template <class Program, int Kernel, std::size_t... S>
consteval auto slots_type(std::index_sequence<S...>) {
  constexpr auto facts = facts_of_slots<Program, Kernel>();
  return std::type_identity<
      loops::slot_list<loops::slot_type<element_t<facts[S].element>, facts[S].use>...>>{};
}
template <class Program, int Kernel, std::size_t... I>
consteval auto terms_type(std::index_sequence<I...>) {
  constexpr passes::kernel k = Program::plan.kernels[Kernel];
  constexpr dtype sum = is_half(k.element) ? dtype::f32 : k.element;
  constexpr auto keys = keys_of<k.size>(Program::plan, k.begin, sum);
  return std::type_identity<loops::term_list<loops::term<
      work_of<keys[I].work, keys[I].bits>, keys[I].stage, keys[I].slot, keys[I].operands[0],
      keys[I].operands[1], keys[I].operands[2], keys[I].operands[3]>...>>{};
}

}  // namespace atled::runtime::detail
