// atled/io/checkpoint_folder.hpp: checkpoints in a folder: blocks of tensors, written by any number
// of ranks and read by any other. Reads: io/checkpoint_manifest.hpp, io/safetensors.hpp.
// Next: io/checkpoint.hpp, which saves and loads trees.
//
//   run/checkpoint-7/rank-0.safetensors   the blocks that rank 0 wrote
//   run/checkpoint-7/rank-1.safetensors
//   run/checkpoint-7/checkpoint.json      where each block belongs, and its checksums
//
// A checkpoint is there once its checkpoint.json is, which is written last; numbers are never used
// twice, so that no file of a checkpoint is ever written over.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/checkpoint_manifest.hpp"
#include "atled/io/safetensors.hpp"

#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

namespace atled::io {

/// One rank's block of a tensor, to be written; row-major.
struct block_source {
  std::string_view name;
  dtype element;
  shape whole;
  tensor_block place;
  std::span<const std::byte> bytes;
};

/// Memory for a block of a tensor.
struct block_target {
  std::string_view name;
  dtype element;
  shape whole;
  tensor_block place;
  std::span<std::byte> bytes;
};

namespace detail {

/// Reads a block of a file by pieces, each against its checksum.
class piece_reader {
 public:
  piece_reader(const safetensors_file& file, const tensor_entry& entry, const stored_block& block)
      : file_(file), entry_(entry), block_(block) {}

  /// Bytes of the block; offsets of later calls are not smaller.
  void copy(std::uint64_t offset, std::span<std::byte> out) {
    while (!out.empty()) {
      const std::uint64_t index = offset / checkpoint_piece;
      if (index != now_ || buffer_.size == 0) read(index);
      const std::uint64_t skip = offset - index * checkpoint_piece;
      const std::size_t size = std::min<std::size_t>(out.size(), buffer_.size - skip);
      std::memcpy(out.data(), buffer_.data.get() + skip, size);
      out = out.subspan(size);
      offset += size;
    }
  }

 private:
  void read(std::uint64_t index) {
    const std::uint64_t begin = index * checkpoint_piece;
    buffer_ =
        byte_buffer(static_cast<std::size_t>(std::min(checkpoint_piece, entry_.size - begin)));
    file_.read_part(entry_, begin, buffer_.span());
    if (fingerprint_of(buffer_.span()).hash != block_.pieces[static_cast<std::size_t>(index)]) {
      refuse(at_offset(file_.path(), entry_.begin + begin), "load",
             std::to_string(buffer_.size) + " bytes of tensor " + printable(entry_.name),
             "they must have the checksum of the checkpoint; the file is damaged");
    }
    now_ = index;
  }

