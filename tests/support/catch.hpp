// support/catch.hpp: Catch2, whichever of its versions 2 and 3 is installed.
// Reads: nothing of ours. Next: support/near.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#  include <catch2/catch_all.hpp>
#else
#  define CATCH_CONFIG_FAST_COMPILE
#  include <catch2/catch.hpp>
#endif
