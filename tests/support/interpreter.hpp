// support/interpreter.hpp: runs a graph node by node, as plainly as it can: the oracle of the
// tests. Reads: ir/graph.hpp. Everything is computed in f64 or i64 and rounded to the node's type,
// so that each single op is correctly rounded. Slow on purpose. SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/builder.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
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
  if (element == dtype::f32) return static_cast<double>(static_cast<float>(value));
  if (element == dtype::bf16) {
    return static_cast<double>(static_cast<float>(bf16(static_cast<float>(value))));
  }
  return value;
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

namespace detail {

/// The lowest and highest value of an integer type.
inline std::pair<std::int64_t, std::int64_t> limits_of(dtype element) {
  switch (element) {
    case dtype::boolean:
      return {0, 1};
    case dtype::u8:
      return {0, 255};
    case dtype::i32:
      return {std::numeric_limits<i32>::min(), std::numeric_limits<i32>::max()};
    case dtype::u32:
      return {0, std::numeric_limits<u32>::max()};
    default:
      return {std::numeric_limits<i64>::min(), std::numeric_limits<i64>::max()};
  }
}

inline int bits_of(dtype element) {
  return static_cast<int>(8 * size_of(element));
}

/// Towards zero; out of range: the nearest value; NaN: 0.
inline std::int64_t truncated(double value, dtype element) {
  if (element == dtype::boolean) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  const auto [low, high] = limits_of(element);
  if (value <= static_cast<double>(low)) return low;
  if (value >= static_cast<double>(high)) return high;
  return static_cast<std::int64_t>(value);
}

inline std::int64_t wrapped_product(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
}
inline std::int64_t wrapped_sum(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
}
inline std::int64_t wrapped_negative(std::int64_t x) {
  return static_cast<std::int64_t>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
}

inline std::int64_t integer_power(std::int64_t x, std::int64_t exponent) {
  if (exponent < 0) return x == 1 ? 1 : x == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::int64_t out = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) out = wrapped_product(out, x);
    x = wrapped_product(x, x);
  }
  return out;
}

/// Word 0 or 1 of threefry2x32 with 20 rounds.
/// Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
inline std::uint32_t threefry_word(int word, std::uint32_t key0, std::uint32_t key1,
                                   std::uint32_t x0, std::uint32_t x1) {
  const std::uint32_t keys[3] = {key0, key1, key0 ^ key1 ^ 0x1BD11BDAU};
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x0 += keys[0];
  x1 += keys[1];
  for (std::uint32_t round = 0; round < 5; ++round) {
    for (const int rotation : rotations[round % 2]) {
      x0 += x1;
      x1 = (x1 << rotation) | (x1 >> (32 - rotation));
      x1 ^= x0;
    }
    x0 += keys[(round + 1) % 3];
    x1 += keys[(round + 2) % 3] + round + 1;
  }
  return word == 0 ? x0 : word == 1 ? x1 : x0 ^ x1;
}

inline double real_unary(op code, double x) {
  switch (code) {
    case op::neg:
      return -x;
    case op::exp:
      return std::exp(x);
    case op::expm1:
      return std::expm1(x);
    case op::log:
      return std::log(x);
    case op::log1p:
      return std::log1p(x);
    case op::tanh:
      return std::tanh(x);
    case op::logistic:
      return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
    case op::sin:
      return std::sin(x);
    case op::cos:
      return std::cos(x);
    case op::sqrt:
      return std::sqrt(x);
    case op::rsqrt:
      return 1 / std::sqrt(x);
    case op::erf:
      return std::erf(x);
    case op::abs:
      return std::abs(x);
    case op::sign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case op::floor:
      return std::floor(x);
    case op::ceil:
      return std::ceil(x);
    case op::round:
      return std::nearbyint(x);
    case op::stop_gradient:
    case op::variable:
      return x;
    default:
      throw std::logic_error("interpreter: not a unary op on reals");
  }
}