  const safetensors_file& file_;
  const tensor_entry& entry_;
  const stored_block& block_;
  byte_buffer buffer_;
  std::uint64_t now_ = 0;
};

/// Copies what a block of a file and a target have in common; the number of elements.
inline std::int64_t copy_common(piece_reader& from, const tensor_block& block,
                                const block_target& to) {
  const int rank = to.whole.rank;
  shape low{{}, rank};
  shape count{{}, rank};
  for (int i = 0; i < rank; ++i) {
    low[i] = std::max(block.start[i], to.place.start[i]);
    const std::int64_t high =
        std::min(block.start[i] + block.dims[i], to.place.start[i] + to.place.dims[i]);
    count[i] = std::max<std::int64_t>(high - low[i], 0);
  }
  if (count.size() == 0) return 0;
  const shape block_strides = row_major_strides(block.dims);
  const shape to_strides = row_major_strides(to.place.dims);
  const int last = rank - 1;
  const std::int64_t row = rank == 0 ? 1 : count[last];
  const auto width = static_cast<std::uint64_t>(size_of(to.element));
  for (std::int64_t i = 0; i < count.size() / row; ++i) {
    std::int64_t rest = i;
    std::int64_t read = rank == 0 ? 0 : low[last] - block.start[last];
    std::int64_t write = rank == 0 ? 0 : low[last] - to.place.start[last];
    for (int k = last - 1; k >= 0; --k) {
      const std::int64_t place = low[k] + rest % count[k];
      read += (place - block.start[k]) * block_strides[k];
      write += (place - to.place.start[k]) * to_strides[k];
      rest /= count[k];
    }
    from.copy(static_cast<std::uint64_t>(read) * width,
              to.bytes.subspan(static_cast<std::size_t>(write) * width,
                               static_cast<std::size_t>(row) * width));
  }
  return count.size();
}

/// The checksum of all that stands before the data of a safetensors file.
inline std::uint64_t header_checksum(const std::string& path, std::uint64_t expected_size) {
  const input_file file(path);
  std::array<std::byte, 8> start{};
  if (file.size() >= 8) file.read(0, start);
  const auto length = atled::io::load<std::uint64_t>(start.data());
  if (file.size() < 8 || length > file.size() - 8 ||
      (expected_size != 0 && file.size() != expected_size)) {
    refuse(shown_path(path), "load", std::to_string(file.size()) + " bytes",
           expected_size == 0 ? "it must be a safetensors file"
                              : "it must be the " + std::to_string(expected_size) +
                                    " of the checkpoint; the file is damaged");
  }
  std::string header =
      allocate_for(path, length + 8, [](std::size_t n) { return std::string(n, '\0'); });
  file.read(0, std::as_writable_bytes(std::span<char>(header)));
  return fingerprint_of(as_byte_span(header)).hash;
}

}  // namespace detail

/// A complete checkpoint, open for reading.
///
/// The constructor checks the manifest; each byte of data is checked against its checksum when it
/// is read.
class checkpoint_reader {
 public:
  /// Throws: there is no such checkpoint; its manifest is damaged, or that of another number.
  checkpoint_reader(std::string path, std::int64_t number)
      : path_(std::move(path)),
        manifest_(detail::parse_manifest(read_file(path_ + "/checkpoint.json", max_json_bytes),
                                         path_ + "/checkpoint.json", "load")) {
    if (manifest_.number != number) {
      refuse(shown_path(path_ + "/checkpoint.json"), "load",
             "number " + std::to_string(manifest_.number),
             "it must be that of its folder, " + std::to_string(number));
    }
  }

  [[nodiscard]] std::int64_t number() const { return manifest_.number; }
  [[nodiscard]] std::int64_t step() const { return manifest_.step; }
  [[nodiscard]] std::span<const metadata_entry> metadata() const { return manifest_.metadata; }

  /// Throws: a tensor is missing or of another type; with `unlisted::refuse` there are others.
  void require_fits(std::span<const block_target> targets, unlisted others) const {
    const std::string where = shown_path(path_);
    std::string wrong;
    for (const block_target& target : targets) {
      const detail::stored_tensor* found = find(target.name);
      const bool fits =
          found != nullptr && found->element == target.element && found->whole == target.whole;
      if (fits) continue;
      if (!wrong.empty()) wrong += ", ";
      wrong += printable(target.name) + ' ' + detail::shown_type(target.element, target.whole) +
               (found == nullptr ? " (none)"
                                 : " (" + detail::shown_type(found->element, found->whole) + ')');
      if (wrong.size() > 400) break;
    }
    if (!wrong.empty()) {
      refuse(where, "load", wrong, "the checkpoint, whose tensors are in brackets, must hold them");
    }
    if (others == unlisted::refuse && manifest_.tensors.size() != targets.size()) {
      refuse(where, "load",
             std::to_string(manifest_.tensors.size()) + " tensors for a tree of " +
                 std::to_string(targets.size()),
             "each must have a leaf; use unlisted::ignore to skip the others");
    }
  }

