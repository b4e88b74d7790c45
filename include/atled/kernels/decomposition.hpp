// atled/kernels/decomposition.hpp: names of the kernels of linear algebra, which kernels/linalg.hpp
// defines: a program that uses none of them does not read Eigen.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace atled::kernels {

enum class decomposition : std::uint8_t { cholesky, triangular_solve, lu, qr, eigh, svd };

/// Row-major matrices one behind the other, of which those from `begin` to `end` are wanted.
struct matrix_shape {
  std::int64_t begin, end, rows;
  std::int64_t cols;   ///< of the matrix; of the right sides of a triangular_solve
  std::int64_t flags;  ///< triangular_solve: 1 lower, 2 transposed, 4 unit diagonal
};

/// `run(shape, in, out)`; defined by kernels/linalg.hpp.
template <decomposition Kind, class T>
struct decomposer;

/// Alive while matrices are taken apart; defined by kernels/linalg.hpp.
template <bool = true>
struct one_thread_for_each;

/// The type has been defined above the first program that asks.
template <class T>
inline constexpr bool is_defined = requires {
  sizeof(T);
};

}  // namespace atled::kernels
