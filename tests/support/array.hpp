// support/array.hpp: a tensor of any type and shape, known at run time: what the oracle computes
// with. Reads: core/shape.hpp. Next: support/interpreter.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/shape.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace atled::oracle {

/// A tensor of any type. Floating elements are in `reals`, the others in `integers`.
struct array {
  tensor_type type{};
  std::vector<double> reals;
  std::vector<std::int64_t> integers;

  array() = default;
  explicit array(const tensor_type& of) : type(of) {
    const auto count = static_cast<std::size_t>(of.size());
    (is_floating(of.element) ? reals.resize(count) : integers.resize(count));
  }

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(type.size()); }
  [[nodiscard]] bool is_real() const { return is_floating(type.element); }
  [[nodiscard]] double operator[](std::size_t i) const {
    return is_real() ? reals[i] : static_cast<double>(integers[i]);
  }
};

/// `value` as the element type holds it.
[[nodiscard]] inline double rounded(double value, dtype element) {
  return rounded_to(value, element);
}
/// Integers wrap around.
[[nodiscard]] inline std::int64_t wrapped(std::int64_t value, dtype element) {
  switch (element) {
    case dtype::boolean:
      return value != 0 ? 1 : 0;
    case dtype::u8:
      return static_cast<std::uint8_t>(value);
    case dtype::i32:
      return static_cast<std::int32_t>(value);
    case dtype::u32:
      return static_cast<std::uint32_t>(value);
    default:
      return value;
  }
}

[[nodiscard]] inline array make_array(const tensor_type& type, const std::vector<double>& values) {
  array out(type);
  if (values.size() != out.size()) throw std::invalid_argument("make_array: wrong count");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (out.is_real()) {
      out.reals[i] = rounded(values[i], type.element);
    } else {
      out.integers[i] = wrapped(static_cast<std::int64_t>(values[i]), type.element);
    }
  }
  return out;
}

}  // namespace atled::oracle
