// tests/unit/io/event_log_test.cpp: for atled/io/event_log.hpp.
// Reads: atled/io/event_log.hpp, atled/io/json.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/event_log.hpp"

#include "atled/io/json.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <sys/stat.h>

namespace io = atled::io;
using atled_test::contains;
using atled_test::temp_dir;

TEST_CASE("event_log: each line is one object, in the file when write returns", "[io]") {
  const temp_dir dir;
  io::metrics_log log(dir / "log");
  log.write({{"step", 1}, {"loss", 0.1}, {"lr", 1e-300}, {"done", false}, {"note", "a\n\"b\""}});
  CHECK(dir.contents("log") == R"({"step":1,"loss":0.1,"lr":1e-300,"done":false,"note":"a\n\"b\""})"
                               "\n");
  log.write({{"tokens", std::numeric_limits<std::uint64_t>::max()}, {"loss", 0.1F}});
  log.write({});
  CHECK(dir.contents("log").ends_with(
      "\n{\"tokens\":18446744073709551615,\"loss\":0.10000000149011612}\n{}\n"));
}

TEST_CASE("event_log: NaN and infinity are null", "[io]") {
  const temp_dir dir;
  io::metrics_log log(dir / "log");
  log.write({{"loss", std::nan("")}, {"norm", -std::numeric_limits<float>::infinity()}});
  CHECK(dir.contents("log") == "{\"loss\":null,\"norm\":null}\n");
}

TEST_CASE("event_log: the log of another run is not overwritten unless asked", "[io]") {
  const temp_dir dir;
  dir.file("log", "{\"step\":1}\n");
  CHECK(dir.sentence([&] { io::metrics_log(dir / "log"); }) ==
        "log: open log: File exists: a new file is needed; append to go on with a run");
  io::metrics_log(dir / "log", io::log_mode::append).write({{"step", 2}});
  CHECK(dir.contents("log") == "{\"step\":1}\n{\"step\":2}\n");
  io::metrics_log(dir / "log", io::log_mode::replace).write({{"step", 3}});
  CHECK(dir.contents("log") == "{\"step\":3}\n");
}

TEST_CASE("event_log: appending goes on behind the last complete line", "[io]") {
  const temp_dir dir;
  dir.file("log", "{\"step\":1}\n{\"step\":2,\"lo");
  io::metrics_log(dir / "log", io::log_mode::append).write({{"step", 2}});
  CHECK(dir.contents("log") == "{\"step\":1}\n{\"step\":2}\n");
  dir.file("log", "{\"ste");
  io::metrics_log(dir / "log", io::log_mode::append).write({{"step", 2}});
  CHECK(dir.contents("log") == "{\"step\":2}\n");
  dir.file("log", "dear diary");
  CHECK(dir.sentence([&] { io::metrics_log(dir / "log", io::log_mode::append); }) ==
        "log @0: open log: a last line without end: the file must be a log in JSON Lines");
  CHECK(dir.contents("log") == "dear diary");
}

TEST_CASE("event_log: what is no regular file is refused without waiting", "[io]") {
  const temp_dir dir;
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  CHECK(contains(dir.sentence([&] { io::metrics_log(dir / "pipe", io::log_mode::append); }),
                 "pipe: open log: a pipe: it must be a regular file"));
  CHECK(contains(dir.sentence([&] { io::metrics_log(dir / "no/log"); }), "No such file"));
}

TEST_CASE("event_log: a text that is not UTF-8 is refused and leaves no half line", "[io]") {
  const temp_dir dir;
  io::metrics_log log(dir / "log");
  log.write({{"step", 1}});
  CHECK(contains(dir.sentence([&] { log.write({{"note", "\xff"}}); }), "must be UTF-8"));
  CHECK(dir.contents("log") == "{\"step\":1}\n");
}