  /// Fills all targets from the pieces that hold them.
  ///
  /// Pre: `require_fits`. Cost: reads the pieces that a target touches, and no others.
  /// Throws: a file is missing, or what is read is damaged; targets are then filled in part.
  void read(std::span<const block_target> targets) const {
    std::vector<std::optional<safetensors_file>> files(manifest_.files.size());
    for (const block_target& target : targets) {
      const detail::stored_tensor& tensor = *find(target.name);
      std::int64_t copied = 0;
      for (const detail::stored_block& block : tensor.blocks) {
        if (!touches(block.place, target.place)) continue;
        std::optional<safetensors_file>& file = files[block.file];
        if (!file) file.emplace(open(manifest_.files[block.file]));
        const tensor_entry* entry = file->find(target.name);
        if (entry == nullptr || entry->element != target.element ||
            !(entry->dims == block.place.dims)) {
          refuse(shown_path(file->path()), "load", "tensor " + printable(target.name),
                 "it must be there as the checkpoint says");
        }
        detail::piece_reader pieces(*file, *entry, block);
        copied += detail::copy_common(pieces, block.place, target);
      }
      if (copied != target.place.dims.size()) {
        refuse(shown_path(path_), "load",
               std::to_string(copied) + " elements of tensor " + printable(target.name),
               std::to_string(target.place.dims.size()) + " are needed; blocks are missing");
      }
    }
  }

 private:
  [[nodiscard]] const detail::stored_tensor* find(std::string_view name) const {
    const auto at = std::lower_bound(
        manifest_.tensors.begin(), manifest_.tensors.end(), name,
        [](const detail::stored_tensor& x, std::string_view wanted) { return x.name < wanted; });
    return at != manifest_.tensors.end() && at->name == name ? &*at : nullptr;
  }

  static bool touches(const tensor_block& a, const tensor_block& b) {
    for (int i = 0; i < a.dims.rank; ++i) {
      if (a.start[i] >= b.start[i] + b.dims[i] || b.start[i] >= a.start[i] + a.dims[i])
        return false;
    }
    return true;
  }

  [[nodiscard]] safetensors_file open(const detail::stored_file& file) const {
    const std::string path = path_ + '/' + file.name;
    if (detail::header_checksum(path, file.size) != file.header) {
      refuse(at_offset(path, 0), "load", "a header",
             "it must have the checksum of the checkpoint; the file is damaged");
    }
    return safetensors_file(path);
  }

  std::string path_;
  detail::checkpoint_manifest manifest_;
};

/// What was loaded.
struct loaded_checkpoint {
  std::int64_t number = 0;
  std::int64_t step = 0;
  std::vector<metadata_entry> metadata;
  std::vector<std::string> skipped;  ///< why newer ones could not be used, a sentence each

  [[nodiscard]] std::optional<std::string_view> find_metadata(std::string_view key) const {
    for (const metadata_entry& item : metadata) {
      if (item.key == key) return item.value;
    }
    return std::nullopt;
  }
};

/// A folder of checkpoints, numbered in the order in which they were saved.
class checkpoint_folder {
 public:
  explicit checkpoint_folder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::string path_of(std::int64_t number) const {
    return path_ + "/checkpoint-" + std::to_string(number);
  }

  /// The numbers of those that are complete, newest first.
  [[nodiscard]] std::vector<std::int64_t> complete() const {
    std::vector<std::int64_t> out = all();
    std::erase_if(out, [&](std::int64_t number) { return !is_complete(number); });
    return out;
  }

  /// Makes room for one more; its number. Throws: the folder cannot be written.
  [[nodiscard]] std::int64_t begin() const {
    const std::vector<std::int64_t> numbers = all();
    const std::int64_t number = numbers.empty() ? 1 : numbers.front() + 1;
    std::error_code code;
    std::filesystem::create_directories(path_of(number), code);
    if (code) {
      refuse(shown_path(path_of(number)), "save", code.message(), "the folder must be writable");
    }
    sync();
    return number;
  }

