// tests/unit/io/safetensors_header_test.cpp: for atled/io/safetensors_header.hpp.
// Reads: atled/io/safetensors_header.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/safetensors_header.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <string>
#include <string_view>

namespace io = atled::io;
using atled_test::contains;
using atled_test::sentence_of;

namespace {
io::safetensors_header parse(std::string_view json, std::uint64_t data_size,
                             io::safetensors_options options = {}) {
  return io::parse_safetensors_header(std::string(json), 8 + json.size() + data_size, "m", options);
}

std::string refusal(std::string_view json, std::uint64_t data_size = 0) {
  return sentence_of([&] { (void)parse(json, data_size); });
}

/// A header with one tensor w of these parts.
std::string one(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return R"({"w":{"dtype":")" + std::string(dtype) + R"(","shape":)" + std::string(shape) +
         R"(,"data_offsets":)" + std::string(offsets) + "}}";
}
}  // namespace

TEST_CASE("safetensors_header: names, types and places are read, in any order of the data",
          "[io]") {
  const auto header = parse(R"({"b":{"dtype":"F32","shape":[2],"data_offsets":[6,14]},)"
                            R"("__metadata__":{"k":"v","a":""},)"
                            R"("a":{"data_offsets":[0,6],"shape":[1,3],"dtype":"BF16"}}  )",
                            14);
  REQUIRE(header.tensors.size() == 2);
  CHECK(header.tensors[0].name == "a");
  CHECK(header.tensors[0].type() ==
        atled::tensor_type{atled::dtype::bf16, atled::shape::of({1, 3})});
  CHECK(header.tensors[0].begin == header.data_begin);
  CHECK(header.tensors[1].begin == header.data_begin + 6);
  CHECK(header.data_end == header.data_begin + 14);
  REQUIRE(header.metadata.size() == 2);
  CHECK(header.metadata[0].key + header.metadata[0].value == "kv");
}

TEST_CASE("safetensors_header: scalars, empty tensors, no tensors and metadata alone are read",
          "[io]") {
  CHECK(parse("{}", 0).tensors.empty());
  CHECK(parse(R"({"__metadata__":{}})", 0).metadata.empty());
  CHECK(parse(R"({"__metadata__":{"a":"b"}})", 0).metadata.size() == 1);
  CHECK(parse(one("F32", "[]", "[0,4]"), 4).tensors[0].dims.rank == 0);
  CHECK(parse(one("F32", "[0]", "[0,0]"), 0).tensors[0].size == 0);
  CHECK(parse(one("F16", "[3]", "[0,6]"), 6).tensors[0].element == atled::dtype::f16);
  CHECK(parse(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[2,2]},)"
              R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
              R"("c":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
              2)
            .tensors.size() == 3);
}

TEST_CASE("safetensors_header: white space may pad the header, NULs may not", "[io]") {
  CHECK(refusal("{}   ") == "no error");
  CHECK(refusal("{}\n\r\t ") == "no error");
  CHECK(refusal(std::string_view("{}\0\0", 4)) ==
        "m @10 (line 1, column 3): read header: character <00>: nothing may follow the value");
}

TEST_CASE("safetensors_header: invalid UTF-8 and lone surrogates in a name are refused", "[io]") {
  CHECK(contains(refusal("{\"\xff\":{}}"), "character <FF>: a string must be UTF-8"));
  CHECK(contains(refusal(R"({"\ud800":{}})"), "a lone surrogate"));
}

TEST_CASE("safetensors_header: a key twice is refused by name", "[io]") {
  const std::string w = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  CHECK(contains(refusal("{\"w\":" + w + ",\"w\":" + w + "}"), "key w twice"));
  CHECK(contains(refusal("{\"w\":" + w + ",\"\\u0077\":" + w + "}"), "key w twice"));
  CHECK(contains(refusal(R"({"__metadata__":{},"__metadata__":{}})"), "key __metadata__ twice"));
  CHECK(contains(refusal(R"({"__metadata__":{"a":"1","a":"2"}})"), "key a twice"));
  CHECK(contains(refusal(R"({"w":{"dtype":"U8","dtype":"F32","shape":[0],"data_offsets":[0,0]}})"),
                 "key dtype twice"));
}

TEST_CASE("safetensors_header: depth beyond 64 is refused", "[io]") {
  CHECK(contains(refusal("{\"a\":" + std::string(1'000'000, '[')), "depth 65: at most 64"));
}

TEST_CASE("safetensors_header: sizes must be non-negative integers of 64 bits", "[io]") {
  for (const auto bad : {"[-1]", "[1.0]", "[1e3]", "[\"4\"]", "[true]", "[18446744073709551616]",
                         "[null]", "[[1]]"}) {
    CAPTURE(bad);
    CHECK(contains(refusal(one("U8", bad, "[0,1]"), 1),
                   "it must be a non-negative integer of 64 bits"));
  }
  CHECK(contains(refusal(one("U8", "[9223372036854775808]", "[0,1]"), 1), "must be below 2^63"));
  CHECK(contains(refusal(one("U8", "4", "[0,4]"), 4), "number 4: it must be an array"));
  CHECK(contains(refusal(one("F32", "[4611686018427387904,4]", "[0,0]")),
                 "its bytes must fit into 63 bits"));
  CHECK(contains(refusal(one("F32", "[4294967296,4294967296]", "[0,0]")),
                 "tensor w f32[4294967296,4294967296]: its bytes must fit into 63 bits"));
}

