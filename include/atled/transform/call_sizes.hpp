// atled/transform/call_sizes.hpp: the sizes that come with a call: read from its arguments, checked
// against each other, given to its results.
// Reads: transform/program.hpp, core/bounded_tensor.hpp. Used by transform/transformed.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/bounded_tensor.hpp"
#include "atled/transform/variables.hpp"

#include <array>
#include <cstddef>

namespace atled::detail {

/// Where a size was found: argument, leaf, axis.
struct size_place {
  std::size_t argument;
  int leaf;
  int axis;
};

/// The sizes of one call of a program.
///
/// Throws: two axes of the same bounded size have different ones.
template <class Program>
class call_sizes {
 public:
  static constexpr auto count = static_cast<std::size_t>(Program::bounded_sizes.size);

  template <class... Args>
  explicit call_sizes(const Args&... args) {
    if constexpr (count > 0) {
      std::size_t argument = 0;
      const auto read = [&](const auto& tree) {
        int index = 0;
        for_each_leaf(
            [&](const auto& leaf) {
              if constexpr (bounded_tensor_like<decltype(leaf)>) {
                take(leaf, {argument, index, 0}, args...);
              }
              ++index;
            },
            tree);
        ++argument;
      };
      (read(args), ...);
    }
  }

  /// Where a size lies as a parameter of the program, an i32.
  [[nodiscard]] const std::byte* data(std::size_t i) const {
    return reinterpret_cast<const std::byte*>(&values_[i]);
  }

  /// A result has the sizes of its type.
  template <class Leaf>
  void give(Leaf& result) const {
    if constexpr (bounded_tensor_like<Leaf>) {
      for (int axis = 0; axis < Leaf::rank; ++axis) {
        const std::int64_t size = Leaf::type.dims[axis];
        if (is_bounded(size)) bounded_access::set_size(result, axis, values_[index_of(size)]);
      }
    }
  }

 private:
  std::array<i32, count + 1> values_{};
  std::array<size_place, count + 1> places_{};
  std::array<bool, count + 1> is_known_{};

  static std::size_t index_of(std::int64_t size) {
    return static_cast<std::size_t>(Program::bounded_sizes.find(size));
  }

  template <class Leaf, class... Args>
  void take(const Leaf& leaf, size_place at, const Args&... args) {
    for (at.axis = 0; at.axis < Leaf::rank; ++at.axis) {
      const std::int64_t size = Leaf::type.dims[at.axis];
      if (!is_bounded(size)) continue;
      const std::size_t i = index_of(size);
      const auto value = static_cast<i32>(leaf.size(at.axis));
      if (is_known_[i] && values_[i] != value) fail(size, i, at, value, args...);
      values_[i] = value;
      places_[i] = at;
      is_known_[i] = true;
    }
  }

  template <class... Args>
  [[noreturn]] void fail(std::int64_t size, std::size_t i, const size_place& at, i32 value,
                         const Args&... args) const {
    const auto written = [&](const size_place& place, i32 number) {
      text out;
      std::size_t argument = 0;
      const auto name = [&](const auto& tree) {
        if (argument == place.argument) out << leaf_text(tree, argument, place.leaf);
        ++argument;
      };
      (name(args), ...);
      return out << " axis " << place.axis << " is " << number;
    };
    text why = "jit: ";
    why << written(places_[i], values_[i]) << ", " << written(at, value) << ": both are "
        << size_text{size} << ", so their sizes must be equal; give one of them a name";
    throw error(why);
  }
};

}  // namespace atled::detail
