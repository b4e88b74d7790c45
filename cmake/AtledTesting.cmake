# Functions of tests/CMakeLists.txt. Test files are found by their place; none is listed by name.
find_package(Catch2 REQUIRED)

# Main of all test executables, compiled once; its speed matters to nobody.
add_library(atled_test_main OBJECT "${PROJECT_SOURCE_DIR}/tests/support/main.cpp")
target_compile_features(atled_test_main PUBLIC cxx_std_20)
target_include_directories(atled_test_main PUBLIC "${PROJECT_SOURCE_DIR}/tests"
                                                  "${PROJECT_SOURCE_DIR}/examples")
target_compile_options(atled_test_main PRIVATE -O0)
# With the umbrella before it, a local variable of a test may have the name of one of ours: clang
# reports that, g++ only what hides a local name or a member.
target_compile_options(atled_test_main PUBLIC $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-shadow>)
target_link_libraries(atled_test_main PUBLIC Catch2::Catch2 PRIVATE atled_sanitizers)

# What most test files begin with, read once: it is half of what a small test costs. The library
# has an empty source, and lends its precompiled header to the test programs.
file(CONFIGURE OUTPUT precompiled.cpp CONTENT "// nothing but the precompiled header\n")
add_library(atled_test_headers OBJECT "${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp")
atled_build_on_top(atled_test_headers)
target_link_libraries(atled_test_headers PRIVATE atled_test_main)
target_precompile_headers(atled_test_headers PRIVATE
                          "${PROJECT_SOURCE_DIR}/tests/support/precompiled.hpp")

# Threads that wait must not take the core of another test's thread.
set(ATLED_TEST_ENVIRONMENT OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive)

# The command line of tests that only compile: what a user types, and our warnings.
get_target_property(eigen_include Eigen3::Eigen INTERFACE_INCLUDE_DIRECTORIES)
list(TRANSFORM eigen_include PREPEND "-isystem;" OUTPUT_VARIABLE ATLED_PLAIN_COMMAND)
list(PREPEND ATLED_PLAIN_COMMAND "${CMAKE_CXX_COMPILER}" -std=c++20 -fdiagnostics-color=never -I
     "${PROJECT_SOURCE_DIR}/include")

# The umbrella, precompiled for that command line.
set(ATLED_PLAIN_HEADER "${CMAKE_CURRENT_BINARY_DIR}/plain.hpp")
file(CONFIGURE OUTPUT "${ATLED_PLAIN_HEADER}" CONTENT "#include \"atled/atled.hpp\"\n")
add_custom_command(
  OUTPUT "${ATLED_PLAIN_HEADER}.gch"
  COMMAND ${ATLED_PLAIN_COMMAND} -x c++-header -MD -MF "${ATLED_PLAIN_HEADER}.d" -MT
          "${ATLED_PLAIN_HEADER}.gch" "${ATLED_PLAIN_HEADER}" -o "${ATLED_PLAIN_HEADER}.gch"
  DEPENDS "${ATLED_PLAIN_HEADER}"
  DEPFILE "${ATLED_PLAIN_HEADER}.d"
  COMMENT "Precompiling the umbrella for the tests that must not compile"
  VERBATIM)

# atled_find_tests(<variable> <folder>): the test files under tests/<folder> that ATLED_TEST_TAGS
# lets through.
function(atled_find_tests variable folder)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*_test.cpp")
  if(ATLED_TEST_TAGS)
    list(JOIN ATLED_TEST_TAGS "|" tags)
    foreach(file IN LISTS files)
      file(STRINGS "${file}" hits REGEX "\\[(${tags})\\]" LIMIT_COUNT 1)
      if(hits STREQUAL "")
        list(REMOVE_ITEM files "${file}")
      endif()
    endforeach()
  endif()
  set(${variable} "${files}" PARENT_SCOPE)
endfunction()

# atled_add_unit_test(<group> LABEL <label> SOURCES <file>...)
#
# One executable test.<group> for the whole group, which keeps link time low, and one ctest entry
# <group>.<name> for each file <name>_test.cpp, which keeps failures findable.
function(atled_add_unit_test group)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "SOURCES")
  atled_add_program(test.${group} test.${group} SOURCES ${arg_SOURCES})
  target_link_libraries(test.${group} PRIVATE atled_test_main)
  target_precompile_headers(test.${group} REUSE_FROM atled_test_headers)
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(GET source STEM stem)
    string(REGEX REPLACE "_test$" "" name "${stem}")
    add_test(NAME ${group}.${name} COMMAND test.${group} --filenames-as-tags --warn NoTests
                                           "[#${stem}]")
    set_tests_properties(
      ${group}.${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT 600
                                  ENVIRONMENT "${ATLED_TEST_ENVIRONMENT}")
  endforeach()
endfunction()

# atled_add_static_test(<file>): the file compiles without a warning; its checks are static_asserts.
function(atled_add_static_test source)
  cmake_path(GET source STEM stem)
  string(REGEX REPLACE "_test$" "" name "${stem}")
  add_test(NAME static.${name} COMMAND ${ATLED_PLAIN_COMMAND} -fsyntax-only -I
                                       "${PROJECT_SOURCE_DIR}/tests" ${ATLED_WARNING_OPTIONS} "${source}")
  set_tests_properties(static.${name} PROPERTIES LABELS static TIMEOUT 600)
endfunction()

# atled_add_compile_fail_tests(<file>...)
#
# Line 1 of each file is `// expect-error: <sentence>`: compiling it must fail with that sentence.
# Under ATLED_FIXED the same file must compile.
function(atled_add_compile_fail_tests)
  add_custom_target(atled_plain_header ALL DEPENDS "${ATLED_PLAIN_HEADER}.gch")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM name)
    add_test(
      NAME compile_fail.${name}
      COMMAND "${CMAKE_COMMAND}" -D "SOURCE=${source}" -P
              "${PROJECT_SOURCE_DIR}/cmake/check_compile_fail.cmake" -- ${ATLED_PLAIN_COMMAND} -fsyntax-only
              -include "${ATLED_PLAIN_HEADER}")
    set_tests_properties(compile_fail.${name} PROPERTIES LABELS compile_fail TIMEOUT 300)
  endforeach()
