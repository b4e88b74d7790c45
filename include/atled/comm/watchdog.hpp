// atled/comm/watchdog.hpp: the time limit of a wait: who is missing, and the end of the job.
// Reads: comm/communicator.hpp. No thread: whoever waits polls, and looks at the clock meanwhile.
//
// Each rank writes where it is to a board that all ranks of the host see. A rank that has waited
// too long reads there who has not come, says so in one sentence, and ends the job.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/communicator.hpp"
#include "atled/core/diagnostic.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <sched.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace atled::comm {

/// The groups of a mesh that a board has room for: all ranks, each axis, and some sets of axes.
inline constexpr int max_groups = 32;

/// Where one rank is. Only that rank writes; a reader may see a record that is being written.
struct sighting {
  enum state_type : int { not_begun, running, gone };

  alignas(64) std::atomic<std::int64_t> entered[max_groups];  // calls of each group
  std::atomic<std::int64_t> polls;                            // grows while it waits
  std::atomic<std::int64_t> step;
  std::atomic<int> state;
  int group;
  int line;
  collective what;
  std::int64_t number;
  tensor_type type;
  char file[48];
  char axis[24];
};

/// What the ranks of a host share for the case that something goes wrong.
struct board {
  std::atomic<int> speaker;  // 1 once a rank has begun to say why the job ends
  sighting ranks[1];         // as many as there are ranks on the host
};

/// Ends the job of all ranks with a status; does not return.
using end_job_function = void (*)(void* context, int status);

namespace detail {

inline void copy_name(char* out, std::size_t size, std::string_view name) {
  const std::size_t length = std::min(name.size(), size - 1);
  std::memcpy(out, name.data(), length);
  out[length] = '\0';
}

/// Units: seconds.
[[nodiscard]] inline double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

inline void rest(long nanoseconds) {
  const timespec t{nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  nanosleep(&t, nullptr);
}

inline void spin_once() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// `30 s`, `2.5 s`.
[[nodiscard]] inline text seconds_as_text(double seconds) {
  text out;
  const auto tenths = static_cast<std::int64_t>(seconds * 10 + 0.5);
  out << tenths / 10;
  if (tenths % 10 != 0 && tenths < 100) out << '.' << tenths % 10;
  return out << " s";
}

}  // namespace detail

/// What the groups of a mesh have in common for watching each other.
struct watch_setting {
  board* shared = nullptr;  // null: nobody can be seen
  int place = 0;            // of this rank on the board
  int rank = 0;             // in the mesh
  double limit = 300;       // seconds; 0 is for ever
  int spins = 2000;         // before the core is given to others
  bool is_crowded = false;  // more ranks on this host than cores
  end_job_function end_job = nullptr;
  void* context = nullptr;

  const char* last_file = nullptr;  // what this rank has written to the board, to write it once
  int last_group = -1;

