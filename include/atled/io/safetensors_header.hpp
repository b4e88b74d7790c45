// atled/io/safetensors_header.hpp: the JSON header of a safetensors file, read strictly and
// written. Reads: io/json.hpp. Next: io/safetensors.hpp, which moves the data behind it.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"
#include "atled/core/shape.hpp"
#include "atled/io/bytes.hpp"
#include "atled/io/file.hpp"
#include "atled/io/json.hpp"
#include "atled/io/json_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atled::io {

/// Source: the cap of the reference implementation, 100 MB. Units: bytes.
inline constexpr std::uint64_t max_safetensors_header = 100'000'000;
/// Units: bytes.
inline constexpr std::size_t max_tensor_name = 4096;

/// What is stored under one name. Units: `begin` and `size` in bytes, `begin` from the file's
/// start.
struct tensor_entry {
  std::string name;
  dtype element = dtype::f32;
  shape dims{};
  std::uint64_t begin = 0;
  std::uint64_t size = 0;

  [[nodiscard]] tensor_type type() const { return {element, dims}; }
};

/// A pair of free text, stored beside the tensors.
struct metadata_entry {
  std::string key;
  std::string value;
};

/// All that is known about a file without its data.
///
/// Invariants: `tensors` ascend by name; without gap or overlap they fill the data, which begins at
/// `data_begin` and ends at `data_end`.
struct safetensors_header {
  std::vector<tensor_entry> tensors;
  std::vector<metadata_entry> metadata;
  std::uint64_t data_begin = 8;
  std::uint64_t data_end = 8;
};

/// What a reader puts up with.
struct safetensors_options {
  bool allow_trailing_bytes = false;  ///< bytes behind the last tensor
};

/// The name of a dtype in the format: `F32`, `BF16`, `BOOL`.
[[nodiscard]] constexpr std::string_view safetensors_name(dtype element) {
  switch (element) {
    case dtype::boolean:
      return "BOOL";
    case dtype::u8:
      return "U8";
    case dtype::i32:
      return "I32";
    case dtype::u32:
      return "U32";
    case dtype::i64:
      return "I64";
    case dtype::f16:
      return "F16";
    case dtype::bf16:
      return "BF16";
    case dtype::f32:
      return "F32";
    case dtype::f64:
      return "F64";
  }
  __builtin_unreachable();
}

namespace detail {
inline std::string shown_type(dtype element, const shape& dims) {
  text out;
  out << tensor_type{element, dims};
  return std::string(out.view());
}

inline dtype parse_safetensors_dtype(const json_value& value, std::string_view tensor) {
  const std::string_view name = value.string();
  std::string known;
  for (int i = 0; i < num_dtypes; ++i) {
    const auto element = static_cast<dtype>(i);
    if (name == safetensors_name(element)) return element;
    known += ' ';
    known += safetensors_name(element);
  }
  value.refuse("tensor " + printable(tensor) + " of dtype " + printable(name),
               "the dtypes that can be read are" + known);
}

inline shape parse_safetensors_shape(const json_value& value, std::string_view tensor) {
  shape out{};
  for (const json_value size : value.elements()) {
    if (out.rank == max_rank) {
      value.refuse(
          "tensor " + printable(tensor) + " of more than " + std::to_string(max_rank) + " axes",
          "at most " + std::to_string(max_rank) + " are allowed");
    }
    const std::uint64_t n = size.unsigned_integer();
    if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      size.refuse(size.described(), "an axis must be below 2^63");
    }
    out.push(static_cast<std::int64_t>(n));
  }
  return out;
}

/// The two offsets, from the start of the data.
inline std::pair<std::uint64_t, std::uint64_t> parse_offsets(const json_value& value,
                                                             std::string_view tensor) {
  std::uint64_t offsets[2] = {0, 0};
  std::size_t count = 0;
  for (const json_value offset : value.elements()) {
    if (count < 2) offsets[count] = offset.unsigned_integer();
    ++count;
  }
  if (count != 2) {
    value.refuse("tensor " + printable(tensor) + " with " + std::to_string(count) + " data_offsets",
                 "there must be two");
  }
  if (offsets[0] > offsets[1]) {
    value.refuse("tensor " + printable(tensor) + " from " + std::to_string(offsets[0]) + " to " +
                     std::to_string(offsets[1]),
                 "the begin must not exceed the end");
  }
  return {offsets[0], offsets[1]};
}

