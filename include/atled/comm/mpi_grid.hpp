// atled/comm/mpi_grid.hpp: a mesh on MPI ranks, made from a communicator of the user's.
// Reads: comm/mpi_shared.hpp. MPI_Init and MPI_Finalize stay with the program.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/communicator.hpp"
#include "atled/comm/grid.hpp"
#include "atled/comm/mpi.hpp"
#include "atled/comm/mpi_engine.hpp"
#include "atled/comm/mpi_memory.hpp"
#include "atled/comm/mpi_shared.hpp"
#include "atled/comm/watchdog.hpp"
#include "atled/core/diagnostic.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace atled::comm {

/// What a mesh of MPI ranks is built from; a plain MPI_Comm takes the default options.
struct mpi_ranks {
  MPI_Comm comm = MPI_COMM_WORLD;
  mpi_options options{};
};

/// The board of the mesh that was made last: ranks agree there on who says why the job ends.
[[nodiscard]] inline board*& latest_board() noexcept {
  static board* latest = nullptr;
  return latest;
}

/// A mesh on MPI ranks.
///
/// Keeps no communicator of the user's: it works on a duplicate, and on parts of that.
class mpi_grid final : public grid {
 public:
  /// Blocks until: all ranks of the communicator have called it, or the time limit ends the job.
  /// Throws: MPI is not initialised, or finalised; the communicator is null; its size does not fit
  /// the axes: on all ranks alike.
  mpi_grid(const mpi_ranks& ranks, std::span<const axis_size> axes)
      : name_(describe_mesh(axes)), options_(ranks.options) {
    require_mpi(name_.view());
    require_thread();
    if (ranks.comm == MPI_COMM_NULL) {
      text out = name_;
      throw error(out << ": the communicator is null: it must be one that is not freed");
    }
    all_comm_ = duplicate(ranks.comm);
    MPI_Comm_rank(all_comm_.get(), &rank_);
    watch_.rank = rank_;
    MPI_Comm_size(all_comm_.get(), &size_);
    sizes_ = resolve_sizes(axes, size_);

    watch_.limit = options_.time_limit;
    watch_.end_job = [](void* self, int status) {
      MPI_Abort(static_cast<mpi_grid*>(self)->all_comm_.get(), status);
    };
    watch_.context = this;
    make_board();
    reductions_ = std::make_unique<mpi_reductions>();
    for (const axis_size& a : axes) axis_names_.emplace_back(a.name);
    const unsigned num = static_cast<unsigned>(axes.size());
    all_ = make_group((1U << num) - 1, "all");
    for (unsigned a = 0; a < num; ++a) {
      groups_.push_back({1U << a, make_group(1U << a, axis_names_[a])});
    }
    latest_board() = watch_.shared;
  }

