// tests/unit/io/temp_dir.hpp: a directory that vanishes, and the sentence that a call throws.
// Reads: core/diagnostic.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

namespace atled_test {

/// The sentence of the `atled::error` that `call` throws; other exceptions pass through.
template <class Call>
std::string sentence_of(Call call) {
  try {
    call();
  } catch (const atled::error& e) {
    return e.what();
  }
  return "no error";
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// A fresh directory, removed with all it holds.
class temp_dir {
 public:
  temp_dir() {
    std::string name = (std::filesystem::temp_directory_path() / "atled-io-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  ~temp_dir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string operator/(std::string_view name) const {
    return path_ + '/' + std::string(name);
  }

  /// Writes a file and returns its path.
  std::string file(std::string_view name, std::string_view bytes) const {
    std::ofstream out(*this / name, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return *this / name;
  }

  [[nodiscard]] std::string contents(std::string_view name) const {
    std::ifstream in(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  [[nodiscard]] int num_files() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

  /// `sentence_of`, with this directory taken out of the text.
  template <class Call>
  [[nodiscard]] std::string sentence(Call call) const {
    std::string out = sentence_of(call);
    for (auto at = out.find(path_ + '/'); at != out.npos; at = out.find(path_ + '/')) {
      out.erase(at, path_.size() + 1);
    }
    return out;
  }

 private:
  std::string path_;
};

/// A number as its little-endian bytes.
template <class T>
std::string bytes_of(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

/// A safetensors file: the length of the header, the header, the data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return bytes_of(static_cast<std::uint64_t>(header.size())) + std::string(header) +
         std::string(data);
}

}  // namespace atled_test