inline void check_tensor_name(std::string_view name, std::string_view where,
                              std::string_view operation) {
  if (name.size() > max_tensor_name) {
    refuse(
        where, operation,
        "tensor " + printable(name) + " with a name of " + std::to_string(name.size()) + " bytes",
        "at most " + std::to_string(max_tensor_name) + " are allowed");
  }
}

/// One entry; `begin` is still relative to the data.
inline tensor_entry parse_safetensors_entry(const json_member& member) {
  tensor_entry out;
  out.name = member.name();
  check_tensor_name(out.name, member.key.position(), "read header");
  for (const json_member part : member.value.members()) {
    if (part.name() != "dtype" && part.name() != "shape" && part.name() != "data_offsets") {
      part.key.refuse("tensor " + printable(out.name) + " with a key " + printable(part.name()),
                      "its keys must be dtype, shape, data_offsets");
    }
  }
  out.element = parse_safetensors_dtype(member.value.at("dtype"), out.name);
  out.dims = parse_safetensors_shape(member.value.at("shape"), out.name);
  const auto [begin, end] = parse_offsets(member.value.at("data_offsets"), out.name);
  const auto size = checked_bytes(out.element, out.dims);
  const std::string shown =
      "tensor " + printable(out.name) + ' ' + shown_type(out.element, out.dims);
  if (!size) member.value.refuse(shown, "its bytes must fit into 63 bits");
  if (*size != end - begin) {
    member.value.refuse(shown + " of " + std::to_string(*size) + " bytes in data_offsets of " +
                            std::to_string(end - begin),
                        "both must be equal");
  }
  out.begin = begin;
  out.size = *size;
  return out;
}

/// The tensors, in any order, must follow each other from 0 to the end of the data.
inline void check_tiling(const std::vector<tensor_entry>& tensors, std::uint64_t data_size,
                         std::string_view where, const safetensors_options& options) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t lhs, std::size_t rhs) {
    const tensor_entry& a = tensors[lhs];
    const tensor_entry& b = tensors[rhs];
    return std::pair(a.begin, a.size) < std::pair(b.begin, b.size);
  });
  std::uint64_t end = 0;
  for (const std::size_t i : order) {
    const tensor_entry& next = tensors[i];
    if (next.begin != end) {
      refuse(where, "read header",
             "tensor " + printable(next.name) + " at byte " + std::to_string(next.begin) +
                 " of the data where " + std::to_string(end) + " is the end before it",
             "tensors must neither overlap nor leave a gap");
    }
    end = next.begin + next.size;  // cannot wrap: it is the second of its data_offsets
  }
  if (end > data_size) {
    refuse(
        where, "read header",
        std::to_string(data_size) + " bytes of data where the header says " + std::to_string(end),
        "both must be equal; the file is truncated by " + std::to_string(end - data_size) +
            (end - data_size == 1 ? " byte" : " bytes"));
  }
  if (end < data_size && !options.allow_trailing_bytes) {
    refuse(where, "read header", std::to_string(data_size - end) + " bytes after the last tensor",
           "there must be none; the option allow_trailing_bytes accepts them");
  }
}
}  // namespace detail

