// atled/io/npy.hpp: one array in NumPy's file format, read strictly and written.
// Reads: io/file.hpp, io/bytes.hpp. Archives (npz) and Python objects are refused by name.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"
#include "atled/core/shape.hpp"
#include "atled/io/bytes.hpp"
#include "atled/io/file.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace atled::io {

/// The longest header that is read. Units: bytes.
inline constexpr std::uint64_t max_npy_header = 65536;

/// An array as it was read: row-major, in the byte order of this machine.
struct npy_array {
  dtype element = dtype::f32;
  shape dims{};
  byte_buffer bytes;

  /// The elements, if they are of type T.
  ///
  /// Throws: they are of another type.
  template <atled::element T>
  [[nodiscard]] std::span<const T> as() const {
    ATLED_REQUIRE(element == dtype_of<T>(), "npy: elements of type " +
                                                std::string(name_of(element)) + ": asked for as " +
                                                std::string(name_of(dtype_of<T>())));
    return {static_cast<const T*>(static_cast<const void*>(bytes.data.get())),
            static_cast<std::size_t>(dims.size())};
  }
};

namespace detail {
/// What the dictionary in front of the data says.
struct npy_header {
  dtype element = dtype::f32;
  shape dims{};
  bool big_endian = false;
  bool fortran_order = false;
};

/// Reads the dictionary, the small part of Python's literals that NumPy writes.
class npy_header_parser {
 public:
  npy_header_parser(std::string_view text, std::uint64_t base, std::string_view path)
      : text_(text), base_(base), path_(path) {}

  [[nodiscard]] npy_header run() {
    bool seen[3] = {false, false, false};
    constexpr std::string_view keys[3] = {"'descr'", "'fortran_order'", "'shape'"};
    expect("{");
    while (!accept("}")) {
      std::size_t which = 0;
      while (which < 3 && !accept(keys[which])) ++which;
      if (which == 3) fail("one of the keys descr, fortran_order, shape must follow");
      if (seen[which]) fail("a key must not come twice");
      seen[which] = true;
      expect(":");
      if (which == 0) descr();
      if (which == 1) fortran_order();
      if (which == 2) dims();
      if (!accept(",")) {
        expect("}");
        break;
      }
    }
    for (std::size_t i = 0; i < 3; ++i) {
      if (!seen[i])
        fail("the key " + std::string(keys[i].substr(1, keys[i].size() - 2)) + " must be there");
    }
    skip_space();
    if (text_.substr(at_) != "\n") fail("the header must end with a newline");
    return out_;
  }

 private:
  [[noreturn]] void fail(std::string_view rule) const {
    const std::string given =
        at_ < text_.size() ? printable(text_.substr(at_, 16)) : std::string("end of header");
    refuse(at_offset(path_, base_ + at_), "read header", given, rule);
  }

