# cmake -D STATUS=<number> -D OUTPUT=<regex> -P check_run.cmake -- <program> <argument>...
#
# Runs the program: its exit status must be STATUS, and both its outputs together must match OUTPUT.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../../../cmake/command_after_dashes.cmake")

execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT status STREQUAL STATUS)
  message(FATAL_ERROR "exit status ${status}, not ${STATUS}:\n${output}")
endif()
if(NOT output MATCHES "${OUTPUT}")
  message(FATAL_ERROR "the output does not match\n  ${OUTPUT}\nit is:\n${output}")
endif()
