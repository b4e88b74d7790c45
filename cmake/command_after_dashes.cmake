# What stands behind `--` on the line of a script, cmake -P <script> -- <command>..., as the list
# `command`.
set(command "")
foreach(i RANGE 1 ${CMAKE_ARGC})
  if(past_dashes AND i LESS CMAKE_ARGC)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(past_dashes TRUE)
  endif()
endforeach()
