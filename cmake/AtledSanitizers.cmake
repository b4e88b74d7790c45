# The target atled_sanitizers: instruments our own programs with the sanitizers in ATLED_SANITIZE.
add_library(atled_sanitizers INTERFACE)
if(ATLED_SANITIZE)
  list(JOIN ATLED_SANITIZE "," atled_sanitizer_list)
  set(atled_sanitizer_options -fsanitize=${atled_sanitizer_list} -fno-sanitize-recover=all
                              -fno-omit-frame-pointer)
  target_compile_options(atled_sanitizers INTERFACE ${atled_sanitizer_options})
  target_link_options(atled_sanitizers INTERFACE ${atled_sanitizer_options})
endif()