inline std::int64_t integer_unary(op code, std::int64_t x, dtype element) {
  switch (code) {
    case op::neg:
      return wrapped_negative(x);
    case op::abs:
      return x < 0 ? wrapped_negative(x) : x;
    case op::sign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case op::floor:
    case op::ceil:
    case op::round:
    case op::stop_gradient:
    case op::variable:
      return x;
    case op::logical_not:
      return element == dtype::boolean ? 1 - x : ~x;
    default:
      throw std::logic_error("interpreter: not a unary op on integers");
  }
}

inline double real_binary(op code, double x, double y) {
  switch (code) {
    case op::add:
      return x + y;
    case op::sub:
      return x - y;
    case op::mul:
      return x * y;
    case op::strong_mul:
      return x == 0 || y == 0 ? 0 : x * y;
    case op::div:
      return x / y;
    case op::rem:
      return std::fmod(x, y);
    case op::pow:
      return std::pow(x, y);
    case op::max:
      return std::isnan(x) || std::isnan(y) ? x + y : x > y ? x : y;
    case op::min:
      return std::isnan(x) || std::isnan(y) ? x + y : x < y ? x : y;
    case op::atan2:
      return std::atan2(x, y);
    default:
      throw std::logic_error("interpreter: not a binary op on reals");
  }
}

/// x / 0 is -1 in all its bits, and the remainder then x, as in JAX.
inline std::int64_t integer_quotient(std::int64_t x, std::int64_t y) {
  if (y == 0) return -1;
  return y == -1 ? wrapped_negative(x) : x / y;
}
inline std::int64_t integer_remainder(std::int64_t x, std::int64_t y) {
  if (y == 0) return x;
  return y == -1 ? 0 : x % y;
}

/// A shift by the width or more moves all bits out.
inline std::int64_t shifted(op code, std::int64_t x, std::int64_t by, dtype element) {
  const bool is_out = by < 0 || by >= bits_of(element);
  if (code == op::shift_left) {
    return is_out ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << by);
  }
  if (is_signed(element)) return x >> (is_out ? bits_of(element) - 1 : by);
  return is_out ? 0 : x >> by;
}

inline std::int64_t integer_binary(op code, std::int64_t x, std::int64_t y, dtype element) {
  switch (code) {
    case op::add:
      return wrapped_sum(x, y);
    case op::sub:
      return wrapped_sum(x, wrapped_negative(y));
    case op::mul:
      return wrapped_product(x, y);
    case op::div:
      return integer_quotient(x, y);
    case op::rem:
      return integer_remainder(x, y);
    case op::pow:
      return integer_power(x, y);
    case op::max:
      return x > y ? x : y;
    case op::min:
      return x < y ? x : y;
    case op::bit_and:
      return x & y;
    case op::bit_or:
      return x | y;
    case op::bit_xor:
      return x ^ y;
    case op::shift_left:
    case op::shift_right:
      return shifted(code, x, y, element);
    default:
      throw std::logic_error("interpreter: not a binary op on integers");
  }
}

template <class T>
bool compared(op code, T x, T y) {
  switch (code) {
    case op::eq:
      return x == y;
    case op::ne:
      return x != y;
    case op::lt:
      return x < y;
    case op::le:
      return x <= y;
    case op::gt:
      return x > y;
    case op::ge:
      return x >= y;
    default:
      throw std::logic_error("interpreter: not a comparison");
  }
}

/// A position in a tensor, one index an axis.
struct position {
  std::int64_t at[max_rank];
};
inline position position_of(const shape& dims, std::int64_t flat) {
  position out{};
  for (int i = dims.rank - 1; i >= 0; --i) {
    out.at[i] = flat % dims[i];
    flat /= dims[i];
  }
  return out;
}
inline std::size_t flat_of(const shape& dims, const position& p) {
  std::int64_t flat = 0;
  for (int i = 0; i < dims.rank; ++i) flat = flat * dims[i] + p.at[i];
  return static_cast<std::size_t>(flat);
}

inline void copy_element(array& to, std::size_t i, const array& from, std::size_t j) {
  if (to.is_real()) {
    to.reals[i] = from.reals[j];
  } else {
    to.integers[i] = from.integers[j];
  }
}
inline void add_element(array& to, std::size_t i, const array& from, std::size_t j) {
  if (to.is_real()) {
    to.reals[i] = rounded(to.reals[i] + from.reals[j], to.type.element);
  } else {
    to.integers[i] = wrapped(wrapped_sum(to.integers[i], from.integers[j]), to.type.element);
  }
}
inline std::int64_t clamped(std::int64_t value, std::int64_t high) {
  return value < 0 ? 0 : value > high ? high : value;
}

