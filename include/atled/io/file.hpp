// atled/io/file.hpp: files that are read without surprises and replaced in one step.
// Reads: io/bytes.hpp, io/fingerprint.hpp. `refuse` spells the sentences of all readers.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"
#include "atled/io/bytes.hpp"
#include "atled/io/fingerprint.hpp"
#include "atled/io/utf8.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace atled::io {

/// A path as sentences show it.
[[nodiscard]] inline std::string shown_path(std::string_view path) {
  return printable(path, 160);
}

/// `<file> @<offset>`, the beginning of a sentence about a file's contents.
[[nodiscard]] inline std::string at_offset(std::string_view path, std::uint64_t offset) {
  return shown_path(path) + " @" + std::to_string(offset);
}

/// Throws the sentence `<where>: <operation>: <given>: <rule>`.
[[noreturn]] inline void refuse(std::string_view where, std::string_view operation,
                                std::string_view given, std::string_view rule) {
  std::string sentence(where);
  for (const std::string_view piece : {operation, given, rule}) {
    sentence += ": ";
    sentence += piece;
  }
  throw error(sentence);
}

/// Throws a sentence about a failed system call, with the words of the system.
[[noreturn]] inline void refuse_system(std::string_view path, std::string_view operation, int code,
                                       std::string_view rule) {
  refuse(shown_path(path), operation, std::generic_category().message(code), rule);
}

namespace detail {
/// Owns a descriptor.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~descriptor() { (void)close(); }

  [[nodiscard]] int get() const { return fd_; }
  int close() { return fd_ < 0 ? 0 : ::close(std::exchange(fd_, -1)); }

 private:
  int fd_ = -1;
};

inline std::string_view describe_mode(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  if (S_ISSOCK(mode)) return "a socket";
  return "not a regular file";
}

/// A NUL would cut the path short without a word.
inline void require_path(std::string_view path) {
  if (path.empty()) refuse("file", "open", "an empty path", "a file name is needed");
  if (path.find('\0') != std::string_view::npos) {
    refuse(shown_path(path), "open", "a path with a NUL byte", "a path must not hold one");
  }
}

inline bool same_time(const timespec& lhs, const timespec& rhs) {
  return lhs.tv_sec == rhs.tv_sec && lhs.tv_nsec == rhs.tv_nsec;
}

inline std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Writes all bytes, whatever the system takes at a time; false leaves the reason in errno.
inline bool write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

