// support/main.cpp: the main function of all test executables.
// Reads: Catch2. An object library, because it takes longer to compile than most tests.
// SPDX-License-Identifier: MIT
#include <sys/resource.h>

namespace {

// Passes keep their tables on the stack, in sizes made for compilers; tests run some of them.
[[maybe_unused]] const bool has_room = [] {
  constexpr rlim_t wanted = rlim_t{64} << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= wanted) return true;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  return setrlimit(RLIMIT_STACK, &limit) == 0;
}();

}  // namespace

#if __has_include(<catch2/catch_all.hpp>)
#  include <catch2/catch_all.hpp>

int main(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
#else
#  define CATCH_CONFIG_MAIN
#  include <catch2/catch.hpp>
#endif
