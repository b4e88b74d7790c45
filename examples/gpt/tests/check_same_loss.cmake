# cmake -D FIRST=<folder> -D SECOND=<folder> -D STEP=<number> -P check_same_loss.cmake
#
# The logs of two runs must hold the same loss of that step, but for rounding: 2 in the fourth place.
cmake_minimum_required(VERSION 3.25)
foreach(which IN ITEMS FIRST SECOND)
  file(READ "${${which}}/metrics.jsonl" log)
  if(NOT log MATCHES "\"step\":${STEP},\"train_loss\":([0-9]+)\\.([0-9]+)")
    message(FATAL_ERROR "${${which}}/metrics.jsonl has no loss of step ${STEP}:\n${log}")
  endif()
  string(SUBSTRING "${CMAKE_MATCH_2}0000" 0 4 places)
  math(EXPR ${which}_loss "${CMAKE_MATCH_1} * 10000 + 1${places} - 10000")
endforeach()
math(EXPR difference "${FIRST_loss} - ${SECOND_loss}")
if(difference GREATER 2 OR difference LESS -2)
  message(FATAL_ERROR "the losses of step ${STEP} are ${FIRST_loss} and ${SECOND_loss} ten-thousandths")
endif()
