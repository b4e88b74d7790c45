// gpt/main.cpp: picks the verb; a mistake is one sentence on standard error and exit status 2.
// Reads: gpt/verbs.hpp, gpt/ranks.hpp.
// SPDX-License-Identifier: MIT
#include "atled/core/diagnostic.hpp"
#include "atled/runtime/threads.hpp"

#include "gpt/ranks.hpp"
#include "gpt/verbs.hpp"
#include <cstdio>
#include <exception>
#include <new>

namespace {

void run(const gpt::options& given, gpt::clock::time_point start) {
  if (given.threads > 0) atled::set_num_threads(static_cast<int>(given.threads));
  switch (given.verb) {
    case gpt::verb::train:
      return gpt::train(given, start);
    case gpt::verb::sample:
      return gpt::sample(given);
    case gpt::verb::eval:
      return gpt::eval(given);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto start = gpt::clock::now();
  const gpt::session ranks(argc, argv);
  try {
    const auto given = gpt::alike([&] { return gpt::parse_options(argc, argv); });
    if (given.help) {
      if (gpt::rank() == 0) std::fputs(given.help->c_str(), stdout);
    } else {
      run(given, start);
    }
    if (std::fflush(stdout) != 0) throw atled::error("standard output: write: it must be writable");
    return 0;
  } catch (const gpt::common_error& why) {
    if (gpt::rank() == 0) std::fprintf(stderr, "gpt: %s\n", why.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fputs("gpt: memory: not enough of it is free; choose a smaller preset\n", stderr);
    ranks.fail(1);
    return 1;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "gpt: %s\n", why.what());
    ranks.fail(2);
    return 2;
  }
}
