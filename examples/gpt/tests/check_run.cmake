# cmake -D STATUS=<number> -D OUTPUT=<regex> -P check_run.cmake -- <program> <argument>...
#
# Runs the program: its exit status must be STATUS, and both its outputs together must match OUTPUT.
cmake_minimum_required(VERSION 3.25)
set(command "")
foreach(i RANGE 1 ${CMAKE_ARGC})
  if(past_dashes AND i LESS CMAKE_ARGC)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(past_dashes TRUE)
  endif()
endforeach()

execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT status STREQUAL STATUS)
  message(FATAL_ERROR "exit status ${status}, not ${STATUS}:\n${output}")
endif()
if(NOT output MATCHES "${OUTPUT}")
  message(FATAL_ERROR "the output does not match\n  ${OUTPUT}\nit is:\n${output}")
endif()
