// tests/unit/io/file_test.cpp: for atled/io/file.hpp.
// Reads: atled/io/file.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/file.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace io = atled::io;
using atled_test::contains;
using atled_test::sentence_of;
using atled_test::temp_dir;

namespace {
/// Files of this process may not grow past `bytes` while it lives: a full disk in small.
class full_disk {
 public:
  explicit full_disk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &old_limit_);
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit = old_limit_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  full_disk(const full_disk&) = delete;
  full_disk& operator=(const full_disk&) = delete;
  ~full_disk() {
    ::setrlimit(RLIMIT_FSIZE, &old_limit_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_limit_{};
  void (*old_handler_)(int) = nullptr;
};
}  // namespace

TEST_CASE("file: what is no readable regular file is refused, and nothing blocks", "[io]") {
  const temp_dir dir;
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink(dir / "loop", dir / "loop");
  const auto read = [&](const std::string& path) {
    return dir.sentence([&] { (void)io::read_file(path); });
  };
  const std::string rule = ": it must be a regular file that can be read";
  CHECK(read(dir / "pipe") == "pipe: open: a pipe" + rule);
  CHECK(read(dir / ".") == ".: open: a directory" + rule);
  CHECK(read("/dev/zero") == "/dev/zero: open: a device" + rule);
  CHECK(read(dir / "absent") == "absent: open: No such file or directory" + rule);
  CHECK(contains(read(dir / "loop"), "loop: open: "));
  CHECK(read("") == "file: open: an empty path: a file name is needed");
  CHECK(contains(read(std::string("a\0b", 3)), "a<00>b: open: a path with a NUL byte"));
  if (::geteuid() != 0) {
    dir.file("secret", "x");
    ::chmod((dir / "secret").c_str(), 0);
    CHECK(read(dir / "secret") == "secret: open: Permission denied" + rule);
  }
}

TEST_CASE("file: a file larger than allowed is refused before memory is taken", "[io]") {
  const temp_dir dir;
  const std::string path = dir.file("sparse", "");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  CHECK(dir.sentence([&] { (void)io::read_file(path, 100); }) ==
        "sparse: read: a file of 1099511627776 bytes: at most 100 are allowed");
}

TEST_CASE("file: reads outside the file and changes while it is open are refused", "[io]") {
  const temp_dir dir;
  const std::string path = dir.file("data", "0123456789");
  const io::input_file file(path);
  std::array<std::byte, 4> four{};
  file.read(6, four);
  CHECK(io::as_text(four) == "6789");
  const std::string inside = ": they must lie inside the file";
  CHECK(dir.sentence([&] { file.read(7, four); }) ==
        "data @7: read: 4 bytes of a file of 10" + inside);
  CHECK(dir.sentence([&] { file.read(~std::uint64_t{0}, four); }) ==
        "data @18446744073709551615: read: 4 bytes of a file of 10" + inside);
  CHECK(dir.sentence([&] { file.require_unchanged(); }) == "no error");

  std::filesystem::resize_file(path, 7);
  CHECK(dir.sentence([&] { file.read(6, four); }) ==
        "data @7: read: end of file: the file must not shrink while it is read");
  CHECK(contains(dir.sentence([&] { file.require_unchanged(); }),
                 "10 bytes at first and 7 at the end"));
}

TEST_CASE("file: writing replaces a file in one step and leaves nothing else", "[io]") {
  const temp_dir dir;
  dir.file("data", "old");
  ::chmod((dir / "data").c_str(), 0640);
  io::write_file(dir / "data", "new and longer");
  CHECK(dir.contents("data") == "new and longer");
  CHECK(dir.num_files() == 1);
  struct stat status {};
  REQUIRE(::stat((dir / "data").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0640U);
  io::write_file(dir / "data", "");
  CHECK(dir.contents("data").empty());
}

TEST_CASE("file: an old file is visible until commit, and stays without it", "[io]") {
  const temp_dir dir;
  dir.file("data", "old");
  {
    io::atomic_file file(dir / "data");
    file.write("half of the new");
    CHECK(dir.contents("data") == "old");
  }
  CHECK(dir.contents("data") == "old");
  CHECK(dir.num_files() == 1);
}

TEST_CASE("file: a full disk leaves the old file and no temporary one", "[io]") {
  const temp_dir dir;
  dir.file("data", "old");
  const std::string sentence = [&] {
    const full_disk limit(1000);
    return dir.sentence([&] { io::write_file(dir / "data", std::string(5000, 'x')); });
  }();
  CHECK(sentence ==
        "data: write: File too large: all bytes must be written; the old file is unchanged");
  CHECK(dir.contents("data") == "old");
  CHECK(dir.num_files() == 1);
}

TEST_CASE("file: bytes that read back otherwise than written are found before the renaming",
          "[io]") {
  const temp_dir dir;
  dir.file("data", "old");
  io::atomic_file file(dir / "data");
  file.write("some new bytes");
  for (const auto& entry : std::filesystem::directory_iterator(dir / ".")) {
    if (entry.path().extension() == ".tmp") std::filesystem::resize_file(entry.path(), 5);
  }
  CHECK(dir.sentence([&] { file.commit(); }) ==
        "data: verify: 5 bytes read back of 14 written: they must be the same; the old file is "
        "unchanged");
  CHECK(dir.contents("data") == "old");
}

TEST_CASE("file: a device or directory is never replaced, a link is followed", "[io]") {
  const temp_dir dir;
  std::filesystem::create_directory(dir / "folder");
  const std::string rule = ": only a regular file is replaced";
  CHECK(dir.sentence([&] { io::write_file("/dev/null", "x"); }) ==
        "/dev/null: write: a device" + rule);
  CHECK(dir.sentence([&] { io::write_file(dir / "folder", "x"); }) ==
        "folder: write: a directory" + rule);
  CHECK(dir.sentence([&] { io::write_file(dir / "no/data", "x"); }) ==
        "no/data: write: No such file or directory: a file must be created in its directory");
  dir.file("real", "old");
  std::filesystem::create_symlink(dir / "real", dir / "link");
  io::write_file(dir / "link", "new");
  CHECK(dir.contents("real") == "new");
  CHECK(std::filesystem::is_symlink(dir / "link"));
}
