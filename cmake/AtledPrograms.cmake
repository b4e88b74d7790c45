# How tests, examples and benchmarks are built: warnings, sanitizers, threads, machine, ccache.
include(AtledWarnings)
include(AtledSanitizers)

if(PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(ATLED_CCACHE ccache)
  mark_as_advanced(ATLED_CCACHE)
  if(ATLED_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${ATLED_CCACHE}")
  endif()
endif()

# atled_add_program(<target> <output name> SOURCES <file>...)
#
# An executable on top of atled and of each feature that is on.
function(atled_add_program target output_name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES")
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${output_name}" CXX_EXTENSIONS OFF)
  target_link_libraries(${target} PRIVATE atled::atled atled_warnings atled_sanitizers)
  foreach(feature IN LISTS ATLED_FEATURES)
    target_link_libraries(${target} PRIVATE atled::${feature})
  endforeach()
  if(ATLED_MARCH)
    target_compile_options(${target} PRIVATE -march=${ATLED_MARCH})
  endif()
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
