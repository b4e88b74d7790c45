# How tests, examples and benchmarks are built: warnings, sanitizers, threads, machine, ccache.
include(AtledWarnings)
include(AtledSanitizers)

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ATLED_CCACHE ccache)
  mark_as_advanced(ATLED_CCACHE)
  if(ATLED_CCACHE)  # the setting lets it keep objects that read a precompiled header
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
                                    CCACHE_SLOPPINESS=pch_defines,time_macros "${ATLED_CCACHE}")
  endif()
endif()

# atled_lacks_mpi(<variable> <file>...): whether one of the files includes MPI, and there is none.
function(atled_lacks_mpi variable)
  set(${variable} OFF PARENT_SCOPE)
  if(NOT TARGET atled::mpi)
    foreach(file IN LISTS ARGN)
      file(STRINGS "${file}" hits REGEX "^#include [\"<](atled/)?mpi\\.h" LIMIT_COUNT 1)
      if(hits)
        set(${variable} ON PARENT_SCOPE)
      endif()
    endforeach()
  endif()
endfunction()

# atled_build_on_top(<target>): how whatever stands on top of atled is compiled and linked, with each
# feature that is on but MPI.
function(atled_build_on_top target)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE atled::atled atled_warnings atled_sanitizers)
  set(features ${ATLED_FEATURES})
  list(REMOVE_ITEM features mpi)
  foreach(feature IN LISTS features)
    target_link_libraries(${target} PRIVATE atled::${feature})
  endforeach()
  if(ATLED_MARCH)
    target_compile_options(${target} PRIVATE -march=${ATLED_MARCH})
  endif()
endfunction()

# atled_add_program(<target> <output name> SOURCES <file>...)
#
# An executable on top of atled; with MPI only where a source includes it, because its libraries cost
# time at the start.
function(atled_add_program target output_name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES")
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${output_name}")
  atled_build_on_top(${target})
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source)
    if(TARGET atled::mpi AND EXISTS "${source}")
      file(STRINGS "${source}" hits REGEX "^#include [\"<](atled/|support/)?(mpi|ranks)\\.h" LIMIT_COUNT 1)
      if(hits)
        target_link_libraries(${target} PRIVATE atled::mpi)
        break()
      endif()
    endif()
  endforeach()
endfunction()

# atled_make_fast(<target>)
#
# For programs whose speed is the point: full optimization for this machine in every build type.
function(atled_make_fast target)
  target_compile_options(${target} PRIVATE -O3)
  if(NOT ATLED_MARCH)
    target_compile_options(${target} PRIVATE -march=native)
  endif()
endfunction()