/// Runs an allocation; no memory is a sentence too.
template <class Allocate>
auto allocate_for(std::string_view path, std::uint64_t bytes, Allocate allocate) {
  try {
    return allocate(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  refuse(shown_path(path), "read", std::to_string(bytes) + " bytes", "they must fit into memory");
}
}  // namespace detail

/// A regular file, open for reading.
///
/// - Opening never blocks: pipes, devices and directories are refused.
/// - `size` is that of the moment of opening; a file that has changed since is refused.
class input_file {
 public:
  /// Throws: the file cannot be opened or is not regular.
  explicit input_file(std::string path) : path_(std::move(path)) {
    detail::require_path(path_);
    file_ = detail::descriptor(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    constexpr std::string_view rule = "it must be a regular file that can be read";
    if (file_.get() < 0) refuse_system(path_, "open", errno, rule);
    if (::fstat(file_.get(), &status_) != 0) refuse_system(path_, "open", errno, rule);
    if (!S_ISREG(status_.st_mode)) {
      refuse(shown_path(path_), "open", detail::describe_mode(status_.st_mode), rule);
    }
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::uint64_t size() const { return static_cast<std::uint64_t>(status_.st_size); }

  /// Fills `out` from the bytes at `offset`.
  ///
  /// Throws: the file ends earlier; the system reports an error.
  void read(std::uint64_t offset, std::span<std::byte> out) const {
    const auto end = checked_sum(offset, out.size());
    if (!end || *end > size()) {
      refuse(at_offset(path_, offset), "read",
             std::to_string(out.size()) + " bytes of a file of " + std::to_string(size()),
             "they must lie inside the file");
    }
    while (!out.empty()) {
      const ssize_t count =
          ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse_system(path_, "read", errno, "the bytes must be readable");
      if (count == 0) {
        refuse(at_offset(path_, offset), "read", "end of file",
               "the file must not shrink while it is read");
      }
      out = out.subspan(static_cast<std::size_t>(count));
      offset += static_cast<std::uint64_t>(count);
    }
  }

  /// Throws: size or time of change differ from those at opening.
  void require_unchanged() const {
    struct stat now {};
    if (::fstat(file_.get(), &now) != 0) {
      refuse_system(path_, "read", errno, "its status must be readable");
    }
    if (now.st_size != status_.st_size || !detail::same_time(now.st_mtim, status_.st_mtim)) {
      refuse(shown_path(path_), "read",
             std::to_string(status_.st_size) + " bytes at first and " +
                 std::to_string(now.st_size) + " at the end, or another time of change",
             "the file must not change while it is read");
    }
  }

 private:
  std::string path_;
  detail::descriptor file_;
  struct stat status_ {};
};

/// The whole contents of a regular file. Units: `max_bytes` in bytes.
///
/// Throws: it cannot be opened, is larger than `max_bytes`, or changes while it is read.
[[nodiscard]] inline std::string read_file(
    const std::string& path, std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max()) {
  const input_file file(path);
  if (file.size() > max_bytes) {
    refuse(shown_path(path), "read", "a file of " + std::to_string(file.size()) + " bytes",
           "at most " + std::to_string(max_bytes) + " are allowed");
  }
  auto out =
      detail::allocate_for(path, file.size(), [](std::size_t n) { return std::string(n, 0); });
  file.read(0, std::as_writable_bytes(std::span<char>(out)));
  file.require_unchanged();
  return out;
}

/// A file that appears under its name complete and verified, or not at all.
///
/// - Bytes go to a temporary file in the same directory; `commit` syncs it, reads it back, renames
///   it over `path` and syncs the directory.
/// - Without a successful `commit` the temporary is removed and an old file at `path` is as it was.
/// - An old file's permissions are kept; a symbolic link is followed and stays.
class atomic_file {
 public:
  /// Throws: the directory is not writable; `path` is there and is no regular file.
  explicit atomic_file(std::string path) : path_(std::move(path)) {
    detail::require_path(path_);
    struct stat old {};
    const bool exists = ::stat(path_.c_str(), &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
      refuse(shown_path(path_), "write", detail::describe_mode(old.st_mode),
             "only a regular file is replaced");
    }
    if (exists) resolve_links();
    open_temporary();
    if (exists) (void)::fchmod(file_.get(), old.st_mode & 07777U);
  }
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file() {
    if (!temporary_.empty()) (void)::unlink(temporary_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    if (!detail::write_all(file_.get(), bytes)) {
      refuse_system(path_, "write", errno, "all bytes must be written; the old file is unchanged");
    }
    written_.add(bytes);
  }
  void write(std::string_view bytes) { write(as_byte_span(bytes)); }

  /// Blocks until: the bytes and the name are on the disk.
  /// Throws: any step fails; up to the renaming the old file is unchanged.
  void commit() {
    constexpr std::string_view rule = "it must be synced; the old file is unchanged";
    if (::fsync(file_.get()) != 0) refuse_system(path_, "write", errno, rule);
    verify();
    if (file_.close() != 0) refuse_system(path_, "write", errno, rule);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
      refuse_system(path_, "rename", errno, "the new file must take the place of the old one");
    }
    temporary_.clear();
    const detail::descriptor directory(
        ::open(detail::directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const bool synced = directory.get() >= 0 && ::fsync(directory.get()) == 0;
    if (!synced && errno != EINVAL && errno != EACCES) {  // some file systems sync no directory
      refuse_system(path_, "write", errno, "its directory must be synced; the file is in place");
    }
  }

 private:
  void resolve_links() {
    if (char* real = ::realpath(path_.c_str(), nullptr)) {
      path_ = real;
      std::free(real);
    }
  }

  void open_temporary() {
    static std::atomic<unsigned> counter{0};
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::string name = detail::directory_of(path_) + "/.atled-" + std::to_string(::getpid()) +
                         '-' + std::to_string(counter++) + ".tmp";
      file_ = detail::descriptor(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
      if (file_.get() >= 0) {
        temporary_ = std::move(name);
        return;
      }
      if (errno != EEXIST) break;
    }
    refuse_system(path_, "write", errno, "a file must be created in its directory");
  }

  void verify() const {
    constexpr std::uint64_t chunk = std::uint64_t{1} << 20;
    const fingerprint expected = written_.finish();
    byte_buffer buffer(static_cast<std::size_t>(std::min(expected.size, chunk)));
    fingerprint_builder found;
    for (std::uint64_t offset = 0;;) {
      const ssize_t count =
          ::pread(file_.get(), buffer.data.get(), buffer.size, static_cast<off_t>(offset));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse_system(path_, "verify", errno, "what was written must be readable");
      if (count == 0) break;
      found.add(buffer.span().first(static_cast<std::size_t>(count)));
      offset += static_cast<std::uint64_t>(count);
    }
    if (found.finish() != expected) {
      refuse(shown_path(path_), "verify",
             std::to_string(found.finish().size) + " bytes read back of " +
                 std::to_string(expected.size) + " written",
             "they must be the same; the old file is unchanged");
    }
  }

  std::string path_;
  std::string temporary_;
  detail::descriptor file_;
  fingerprint_builder written_;
};

/// Replaces the contents of a file in one step.
///
/// Throws: any step fails; the old file is then as it was.
inline void write_file(const std::string& path, std::string_view bytes) {
  atomic_file file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace atled::io
