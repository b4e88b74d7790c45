// atled/io/checkpoint_manifest.hpp: what a checkpoint says of itself: which blocks of which tensors
// are in which file, each with checksums. Reads: io/json.hpp, io/safetensors_header.hpp.
// Next: io/checkpoint_folder.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/fingerprint.hpp"
#include "atled/io/json.hpp"
#include "atled/io/json_writer.hpp"
#include "atled/io/safetensors_header.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atled::io {

/// A part of a tensor: where it begins along each axis, and its sizes.
struct tensor_block {
  shape start{};
  shape dims{};
};

/// Bytes that share a checksum: what a rank reads of a block is rounded up to such pieces.
inline constexpr std::uint64_t checkpoint_piece = std::uint64_t{1} << 18;

namespace detail {

/// A block in a file, as the tensor of the same name there.
struct stored_block {
  std::size_t file = 0;
  tensor_block place;
  std::vector<std::uint64_t> pieces;  ///< checksums of its bytes, `checkpoint_piece` by piece
};
/// A tensor that all ranks hold together.
struct stored_tensor {
  std::string name;
  dtype element = dtype::f32;
  shape whole{};
  std::vector<stored_block> blocks;
};
/// A file with the blocks of one rank; `header` is the checksum of all before its data.
struct stored_file {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t header = 0;
};

/// Invariants: `tensors` ascend by name; blocks lie inside their tensors.
struct checkpoint_manifest {
  std::int64_t number = 0;
  std::int64_t step = 0;
  std::vector<metadata_entry> metadata;
  std::vector<stored_file> files;
  std::vector<stored_tensor> tensors;
};

inline constexpr std::string_view checkpoint_format = "atled checkpoint 1";

inline std::vector<std::uint64_t> checksums_of(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> out;
  for (std::size_t at = 0; at < bytes.size(); at += checkpoint_piece) {
    const std::size_t size = std::min<std::size_t>(checkpoint_piece, bytes.size() - at);
    out.push_back(fingerprint_of(bytes.subspan(at, size)).hash);
  }
  return out;
}

/// `,"hash":"0123456789abcdef"}`: the last member, of all bytes before it.
inline std::string hash_member(std::string_view body) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = ",\"hash\":\"";
  const std::uint64_t hash = fingerprint_of(as_byte_span(body)).hash;
  for (int i = 60; i >= 0; i -= 4) out += digits[(hash >> static_cast<unsigned>(i)) & 15U];
  return out + "\"}";
}

inline void write_shape(json_writer& out, std::string_view key, const shape& sizes) {
  out.key(key).begin_array();
  for (int i = 0; i < sizes.rank; ++i) out.value(sizes[i]);
  out.end();
}

inline std::string manifest_text(const checkpoint_manifest& manifest) {
  json_writer out;
  out.begin_object().key("format").value(checkpoint_format);
  out.key("number").value(manifest.number).key("step").value(manifest.step);
  out.key("metadata").begin_object();
  for (const metadata_entry& item : manifest.metadata) out.key(item.key).value(item.value);
  out.end().key("files").begin_array();
  for (const stored_file& file : manifest.files) {
    out.begin_object().key("name").value(file.name).key("bytes").value(file.size);
    out.key("header").value(file.header).end();
  }
  out.end().key("tensors").begin_array();
  for (const stored_tensor& tensor : manifest.tensors) {
    out.begin_object().key("name").value(tensor.name);
    out.key("dtype").value(safetensors_name(tensor.element));
    write_shape(out, "shape", tensor.whole);
    out.key("blocks").begin_array();
    for (const stored_block& block : tensor.blocks) {
      out.begin_object().key("file").value(block.file);
      write_shape(out, "start", block.place.start);
      write_shape(out, "shape", block.place.dims);
      out.key("pieces").begin_array();
      for (const std::uint64_t hash : block.pieces) out.value(hash);
      out.end().end();
    }
    out.end().end();
  }
  std::string body = out.end().end().finish();
  body.pop_back();  // the brace that `hash_member` closes
  return body + hash_member(body);
}

inline stored_block parse_block(const json_value& value, const stored_tensor& of,
                                std::size_t num_files) {
  stored_block out;
  out.file = static_cast<std::size_t>(value.at("file").unsigned_integer());
  out.place.start = parse_safetensors_shape(value.at("start"), of.name);
  out.place.dims = parse_safetensors_shape(value.at("shape"), of.name);
  bool fits = out.file < num_files && out.place.start.rank == of.whole.rank &&
              out.place.dims.rank == of.whole.rank;
  for (int i = 0; fits && i < of.whole.rank; ++i) {
    fits =
        out.place.dims[i] <= of.whole[i] && out.place.start[i] <= of.whole[i] - out.place.dims[i];
  }
  for (const json_value piece : value.at("pieces").elements()) {
    out.pieces.push_back(piece.unsigned_integer());
  }
  const auto bytes = checked_bytes(of.element, out.place.dims);
  if (!fits || !bytes || out.pieces.size() != (*bytes + checkpoint_piece - 1) / checkpoint_piece) {
    value.refuse("a block of tensor " + printable(of.name),
                 "it must lie inside the tensor and a file, with a checksum for each piece");
  }
  return out;
}

