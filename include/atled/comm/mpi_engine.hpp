// atled/comm/mpi_engine.hpp: what every use of MPI needs: errors, handles, element types,
// reductions. Reads: comm/combine.hpp. Next: comm/mpi.hpp. The one file that includes mpi.h.
// SPDX-License-Identifier: MIT
#pragma once

#ifndef OMPI_SKIP_MPICXX
#  define OMPI_SKIP_MPICXX 1  // the C++ classes of old, 0.6 s of build time
#endif

#include "atled/comm/combine.hpp"
#include "atled/comm/communicator.hpp"
#include "atled/core/diagnostic.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

namespace atled::comm {

/// How a mesh uses MPI.
struct mpi_options {
  double time_limit = 300;     ///< Units: seconds a rank waits until it ends the job; 0 is for ever
  bool shared_memory = true;   ///< ranks of one host through memory, where a group is on one
  bool compare_calls = false;  ///< through MPI: compare each call over the ranks before data moves
  std::int64_t piece_limit =
      2147483647;  ///< Units: elements of one call of MPI's, whose counts are ints
};

/// `MPI error 15 (message truncated)`
[[nodiscard]] inline text describe_mpi_error(int status) {
  char name[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  int number = status;
  MPI_Error_class(status, &number);
  MPI_Error_string(status, name, &length);
  std::string_view reason(name, static_cast<std::size_t>(length));
  if (const auto colon = reason.find(": "); colon != std::string_view::npos) {
    reason.remove_prefix(colon + 2);
  }
  text out = "MPI error ";
  return out << number << " (" << reason << ')';
}

/// Throws the sentence of a failed call of MPI's outside a collective: `mesh{data:2}: ...`.
inline void check_mpi(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  text out = what;
  throw error(out << ": " << describe_mpi_error(status) << ": it must succeed");
}

/// Throws unless MPI can be called now.
inline void require_mpi(std::string_view what) {
  int is_initialized = 0;
  int is_finalized = 0;
  MPI_Initialized(&is_initialized);
  if (is_initialized != 0) MPI_Finalized(&is_finalized);
  if (is_initialized != 0 && is_finalized == 0) return;
  text out = what;
  if (is_initialized == 0) {
    throw error(out << ": MPI is not initialised: the program must call MPI_Init before");
  }
  throw error(out << ": MPI is finalised: the program must call MPI_Finalize after the last use");
}

/// A communicator of MPI's that is freed at the end, unless MPI has ended before.
class owned_comm {
 public:
  owned_comm() = default;
  explicit owned_comm(MPI_Comm handle) : handle_(handle) {}
  owned_comm(owned_comm&& other) noexcept : handle_(other.release()) {}
  owned_comm& operator=(owned_comm&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~owned_comm() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (handle_ != MPI_COMM_NULL && is_finalized == 0) MPI_Comm_free(&handle_);
  }

  [[nodiscard]] MPI_Comm get() const noexcept { return handle_; }
  MPI_Comm release() noexcept { return std::exchange(handle_, MPI_COMM_NULL); }

 private:
  MPI_Comm handle_ = MPI_COMM_NULL;
};

/// The reductions that MPI has not: of bf16 and f16, in f32, and a max and min in which a NaN wins.
class mpi_reductions {
 public:
  mpi_reductions() {
    for (auto& row : own_) std::fill(std::begin(row), std::end(row), MPI_OP_NULL);
    make<reduction::sum, dtype::f16>();
    make<reduction::max, dtype::f16>();
    make<reduction::min, dtype::f16>();
    make<reduction::sum, dtype::bf16>();
    make<reduction::max, dtype::bf16>();
    make<reduction::min, dtype::bf16>();
    make<reduction::max, dtype::f32>();
    make<reduction::min, dtype::f32>();
    make<reduction::max, dtype::f64>();
    make<reduction::min, dtype::f64>();
  }
  mpi_reductions(const mpi_reductions&) = delete;
  mpi_reductions& operator=(const mpi_reductions&) = delete;
  ~mpi_reductions() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized != 0) return;
    for (auto& row : own_) {
      for (MPI_Op& op : row) {
        if (op != MPI_OP_NULL) MPI_Op_free(&op);
      }
    }
  }

  [[nodiscard]] MPI_Op find(reduction how, dtype element) const {
    const MPI_Op own = own_[static_cast<int>(how)][static_cast<int>(element)];
    if (own != MPI_OP_NULL) return own;
    if (how == reduction::min) return MPI_MIN;
    return how == reduction::max || element == dtype::boolean ? MPI_MAX : MPI_SUM;
  }

 private:
  template <reduction How, dtype Element>
  static void combine(void* in, void* inout, int* count, MPI_Datatype*) {
    const void* rows[] = {in, inout};
    combine_rows(How, Element, rows, 2, inout, *count);
  }
  template <reduction How, dtype Element>
  void make() {
    MPI_Op& op = own_[static_cast<int>(How)][static_cast<int>(Element)];
    check_mpi(MPI_Op_create(combine<How, Element>, 1, &op), "mesh");
  }

  MPI_Op own_[3][num_dtypes];
};

[[nodiscard]] inline MPI_Datatype mpi_type_of(dtype element) {
  switch (element) {
    case dtype::boolean:
    case dtype::u8:
      return MPI_UINT8_T;
    case dtype::f16:
    case dtype::bf16:
      return MPI_UINT16_T;
    case dtype::i32:
      return MPI_INT32_T;
    case dtype::u32:
      return MPI_UINT32_T;
    case dtype::i64:
      return MPI_INT64_T;
    case dtype::f32:
      return MPI_FLOAT;
    case dtype::f64:
      return MPI_DOUBLE;
  }
  __builtin_unreachable();
}

}  // namespace atled::comm
