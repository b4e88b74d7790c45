// atled/io/safetensors.hpp: named tensors in one file, read into memory of the caller and written.
// Reads: io/safetensors_header.hpp, io/file.hpp. Files are checked as a whole before data moves.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"
#include "atled/core/shape.hpp"
#include "atled/io/bytes.hpp"
#include "atled/io/file.hpp"
#include "atled/io/safetensors_header.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atled::io {

/// Memory that receives the tensor `name`; type and bytes must be exactly those of the file.
struct tensor_target {
  std::string_view name;
  dtype element;
  shape dims;
  std::span<std::byte> bytes;
};

/// A tensor to be written, row-major.
struct tensor_source {
  std::string_view name;
  dtype element;
  shape dims;
  std::span<const std::byte> bytes;
};

/// Elements as a target of `safetensors_file::read`.
template <element T, std::size_t N>
[[nodiscard]] tensor_target target_of(std::string_view name, const shape& dims,
                                      std::span<T, N> elements) {
  return {name, dtype_of<T>(), dims, std::as_writable_bytes(elements)};
}

/// Elements as a source of `write_safetensors`.
template <class T, std::size_t N>
  requires element<std::remove_const_t<T>>
[[nodiscard]] tensor_source source_of(std::string_view name, const shape& dims,
                                      std::span<T, N> elements) {
  return {name, dtype_of<std::remove_const_t<T>>(), dims, std::as_bytes(elements)};
}

/// What becomes of tensors in a file for which there is no target.
enum class unlisted { refuse, ignore };

/// A safetensors file, open for reading.
///
/// - The constructor checks all of the header: after it, each tensor lies inside the file and its
///   bytes match its type.
/// - Only memory of the caller is written, by copying, so that data may lie at any offset.
/// - Names are keys, never paths.
class safetensors_file {
 public:
  /// Throws: the file cannot be read, or is not a safetensors file of the dtypes known here.
  explicit safetensors_file(std::string path, const safetensors_options& options = {})
      : file_(std::move(path)), header_(read_header(file_, options)) {}

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  /// Units: bytes.
  [[nodiscard]] std::uint64_t size() const { return file_.size(); }

  /// Ascending by name.
  [[nodiscard]] std::span<const tensor_entry> tensors() const { return header_.tensors; }
  /// In the order of the file.
  [[nodiscard]] std::span<const metadata_entry> metadata() const { return header_.metadata; }

  /// The entry of that name, or null.
  [[nodiscard]] const tensor_entry* find(std::string_view name) const {
    const auto at = std::lower_bound(
        header_.tensors.begin(), header_.tensors.end(), name,
        [](const tensor_entry& lhs, std::string_view rhs) { return lhs.name < rhs; });
    return at != header_.tensors.end() && at->name == name ? &*at : nullptr;
  }

  [[nodiscard]] std::optional<std::string_view> find_metadata(std::string_view key) const {
    for (const metadata_entry& item : header_.metadata) {
      if (item.key == key) return item.value;
    }
    return std::nullopt;
  }

  /// Fills all targets, or none: nothing is written before everything is read and checked.
  ///
  /// Cost: one read of the bytes into memory of the same size, and one copy.
  /// Throws: a name is missing or listed twice; a type differs; with `unlisted::refuse` the file
  /// holds other tensors; a BOOL is neither 0 nor 1; the file changed since it was opened.
  void read(std::span<const tensor_target> targets, unlisted others = unlisted::refuse) const {
    const std::vector<const tensor_entry*> entries = match(targets, others);
    std::uint64_t total = 0;  // cannot wrap: the entries are different parts of one file
    for (const tensor_entry* entry : entries) total += entry->size;
    byte_buffer staged =
        detail::allocate_for(file_.path(), total, [](std::size_t n) { return byte_buffer(n); });
    std::size_t at = 0;
    for (const tensor_entry* entry : entries) {
      const auto part = staged.span().subspan(at, static_cast<std::size_t>(entry->size));
      file_.read(entry->begin, part);
      check_booleans(*entry, part);
      at += part.size();
    }
    file_.require_unchanged();
    at = 0;
    for (const tensor_target& target : targets) {
      if (!target.bytes.empty()) {
        std::memcpy(target.bytes.data(), staged.data.get() + at, target.bytes.size());
      }
      at += target.bytes.size();
    }
  }