  /// Blocks until: all ranks do so, or twice the time limit ends the job; an exception waits for
  /// none.
  ~mpi_grid() override {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized != 0 || std::uncaught_exceptions() > num_exceptions_) {
      // Others may never come: what all ranks would free together is left to the end of the
      // process.
      abandon();
      return;
    }
    if (latest_board() == watch_.shared) latest_board() = nullptr;
    if (sighting* s = watch_.mine()) s->state.store(sighting::gone);
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Ibarrier(all_comm_.get(), &r);
    await(r, [this](double waited) {
      text out = name_;
      out << ": end: a rank has not left the mesh for " << detail::seconds_as_text(waited)
          << ": every rank must leave it";
      end_job(watch_, out.view());
    });
  }

  [[nodiscard]] communicator& all() noexcept override { return *all_; }
  [[nodiscard]] int num_axes() const noexcept override { return static_cast<int>(sizes_.size()); }
  [[nodiscard]] communicator& along(int axis) override {
    return *groups_.at(static_cast<std::size_t>(axis)).ranks;
  }
  [[nodiscard]] communicator& over(unsigned axes) override {
    if (axes == (1U << sizes_.size()) - 1) return *all_;
    for (const auto& g : groups_) {
      if (g.axes == axes) return *g.ranks;
    }
    std::string name;
    for (std::size_t a = 0; a < sizes_.size(); ++a) {
      if ((axes >> a & 1U) != 0) name += (name.empty() ? "" : ",") + axis_names_[a];
    }
    groups_.push_back({axes, make_group(axes, name)});
    return *groups_.back().ranks;
  }

  void note_step(std::int64_t step) override {
    require_mpi(name_.view());
    if (sighting* s = watch_.mine()) s->step.store(step, std::memory_order_relaxed);
  }
  void set_time_limit(double seconds) override { watch_.limit = seconds; }

  [[nodiscard]] void* shared_buffer(std::int64_t bytes) override {
    if (!options_.shared_memory || host_size_ != size_) return nullptr;
    auto segment = std::make_shared<shared_segment>(host_comm_.get(), bytes);
    void* const out = segment->of(host_rank_);
    buffers_.add(std::move(segment), host_rank_, bytes);
    return out;
  }

 private:
  struct entry {
    unsigned axes;  // a bit for each
    std::unique_ptr<communicator> ranks;
  };

  void require_thread() const {
    int level = 0;
    int is_main = 0;
    MPI_Query_thread(&level);
    MPI_Is_thread_main(&is_main);
    if (level > MPI_THREAD_FUNNELED || is_main != 0) return;
    text out = name_;
    throw error(
        out << ": made on another thread than MPI was initialised on: it must be made there");
  }

  /// Polls a request; calls `give_up(seconds)` at the time limit.
  template <class GiveUp>
  void await(MPI_Request& r, GiveUp&& give_up) const {
    const double begin = detail::now();
    for (int done = 0, looks = 0;; ++looks) {
      check_mpi(MPI_Test(&r, &done, MPI_STATUS_IGNORE), name_.view());
      if (done != 0) return;
      if (looks < 100) continue;
      sched_yield();
      const double waited = detail::now() - begin;
      // Whoever ends waits longer than whoever still works: the latter can say what is missing.
      if (watch_.limit > 0 && waited > 2 * watch_.limit) give_up(waited);
    }
  }

  [[nodiscard]] owned_comm duplicate(MPI_Comm users) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Request r = MPI_REQUEST_NULL;
    // An invalid communicator is reported to the world's handler, which would end the job unheard.
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int status = MPI_Comm_rank(users, &watch_.rank);
    if (status == MPI_SUCCESS) status = MPI_Comm_idup(users, &copy, &r);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
    check_mpi(status, name_.view());
    watch_.limit = options_.time_limit / 2;  // doubled by await
    await(r, [&](double waited) {
      text out = name_;
      out << ": a rank of the communicator has not made the mesh for "
          << detail::seconds_as_text(waited) << ": every rank must make it";
      watch_.end_job = [](void*, int code) { MPI_Abort(MPI_COMM_WORLD, code); };
      end_job(watch_, out.view());
    });
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    return owned_comm(copy);
  }

  /// The ranks of this host, and a board for them; which rank of the mesh lies where.
  void make_board() {
    MPI_Comm host = MPI_COMM_NULL;
    check_mpi(
        MPI_Comm_split_type(all_comm_.get(), MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host),
        name_.view());
    host_comm_ = owned_comm(host);
    MPI_Comm_rank(host, &host_rank_);
    MPI_Comm_size(host, &host_size_);
    struct {
      int host;  // named by its first rank
      int place;
    } mine{rank_, host_rank_};
    check_mpi(MPI_Bcast(&mine.host, 1, MPI_INT, 0, host), name_.view());
    std::vector<int> all(static_cast<std::size_t>(size_) * 2);
    check_mpi(MPI_Allgather(&mine, 2, MPI_INT, all.data(), 2, MPI_INT, all_comm_.get()),
              name_.view());
    for (std::size_t r = 0; r < all.size(); r += 2) {
      places_.push_back(all[r] == mine.host ? all[r + 1] : -1);
    }
    const auto bytes = static_cast<std::int64_t>(sizeof(board)) +
                       static_cast<std::int64_t>(sizeof(sighting)) * host_size_;
    const bool has_board =
        try_on_all(host, [&] { board_ = std::make_unique<shared_segment>(host, bytes); });
    watch_.place = host_rank_;
    watch_.is_crowded = host_size_ > sysconf(_SC_NPROCESSORS_ONLN);
    if (watch_.is_crowded) watch_.spins = 20;
    if (!has_board) return;
    watch_.shared = reinterpret_cast<board*>(board_->of(0));
    watch_.mine()->step.store(-1);
    watch_.mine()->state.store(sighting::running);
  }

  /// Runs what may fail on some ranks; true if it has succeeded on all of them.
  template <class Make>
  [[nodiscard]] static bool try_on_all(MPI_Comm comm, Make&& make) {
    int mine = 1;
    try {
      make();
    } catch (const error&) {
      mine = 0;
    }
    int all = 0;
    check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm), "mesh");
    return all != 0;
  }

  /// The ranks that differ from this one along a set of axes only.
  [[nodiscard]] std::unique_ptr<communicator> make_group(unsigned axes, std::string_view name) {
    std::vector<int> members{0};
    int rest = 0;  // the place of this rank along the other axes
    int step = 1;
    for (std::size_t i = sizes_.size(); i-- > 0;) {
      const int size = sizes_[i];
      const int at = rank_ / step % size;
      if ((axes >> i & 1U) == 0) {
        rest += at * step;
      } else {
        std::vector<int> more;
        for (int k = 0; k < size; ++k) {
          for (const int m : members) more.push_back(m + k * step);
        }
        members = std::move(more);
      }
      step *= size;
    }
    for (int& m : members) m += rest;

    std::vector<int> places;
    for (const int m : members) places.push_back(places_[static_cast<std::size_t>(m)]);
    const bool is_near = std::find(places.begin(), places.end(), -1) == places.end();
    MPI_Comm part = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(all_comm_.get(), rest, rank_, &part), name_.view());
    watched_group group(watch_, num_groups_++, name, std::move(members), std::move(places));
    auto by_mpi = std::make_unique<mpi_communicator>(owned_comm(part), std::move(group), options_,
                                                     *reductions_);
    if (!is_near || !options_.shared_memory) return by_mpi;
    std::unique_ptr<shared_segment> memory;
    const bool has_memory = try_on_all(part, [&] {
      memory = std::make_unique<shared_segment>(part, sizeof(detail::shared_area));
    });
    if (!has_memory) return by_mpi;
    return std::make_unique<shared_communicator>(std::move(by_mpi), std::move(memory), buffers_);
  }

  void abandon() {
    for (auto& g : groups_) (void)g.ranks.release();
    (void)all_.release();
    (void)board_.release();
    new shared_buffers(std::move(buffers_));
    (void)reductions_.release();
    (void)host_comm_.release();
    (void)all_comm_.release();
  }

  text name_;
  mpi_options options_;
  int num_exceptions_ = std::uncaught_exceptions();
  int rank_ = 0;
  int size_ = 1;
  int host_rank_ = 0;
  int host_size_ = 1;
  std::vector<int> sizes_;
  std::vector<std::string> axis_names_;
  owned_comm all_comm_;
  owned_comm host_comm_;
  std::unique_ptr<mpi_reductions> reductions_;
  watch_setting watch_;
  std::vector<int> places_;  // of each rank of the mesh on the board; -1: on another host
  std::unique_ptr<shared_segment> board_;
  shared_buffers buffers_;
  int num_groups_ = 0;
  std::unique_ptr<communicator> all_;
  std::vector<entry> groups_;
};

template <>
struct grid_from<mpi_ranks> {
  [[nodiscard]] static std::shared_ptr<grid> make(const mpi_ranks& ranks,
                                                  std::span<const axis_size> axes) {
    return std::make_shared<mpi_grid>(ranks, axes);
  }
};

template <>
struct grid_from<MPI_Comm> {
  [[nodiscard]] static std::shared_ptr<grid> make(const MPI_Comm& comm,
                                                  std::span<const axis_size> axes) {
    return std::make_shared<mpi_grid>(mpi_ranks{comm, {}}, axes);
  }
};

}  // namespace atled::comm
