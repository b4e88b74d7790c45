// gpt/dataset.cpp: where the text comes from.
// Reads: gpt/dataset.hpp; embedded_sources.cpp, which the build makes from include/atled/.
// SPDX-License-Identifier: MIT
#include "gpt/dataset.hpp"

#include "atled/io/file.hpp"

#include "gpt/embedded_sources.hpp"

namespace gpt {

source_text read_source(const std::optional<std::string>& path) {
  source_text out;
  if (path) {
    out.name = atled::io::shown_path(*path);
    out.bytes = atled::io::read_text(*path);
  } else {
    out.name = "the sources of atled";
    for (const std::string_view file : embedded_sources()) out.bytes += file;
  }
  out.fingerprint = atled::io::fingerprint_of(atled::io::as_byte_span(out.bytes));
  return out;
}

}  // namespace gpt
