// atled/core/eigen_map.hpp: tensors seen by Eigen, and Eigen's matrices seen as tensors; no copy.
// Reads: core/tensor.hpp. The only header besides kernels/linalg.hpp that includes Eigen.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tensor.hpp"

#include <Eigen/Core>

#include <cstdint>
#include <type_traits>

namespace atled {
namespace detail {

/// Eigen's type for a row-major tensor of rank 1 or 2: sizes are fixed only where it is small,
/// since Eigen keeps temporaries of fixed size on the stack. A single column is in both orders at
/// once.
template <class X>
struct eigen_type {
  using facts = std::remove_cvref_t<X>;
  static constexpr bool fixed = facts::bytes > 0 && facts::bytes <= inline_bytes;
  static constexpr int rows = fixed ? static_cast<int>(facts::dims[0]) : Eigen::Dynamic;
  static constexpr int cols = facts::rank == 1 ? 1
                              : fixed          ? static_cast<int>(facts::dims[1])
                                               : Eigen::Dynamic;
  static constexpr int order = cols == 1 && rows != 1 ? Eigen::ColMajor : Eigen::RowMajor;
  using type = Eigen::Matrix<typename facts::value_type, rows, cols, order>;
};

template <int Alignment, class X, class T>
[[nodiscard]] auto map_values(T* values) {
  using facts = std::remove_cvref_t<X>;
  static_assert(facts::rank == 1 || facts::rank == 2,
                "to_eigen: Eigen has vectors and matrices: the rank must be 1 or 2");
  static_assert(!half_float<typename facts::value_type>,
                "to_eigen: Eigen does not know bf16 and f16: convert to f32 first");
  using matrix = typename eigen_type<facts>::type;
  using pointee = std::conditional_t<std::is_const_v<T>, const matrix, matrix>;
  using map = Eigen::Map<pointee, Alignment>;
  if constexpr (facts::rank == 1) {
    return map(values, facts::dims[0]);
  } else {
    return map(values, facts::dims[0], facts::dims[1]);
  }
}

template <class Matrix>
inline constexpr bool is_plain_matrix_v =
    std::is_base_of_v<Eigen::PlainObjectBase<std::remove_cvref_t<Matrix>>,
                      std::remove_cvref_t<Matrix>>;

}  // namespace detail

/// The values of a tensor as an `Eigen::Map`: a vector for rank 1, a row-major matrix for rank 2.
///
/// The map is valid as long as a pointer from `data()` is. A temporary tensor does not compile.
/// Ill-formed: another rank; bf16, f16.
template <element T, std::int64_t... Dims>
[[nodiscard]] auto to_eigen(tensor<T, Dims...>& x) {
  return detail::map_values<Eigen::AlignedMax, tensor<T, Dims...>>(x.data());
}
template <element T, std::int64_t... Dims>
[[nodiscard]] auto to_eigen(const tensor<T, Dims...>& x) {
  return detail::map_values<Eigen::AlignedMax, tensor<T, Dims...>>(x.data());
}
template <element T, std::int64_t... Dims>
void to_eigen(tensor<T, Dims...>&&) = delete;  // the map would outlive the values
template <element T, std::int64_t... Dims>
void to_eigen(const tensor<T, Dims...>&&) = delete;  // the map would outlive the values

template <class T, std::int64_t... Dims>
[[nodiscard]] auto to_eigen(const tensor_view<T, Dims...>& x) {
  return detail::map_values<Eigen::Unaligned, tensor_view<T, Dims...>>(x.data());
}

/// The values of an Eigen matrix, vector or map as a `tensor_view<T, Dims...>`.
///
///   tensor_view<double, 3, 4> a = from_eigen<3, 4>(row_major);
///   tensor_view<double, 4, 3> b = from_eigen<4, 3>(column_major.transpose());
///
/// Ill-formed: a column-major matrix (its transpose is row-major, as `b` shows); a temporary one.
/// Throws: other sizes than Dims; rows with gaps between them.
template <std::int64_t... Dims, class Matrix>
[[nodiscard]] auto from_eigen(Matrix&& matrix) {
  using plain = std::remove_cvref_t<Matrix>;
  static_assert(std::is_lvalue_reference_v<Matrix> || !detail::is_plain_matrix_v<Matrix>,
                "from_eigen: the matrix is temporary: the view would outlive it; name it first");
  static_assert(plain::IsVectorAtCompileTime || plain::IsRowMajor,
                "from_eigen: the matrix is column-major: map its transpose(), which is row-major");
  static_assert(sizeof...(Dims) == 1 || sizeof...(Dims) == 2,
                "from_eigen: Eigen has vectors and matrices: the rank must be 1 or 2");
  using pointee = std::remove_pointer_t<decltype(matrix.data())>;
  using view = tensor_view<pointee, Dims...>;
  constexpr std::int64_t cols = view::rank == 2 ? view::dims[view::rank - 1] : 1;
  const bool same_sizes =
      view::rank == 1 ? matrix.size() == view::size() && (matrix.rows() == 1 || matrix.cols() == 1)
                      : matrix.rows() == view::dims[0] && matrix.cols() == cols;
  if (!same_sizes) {
    text why = "from_eigen: a matrix of ";
    why << static_cast<std::int64_t>(matrix.rows()) << " rows and "
        << static_cast<std::int64_t>(matrix.cols()) << " columns as " << view::type
        << ": sizes must be equal";
    throw error(why);
  }
  const bool has_gaps =
      (matrix.size() > 1 && matrix.innerStride() != 1) ||
      (!plain::IsVectorAtCompileTime && matrix.rows() > 1 && matrix.outerStride() != cols);
  ATLED_REQUIRE(!has_gaps, "from_eigen: rows or elements have gaps between them: copy it first");
  return view(matrix.data());
}

}  // namespace atled