  [[nodiscard]] sighting* mine() const {
    return shared == nullptr ? nullptr : &shared->ranks[place];
  }
};

/// Says why the job ends, once for all ranks of the host if they share a board, and ends it.
[[noreturn]] inline void end_job(const watch_setting& setting, std::string_view sentence) {
  int nobody = 0;
  if (setting.shared == nullptr && setting.rank != 0) detail::rest(1'000'000'000);  // 0 is first
  if (setting.shared == nullptr || setting.shared->speaker.compare_exchange_strong(nobody, 1)) {
    std::string line(sentence);
    line += '\n';
    std::fflush(stdout);
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
  } else {
    for (int i = 0; i < 40; ++i) detail::rest(50'000'000);  // whoever speaks ends all
  }
  if (setting.end_job != nullptr) setting.end_job(setting.context, 1);
  _exit(1);
}

/// One group of ranks as the watchdog sees it, and what it says of them.
class watched_group {
 public:
  watched_group(watch_setting& setting, int group, std::string_view axis, std::vector<int> ranks,
                std::vector<int> places)
      : setting_(&setting),
        group_(group),
        axis_(axis),
        ranks_(std::move(ranks)),
        places_(std::move(places)) {}

  [[nodiscard]] const std::string& axis() const noexcept { return axis_; }
  [[nodiscard]] watch_setting& setting() const noexcept { return *setting_; }
  /// The number in the mesh of a member.
  [[nodiscard]] int mesh_rank(int member) const { return ranks_[static_cast<std::size_t>(member)]; }

  /// The place on the board of a member, which is its rank on the host; -1 on another host.
  [[nodiscard]] int place(int member) const { return places_[static_cast<std::size_t>(member)]; }

  /// Notes on the board that this rank begins a call; `number` counts those of the group.
  void enter(const call& c, std::int64_t number) {
    sighting* const s = setting_->mine();
    if (s == nullptr) return;
    if (c.where.at.file != setting_->last_file) {
      setting_->last_file = c.where.at.file;
      const std::string_view path = c.where.at.file == nullptr ? "" : c.where.at.file;
      detail::copy_name(s->file, sizeof(s->file), file_name(path));
    }
    if (group_ != setting_->last_group) {
      setting_->last_group = group_;
      detail::copy_name(s->axis, sizeof(s->axis), axis_);
    }
    s->line = c.where.at.line;
    s->what = c.what;
    s->number = number;
    s->group = group_;
    s->type = c.where.type;
    if (c.what != collective::send && c.what != collective::receive) {
      s->entered[group_].store(number, std::memory_order_release);
    }
  }

  /// `model.hpp:41: all_reduce #812 over data`, the start of a sentence about a call.
  [[nodiscard]] text describe(const call& c, std::int64_t number) const {
    text out = sentence_start({c.where.at.file, c.where.at.line, ""}, name_of(c.what));
    out.size -= 2;
    if (number > 0) out << " #" << number;
    return out << " over " << axis_;
  }

  /// The bytes of the operand that a member brings to the same call, where they differ; else -1.
  [[nodiscard]] std::int64_t other_bytes(const call& c, std::int64_t number) const {
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const sighting* s = seen(r);
      if (s == nullptr || s->group != group_ || s->number != number) continue;
      if (s->type.bytes() != c.where.type.bytes()) return s->type.bytes();
    }
    return -1;
  }

  /// The sentence about a call that has waited so many seconds: who is missing, and where it is.
  [[nodiscard]] text describe_wait(const call& c, std::int64_t number, double waited) const {
    text out = describe(c, number);
    return out << ", " << c.where.type << ": " << who_is_missing(c, number, waited);
  }

  /// Says so, and ends the job.
  [[noreturn]] void give_up(const call& c, std::int64_t number, double waited) const {
    end_job(*setting_, describe_wait(c, number, waited).view());
  }

 private:
  [[nodiscard]] const sighting* seen(std::size_t member) const {
    if (setting_->shared == nullptr || places_[member] < 0) return nullptr;
    return &setting_->shared->ranks[places_[member]];
  }

  /// `; it was last seen in all_gather #811 of step 120`
  static void tell_where(text& out, const sighting& s) {
    if (s.state.load() == sighting::gone) {
      out << "; it has left the mesh";
      if (s.number > 0) out << ", after ";
    } else if (s.number > 0) {
      out << "; it was last seen in ";
    } else {
      out << "; it has been in no call yet";
    }
    if (s.number > 0) {
      out << name_of(s.what) << " #" << s.number << " over " << std::string_view(s.axis);
      if (s.line > 0) out << " at " << std::string_view(s.file) << ':' << s.line;
    }
    if (const std::int64_t step = s.step.load(); step >= 0) out << " of step " << step;
  }

  [[nodiscard]] text who_is_missing(const call& c, std::int64_t number, double waited) const {
    const text time = detail::seconds_as_text(waited);
    text out;
    if (c.what == collective::send || c.what == collective::receive) {
      const auto peer = static_cast<std::size_t>(c.what == collective::send ? c.target : c.source);
      out << "rank " << ranks_[peer] << " has not "
          << (c.what == collective::send ? "received" : "sent") << " for " << time
          << ": every message needs both sides";
      if (const sighting* s = seen(peer)) tell_where(out, *s);
      return out;
    }

    const sighting* first = nullptr;
    text list;
    int count = 0;
    bool is_far = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const sighting* s = seen(r);
      is_far |= s == nullptr;
      if (s == nullptr || s->entered[group_].load(std::memory_order_acquire) >= number) continue;
      if (first == nullptr) first = s;
      if (count < 8) list << (count == 0 ? "" : ", ") << ranks_[r];
      ++count;
    }
    if (count > 0) {
      out << (count == 1 ? "rank " : "ranks ") << list << (count > 8 ? " and more" : "")
          << (count == 1 ? " has" : " have") << " not entered for " << time
          << ": every rank must enter";
      tell_where(out, *first);
      if (count > 1) out << " (the first of them)";
      return out;
    }

    // All have entered: one may be in another call, or stand still.
    const std::size_t me = my_place();
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const sighting* s = seen(r);
      if (s == nullptr || r == me || s->group != group_ || s->number != number) continue;
      if (s->what == c.what && s->type == c.where.type) continue;
      out << "rank " << ranks_[r] << " is in " << name_of(s->what) << ", " << s->type;
      if (s->line > 0) out << " at " << std::string_view(s->file) << ':' << s->line;
      return out << ", for " << time << ": every rank must enter the same";
    }
    std::vector<std::int64_t> polls;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      polls.push_back(seen(r) == nullptr ? 0 : seen(r)->polls.load());
    }
    for (int i = 0; i < 30; ++i) {  // whoever waits as this rank does is alive
      detail::rest(10'000'000);
      if (sighting* s = setting_->mine()) s->polls.fetch_add(1);
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const sighting* s = seen(r);
      if (s == nullptr || r == me || s->polls.load() != polls[r]) continue;
      out << "rank " << ranks_[r] << " has entered and not gone on for " << time
          << ": every rank must go on";
      tell_where(out, *s);
      return out;
    }
    out << (is_far ? "a rank on another host has not entered" : "it has not ended") << " for "
        << time;
    return out << ": every rank must enter";
  }

  [[nodiscard]] std::size_t my_place() const {
    return static_cast<std::size_t>(std::find(places_.begin(), places_.end(), setting_->place) -
                                    places_.begin());
  }

  watch_setting* setting_;
  int group_;  // its place in sighting::entered
  std::string axis_;
  std::vector<int> ranks_;   // of its members in the mesh
  std::vector<int> places_;  // and on the board; -1: on another host
};

