# cmake -D WORK=<folder> -P check_resume.cmake -- <program> train <argument>...
#
# A run of 10 steps, and one that a kill after step 5 has ended and that goes on in a new process:
# both must leave the same state and the same losses. The arguments must save at steps 5 and 10.
cmake_minimum_required(VERSION 3.25)
include("${CMAKE_CURRENT_LIST_DIR}/../../../cmake/command_after_dashes.cmake")

function(run)
  execute_process(COMMAND ${command} ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status STREQUAL 0)
    message(FATAL_ERROR "exit status ${status}:\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE "${WORK}")
run(--out "${WORK}/whole")
file(COPY "${WORK}/whole/" DESTINATION "${WORK}/taken_up")
file(REMOVE_RECURSE "${WORK}/taken_up/checkpoint-2")  # what stands in the log after step 5 stays
run(--out "${WORK}/taken_up" --resume)

foreach(file IN ITEMS weights.safetensors checkpoint-2/rank-0.safetensors checkpoint-2/checkpoint.json)
  file(SHA256 "${WORK}/whole/${file}" expected)
  file(SHA256 "${WORK}/taken_up/${file}" actual)
  if(NOT expected STREQUAL actual)
    message(FATAL_ERROR "${file} is not that of the run without a break")
  endif()
endforeach()
foreach(folder IN ITEMS whole taken_up)
  file(READ "${WORK}/${folder}/metrics.jsonl" log)
  string(REGEX REPLACE "\"tokens_per_s\":[^,]*,\"step_ms\":[^,]*," "" ${folder} "${log}")
endforeach()
if(NOT whole STREQUAL taken_up OR NOT whole MATCHES "\"step\":9,")
  message(FATAL_ERROR "the losses differ:\n${whole}\n${taken_up}")
endif()
