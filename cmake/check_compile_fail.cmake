# cmake -D SOURCE=<file> -P check_compile_fail.cmake -- <compiler> <option>...
#
# The file must not compile: the compiler must print the sentence of line 1, `// expect-error: ...`,
# with a failed static assertion, in at most 12 lines (or N: line 2, `// expect-lines: N`), not
# counting by which includes a header was reached.
# With -DATLED_FIXED it must compile.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/command_after_dashes.cmake")

file(READ "${SOURCE}" text)
if(NOT text MATCHES "^// expect-error: ([^\n]+)\n(// expect-lines: ([0-9]+)\n)?")
  message(FATAL_ERROR "${SOURCE}:1: line 1 must be // expect-error: <sentence>")
endif()
set(sentence "${CMAKE_MATCH_1}")
set(most_lines 12)
if(CMAKE_MATCH_3)
  set(most_lines "${CMAKE_MATCH_3}")
endif()
if(NOT text MATCHES "\n#ifdef ATLED_FIXED\n")
  message(FATAL_ERROR "${SOURCE}: no twin under #ifdef ATLED_FIXED")
endif()

execute_process(COMMAND ${command} "${SOURCE}" RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles; it must fail with: ${sentence}")
endif()
string(REGEX REPLACE "(In file included|  +) from [^\n]*:[0-9]+[:,]\n" "" message "${output}")
string(REGEX MATCHALL "\n" line_ends "${message}")
list(LENGTH line_ends lines)
string(REPLACE "', '" "" joined "${output}")  # clang 14 prints a sentence letter by letter
string(FIND "${joined}" "${sentence}" position)
if(position EQUAL -1)
  message(FATAL_ERROR "the sentence\n  ${sentence}\nis not in the output:\n${joined}")
endif()
if(NOT output MATCHES "static assertion failed|static_assert failed")
  message(FATAL_ERROR "no static assertion failed:\n${output}")
endif()
if(lines GREATER most_lines)
  message(FATAL_ERROR "${lines} lines of output, more than ${most_lines}:\n${output}")
endif()

execute_process(COMMAND ${command} -DATLED_FIXED "${SOURCE}" RESULT_VARIABLE status
                OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} does not compile with -DATLED_FIXED:\n${output}")
endif()
