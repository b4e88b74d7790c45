// atled/trace/index.hpp: what may stand between the parentheses of x(1, range(0, 3), newaxis).
// Reads: ir/builder.hpp. Next: trace/expr.hpp; ops/indexing.hpp says what each of it means.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/builder.hpp"

#include <concepts>
#include <cstdint>
#include <limits>

namespace atled {

class expr;

/// The end of an axis, whatever its size: `range(2, to_end)`.
inline constexpr std::int64_t to_end = std::numeric_limits<std::int64_t>::max();

/// Places of one axis from `start` up to, without, `stop`, every `step`-th; NumPy's
/// start:stop:step.
///
/// `range()` is all of them, `range(3)` the first three. Negative places count from the end.
struct range {
  std::int64_t start = 0;
  std::int64_t stop = to_end;
  std::int64_t step = 1;

  constexpr range() = default;
  constexpr explicit range(std::int64_t end) : stop(end) {}
  constexpr range(std::int64_t first, std::int64_t end, std::int64_t by = 1)
      : start(first), stop(end), step(by) {}
};

struct newaxis_tag {};
/// A new axis of size 1: `x(range(), newaxis)`.
inline constexpr newaxis_tag newaxis{};

struct ellipsis_tag {};
/// As many `range()` as are missing: `x(ellipsis, 0)`.
inline constexpr ellipsis_tag ellipsis{};

/// One entry of an index, and the line on which it was written.
class index_item {
 public:
  enum class kind : std::uint8_t { absent, place, places, new_axis, all_other, traced };

  constexpr index_item() = default;
  template <std::integral T>
  constexpr index_item(T place, call_site at = call_site::here())  // NOLINT: converts
      : kind_(kind::place), places_(static_cast<std::int64_t>(place), 0), at_(at) {}
  constexpr index_item(const range& places, call_site at = call_site::here())  // NOLINT: converts
      : kind_(kind::places), places_(places), at_(at) {}
  constexpr index_item(newaxis_tag, call_site at = call_site::here())  // NOLINT: converts
      : kind_(kind::new_axis), at_(at) {}
  constexpr index_item(ellipsis_tag, call_site at = call_site::here())  // NOLINT: converts
      : kind_(kind::all_other), at_(at) {}
  template <std::same_as<expr> E>
  constexpr index_item(const E& indices, call_site at = call_site::here())  // NOLINT: converts
      : kind_(kind::traced), id_(indices.id()), at_(at) {}

  [[nodiscard]] constexpr kind what() const { return kind_; }
  [[nodiscard]] constexpr std::int64_t place() const { return places_.start; }
  [[nodiscard]] constexpr const range& places() const { return places_; }
  [[nodiscard]] constexpr int id() const { return id_; }  ///< of integers in the program
  [[nodiscard]] constexpr const call_site& at() const { return at_; }

 private:
  kind kind_ = kind::absent;
  range places_{};
  int id_ = ir::poison;
  call_site at_{};
};

}  // namespace atled