endfunction()

# atled_add_mpi_test(<file> RANKS <number>...): an executable of its own, run under mpiexec. Its main,
# support/ranks_main.cpp, initialises MPI; it ends after TIMEOUT whatever happens.
set(ATLED_RANKS_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                            OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0
                            OMP_NUM_THREADS=1)

# atled_ranks_environment(<variable> <test>): jobs that run side by side need folders of their own.
function(atled_ranks_environment variable test)
  set(folder "${PROJECT_BINARY_DIR}/ranks/${test}")
  file(MAKE_DIRECTORY "${folder}")
  set(${variable} ${ATLED_RANKS_ENVIRONMENT} "OMPI_MCA_orte_tmpdir_base=${folder}" PARENT_SCOPE)
endfunction()

function(atled_add_mpi_test source)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "RANKS")
  if(NOT TARGET atled_ranks_main)
    add_library(atled_ranks_main OBJECT "${PROJECT_SOURCE_DIR}/tests/support/ranks_main.cpp")
    target_compile_options(atled_ranks_main PRIVATE -O0)
    target_include_directories(atled_ranks_main PUBLIC "${PROJECT_SOURCE_DIR}/tests"
                                                       "${PROJECT_SOURCE_DIR}/examples")
    target_link_libraries(atled_ranks_main PUBLIC Catch2::Catch2 atled::mpi PRIVATE atled_sanitizers)
  endif()
  cmake_path(GET source STEM stem)
  string(REGEX REPLACE "_test$" "" name "${stem}")
  atled_add_program(test.mpi.${name} test.mpi.${name} SOURCES "${source}")
  target_link_libraries(test.mpi.${name} PRIVATE atled_ranks_main)
  foreach(ranks IN LISTS arg_RANKS)
    atled_ranks_environment(environment mpi.${name}.${ranks})
    add_test(NAME mpi.${name}.${ranks} COMMAND "${MPIEXEC_EXECUTABLE}" -n ${ranks} --oversubscribe
                                               $<TARGET_FILE:test.mpi.${name}>)
    set_tests_properties(
      mpi.${name}.${ranks} PROPERTIES LABELS mpi TIMEOUT 120 PROCESSORS ${ranks}
                                      ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# atled_add_ending_tests(<file>): a program that misbehaves on one of 2 and 4 ranks.
#
# Each line `<name> <status>: <regular expression>` of the file beside it, <program>.cases, is a test:
# told that name, the job must end within 30 s with that status (`not 0`: any but 0) and say what the
# expression finds.
function(atled_add_ending_tests source)
  cmake_path(GET source STEM program)
  atled_add_program(test.mpi.${program} test.mpi.${program} SOURCES "${source}")
  cmake_path(REPLACE_EXTENSION source cases OUTPUT_VARIABLE list)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${list}")
  file(STRINGS "${list}" cases REGEX "^[a-z]")
  foreach(line IN LISTS cases)
    string(REGEX MATCH "^([a-z_]+) ([^:]+): (.*)$" match "${line}")
    set(name "${CMAKE_MATCH_1}")
    set(status "${CMAKE_MATCH_2}")
    set(pattern "${CMAKE_MATCH_3}")
    foreach(ranks IN ITEMS 2 4)
      atled_ranks_environment(environment mpi.${program}.${name}.${ranks})
      add_test(
        NAME mpi.${program}.${name}.${ranks}
        COMMAND "${CMAKE_COMMAND}" -D "STATUS=${status}" -D "PATTERN=${pattern}" -P
                "${PROJECT_SOURCE_DIR}/cmake/check_ending.cmake" -- "${MPIEXEC_EXECUTABLE}" -n
                ${ranks} --oversubscribe $<TARGET_FILE:test.mpi.${program}> ${name})
      set_tests_properties(
        mpi.${program}.${name}.${ranks} PROPERTIES LABELS mpi TIMEOUT 60 ENVIRONMENT
                                                   "${environment}")
    endforeach()
  endforeach()
endfunction()
