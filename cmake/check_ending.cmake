# check_ending.cmake: a job ends in time, with a status, and says why.
#
#   cmake -D STATUS=<status> -D PATTERN=<regular expression> -P check_ending.cmake -- <command>...
#
# STATUS is a number, or `not 0`. The expression is found in the output without its line breaks.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/command_after_dashes.cmake")

# Open MPI 4.1's mpiexec now and then crashes by itself while it cleans up after an abort. Such a run
# tells nothing of the job, and is made again.
foreach(attempt RANGE 2)
  execute_process(COMMAND ${command} TIMEOUT 30 RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  message("${output}")
  if(NOT (status MATCHES "Segmentation" AND output MATCHES "PMIx_server_finalize"))
    break()
  endif()
endforeach()
if(status MATCHES "timeout")
  message(FATAL_ERROR "not ended within 30 s")
elseif(STATUS STREQUAL "not 0" AND status EQUAL 0)
  message(FATAL_ERROR "status 0")
elseif(NOT STATUS STREQUAL "not 0" AND NOT status EQUAL STATUS)
  message(FATAL_ERROR "status ${status}, not ${STATUS}")
endif()
if(NOT output MATCHES "${PATTERN}")
  message(FATAL_ERROR "not found in the output: ${PATTERN}")
endif()
# What all ranks have to say is said once.
string(REGEX MATCHALL "every rank must" said "${output}")
list(LENGTH said count)
if(count GREATER 1)
  message(FATAL_ERROR "said ${count} times")
endif()
