// atled/io/event_log.hpp: what a run reports, as a file of one JSON object a line.
// Reads: io/json_writer.hpp, io/file.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/file.hpp"
#include "atled/io/json_writer.hpp"

#include <cerrno>
#include <concepts>
#include <cstdint>
#include <fcntl.h>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <variant>

namespace atled::io {

/// A name and its value: a number, a truth or a text.
struct metric {
  std::string_view name;
  std::variant<double, std::int64_t, std::uint64_t, bool, std::string_view> value;

  metric(std::string_view key, double number) : name(key), value(number) {}
  metric(std::string_view key, float number) : name(key), value(static_cast<double>(number)) {}
  metric(std::string_view key, bool truth) : name(key), value(truth) {}
  metric(std::string_view key, std::signed_integral auto number)
      : name(key), value(std::int64_t{number}) {}
  metric(std::string_view key, std::unsigned_integral auto number)
      : name(key), value(std::uint64_t{number}) {}
  metric(std::string_view key, std::string_view text) : name(key), value(text) {}
  metric(std::string_view key, const char* text) : name(key), value(std::string_view(text)) {}
};

/// What to do where the log's file is there already.
enum class log_mode {
  create,  ///< refuse: it is the log of another run
  append,  ///< go on behind its last complete line
  replace  ///< begin anew
};

/// A log of metrics in JSON Lines, of which each line is in the file when `write` returns.
///
/// - Numbers are the shortest texts that read back as the same f64; NaN and infinity are null.
/// - Each line reaches the system in one call: a killed run leaves complete lines. Nothing is
///   synced: after a power failure the last lines may be missing.
class metrics_log {
 public:
  /// Throws: the file cannot be written; it is there under `create`; under `append` its last line
  /// is cut short and is no JSON object (one that is, is removed).
  explicit metrics_log(std::string path, log_mode mode = log_mode::create)
      : path_(std::move(path)) {
    detail::require_path(path_);
    int flags = O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    if (mode == log_mode::create) flags |= O_EXCL;
    file_ = detail::descriptor(::open(path_.c_str(), flags, 0666));
    if (file_.get() < 0) {
      refuse_system(path_, "open log", errno,
                    mode == log_mode::create ? "a new file is needed; append to go on with a run"
                                             : "it must be a file that can be written");
    }
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      refuse(shown_path(path_), "open log", detail::describe_mode(status.st_mode),
             "it must be a regular file");
    }
    size_ = status.st_size;
    if (mode == log_mode::replace) cut(0);
    if (mode == log_mode::append) cut_incomplete_line();
  }

  /// Appends one line with these members, in this order.
  ///
  /// Throws: a name or text is not UTF-8; the line cannot be written whole. The file then ends with
  /// the line before.
  void write(std::span<const metric> metrics) {
    json_writer line(non_finite::as_null);
    line.begin_object();
    for (const metric& item : metrics) {
      line.key(item.name);
      std::visit([&](const auto& value) { line.value(value); }, item.value);
    }
    const std::string text = line.end().finish() + '\n';
    if (!detail::write_all(file_.get(), as_byte_span(text))) {
      const int code = errno;
      cut(size_);
      refuse_system(path_, "write log", code, "a line must be written whole");
    }
    size_ += static_cast<off_t>(text.size());
  }
  void write(std::initializer_list<metric> metrics) {
    write(std::span<const metric>(metrics.begin(), metrics.size()));
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void cut(off_t size) {
    if (::ftruncate(file_.get(), size) != 0) {
      refuse_system(path_, "write log", errno, "its last line must be removable");
    }
    size_ = size;
  }

  /// A run that was killed may leave part of a line behind.
  void cut_incomplete_line() {
    constexpr off_t longest = off_t{1} << 20;
    const off_t begin = size_ > longest ? size_ - longest : 0;
    std::string tail(static_cast<std::size_t>(size_ - begin), '\0');
    const ssize_t count = ::pread(file_.get(), tail.data(), tail.size(), begin);
    if (count != size_ - begin) {
      refuse_system(path_, "open log", count < 0 ? errno : EIO, "its end must be readable");
    }
    const auto newline = tail.rfind('\n');
    const std::size_t line = newline == tail.npos ? 0 : newline + 1;
    if (line == tail.size()) return;
    if (tail[line] != '{' || (line == 0 && begin > 0)) {
      refuse(at_offset(path_, static_cast<std::uint64_t>(begin) + line), "open log",
             "a last line without end", "the file must be a log in JSON Lines");
    }
    cut(begin + static_cast<off_t>(line));
  }

  std::string path_;
  detail::descriptor file_;
  off_t size_ = 0;
};

}  // namespace atled::io
