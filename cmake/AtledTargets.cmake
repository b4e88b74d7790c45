# Custom targets of the house: format, format-check, style, tidy, amalgamate.
find_program(ATLED_CLANG_FORMAT NAMES clang-format-14 clang-format)
find_program(ATLED_RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
mark_as_advanced(ATLED_CLANG_FORMAT ATLED_RUN_CLANG_TIDY)

set(atled_format_command
    "${CMAKE_COMMAND}" -D "CLANG_FORMAT=${ATLED_CLANG_FORMAT}" -D "ROOT=${PROJECT_SOURCE_DIR}")
add_custom_target(
  format
  COMMAND ${atled_format_command} -D MODE=fix -P "${PROJECT_SOURCE_DIR}/cmake/check_format.cmake"
  VERBATIM)
add_custom_target(
  format-check
  COMMAND ${atled_format_command} -P "${PROJECT_SOURCE_DIR}/cmake/check_format.cmake"
  VERBATIM)
add_custom_target(
  style
  COMMAND "${CMAKE_COMMAND}" -P "${PROJECT_SOURCE_DIR}/cmake/check_style.cmake"
  VERBATIM)
add_custom_target(
  amalgamate
  COMMAND "${CMAKE_COMMAND}" -D "OUTPUT=${PROJECT_BINARY_DIR}/atled.hpp" -P
          "${PROJECT_SOURCE_DIR}/cmake/amalgamate.cmake"
  VERBATIM)

# Each header is one translation unit of the header check (the preset tidy turns that on).
add_custom_target(
  tidy
  COMMAND "${ATLED_RUN_CLANG_TIDY}" -quiet -p "${PROJECT_BINARY_DIR}" verify_interface_header_sets
  VERBATIM USES_TERMINAL)