/// Throws: the text is not that of a manifest, or is damaged.
inline checkpoint_manifest parse_manifest(std::string text, const std::string& path,
                                          std::string_view operation) {
  const std::string where = printable(path, 160);
  const std::size_t tail = hash_member("").size();
  const std::string_view all = text;
  if (all.size() <= tail ||
      hash_member(all.substr(0, all.size() - tail)) != all.substr(all.size() - tail)) {
    throw error(where + ": " + std::string(operation) + ": " + std::to_string(all.size()) +
                " bytes: they must end with their checksum; the file is damaged");
  }
  const json_document document = parse_json(std::move(text), where, operation);
  const json_value root = document.root();
  if (root.at("format").string() != checkpoint_format) {
    root.at("format").refuse(root.at("format").described(),
                             "it must be " + std::string(checkpoint_format));
  }
  checkpoint_manifest out;
  out.number = root.at("number").integer();
  out.step = root.at("step").integer();
  for (const json_member item : root.at("metadata").members()) {
    out.metadata.push_back({std::string(item.name()), std::string(item.value.string())});
  }
  for (const json_value file : root.at("files").elements()) {
    out.files.push_back({std::string(file.at("name").string()), file.at("bytes").unsigned_integer(),
                         file.at("header").unsigned_integer()});
    const std::string& name = out.files.back().name;
    if (name.empty() || name[0] == '.' ||
        name.find_first_of(std::string_view("/\0", 2)) != name.npos) {
      file.refuse("file " + printable(name), "it must be a plain name in the same folder");
    }
  }
  for (const json_value item : root.at("tensors").elements()) {
    stored_tensor tensor;
    tensor.name = item.at("name").string();
    tensor.element = parse_safetensors_dtype(item.at("dtype"), tensor.name);
    tensor.whole = parse_safetensors_shape(item.at("shape"), tensor.name);
    if (!out.tensors.empty() && !(out.tensors.back().name < tensor.name)) {
      item.refuse("tensor " + printable(tensor.name), "names must ascend");
    }
    for (const json_value block : item.at("blocks").elements()) {
      tensor.blocks.push_back(parse_block(block, tensor, out.files.size()));
    }
    out.tensors.push_back(std::move(tensor));
  }
  return out;
}

/// Adds what one rank has written. Throws: ranks differ on the type of a tensor.
inline void merge_manifest(checkpoint_manifest& into, const checkpoint_manifest& part,
                           const std::string& where) {
  const std::size_t first = into.files.size();
  into.files.insert(into.files.end(), part.files.begin(), part.files.end());
  for (const stored_tensor& tensor : part.tensors) {
    auto at = std::lower_bound(
        into.tensors.begin(), into.tensors.end(), tensor.name,
        [](const stored_tensor& x, std::string_view name) { return x.name < name; });
    if (at == into.tensors.end() || at->name != tensor.name) {
      at = into.tensors.insert(at, {tensor.name, tensor.element, tensor.whole, {}});
    }
    if (at->element != tensor.element || !(at->whole == tensor.whole)) {
      throw error(where + ": save: tensor " + printable(tensor.name) + ' ' +
                  shown_type(tensor.element, tensor.whole) + ": ranks must agree on its type, " +
                  shown_type(at->element, at->whole));
    }
    for (stored_block block : tensor.blocks) {
      block.file += first;
      at->blocks.push_back(std::move(block));
    }
  }
}

/// Throws: blocks do not make up a whole tensor.
inline void require_whole(const checkpoint_manifest& manifest, const std::string& where) {
  for (const stored_tensor& tensor : manifest.tensors) {
    std::int64_t stored = 0;
    for (const stored_block& block : tensor.blocks) stored += block.place.dims.size();
    if (stored == tensor.whole.size()) continue;
    throw error(where + ": save: tensor " + printable(tensor.name) + ": blocks of " +
                std::to_string(stored) + " elements must make up the " +
                std::to_string(tensor.whole.size()) +
                " of the whole; all ranks must save into one file system");
  }
}

}  // namespace detail
}  // namespace atled::io