/// Parses the JSON of a header; `json` begins at byte 8 of a file of `file_size` bytes.
///
/// Pre: 8 + json.size() <= file_size.
/// Cost: O(n log n) in the bytes of the header; nothing is allocated by a size it claims.
/// Throws: the text is not strict JSON, or does not describe the data behind it exactly.
[[nodiscard]] inline safetensors_header parse_safetensors_header(
    std::string json, std::uint64_t file_size, std::string_view where,
    const safetensors_options& options = {}) {
  const std::uint64_t data_begin = 8 + json.size();
  const json_document document = parse_json(std::move(json), where, "read header", 8);
  safetensors_header out;
  for (const json_member member : document.root().members()) {
    if (member.name() == "__metadata__") {
      for (const json_member item : member.value.members()) {
        out.metadata.push_back({std::string(item.name()), std::string(item.value.string())});
      }
    } else {
      out.tensors.push_back(detail::parse_safetensors_entry(member));
    }
  }
  const std::string at = std::string(where) + " @8";
  detail::check_tiling(out.tensors, file_size - data_begin, at, options);
  out.data_begin = data_begin;
  out.data_end = data_begin;
  for (tensor_entry& tensor : out.tensors) {
    tensor.begin += data_begin;
    out.data_end += tensor.size;
  }
  std::sort(out.tensors.begin(), out.tensors.end(),
            [](const auto& lhs, const auto& rhs) { return lhs.name < rhs.name; });
  return out;
}

/// Names what a file is that is no safetensors file; empty where nothing is recognised.
///
/// `start` is the first bytes of the file; 64 are enough.
[[nodiscard]] inline std::string_view recognise_other_format(std::string_view start) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, std::string_view> known[] = {
      {"version https://git-lfs"sv, "this is a Git LFS pointer, not weights; run git lfs pull"sv},
      {"<!DOCTYPE"sv, "this is an HTML page, not weights; the download went wrong"sv},
      {"<!doctype"sv, "this is an HTML page, not weights; the download went wrong"sv},
      {"<html"sv, "this is an HTML page, not weights; the download went wrong"sv},
      {"PK"sv, "this is a zip archive (as PyTorch writes), not safetensors; convert it"sv},
      {"\x80"sv, "this is a Python pickle, not safetensors; convert it"sv},
      {"\x1f\x8b"sv, "this is gzip, not safetensors; unpack it"sv},
      {"GGUF"sv, "this is GGUF, not safetensors; convert it"sv},
      {"\x93NUMPY"sv, "this is npy, not safetensors; use load_npy"sv},
      {"{"sv, "this is JSON without the 8-byte header length, not safetensors"sv},
  };
  for (const auto& [magic, advice] : known) {
    if (start.substr(0, magic.size()) == magic) return advice;
  }
  return {};
}

/// The header's text with its length in front, ready to be written; `begin` of each entry is set.
///
/// The data's order is that of `tensors`; the header is padded to a multiple of 8 with spaces.
/// Throws: a name twice, too long or not UTF-8; the header would exceed what readers accept.
[[nodiscard]] inline std::string encode_safetensors_header(safetensors_header& header,
                                                           std::string_view where) {
  json_writer json;
  json.begin_object();
  if (!header.metadata.empty()) {
    json.key("__metadata__").begin_object();
    for (const metadata_entry& item : header.metadata) json.key(item.key).value(item.value);
    json.end();
  }
  std::uint64_t offset = 0;
  for (tensor_entry& tensor : header.tensors) {
    json.key(tensor.name).begin_object();
    json.key("dtype").value(safetensors_name(tensor.element)).key("shape").begin_array();
    for (int axis = 0; axis < tensor.dims.rank; ++axis) json.value(tensor.dims[axis]);
    const auto end = checked_sum(offset, tensor.size);
    if (!end)
      refuse(where, "write", "tensor " + printable(tensor.name), "all sizes must fit into 64 bits");
    json.end().key("data_offsets").begin_array().value(offset).value(*end).end().end();
    tensor.begin = offset;
    offset = *end;
  }
  std::string out = json.end().finish();
  out.resize((out.size() + 7) / 8 * 8, ' ');
  if (out.size() > max_safetensors_header) {
    refuse(where, "write", "a header of " + std::to_string(out.size()) + " bytes",
           "at most " + std::to_string(max_safetensors_header) + " are allowed");
  }
  header.data_begin = 8 + out.size();
  header.data_end = header.data_begin + offset;
  for (tensor_entry& tensor : header.tensors) tensor.begin += header.data_begin;
  const std::uint64_t length = out.size();
  std::string prefix(8, '\0');
  std::memcpy(prefix.data(), &length, 8);
  return prefix + out;
}

}  // namespace atled::io