  void skip_space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool accept(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  void expect(std::string_view word) {
    if (!accept(word)) fail(std::string(word) + " must follow");
  }

  void descr() {
    skip_space();
    const std::size_t begin = at_;
    if (!accept("'")) fail("a plain dtype in single quotes must follow; structures cannot be read");
    const std::size_t end = text_.find('\'', at_);
    if (end == text_.npos) fail("the dtype must end with a quote");
    const std::string_view name = text_.substr(at_, end - at_);
    const std::string_view kind = name.empty() ? name : name.substr(1);
    at_ = begin;
    if (kind.substr(0, 1) == "O") {
      fail("objects cannot be read: that would need pickle; save numbers");
    }
    const char order = name.empty() ? '\0' : name[0];
    for (const auto& [known, element] : types) {
      if (kind != known) continue;
      const bool ordered = order == '<' || order == '>';
      if (!ordered && !(order == '|' && size_of(element) == 1)) break;
      out_.element = element;
      out_.big_endian = order == '>';
      at_ = end + 1;
      return;
    }
    fail("the dtypes that can be read are b1 u1 i4 u4 i8 f2 f4 f8 with < or >");
  }

  void fortran_order() {
    if (accept("True")) {
      out_.fortran_order = true;
    } else if (!accept("False")) {
      fail("True or False must follow");
    }
  }

  void dims() {
    expect("(");
    bool comma = true;
    while (!accept(")")) {
      if (!comma) fail("a comma must follow");
      if (out_.dims.rank == max_rank) {
        fail("at most " + std::to_string(max_rank) + " axes are allowed");
      }
      skip_space();
      const std::string_view rest = text_.substr(at_);
      std::int64_t size = 0;
      const auto [end, code] = std::from_chars(rest.data(), rest.data() + rest.size(), size);
      const auto length = static_cast<std::size_t>(end - rest.data());
      const bool canonical = rest.substr(0, 1) != "-" && (length < 2 || rest[0] != '0');
      if (code != std::errc{} || !canonical) fail("a size from 0 to 2^63 - 1 must follow");
      out_.dims.push(size);
      at_ += length;
      if (text_.substr(at_, 1) == "L") ++at_;  // written by Python 2
      comma = accept(",");
    }
    if (out_.dims.rank == 1 && !comma) fail("a shape of one axis must have a comma, as in (3,)");
  }

  static constexpr std::pair<std::string_view, dtype> types[] = {
      {"b1", dtype::boolean}, {"u1", dtype::u8},  {"i4", dtype::i32}, {"u4", dtype::u32},
      {"i8", dtype::i64},     {"f2", dtype::f16}, {"f4", dtype::f32}, {"f8", dtype::f64}};

  std::string_view text_;
  std::uint64_t base_;
  std::string_view path_;
  std::size_t at_ = 0;
  npy_header out_;
};

/// Turns the bytes of each element around.
inline void swap_bytes(std::span<std::byte> bytes, std::size_t width) {
  for (std::size_t i = 0; i + width <= bytes.size(); i += width) {
    std::reverse(bytes.data() + i, bytes.data() + i + width);
  }
}

/// Copies a column-major array into a row-major one.
inline void copy_from_column_major(std::span<std::byte> out, std::span<const std::byte> in,
                                   const shape& dims, std::size_t width) {
  shape step{};  // of each axis in `in`, in elements
  shape index{};
  std::int64_t product = 1;
  for (int axis = 0; axis < dims.rank; ++axis) {
    step.push(product);
    product *= dims[axis];
  }
  std::int64_t from = 0;
  for (std::size_t at = 0; at < out.size(); at += width) {
    std::memcpy(out.data() + at, in.data() + static_cast<std::size_t>(from) * width, width);
    for (int axis = dims.rank - 1; axis >= 0; --axis) {
      from += step[axis];
      if (++index[axis] < dims[axis]) break;
      from -= step[axis] * dims[axis];
      index[axis] = 0;
    }
  }
}

/// Where the header lies in a file. Units: bytes.
struct npy_preamble {
  std::size_t begin = 0;
  std::size_t size = 0;
};

inline npy_preamble parse_npy_preamble(std::string_view file, std::string_view path) {
  using namespace std::string_view_literals;
  const std::string where = at_offset(path, 0);
  const std::string of_file = "a file of " + std::to_string(file.size()) + " bytes";
  if (file.substr(0, 4) == "PK\3\4"sv || file.substr(0, 4) == "PK\5\6"sv) {
    refuse(where, "read header", "a zip archive",
           "npz is not supported; save each array with numpy.save");
  }
  const std::string_view magic = "\x93NUMPY"sv;
  if (file.substr(0, magic.size()) != magic) {
    refuse(where, "read header", of_file + " that begins with " + printable(file.substr(0, 6)),
           "a npy file must begin with <93>NUMPY");
  }
  if (file.size() < 12) refuse(where, "read header", of_file, "the preamble takes at least 12");
  const int major = static_cast<unsigned char>(file[6]);
  const int minor = static_cast<unsigned char>(file[7]);
  if (major < 1 || major > 3 || minor != 0) {
    refuse(at_offset(path, 6), "read header",
           "version " + std::to_string(major) + '.' + std::to_string(minor),
           "the versions that can be read are 1.0, 2.0 and 3.0");
  }
  const std::size_t begin = major == 1 ? 10 : 12;
  const std::uint64_t size =
      major == 1 ? load<std::uint16_t>(file.data() + 8) : load<std::uint32_t>(file.data() + 8);
  const std::string given = "header length " + std::to_string(size) + " in " + of_file;
  if (size > max_npy_header) {
    refuse(at_offset(path, 8), "read header", given,
           "at most " + std::to_string(max_npy_header) + " is allowed");
  }
  if (size > file.size() - begin) {
    refuse(at_offset(path, 8), "read header", given, "the header must lie inside the file");
  }
  return {begin, static_cast<std::size_t>(size)};
}
}  // namespace detail

/// Reads an array from the bytes of a npy file; `path` is for sentences.
///
/// Big-endian elements are swapped, a Fortran-ordered array is transposed to row-major.
///
/// Cost: O(bytes).
/// Throws: not npy 1.0, 2.0 or 3.0; objects, structures and dtypes that are not known here; a size
/// that differs from the file's; a boolean that is neither 0 nor 1.
/// Source: NumPy enhancement proposal 1, A simple file format for NumPy arrays.
[[nodiscard]] inline npy_array parse_npy(std::string_view file, std::string_view path = "npy") {
  const auto [begin, size] = detail::parse_npy_preamble(file, path);
  const detail::npy_header header =
      detail::npy_header_parser(file.substr(begin, size), begin, path).run();
  const std::string_view data = file.substr(begin + size);
  const std::string where = at_offset(path, begin + size);
  const auto bytes = checked_bytes(header.element, header.dims);
  text type;
  type << tensor_type{header.element, header.dims};
  const std::string given =
      std::string(type.view()) + " and " + std::to_string(data.size()) + " bytes of data";
  if (!bytes) refuse(where, "read", given, "the array must fit into 63 bits");
  if (*bytes > data.size()) {
    refuse(where, "read", given,
           "it takes " + std::to_string(*bytes) + "; the file is truncated by " +
               std::to_string(*bytes - data.size()));
  }
  if (*bytes < data.size()) {
    refuse(where, "read", given, "it takes " + std::to_string(*bytes) + "; nothing may follow");
  }
  npy_array out;
  out.element = header.element;
  out.dims = header.dims;
  out.bytes = detail::allocate_for(path, *bytes, [](std::size_t n) { return byte_buffer(n); });
  const auto width = static_cast<std::size_t>(size_of(header.element));
  const auto source = as_byte_span(data);
  if (header.element == dtype::boolean) {
    if (const auto bad = find_bad_boolean(source)) {
      refuse(at_offset(path, begin + size + *bad), "read",
             "byte " + std::to_string(std::to_integer<int>(source[*bad])),
             "a boolean must be 0 or 1");
    }
  }
  if (header.fortran_order) {
    detail::copy_from_column_major(out.bytes.span(), source, header.dims, width);
  } else {
    std::copy(source.begin(), source.end(), out.bytes.data.get());
  }
  if (header.big_endian) detail::swap_bytes(out.bytes.span(), width);
  return out;
}

/// Reads a npy file.
[[nodiscard]] inline npy_array load_npy(const std::string& path) {
  return parse_npy(read_file(path), path);
}

/// Writes a row-major array, which replaces an old file in one step.
///
/// Throws: the bytes do not match the type; bf16, which the format does not have; any step of
/// writing fails. The old file is then as it was.
inline void save_npy(const std::string& path, dtype element, const shape& dims,
                     std::span<const std::byte> bytes) {
  std::string_view name;
  switch (element) {
    case dtype::boolean:
      name = "|b1";
      break;
    case dtype::u8:
      name = "|u1";
      break;
    case dtype::i32:
      name = "<i4";
      break;
    case dtype::u32:
      name = "<u4";
      break;
    case dtype::i64:
      name = "<i8";
      break;
    case dtype::f16:
      name = "<f2";
      break;
    case dtype::bf16:
      refuse(shown_path(path), "write npy", "bf16", "NumPy has no such dtype; convert to f32");
    case dtype::f32:
      name = "<f4";
      break;
    case dtype::f64:
      name = "<f8";
      break;
  }
  const auto size = checked_bytes(element, dims);
  if (!size || *size != bytes.size()) {
    refuse(shown_path(path), "write npy", std::to_string(bytes.size()) + " bytes",
           size ? "the type takes " + std::to_string(*size) : "the type must fit into 63 bits");
  }
  std::string header = "{'descr': '" + std::string(name) + "', 'fortran_order': False, 'shape': (";
  for (int axis = 0; axis < dims.rank; ++axis) {
    header += std::to_string(dims[axis]) + (axis + 1 < dims.rank ? ", " : "");
  }
  header += dims.rank == 1 ? ",), }" : "), }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string preamble("\x93NUMPY\1\0", 8);
  preamble += static_cast<char>(length & 0xffU);
  preamble += static_cast<char>(length >> 8);
  atomic_file file(path);
  file.write(preamble + header);
  file.write(bytes);
  file.commit();
}

/// Writes a span of elements.
template <class T, std::size_t N>
  requires element<std::remove_const_t<T>>
void save_npy(const std::string& path, const shape& dims, std::span<T, N> elements) {
  save_npy(path, dtype_of<std::remove_const_t<T>>(), dims, std::as_bytes(elements));
}

}  // namespace atled::io
