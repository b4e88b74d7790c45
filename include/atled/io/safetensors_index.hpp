// atled/io/safetensors_index.hpp: one model in several safetensors files, and their index.
// Reads: io/safetensors.hpp, io/json.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/file.hpp"
#include "atled/io/json.hpp"
#include "atled/io/safetensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atled::io {

/// The files of a sharded model (`model.safetensors.index.json`), open for reading.
///
/// Invariant: each tensor lies in exactly one file, the one that the index names.
class sharded_safetensors {
 public:
  /// Throws: the index or a file cannot be read; a file's name is no plain name; index and files
  /// disagree about a tensor, or about the total size.
  explicit sharded_safetensors(const std::string& index_path,
                               const safetensors_options& options = {}) {
    const json_document document =
        parse_json(read_file(index_path), shown_path(index_path), "read index");
    const json_value map = document.root().at("weight_map");
    std::vector<std::pair<std::string_view, std::string_view>> listed;  // tensor, file
    for (const json_member member : map.members()) {
      const std::string_view file = member.value.string();
      if (file.empty() || file.front() == '.' ||
          file.find_first_of(std::string_view("/\\\0", 3)) != file.npos) {
        member.value.refuse("file " + printable(file), "it must be a plain name in the directory");
      }
      listed.emplace_back(member.name(), file);
    }
    for (const auto& [tensor, file] : listed) names_.emplace_back(file);
    std::sort(names_.begin(), names_.end());
    names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    std::uint64_t total = 0;
    for (const std::string& name : names_) {
      files_.emplace_back(detail::directory_of(index_path) + '/' + name, options);
      for (const tensor_entry& entry : files_.back().tensors()) {
        total += entry.size;  // cannot wrap: sizes of files on one disk
        places_.emplace_back(entry.name, files_.size() - 1);
      }
    }
    std::sort(places_.begin(), places_.end());
    check(map, std::move(listed));
    if (const auto metadata = document.root().find("metadata")) check_total(*metadata, total);
  }

  /// The files, ascending by name.
  [[nodiscard]] std::span<const safetensors_file> files() const { return files_; }

  /// The file that holds a tensor, or null.
  [[nodiscard]] const safetensors_file* find(std::string_view name) const {
    const auto at =
        std::lower_bound(places_.begin(), places_.end(), name,
                         [](const auto& lhs, std::string_view rhs) { return lhs.first < rhs; });
    return at != places_.end() && at->first == name ? &files_[at->second] : nullptr;
  }

 private:
  /// Both lists must hold the same tensors in the same files.
  void check(const json_value& map,
             std::vector<std::pair<std::string_view, std::string_view>> listed) const {
    for (std::size_t i = 1; i < places_.size(); ++i) {
      if (places_[i].first == places_[i - 1].first) {
        map.refuse("tensor " + printable(places_[i].first) + " in " +
                       printable(names_[places_[i - 1].second]) + " and " +
                       printable(names_[places_[i].second]),
                   "it must be in one file");
      }
    }
    std::sort(listed.begin(), listed.end());
    for (const auto& [tensor, file] : listed) {
      const safetensors_file* found = find(tensor);
      if (found == nullptr || names_[static_cast<std::size_t>(found - files_.data())] != file) {
        map.refuse("tensor " + printable(tensor) + " in " + printable(file),
                   "this file must hold it");
      }
    }
    for (const auto& [tensor, file] : places_) {
      const auto at =
          std::lower_bound(listed.begin(), listed.end(), tensor,
                           [](const auto& lhs, const std::string& rhs) { return lhs.first < rhs; });
      if (at == listed.end() || at->first != tensor) {
        map.refuse("tensor " + printable(tensor) + " of " + printable(names_[file]),
                   "the index must list it");
      }
    }
  }

  static void check_total(const json_value& metadata, std::uint64_t total) {
    const auto claimed = metadata.find("total_size");
    if (claimed && claimed->number() != static_cast<double>(total)) {
      claimed->refuse("total_size " + claimed->described(),
                      "the tensors take " + std::to_string(total) + " bytes");
    }
  }

  std::vector<std::string> names_;
  std::vector<safetensors_file> files_;
  std::vector<std::pair<std::string, std::size_t>> places_;  // tensor, index of its file
};

}  // namespace atled::io
