# The target atled_warnings: what our own programs are compiled with, never a user's.
set(ATLED_WARNING_OPTIONS
    -Wall
    -Wextra
    -Wpedantic
    -Wshadow
    -Wconversion
    -Wsign-conversion
    -Wold-style-cast
    -Wcast-align
    -Wundef
    -Wdouble-promotion
    -Wnon-virtual-dtor
    -Woverloaded-virtual)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC bug 105593: its own AVX-512 header reads a register it left undefined on purpose.
  list(APPEND ATLED_WARNING_OPTIONS -Wno-maybe-uninitialized)
endif()
if(ATLED_WERROR)
  list(APPEND ATLED_WARNING_OPTIONS -Werror)
endif()

add_library(atled_warnings INTERFACE)
target_compile_options(atled_warnings INTERFACE ${ATLED_WARNING_OPTIONS})
