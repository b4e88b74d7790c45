// support/main.cpp: the main function of all test executables.
// Reads: Catch2. An object library, because it takes longer to compile than most tests.
// SPDX-License-Identifier: MIT
#if __has_include(<catch2/catch_all.hpp>)
#  include <catch2/catch_all.hpp>

int main(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
#else
#  define CATCH_CONFIG_MAIN
#  include <catch2/catch.hpp>
#endif
