// atled/core/axis.hpp: how a call names axes: axis<1> and {0, 2} by number, axis<"data"> by name.
// Reads: core/shape.hpp. Used by reductions in ops/ and loops/; a mesh names its axes with it too.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/shape.hpp"

#include <cstddef>
#include <initializer_list>

namespace atled {

/// What stands in `axis<...>`: a number of a tensor's axis, or the name of a mesh's.
template <std::size_t N>
struct axis_label {
  fixed_string<N> name{};
  int index = 0;
  bool is_number = false;

  constexpr axis_label(const char (&literal)[N + 1]) : name(literal) {}  // NOLINT: as a literal is
  constexpr axis_label(int number) : index(number), is_number(true) {}   // NOLINT
};
template <std::size_t N>
axis_label(const char (&)[N]) -> axis_label<N - 1>;
axis_label(int)->axis_label<0>;

template <axis_label Label, int Size>
struct axis_tag {
  static constexpr auto label = Label;
  static constexpr int size = Size;
};

/// One axis as a value that is known to the compiler: `sum(x, axis<-1>)`, `mesh<axis<"model", 2>>`.
template <axis_label Label, int Size = 0>
inline constexpr axis_tag<Label, Size> axis{};

/// The name of an axis, `axis<"data">`, as an argument of a collective.
struct axis_by_name {
  std::string_view name;

  template <axis_label Label>
  constexpr axis_by_name(const axis_tag<Label, 0>& tag) : name(tag.label.name.view()) {  // NOLINT
    static_assert(!Label.is_number, "atled: a collective works along an axis that has a name");
  }
};

struct none_tag {};

/// No axis: `in_axes<none, 0>` maps no axis of the first argument, `P<none, "model">` splits none.
inline constexpr none_tag none{};

struct keepdims_tag {};

/// Keeps the axes that a reduction combines, with size 1: `sum(x, axis<1>, keepdims)`.
inline constexpr keepdims_tag keepdims{};

/// Whether `keepdims` was said.
struct kept {
  bool value = false;

  constexpr kept() = default;
  constexpr kept(keepdims_tag) : value(true) {}  // NOLINT: converts
};

/// The axes a call works along: all of them, `1`, `axis<1>`, or `{0, -1}`; -1 is the last.
///
/// What lies outside the tensor is found by the function that takes them.
struct axes {
  int list[max_rank]{};
  int size = 0;
  bool all = false;
  bool keep = false;

  constexpr axes() : all(true) {}
  constexpr axes(int number) { push(number); }          // NOLINT: converts
  constexpr axes(std::initializer_list<int> numbers) {  // NOLINT: converts
    for (const int number : numbers) push(number);
  }
  template <axis_label Label, int Size>
  constexpr axes(const axis_tag<Label, Size>&) {  // NOLINT: converts
    static_assert(Label.is_number, "atled: an axis of a tensor has a number: axis<0>, axis<-1>");
    push(Label.index);
  }
  constexpr axes(keepdims_tag) : all(true), keep(true) {}  // NOLINT: converts

  constexpr void push(int number) {
    if (size < max_rank) list[size++] = number;
  }
};

}  // namespace atled
