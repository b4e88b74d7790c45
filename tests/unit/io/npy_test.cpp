// tests/unit/io/npy_test.cpp: for atled/io/npy.hpp.
// Reads: atled/io/npy.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/npy.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace io = atled::io;
using atled::dtype;
using atled::shape;
using atled_test::bytes_of;
using atled_test::contains;
using atled_test::sentence_of;
using atled_test::temp_dir;

namespace {
const std::string magic = "\x93NUMPY";

/// A version 1.0 file of this dictionary, which gets its newline here.
std::string npy(std::string_view dictionary, std::string_view data) {
  const std::string header = std::string(dictionary) + '\n';
  return magic + std::string("\1\0", 2) + bytes_of(static_cast<std::uint16_t>(header.size())) +
         header + std::string(data);
}

std::string dictionary(std::string_view descr, std::string_view shape,
                       std::string_view order = "False") {
  return "{'descr': " + std::string(descr) + ", 'fortran_order': " + std::string(order) +
         ", 'shape': " + std::string(shape) + ", }";
}

std::string refusal(std::string_view file) {
  return sentence_of([&] { (void)io::parse_npy(file); });
}
}  // namespace

TEST_CASE("npy: what NumPy writes is read", "[io]") {
  const std::string data = bytes_of(1.5F) + bytes_of(-2.0F) + bytes_of(3.0F);
  const auto array = io::parse_npy(npy(dictionary("'<f4'", "(3, 1)") + "      ", data));
  CHECK(array.element == dtype::f32);
  CHECK(array.dims == shape::of({3, 1}));
  CHECK(array.as<float>()[1] == -2.0F);
  CHECK(sentence_of([&] { (void)array.as<double>(); }) ==
        "npy: elements of type f32: asked for as f64");
  CHECK(io::parse_npy(npy(dictionary("'<f4'", "()"), bytes_of(1.0F))).dims.rank == 0);
  CHECK(io::parse_npy(npy(dictionary("'|u1'", "(0, 5)"), "")).dims == shape::of({0, 5}));
  CHECK(io::parse_npy(npy(dictionary("'<i4'", "(1L,)"), bytes_of(9))).as<std::int32_t>()[0] == 9);
  for (const auto accepted :
       {"{'shape': (1,), 'fortran_order': False, 'descr': '|u1'}",
        "{'descr':'|u1','fortran_order':True,'shape':(1,)}",
        "{ 'descr' : '|b1' , 'fortran_order' : False , 'shape' : ( 1 , ) , }"}) {
    CAPTURE(accepted);
    CHECK(refusal(npy(accepted, "\1")) == "no error");
  }
}

TEST_CASE("npy: versions 2.0 and 3.0 are read", "[io]") {
  const std::string header = dictionary("'|u1'", "(2,)") + '\n';
  for (const char version : {'\2', '\3'}) {
    const auto file = magic + version + '\0' + bytes_of(static_cast<std::uint32_t>(header.size())) +
                      header + "ab";
    CHECK(io::parse_npy(file).as<std::uint8_t>()[1] == 'b');
  }
}

TEST_CASE("npy: wrong magic, short files and unknown versions are refused", "[io]") {
  CHECK(refusal("") ==
        "npy @0: read header: a file of 0 bytes that begins with : a npy file must begin with "
        "<93>NUMPY");
  CHECK(contains(refusal("\x93NUMP"), "a file of 5 bytes that begins with <93>NUMP"));
  CHECK(contains(refusal("NUMPY  something"), "must begin with <93>NUMPY"));
  CHECK(contains(refusal(magic + std::string("\1\0\0", 3)), "the preamble takes at least 12"));
  const auto version = [](char major, char minor) {
    return refusal(magic + major + minor + std::string(10, '\0'));
  };
  const std::string rule = ": the versions that can be read are 1.0, 2.0 and 3.0";
  CHECK(version('\4', '\0') == "npy @6: read header: version 4.0" + rule);
  CHECK(version('\1', '\1') == "npy @6: read header: version 1.1" + rule);
  CHECK(version('\0', '\0') == "npy @6: read header: version 0.0" + rule);
}