/// A wait: `pause` after each vain look; at the time limit it ends the job.
///
/// First it spins, then it gives its core away after each look. Where all memory is shared and
/// nothing moves by looking (`may_sleep`), it sleeps between looks once it has waited long.
class patience {
 public:
  patience(const watched_group& group, const call& c, std::int64_t number, bool may_sleep)
      : group_(&group), call_(&c), number_(number), may_sleep_(may_sleep) {}

  void pause() {
    if (++looks_ < group_->setting().spins) return detail::spin_once();
    if (looks_ % 16 == 0) look_at_clock();
    give_core_away();
  }

 private:
  void look_at_clock() {
    const double time = detail::now();
    // A job that was stopped as a whole and goes on has not waited meanwhile.
    if (last_ > 0) waited_ += std::min(time - last_, 1.0);
    last_ = time;
    const watch_setting& setting = group_->setting();
    if (sighting* s = setting.mine()) s->polls.fetch_add(1, std::memory_order_relaxed);
    if (setting.limit > 0 && waited_ >= setting.limit) group_->give_up(*call_, number_, waited_);
  }

  /// With fewer cores than ranks whoever is awaited needs this one: a yield alone may return at
  /// once.
  void give_core_away() const {
    if (group_->setting().is_crowded || (may_sleep_ && waited_ > 0.02)) return detail::rest(20'000);
    sched_yield();
  }

  const watched_group* group_;
  const call* call_;
  std::int64_t number_;
  bool may_sleep_;
  std::int64_t looks_ = 0;
  double waited_ = 0;
  double last_ = 0;
};

}  // namespace atled::comm