class interpreter {
 public:
  explicit interpreter(const ir::graph& g)
      : g_(g), values_(static_cast<std::size_t>(g.num_nodes)) {}

  std::vector<array> run(const std::vector<array>& arguments) {
    if (static_cast<int>(arguments.size()) != g_.num_parameters) {
      throw std::invalid_argument("interpret: wrong number of arguments");
    }
    std::vector<bool> needed(values_.size());
    for (int i = 0; i < g_.num_outputs; ++i) needed.at(index(g_.outputs[i])) = true;
    for (int id = g_.num_nodes - 1; id >= 0; --id) {
      for (int i = 0; needed[index(id)] && i < g_[id].num_operands; ++i) {
        needed[index(g_.operand(id, i))] = true;
      }
    }
    for (int id = 0; id < g_.num_nodes; ++id) {
      if (needed[index(id)]) values_[index(id)] = value_of(id, arguments);
    }
    std::vector<array> out;
    for (int i = 0; i < g_.num_outputs; ++i) out.push_back(values_[index(g_.outputs[i])]);
    return out;
  }

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] const array& in(int id, int i) const { return values_[index(g_.operand(id, i))]; }

  array value_of(int id, const std::vector<array>& arguments) {
    const tensor_type& type = g_.type(id);
    switch (info(g_[id].code).kind) {
      case op_kind::source:
        return source(id, arguments);
      case op_kind::elementwise:
        return elementwise(id);
      case op_kind::shape:
        return moved(id);
      case op_kind::index:
        return indexed(id);
      case op_kind::reduction:
        return reduced(id);
      case op_kind::cumulative:
        return accumulated(id);
      case op_kind::product:
        return product(id);
    }
    return array(type);
  }

  array source(int id, const std::vector<array>& arguments) {
    const tensor_type& type = g_.type(id);
    if (g_[id].code == op::variable) return in(id, 0);
    if (g_[id].code == op::parameter) {
      const array& out = arguments.at(static_cast<std::size_t>(g_.attribute(id)));
      if (!(out.type == type)) throw std::invalid_argument("interpret: argument of wrong type");
      return out;
    }
    array out(type);
    if (g_[id].code == op::constant) {
      if (out.is_real()) {
        out.reals[0] = g_.constant_value(id);
      } else {
        out.integers[0] = g_.attribute(id);
      }
      return out;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {  // iota
      const auto p = position_of(type.dims, static_cast<std::int64_t>(i));
      const std::int64_t value = p.at[g_.attribute(id)];
      if (out.is_real()) {
        out.reals[i] = rounded(static_cast<double>(value), type.element);
      } else {
        out.integers[i] = wrapped(value, type.element);
      }
    }
    return out;
  }

  array elementwise(int id) {
    const op code = g_[id].code;
    array out(g_.type(id));
    const dtype element = out.type.element;
    const array& x = in(id, 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (code == op::select) {
        copy_element(out, i, in(id, x.integers[i] != 0 ? 1 : 2), i);
      } else if (code == op::convert) {
        if (out.is_real()) {
          out.reals[i] = rounded(x[i], element);
        } else {
          out.integers[i] =
              x.is_real() ? truncated(x.reals[i], element) : wrapped(x.integers[i], element);
        }
      } else if (code == op::is_finite) {
        out.integers[i] = std::isfinite(x.reals[i]) ? 1 : 0;
      } else if (code == op::threefry) {
        const auto word = [&](int j) { return static_cast<std::uint32_t>(in(id, j).integers[i]); };
        out.integers[i] =
            threefry_word(static_cast<int>(g_.attribute(id)), word(0), word(1), word(2), word(3));
      } else if (is_compare(code)) {
        out.integers[i] = x.is_real() ? compared(code, x.reals[i], in(id, 1).reals[i])
                                      : compared(code, x.integers[i], in(id, 1).integers[i]);
      } else if (g_[id].num_operands == 1) {
        if (out.is_real()) {
          out.reals[i] = rounded(real_unary(code, x.reals[i]), element);
        } else {
          out.integers[i] = wrapped(integer_unary(code, x.integers[i], element), element);
        }
      } else if (out.is_real()) {
        out.reals[i] = rounded(real_binary(code, x.reals[i], in(id, 1).reals[i]), element);
      } else {
        const std::int64_t y = in(id, 1).integers[i];
        out.integers[i] = wrapped(integer_binary(code, x.integers[i], y, element), element);
      }
    }
    return out;
  }

  /// Ops that move elements: for each element of the result, or of the operand, where it comes from
  /// or goes to.
  array moved(int id) {
    const op code = g_[id].code;
    const array& x = in(id, 0);
    const shape& from = x.type.dims;
    array out(g_.type(id));
    const shape& to = out.type.dims;
    if (code == op::reshape) {
      out.reals = x.reals;
      out.integers = x.integers;
      return out;
    }
    if (code == op::pad) {
      for (std::size_t i = 0; i < out.size(); ++i) copy_element(out, i, in(id, 1), 0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        auto p = position_of(from, static_cast<std::int64_t>(i));
        for (int a = 0; a < from.rank; ++a) {
          p.at[a] = g_.attribute(id, a) + p.at[a] * (g_.attribute(id, from.rank + a) + 1);
        }
        copy_element(out, flat_of(to, p), x, i);
      }
      return out;
    }
    if (code == op::concatenate) {
      const auto axis = static_cast<int>(g_.attribute(id));
      std::int64_t start = 0;
      for (int j = 0; j < g_[id].num_operands; ++j) {
        const array& part = in(id, j);
        for (std::size_t i = 0; i < part.size(); ++i) {
          auto p = position_of(part.type.dims, static_cast<std::int64_t>(i));
          p.at[axis] += start;
          copy_element(out, flat_of(to, p), part, i);
        }
        start += part.type.dims[axis];
      }
      return out;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto p = position_of(to, static_cast<std::int64_t>(i));
      position q{};
      int axis = 0;
      for (int a = 0; a < to.rank; ++a) {
        if (code == op::broadcast) {
          if (!ir::has_axis(g_.attribute(id), a)) continue;
          q.at[axis] = from[axis] == 1 ? 0 : p.at[a];
          ++axis;
        } else if (code == op::transpose) {
          q.at[ir::permuted_axis(g_.attribute(id), a)] = p.at[a];
        } else if (code == op::slice) {
          q.at[a] = g_.attribute(id, a) + p.at[a] * g_.attribute(id, to.rank + a);
        } else {  // reverse
          q.at[a] = ir::has_axis(g_.attribute(id), a) ? to[a] - 1 - p.at[a] : p.at[a];
        }
      }
      copy_element(out, i, x, flat_of(from, q));
    }
    return out;
  }

  /// For element `p` of what a gather gives: the element of the value that it means; false if none.
  bool gathered_place(int id, const position& p, position& q) const {
    const shape& value = in(id, 0).type.dims;
    const array& indices = in(id, 1);
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const auto batch_dims = static_cast<int>(g_.attribute(id, 1));
    const int num_index_axes = indices.type.rank() - batch_dims;
    position where{};
    for (int i = 0; i < batch_dims; ++i) where.at[i] = p.at[i];
    for (int i = 0; i < num_index_axes; ++i) where.at[batch_dims + i] = p.at[axis + i];
    std::int64_t place = indices.integers[flat_of(indices.type.dims, where)];
    for (int i = 0; i < axis; ++i) q.at[i] = p.at[i];
    for (int i = axis + 1; i < value.rank; ++i) q.at[i] = p.at[i - 1 + num_index_axes];
    const bool is_inside = place >= 0 && place < value[axis];
    if (!is_inside && static_cast<index_mode>(g_.attribute(id, 2)) == index_mode::fill)
      return false;
    if (value[axis] == 0) return false;
    q.at[axis] = clamped(place, value[axis] - 1);
    return true;
  }

  array indexed(int id) {
    const op code = g_[id].code;
    const array& x = in(id, 0);
    const shape& dims = x.type.dims;
    if (code == op::gather) {
      array out(g_.type(id));
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto p = position_of(out.type.dims, static_cast<std::int64_t>(i));
        position q{};
        if (gathered_place(id, p, q)) copy_element(out, i, x, flat_of(dims, q));
      }
      return out;
    }
    if (code == op::scatter_add) {
      array out = x;
      const array& updates = in(id, 2);
      for (std::size_t i = 0; i < updates.size(); ++i) {
        const auto p = position_of(updates.type.dims, static_cast<std::int64_t>(i));
        position q{};
        if (gathered_place(id, p, q)) add_element(out, flat_of(dims, q), updates, i);
      }
      return out;
    }
    const bool updates = code == op::dynamic_update_slice;
    array out = updates ? x : array(g_.type(id));
    const shape& part = updates ? in(id, 1).type.dims : out.type.dims;
    for (std::int64_t i = 0; i < part.size(); ++i) {
      auto p = position_of(part, i);
      for (int a = 0; a < dims.rank; ++a) {
        const std::int64_t start = in(id, (updates ? 2 : 1) + a).integers[0];
        p.at[a] += clamped(start, dims[a] - part[a]);
      }
      if (updates) {
        copy_element(out, flat_of(dims, p), in(id, 1), static_cast<std::size_t>(i));
      } else {
        copy_element(out, static_cast<std::size_t>(i), x, flat_of(dims, p));
      }
    }
    return out;
  }

  array reduced(int id) {
    const op code = g_[id].code;
    const array& x = in(id, 0);
    const shape& dims = x.type.dims;
    const std::int64_t mask = g_.attribute(id);
    array out(g_.type(id));
    std::vector<std::vector<std::size_t>> groups(out.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto p = position_of(dims, static_cast<std::int64_t>(i));
      position q{};
      int axis = 0;
      for (int a = 0; a < dims.rank; ++a) {
        if (!ir::has_axis(mask, a)) q.at[axis++] = p.at[a];
      }
      groups[flat_of(out.type.dims, q)].push_back(i);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (code == op::argmax || code == op::argmin) {
        out.integers[i] = extreme_index(code, x, groups[i]);
      } else if (x.is_real()) {
        out.reals[i] = rounded(real_reduction(code, x, groups[i]), out.type.element);
      } else {
        out.integers[i] = wrapped(integer_reduction(code, x, groups[i]), out.type.element);
      }
    }
    return out;
  }
  static std::int64_t extreme_index(op code, const array& x,
                                    const std::vector<std::size_t>& group) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < group.size(); ++i) {
      const double now = x[group[i]];
      const double most = x[group[best]];
      if (std::isnan(most)) break;
      const bool is_better = code == op::argmax ? now > most : now < most;
      if (is_better || std::isnan(now)) best = i;
    }
    return static_cast<std::int64_t>(best);
  }
  static double real_reduction(op code, const array& x, const std::vector<std::size_t>& group) {
    const double infinity = std::numeric_limits<double>::infinity();
    const bool is_min = code == op::reduce_min;
    double most = is_min ? infinity : -infinity;
    double sum = 0;
    double product = 1;
    for (const std::size_t i : group) {
      most = real_binary(is_min ? op::min : op::max, most, x.reals[i]);
      sum += x.reals[i];
      product *= x.reals[i];
    }
    if (code == op::reduce_sum) return sum;
    if (code == op::reduce_prod) return product;
    if (code != op::reduce_logsumexp) return most;
    if (!std::isfinite(most)) return most;
    double exponentials = 0;
    for (const std::size_t i : group) exponentials += std::exp(x.reals[i] - most);
    return most + std::log(exponentials);
  }
  static std::int64_t integer_reduction(op code, const array& x,
                                        const std::vector<std::size_t>& group) {
    const auto [low, high] = limits_of(x.type.element);
    std::int64_t out = code == op::reduce_sum    ? 0
                       : code == op::reduce_prod ? 1
                       : code == op::reduce_min  ? high
                                                 : low;
    const op step = code == op::reduce_sum    ? op::add
                    : code == op::reduce_prod ? op::mul
                    : code == op::reduce_min  ? op::min
                                              : op::max;
    for (const std::size_t i : group) {
      out = integer_binary(step, out, x.integers[i], x.type.element);
    }
    return out;
  }

  array accumulated(int id) {
    const array& x = in(id, 0);
    const auto axis = static_cast<int>(g_.attribute(id));
    array out(g_.type(id));
    const shape& dims = out.type.dims;
    for (std::size_t i = 0; i < out.size(); ++i) {
      auto p = position_of(dims, static_cast<std::int64_t>(i));
      const std::int64_t here = p.at[axis];
      const bool is_reverse = g_[id].code == op::reverse_cumsum;
      double real = 0;
      std::int64_t integer = 0;
      for (std::int64_t k = is_reverse ? here : 0; k < (is_reverse ? dims[axis] : here + 1); ++k) {
        p.at[axis] = k;
        if (x.is_real()) {
          real += x.reals[flat_of(dims, p)];
        } else {
          integer = wrapped_sum(integer, x.integers[flat_of(dims, p)]);
        }
      }
      if (x.is_real()) {
        out.reals[i] = rounded(real, out.type.element);
      } else {
        out.integers[i] = wrapped(integer, out.type.element);
      }
    }
    return out;
  }

  array product(int id) {
    const array& x = in(id, 0);
    const array& y = in(id, 1);
    const auto axes = ir::dot_axes::unpacked(g_.attributes_of(id));
    array out(g_.type(id));
    shape contracted{};
    for (int i = 0; i < axes.num_contract; ++i) contracted.push(x.type.dims[axes.lhs_contract[i]]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto p = position_of(out.type.dims, static_cast<std::int64_t>(i));
      position left{};
      position right{};
      int axis = 0;
      for (int a = 0; a < axes.num_batch; ++a, ++axis) {
        left.at[axes.lhs_batch[a]] = right.at[axes.rhs_batch[a]] = p.at[axis];
      }
      for (int a = 0; a < x.type.rank(); ++a) {
        if (axes.role_of_lhs(a) == 'f') left.at[a] = p.at[axis++];
      }
      for (int a = 0; a < y.type.rank(); ++a) {
        if (axes.role_of_rhs(a) == 'f') right.at[a] = p.at[axis++];
      }
      double real = 0;
      std::int64_t integer = 0;
      for (std::int64_t k = 0; k < contracted.size(); ++k) {
        const auto c = position_of(contracted, k);
        for (int a = 0; a < axes.num_contract; ++a) {
          left.at[axes.lhs_contract[a]] = right.at[axes.rhs_contract[a]] = c.at[a];
        }
        const std::size_t l = flat_of(x.type.dims, left);
        const std::size_t r = flat_of(y.type.dims, right);
        if (x.is_real()) {
          real += x.reals[l] * y.reals[r];
        } else {
          integer = wrapped_sum(integer, wrapped_product(x.integers[l], y.integers[r]));
        }
      }
      if (x.is_real()) {
        out.reals[i] = rounded(real, out.type.element);
      } else {
        out.integers[i] = wrapped(integer, out.type.element);
      }
    }
    return out;
  }

  const ir::graph& g_;
  std::vector<array> values_;
};

}  // namespace detail

/// The outputs of a graph for these arguments, one array a parameter.
[[nodiscard]] inline std::vector<array> interpret(const ir::graph& g,
                                                  const std::vector<array>& arguments) {
  return detail::interpreter(g).run(arguments);
}

struct free_memory {
  void operator()(void* memory) const { std::free(memory); }
};
using builder_ptr = std::unique_ptr<ir::builder, free_memory>;

/// An empty builder on the heap: a graph is too large for the stack.
///
/// Its memory comes as zeros from the system, so that only what is used costs time; a builder is all
/// zeros but for the texts of its position.
[[nodiscard]] inline builder_ptr make_builder() {
  static_assert(std::is_trivially_copyable_v<ir::builder> &&
                std::is_trivially_destructible_v<ir::builder>);
  auto* b = static_cast<ir::builder*>(std::calloc(1, sizeof(ir::builder)));
  if (b == nullptr) throw std::bad_alloc();
  b->site = call_site{};
  return builder_ptr(b);
}

}  // namespace atled::oracle
