// atled/runtime/function_of.hpp: the term of loops/terms.hpp for each elementwise op.
// Reads: ir/op.hpp, loops/terms.hpp. Next: runtime/lower.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/op.hpp"
#include "atled/loops/terms.hpp"

namespace atled::runtime {

namespace detail {
template <class Function>
struct function {
  using type = Function;
};

// The op's function; `T` is the result's element type, `Bits` the attribute of the op.
template <op Code, class T, std::int64_t Bits>
consteval auto find_function() {
  using namespace loops;
  if constexpr (Code == op::neg) return function<neg_of>{};
  if constexpr (Code == op::exp) return function<exp_of>{};
  if constexpr (Code == op::expm1) return function<expm1_of>{};
  if constexpr (Code == op::log) return function<log_of>{};
  if constexpr (Code == op::log1p) return function<log1p_of>{};
  if constexpr (Code == op::tanh) return function<tanh_of>{};
  if constexpr (Code == op::logistic) return function<logistic_of>{};
  if constexpr (Code == op::sin) return function<sin_of>{};
  if constexpr (Code == op::cos) return function<cos_of>{};
  if constexpr (Code == op::sqrt) return function<sqrt_of>{};
  if constexpr (Code == op::rsqrt) return function<rsqrt_of>{};
  if constexpr (Code == op::erf) return function<erf_of>{};
  if constexpr (Code == op::erfc) return function<erfc_of>{};
  if constexpr (Code == op::erf_inv) return function<erf_inv_of>{};
  if constexpr (Code == op::sinh) return function<sinh_of>{};
  if constexpr (Code == op::cosh) return function<cosh_of>{};
  if constexpr (Code == op::cbrt) return function<cbrt_of>{};
  if constexpr (Code == op::lgamma) return function<lgamma_of>{};
  if constexpr (Code == op::polygamma) return function<polygamma_of<static_cast<int>(Bits)>>{};
  if constexpr (Code == op::abs) return function<abs_of>{};
  if constexpr (Code == op::sign) return function<sign_of>{};
  if constexpr (Code == op::floor) return function<floor_of>{};
  if constexpr (Code == op::ceil) return function<ceil_of>{};
  if constexpr (Code == op::round) return function<round_of>{};
  if constexpr (Code == op::is_finite) return function<is_finite_of>{};
  if constexpr (Code == op::logical_not) return function<not_of>{};
  if constexpr (Code == op::convert) return function<convert_to<T>>{};
  if constexpr (Code == op::add) return function<loops::add>{};
  if constexpr (Code == op::sub) return function<loops::sub>{};
  if constexpr (Code == op::mul) return function<loops::mul>{};
  if constexpr (Code == op::strong_mul) return function<loops::strong_mul>{};
  if constexpr (Code == op::div) return function<loops::div>{};
  if constexpr (Code == op::rem) return function<loops::rem>{};
  if constexpr (Code == op::pow) return function<pow_of>{};
  if constexpr (Code == op::max) return function<max_of>{};
  if constexpr (Code == op::min) return function<min_of>{};
  if constexpr (Code == op::atan2) return function<atan2_of>{};
  if constexpr (Code == op::bit_and) return function<loops::bit_and>{};
  if constexpr (Code == op::bit_or) return function<loops::bit_or>{};
  if constexpr (Code == op::bit_xor) return function<loops::bit_xor>{};
  if constexpr (Code == op::shift_left) return function<shift_left_of>{};
  if constexpr (Code == op::shift_right) return function<shift_right_of>{};
  if constexpr (Code == op::eq) return function<loops::eq>{};
  if constexpr (Code == op::ne) return function<loops::ne>{};
  if constexpr (Code == op::lt) return function<loops::lt>{};
  if constexpr (Code == op::le) return function<loops::le>{};
  if constexpr (Code == op::gt) return function<loops::gt>{};
  if constexpr (Code == op::ge) return function<loops::ge>{};
  if constexpr (Code == op::select) return function<select_of>{};
  if constexpr (Code == op::threefry) return function<threefry_of<static_cast<int>(Bits)>>{};
}

template <op Code>
consteval auto find_combine() {
  if constexpr (Code == op::reduce_sum) return function<loops::sum_of>{};
  if constexpr (Code == op::reduce_prod) return function<loops::prod_of>{};
  if constexpr (Code == op::reduce_max) return function<loops::maximum_of>{};
  if constexpr (Code == op::reduce_min) return function<loops::minimum_of>{};
}
}  // namespace detail

/// Ops whose function is some twenty vector instructions or more.
[[nodiscard]] constexpr bool is_long_function(op code) {
  switch (code) {
    case op::exp:
    case op::expm1:
    case op::log:
    case op::log1p:
    case op::tanh:
    case op::logistic:
    case op::sin:
    case op::cos:
    case op::erf:
    case op::erfc:
    case op::erf_inv:
    case op::sinh:
    case op::cosh:
    case op::cbrt:
    case op::lgamma:
    case op::polygamma:
    case op::pow:
    case op::atan2:
    case op::threefry:
      return true;
    default:
      return false;
  }
}

template <op Code, class T, std::int64_t Bits>
using function_of = typename decltype(detail::find_function<Code, T, Bits>())::type;
template <op Code>
using combine_of = typename decltype(detail::find_combine<Code>())::type;

}  // namespace atled::runtime