TEST_CASE("npy: header lengths past the cap or the file are refused", "[io]") {
  CHECK(refusal(magic + std::string("\2\0", 2) + bytes_of(0xfffffff0U)) ==
        "npy @8: read header: header length 4294967280 in a file of 12 bytes: at most 65536 is "
        "allowed");
  CHECK(refusal(magic + std::string("\1\0\x10\0{}", 6)) ==
        "npy @8: read header: header length 16 in a file of 12 bytes: the header must lie inside "
        "the file");
}

TEST_CASE("npy: headers that NumPy does not write are refused", "[io]") {
  for (const auto bad :
       {"", "[]", "()", "{}", "{", "'descr'", "{'descr': '|u1', 'shape': (1,), }",
        "{'descr': '|u1', 'fortran_order': False, }", "{'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), 'extra': 1, }",
        "{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": (1,), }",
        "{'descr': '|u1' 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|u1', 'fortran_order': 0, 'shape': (1,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), },",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1,),, }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': [1], }",
        "{'descr': '|u1, 'fortran_order': False, 'shape': (1,), }"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(npy(bad, "\1")), "read header"));
  }
  std::string no_newline = npy(dictionary("'|u1'", "(1,)"), "\1");
  no_newline[no_newline.size() - 2] = ' ';
  CHECK(contains(refusal(no_newline), "the header must end with a newline"));
  CHECK(contains(refusal(npy(dictionary("'|u1'", std::string(10'000, '(')), "")), "a size from 0"));
  CHECK(
      contains(refusal(npy(dictionary("'|u1'", "(1,)") + std::string("\0", 1), "\1")), "newline"));
}

TEST_CASE("npy: dtypes that cannot be read are refused", "[io]") {
  CHECK(contains(refusal(npy(dictionary("'|O'", "(1,)"), "")),
                 "objects cannot be read: that would need pickle; save numbers"));
  CHECK(contains(refusal(npy(dictionary("[('a', '<f4')]", "(1,)"), "")),
                 "structures cannot be read"));
  for (const auto bad : {"''", "'<'", "'<ixy'", "'<f16'", "'<u8'", "'|f4'", "'=f4'", "'f4'",
                         "'<f4 '", "'<U3'", "'|S2'", "'<c8'", "'<M8[ns]'", "'|V2'"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(npy(dictionary(bad, "(1,)"), std::string(16, '\0'))),
                   "the dtypes that can be read are b1 u1 i4 u4 i8 f2 f4 f8 with < or >"));
  }
}

TEST_CASE("npy: big-endian elements are swapped", "[io]") {
  const std::string data("\x3f\x80\0\0\xc0\0\0\0", 8);  // 1, -2
  const auto array = io::parse_npy(npy(dictionary("'>f4'", "(2,)"), data));
  CHECK(array.as<float>()[0] == 1.0F);
  CHECK(array.as<float>()[1] == -2.0F);
  const auto wide =
      io::parse_npy(npy(dictionary("'>i8'", "()"), std::string("\0\0\0\0\0\0\1\2", 8)));
  CHECK(wide.as<std::int64_t>()[0] == 258);
}

TEST_CASE("npy: Fortran order is transposed to row-major", "[io]") {
  const auto flat = io::parse_npy(npy(dictionary("'|u1'", "(2, 3)", "True"), "\1\4\2\5\3\6"));
  CHECK(io::as_text(flat.bytes.span()) == "\1\2\3\4\5\6");
  std::string data(24, '\0');  // element (i, j, k) of 2 x 3 x 4 is its row-major index
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) {
        data[static_cast<std::size_t>(i + 2 * j + 6 * k)] = static_cast<char>(12 * i + 4 * j + k);
      }
    }
  }
  const auto cube = io::parse_npy(npy(dictionary("'|u1'", "(2, 3, 4)", "True"), data));
  bool ascending = true;
  for (std::size_t i = 0; i < 24; ++i) ascending = ascending && cube.as<std::uint8_t>()[i] == i;
  CHECK(ascending);
  CHECK(refusal(npy(dictionary("'|u1'", "()", "True"), "\1")) == "no error");
  CHECK(refusal(npy(dictionary("'|u1'", "(3, 0)", "True"), "")) == "no error");
}

TEST_CASE("npy: shapes that are none are refused", "[io]") {
  for (const auto bad : {"(3)", "(-1,)", "(,)", "(1 2)", "(1,,2)", "(1.0,)", "(1e3,)", "(01,)",
                         "(True,)", "(3", "3", "(9223372036854775808,)", "(0x3,)", "(-0,)"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(npy(dictionary("'|u1'", bad), "\1\1\1")), "read header"));
  }
  CHECK(contains(refusal(npy(dictionary("'|u1'", "(1,1,1,1,1,1,1,1,1)"), "\1")),
                 "at most 8 axes are allowed"));
  CHECK(contains(refusal(npy(dictionary("'<f8'", "(4294967296, 4294967296)"), "")),
                 "the array must fit into 63 bits"));
  CHECK(contains(refusal(npy(dictionary("'<f8'", "(2305843009213693952,)"), "")), "63 bits"));
}

TEST_CASE("npy: data shorter or longer than the shape says is refused", "[io]") {
  CHECK(contains(refusal(npy(dictionary("'<f4'", "(2,)"), "1234567")),
                 "read: f32[2] and 7 bytes of data: it takes 8; the file is truncated by 1"));
  CHECK(contains(refusal(npy(dictionary("'<f4'", "(2,)"), "123456789")),
                 "read: f32[2] and 9 bytes of data: it takes 8; nothing may follow"));
  CHECK(contains(refusal(npy(dictionary("'|b1'", "(2,)"), "\1\2")),
                 "read: byte 2: a boolean must be 0 or 1"));
}

TEST_CASE("npy: an archive is refused by name", "[io]") {
  CHECK(refusal(std::string("PK\3\4\0\0\0\0\0\0\0\0\0\0", 14)) ==
        "npy @0: read header: a zip archive: npz is not supported; save each array with "
        "numpy.save");
}

TEST_CASE("npy: arrays survive a round trip, and the file is as NumPy lays it out", "[io]") {
  const temp_dir dir;
  const std::array<double, 6> values{1, 2, 3, 4, 5, 6};
  for (const auto& dims : {shape::of({6}), shape::of({2, 3}), shape::of({1, 2, 3})}) {
    io::save_npy(dir / "a.npy", dims, std::span(values));
    const auto array = io::load_npy(dir / "a.npy");
    CHECK(array.dims == dims);
    CHECK(io::as_text(array.bytes.span()) == io::as_text(std::as_bytes(std::span(values))));
  }
  io::save_npy(dir / "b.npy", shape::of({}), std::span(values).first<1>());
  CHECK(dir.contents("b.npy").substr(0, 128) ==
        magic + std::string("\1\0\x76\0", 4) +
            "{'descr': '<f8', 'fortran_order': False, 'shape': (), }" +
            std::string(128 - 10 - 56, ' ') + '\n');
  CHECK(io::load_npy(dir / "b.npy").as<double>()[0] == 1);
  CHECK(dir.sentence([&] { io::save_npy(dir / "b.npy", shape::of({7}), std::span(values)); }) ==
        "b.npy: write npy: 48 bytes: the type takes 56");
  const std::array<atled::f16, 2> halves{atled::f16(1.5F), atled::f16(-0.1F)};
  io::save_npy(dir / "h.npy", shape::of({2}), std::span(halves));
  CHECK(io::load_npy(dir / "h.npy").as<atled::f16>()[1].bits == 0xae66);
  const std::array<atled::bf16, 1> brain{};
  CHECK(dir.sentence([&] { io::save_npy(dir / "b.npy", shape::of({1}), std::span(brain)); }) ==
        "b.npy: write npy: bf16: NumPy has no such dtype; convert to f32");
  CHECK(io::load_npy(dir / "b.npy").as<double>()[0] == 1);
}
