# cmake -D ROOT=<folder> -D OUTPUT=<file> -P embed_sources.cmake
#
# Writes a C++ file that holds all headers below ROOT as text, so that the program finds them
# wherever it is moved.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE headers "${ROOT}/*.hpp")
list(SORT headers)
set(quote "~~~embedded~~~")
string(CONCAT out "// Made by embed_sources.cmake.\n#include \"gpt/embedded_sources.hpp\"\n\n"
                  "namespace gpt {\nnamespace {\nconstexpr std::string_view files[] = {\n")
foreach(header IN LISTS headers)
  file(READ "${header}" text)
  string(APPEND out "R\"${quote}(${text})${quote}\",\n")
endforeach()
string(APPEND out "};\n}  // namespace\n\n"
                  "std::span<const std::string_view> embedded_sources() {\n  return files;\n}\n"
                  "}  // namespace gpt\n")
file(WRITE "${OUTPUT}" "${out}")