TEST_CASE("safetensors_header: more axes than a tensor can have are refused", "[io]") {
  std::string shape = "[1";
  for (int i = 1; i < 65; ++i) shape += ",1";
  CHECK(contains(refusal(one("U8", shape + "]", "[0,1]"), 1),
                 "tensor w of more than 8 axes: at most 8 are allowed"));
  CHECK(refusal(one("U8", "[1,1,1,1,1,1,1,1]", "[0,1]"), 1) == "no error");
}

TEST_CASE("safetensors_header: offsets must be two ascending integers of the tensor's size",
          "[io]") {
  CHECK(contains(refusal(one("U8", "[1]", "[1,0]"), 1),
                 "tensor w from 1 to 0: the begin must not exceed the end"));
  CHECK(contains(refusal(one("U8", "[1]", "[1]"), 1), "with 1 data_offsets: there must be two"));
  CHECK(contains(refusal(one("U8", "[1]", "[0,1,1]"), 1), "with 3 data_offsets"));
  CHECK(contains(refusal(one("U8", "[1]", R"(["0","1"])"), 1), "string 0: it must be a non-neg"));
  CHECK(contains(refusal(one("F32", "[2,3]", "[0,20]"), 20),
                 "tensor w f32[2,3] of 24 bytes in data_offsets of 20: both must be equal"));
  CHECK(contains(refusal(one("U8", "[1]", "[18446744073709551615,18446744073709551615]")),
                 "of 1 bytes in data_offsets of 0"));
}

TEST_CASE("safetensors_header: tensors must fill the data without gap or overlap", "[io]") {
  const auto two = [](std::string_view first, std::string_view second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(first) +
           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(second) + "}}";
  };
  CHECK(refusal(two("[4,8]", "[0,4]"), 8) == "no error");
  CHECK(refusal(two("[0,4]", "[5,9]"), 9) ==
        "m @8: read header: tensor b at byte 5 of the data where 4 is the end before it: tensors "
        "must neither overlap nor leave a gap");
  CHECK(contains(refusal(two("[0,4]", "[3,7]"), 7), "neither overlap nor leave a gap"));
  CHECK(contains(refusal(two("[0,4]", "[0,4]"), 4), "neither overlap nor leave a gap"));
  CHECK(contains(refusal(two("[1,5]", "[5,9]"), 9), "tensor a at byte 1"));
  CHECK(refusal(two("[0,4]", "[4,8]"), 7) ==
        "m @8: read header: 7 bytes of data where the header says 8: both must be equal; the file "
        "is truncated by 1 byte");
  CHECK(refusal(two("[0,4]", "[4,8]"), 9) ==
        "m @8: read header: 1 bytes after the last tensor: there must be none; the option "
        "allow_trailing_bytes accepts them");
  CHECK(parse(two("[0,4]", "[4,8]"), 9, {.allow_trailing_bytes = true}).tensors.size() == 2);
}

TEST_CASE("safetensors_header: a dtype that cannot be read is refused with those that can",
          "[io]") {
  for (const auto name : {"F4", "F8_E8M0", "C64", "f32", "f16", "", "F32 "}) {
    CHECK(contains(refusal(one(name, "[0]", "[0,0]")),
                   "of dtype " + std::string(name) +
                       ": the dtypes that can be read are BOOL U8 I32 U32 I64 F16 BF16 F32 F64"));
  }
  CHECK(contains(refusal(R"({"w":{"dtype":1,"shape":[],"data_offsets":[0,0]}})"), "a string"));
}

TEST_CASE("safetensors_header: entries with other keys, or without one, are refused", "[io]") {
  CHECK(contains(refusal(R"({"w":{"dtype":"U8","shape":[0]}})"), "object without data_offsets"));
  CHECK(contains(refusal(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"strides":[1]}})"),
                 "with a key strides: its keys must be dtype, shape, data_offsets"));
  CHECK(contains(refusal(R"({"w":[]})"), "array: it must be an object"));
  CHECK(contains(refusal("[]"), "array: it must be an object"));
  CHECK(contains(refusal(R"({"__metadata__":{"a":1}})"), "number 1: it must be a string"));
  CHECK(contains(refusal(R"({"__metadata__":null})"), "null: it must be an object"));
}

TEST_CASE("safetensors_header: names are opaque, at most 4096 bytes, and shown without controls",
          "[io]") {
  const auto named = [](std::string_view name) {
    return "{\"" + std::string(name) + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})";
  };
  for (const auto name : {"../../etc/passwd", "/abs", "a\\u0000b", "\xf0\x9f\x98\x80", ""}) {
    CHECK(refusal(named(name)) == "no error");
  }
  CHECK(refusal(named(std::string(4096, 'n'))) == "no error");
  CHECK(contains(refusal(named(std::string(1'000'000, 'n'))),
                 "nn... with a name of 1000000 bytes: at most 4096 are allowed"));
  CHECK(contains(refusal(R"({"a\u0000\nb":{"dtype":"X","shape":[0],"data_offsets":[0,0]}})"),
                 "tensor a<00><0A>b of dtype X"));
}