  /// Writes the blocks of one rank.
  ///
  /// Blocks until: they are on the disk and were read back.
  void write_part(std::int64_t number, int rank, std::span<const block_source> blocks) const {
    if (blocks.empty()) return;
    detail::checkpoint_manifest part;
    std::vector<tensor_source> sources;
    for (const block_source& block : blocks) {
      sources.push_back({block.name, block.element, block.place.dims, block.bytes});
      part.tensors.push_back({std::string(block.name),
                              block.element,
                              block.whole,
                              {{0, block.place, detail::checksums_of(block.bytes)}}});
    }
    std::sort(part.tensors.begin(), part.tensors.end(),
              [](const auto& x, const auto& y) { return x.name < y.name; });
    part.files.push_back({file_name(rank), 0, 0});
    part.number = number;
    const std::vector<metadata_entry> metadata = {{"manifest", detail::manifest_text(part)}};
    write_safetensors(path_of(number) + '/' + file_name(rank), sources, metadata);
  }

  /// Completes a checkpoint whose parts are written, then removes all but the newest `keep`.
  ///
  /// Throws: parts are missing; a key of the metadata comes twice. The checkpoint is then none.
  void finish(std::int64_t number, std::int64_t step, int ranks,
              std::span<const metadata_entry> metadata, int keep = 2) const {
    const std::string where = shown_path(path_of(number));
    detail::checkpoint_manifest manifest;
    manifest.number = number;
    manifest.step = step;
    manifest.metadata.assign(metadata.begin(), metadata.end());
    for (int rank = 0; rank < ranks; ++rank) {
      const std::string path = path_of(number) + '/' + file_name(rank);
      if (std::error_code code; !std::filesystem::exists(path, code)) continue;
      const safetensors_file file(path);
      detail::checkpoint_manifest part = detail::parse_manifest(
          std::string(file.find_metadata("manifest").value_or("")), path, "save");
      part.files.at(0).size = file.size();
      part.files.at(0).header = detail::header_checksum(path, file.size());
      detail::merge_manifest(manifest, part, where);
    }
    detail::require_whole(manifest, where);
    const std::string text = detail::manifest_text(manifest);
    (void)detail::parse_manifest(text, path_of(number), "save");  // it can be read
    write_file(path_of(number) + "/checkpoint.json", text);
    remove_old(number, keep);
  }

  /// Removes all.
  void clear() const { remove_old(std::numeric_limits<std::int64_t>::max(), 0); }

  /// Removes what a save that failed has left.
  void abandon(std::int64_t number) const noexcept {
    std::error_code ignored;
    if (!is_complete(number)) std::filesystem::remove_all(path_of(number), ignored);
  }

 private:
  static std::string file_name(int rank) { return "rank-" + std::to_string(rank) + ".safetensors"; }

  [[nodiscard]] bool is_complete(std::int64_t number) const {
    std::error_code ignored;
    return std::filesystem::exists(path_of(number) + "/checkpoint.json", ignored);
  }

  /// All numbers that are taken, the largest first.
  [[nodiscard]] std::vector<std::int64_t> all() const {
    constexpr std::string_view prefix = "checkpoint-";
    std::vector<std::int64_t> out;
    std::error_code ignored;
    for (const auto& item : std::filesystem::directory_iterator(path_, ignored)) {
      const std::string name = item.path().filename().string();
      if (!name.starts_with(prefix)) continue;
      std::int64_t number = 0;
      const char* end = name.data() + name.size();
      const auto [stop, code] = std::from_chars(name.data() + prefix.size(), end, number);
      if (code == std::errc{} && stop == end && number > 0) out.push_back(number);
    }
    std::sort(out.begin(), out.end(), [](std::int64_t a, std::int64_t b) { return a > b; });
    return out;
  }

  /// The manifest goes first: what is removed in part is no checkpoint.
  void remove_old(std::int64_t newest, int keep) const {
    int kept = 0;
    for (const std::int64_t number : all()) {
      if (number > newest || (is_complete(number) && kept++ < keep)) continue;
      std::error_code ignored;
      std::filesystem::remove(path_of(number) + "/checkpoint.json", ignored);
      std::filesystem::remove_all(path_of(number), ignored);
    }
  }

  void sync() const {
    const detail::descriptor directory(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() >= 0) (void)::fsync(directory.get());
  }

  std::string path_;
};

}  // namespace atled::io