  /// Fills one target.
  void read(const tensor_target& target) const {
    read(std::span<const tensor_target>(&target, 1), unlisted::ignore);
  }

  /// Some bytes of one of `tensors()`, from `offset` in it on.
  ///
  /// Throws: they do not lie inside the tensor; the file changed since it was opened.
  void read_part(const tensor_entry& entry, std::uint64_t offset, std::span<std::byte> out) const {
    if (offset > entry.size || out.size() > entry.size - offset) {
      refuse(at_offset(file_.path(), entry.begin), "read",
             std::to_string(out.size()) + " bytes at " + std::to_string(offset) + " of tensor " +
                 printable(entry.name),
             "they must lie inside its " + std::to_string(entry.size));
    }
    file_.read(entry.begin + offset, out);
    file_.require_unchanged();
  }

  /// The bytes of one tensor, in memory aligned for its elements.
  [[nodiscard]] byte_buffer read(std::string_view name) const {
    const tensor_entry& entry = require_entry(name);
    byte_buffer out = detail::allocate_for(file_.path(), entry.size,
                                           [](std::size_t n) { return byte_buffer(n); });
    file_.read(entry.begin, out.span());
    check_booleans(entry, out.span());
    file_.require_unchanged();
    return out;
  }

 private:
  static safetensors_header read_header(const input_file& file,
                                        const safetensors_options& options) {
    const std::string where = at_offset(file.path(), 0);
    std::array<char, 64> buffer{};
    const auto start_size = static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), 64));
    file.read(0, std::as_writable_bytes(std::span(buffer)).first(start_size));
    const std::string_view start(buffer.data(), start_size);

    const auto fail = [&](const std::string& given, std::string_view rule,
                          std::string_view fallback) {
      const std::string_view known = recognise_other_format(start);
      refuse(where, "read header", given,
             std::string(rule) + "; " + std::string(known.empty() ? fallback : known));
    };
    const std::string of_file = " in a file of " + std::to_string(file.size()) + " bytes";
    if (file.size() < 8) {
      fail("a file of " + std::to_string(file.size()) + " bytes", "the header length alone takes 8",
           "the file is truncated or not safetensors");
    }
    const auto length = load<std::uint64_t>(buffer.data());
    const std::string given = "length " + std::to_string(length) + of_file;
    if (length == 0) fail(given, "the header must begin with {", "this is not safetensors");
    if (length > max_safetensors_header) {
      fail(given, "at most " + std::to_string(max_safetensors_header) + " is allowed",
           "the file is truncated or not safetensors");
    }
    if (length > file.size() - 8) {
      fail(given, "at most file size - 8 is allowed", "the file is truncated or not safetensors");
    }
    if (start[8] != '{') fail(given, "the header must begin with {", "this is not safetensors");
    std::string json(static_cast<std::size_t>(length), '\0');
    file.read(8, std::as_writable_bytes(std::span<char>(json)));
    return parse_safetensors_header(std::move(json), file.size(), shown_path(file.path()), options);
  }

  [[nodiscard]] const tensor_entry& require_entry(std::string_view name) const {
    const tensor_entry* entry = find(name);
    if (entry == nullptr) {
      refuse(at_offset(file_.path(), 8), "read", "no tensor " + printable(name),
             "it must be among the " + std::to_string(header_.tensors.size()) + " of the file");
    }
    return *entry;
  }

  /// The entry of each target, after all checks that need no data.
  [[nodiscard]] std::vector<const tensor_entry*> match(std::span<const tensor_target> targets,
                                                       unlisted others) const {
    std::vector<const tensor_entry*> out;
    std::vector<bool> listed(header_.tensors.size());
    for (const tensor_target& target : targets) {
      const tensor_entry& entry = require_entry(target.name);
      const std::string where = at_offset(file_.path(), entry.begin);
      const std::string shown = "tensor " + printable(entry.name) + ' ';
      if (entry.element != target.element || !(entry.dims == target.dims)) {
        refuse(where, "read", shown + detail::shown_type(entry.element, entry.dims),
               "it must be " + detail::shown_type(target.element, target.dims));
      }
      if (target.bytes.size() != entry.size) {
        refuse(where, "read", shown + "into " + std::to_string(target.bytes.size()) + " bytes",
               "it needs " + std::to_string(entry.size));
      }
      const auto index = static_cast<std::size_t>(&entry - header_.tensors.data());
      if (listed[index]) refuse(where, "read", shown + "twice", "each may be listed once");
      listed[index] = true;
      out.push_back(&entry);
    }
    const auto other = std::find(listed.begin(), listed.end(), false);
    if (others == unlisted::refuse && other != listed.end()) {
      const tensor_entry& entry = header_.tensors[static_cast<std::size_t>(other - listed.begin())];
      refuse(at_offset(file_.path(), entry.begin), "read",
             std::to_string(std::count(listed.begin(), listed.end(), false)) +
                 " tensors more than asked for, the first is " + printable(entry.name),
             "each must have a target; use unlisted::ignore to skip them");
    }
    return out;
  }

  void check_booleans(const tensor_entry& entry, std::span<const std::byte> bytes) const {
    if (entry.element != dtype::boolean) return;
    if (const auto bad = find_bad_boolean(bytes)) {
      refuse(at_offset(file_.path(), entry.begin + *bad), "read",
             "tensor " + printable(entry.name) + " with the byte " +
                 std::to_string(std::to_integer<int>(bytes[*bad])),
             "a BOOL must be 0 or 1");
    }
  }

  input_file file_;
  safetensors_header header_;
};

