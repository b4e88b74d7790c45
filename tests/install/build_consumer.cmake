# Builds and runs support/consumer by one WAY: find_package (from a fresh install), add_subdirectory,
# fetch_content (from this source tree, so nothing is downloaded), include (one compiler call with
# -I), amalgamated (the same with the single header).
cmake_minimum_required(VERSION 3.25)
set(consumer "${SOURCE_DIR}/tests/support/consumer")
set(work "${BINARY_DIR}/consumer/${WAY}")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${work}" RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " line)
    message(FATAL_ERROR "${WAY}: failed (${status}): ${line}")
  endif()
endfunction()

set(plain "${COMPILER}" -std=c++20 -O1 -isystem "${EIGEN_INCLUDE}" "${consumer}/main.cpp" -o consumer)
if(WAY STREQUAL "include")
  run(${plain} -I "${SOURCE_DIR}/include")
  run("${work}/consumer")
elseif(WAY STREQUAL "amalgamated")
  run("${CMAKE_COMMAND}" -D "OUTPUT=${work}/include/atled/atled.hpp" -P
      "${SOURCE_DIR}/cmake/amalgamate.cmake")
  run(${plain} -I "${work}/include")
  run("${work}/consumer")
else()
  if(WAY STREQUAL "find_package")
    run("${CMAKE_COMMAND}" --install "${BINARY_DIR}" --prefix "${work}/prefix")
  endif()
  run("${CMAKE_COMMAND}" -S "${consumer}" -B "${work}/build" -G "${GENERATOR}"
      "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=-O1" "-DWAY=${WAY}"
      "-DATLED_SOURCE_DIR=${SOURCE_DIR}" "-DATLED_VERSION=${VERSION}"
      "-DCMAKE_PREFIX_PATH=${work}/prefix")
  run("${CMAKE_COMMAND}" --build "${work}/build")
  run("${work}/build/consumer")
endif()
