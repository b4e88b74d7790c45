// gpt/progress.cpp: the progress line.
// Reads: gpt/progress.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/progress.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <unistd.h>

namespace gpt {
namespace {

template <class... Values>
std::string formatted(const char* format, Values... values) {
  std::array<char, 128> buffer{};
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

double seconds_between(clock::time_point from, clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string rate_text(double rate) {
  if (rate >= 1e6) return formatted("%.2fM", rate / 1e6);
  return rate >= 1e4 ? formatted("%.1fk", rate / 1e3) : formatted("%.0f", rate);
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(seconds + 0.5);
  if (whole >= 3600) return formatted("%lld h %02lld min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return formatted("%lld min %02lld s", whole / 60, whole % 60);
  return formatted("%lld s", whole);
}

progress_line::progress_line() : is_terminal_(::isatty(STDERR_FILENO) == 1) {}

std::string progress_line::text_of(const progress_state& now) const {
  std::string out = formatted("step %lld/%lld  loss %.4f", static_cast<long long>(now.step),
                              static_cast<long long>(now.steps), now.loss);
  if (now.validation_loss) out += formatted("  val %.4f", *now.validation_loss);
  out += "  " + rate_text(now.tokens_per_s) + " tokens/s  MFU ";
  out += now.mfu < 0 ? "n/a" : formatted("%.1f %%", 100 * now.mfu);
  const double elapsed = seconds_between(start_, clock::now());
  const auto left = static_cast<double>(now.steps - now.step);
  return out + "  ETA " + duration_text(elapsed / static_cast<double>(now.step) * left);
}

void progress_line::show(const progress_state& now, bool is_milestone) {
  const auto time = clock::now();
  const double pause = is_terminal_ ? 0.2 : 10;
  if (!is_milestone && seconds_between(last_shown_, time) < pause) return;
  last_shown_ = time;
  const std::string text = text_of(now);
  std::fprintf(stderr, is_terminal_ ? "\r%s\x1b[K" : "%s\n", text.c_str());
  is_line_open_ = is_terminal_;
  if (is_milestone) end_line();
}

void progress_line::end_line() {
  if (is_line_open_) std::fputc('\n', stderr);
  is_line_open_ = false;
}

}  // namespace gpt
