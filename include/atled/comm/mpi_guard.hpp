// atled/comm/mpi_guard.hpp: an exception on one rank ends all ranks, with its message.
// Reads: comm/mpi_grid.hpp. For the main function of a program.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/mpi_engine.hpp"
#include "atled/comm/mpi_grid.hpp"
#include "atled/comm/watchdog.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <unistd.h>
#include <utility>

namespace atled::comm {

namespace detail {

[[nodiscard]] inline MPI_Comm& guarded_comm() noexcept {
  static MPI_Comm comm = MPI_COMM_NULL;
  return comm;
}

/// The message of the exception that is being handled.
[[nodiscard]] inline std::string current_message() {
  try {
    if (std::current_exception() == nullptr) return "terminated without an exception";
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

/// Prints `rank 1: <message>`, once where all ranks of a mesh have the same to say, and ends them.
[[noreturn]] inline void end_all(MPI_Comm comm, const std::string& message) {
  int is_finalized = 0;
  MPI_Finalized(&is_finalized);
  if (is_finalized != 0) {
    std::fprintf(stderr, "%s\n", message.c_str());
    _exit(1);
  }
  watch_setting setting;
  MPI_Comm_rank(comm, &setting.rank);
  setting.shared = latest_board();
  setting.context = &comm;
  setting.end_job = [](void* c, int status) { MPI_Abort(*static_cast<MPI_Comm*>(c), status); };
  end_job(setting, "rank " + std::to_string(setting.rank) + ": " + message);
}

[[noreturn]] inline void end_all_by_terminate() {
  end_all(guarded_comm(), current_message());
}

}  // namespace detail

/// While it lives, an exception that nobody catches ends all ranks with its message.
///
/// Without it a rank that leaves by an exception may leave the others waiting. An exception that
/// passes through its scope on the way to a handler ends all ranks too.
class abort_guard {
 public:
  explicit abort_guard(MPI_Comm comm = MPI_COMM_WORLD)
      : comm_before_(std::exchange(detail::guarded_comm(), comm)),
        handler_before_(std::set_terminate(detail::end_all_by_terminate)) {}
  abort_guard(const abort_guard&) = delete;
  abort_guard& operator=(const abort_guard&) = delete;
  ~abort_guard() {
    if (std::uncaught_exceptions() > num_exceptions_) {
      detail::end_all(detail::guarded_comm(), "an exception has left the scope of abort_guard");
    }
    std::set_terminate(handler_before_);
    detail::guarded_comm() = comm_before_;
  }

 private:
  MPI_Comm comm_before_;
  std::terminate_handler handler_before_;
  int num_exceptions_ = std::uncaught_exceptions();
};

/// Runs a function; an exception that leaves it ends all ranks with its message.
template <class F>
decltype(auto) guarded(F&& f, MPI_Comm comm = MPI_COMM_WORLD) {
  try {
    return std::forward<F>(f)();
  } catch (...) {
    detail::end_all(comm, detail::current_message());
  }
}

}  // namespace atled::comm