namespace detail {
/// The header for a set of sources; `order` gives the source of each of its tensors.
inline safetensors_header plan_safetensors(std::span<const tensor_source> sources,
                                           std::span<const metadata_entry> metadata,
                                           std::vector<std::size_t>& order,
                                           std::string_view where) {
  order.resize(sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t lhs, std::size_t rhs) {
    const tensor_source& a = sources[lhs];
    const tensor_source& b = sources[rhs];
    return std::pair(-size_of(a.element), a.name) < std::pair(-size_of(b.element), b.name);
  });
  safetensors_header out;
  for (const std::size_t i : order) {
    const tensor_source& source = sources[i];
    const std::string shown =
        "tensor " + printable(source.name) + ' ' + shown_type(source.element, source.dims);
    check_tensor_name(source.name, where, "write");
    if (source.name == "__metadata__") {
      refuse(where, "write", shown, "this name is reserved");
    }
    const auto size = checked_bytes(source.element, source.dims);
    if (!size || *size != source.bytes.size()) {
      refuse(where, "write", shown + " with " + std::to_string(source.bytes.size()) + " bytes",
             size ? "it takes " + std::to_string(*size) : "its bytes must fit into 63 bits");
    }
    if (source.element == dtype::boolean && find_bad_boolean(source.bytes)) {
      refuse(where, "write", shown, "its bytes must be 0 or 1");
    }
    out.tensors.push_back({std::string(source.name), source.element, source.dims, 0, *size});
  }
  out.metadata.assign(metadata.begin(), metadata.end());
  std::sort(out.metadata.begin(), out.metadata.end(),
            [](const auto& lhs, const auto& rhs) { return lhs.key < rhs.key; });

  std::vector<std::string_view> names;
  for (const tensor_source& source : sources) names.push_back(source.name);
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i] == names[i - 1]) {
      refuse(where, "write", "tensor " + printable(names[i]) + " twice", "names must differ");
    }
  }
  for (std::size_t i = 1; i < out.metadata.size(); ++i) {
    if (out.metadata[i].key == out.metadata[i - 1].key) {
      refuse(where, "write", "metadata key " + printable(out.metadata[i].key) + " twice",
             "keys must differ");
    }
  }
  return out;
}
}  // namespace detail

/// Writes tensors and metadata as one file, which replaces an old one in one step.
///
/// The same tensors give the same bytes in whatever order they come: wide elements first, then by
/// name, so that each tensor is aligned for its elements.
///
/// Blocks until: the file is on the disk and was read back.
/// Throws: a name or key twice, too long or not UTF-8; bytes that do not match a type; any step of
/// writing fails. The old file is then as it was.
/// Source: the layout of the safetensors reference implementation.
inline void write_safetensors(const std::string& path, std::span<const tensor_source> tensors,
                              std::span<const metadata_entry> metadata = {}) {
  const std::string where = shown_path(path);
  std::vector<std::size_t> order;
  safetensors_header header = detail::plan_safetensors(tensors, metadata, order, where);
  const std::string encoded = encode_safetensors_header(header, where);
  atomic_file file(path);
  file.write(encoded);
  for (const std::size_t i : order) file.write(tensors[i].bytes);
  file.commit();
}

}  // namespace atled::io
