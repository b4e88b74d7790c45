# atled_add_feature(<name> <package> LINK <target>... [HEADERS <file>...] [DEFINE <definition>...])
#
# Where ATLED_WITH_<NAME> is on, or is AUTO and <package> is installed: finds <package>, makes the target atled::<name>, which is
# atled::atled with that one dependency, and appends <name> to ATLED_FEATURES. An installed atled
# offers it as a component. HEADERS are relative to include/atled and may be absent.
set(ATLED_FEATURES "")
set(ATLED_FEATURE_PACKAGES "")

function(atled_add_feature name package)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LINK;HEADERS;DEFINE")
  string(TOUPPER "${name}" upper)
  if(NOT ATLED_WITH_${upper})
    return()
  endif()
  if(ATLED_WITH_${upper} STREQUAL "AUTO")
    find_package(${package} QUIET)
    if(NOT ${package}_FOUND)
      message(STATUS "atled::${name}: left out, ${package} is not installed")
      return()
    endif()
  else()
    find_package(${package} REQUIRED)
  endif()

  add_library(atled_${name} INTERFACE)
  add_library(atled::${name} ALIAS atled_${name})
  set_target_properties(atled_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(atled_${name} INTERFACE atled ${arg_LINK})
  target_compile_definitions(atled_${name} INTERFACE ATLED_WITH_${upper}=1 ${arg_DEFINE})

  list(TRANSFORM arg_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/atled/")
  set(headers "")
  foreach(header IN LISTS arg_HEADERS)
    if(EXISTS "${header}")
      list(APPEND headers "${header}")
    endif()
  endforeach()
  target_sources(atled_${name} INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
                                         FILES ${headers})

  set(ATLED_FEATURES ${ATLED_FEATURES} ${name} PARENT_SCOPE)
  set(ATLED_FEATURE_PACKAGES ${ATLED_FEATURE_PACKAGES} ${package} PARENT_SCOPE)
endfunction()
