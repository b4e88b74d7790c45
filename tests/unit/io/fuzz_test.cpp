// tests/unit/io/fuzz_test.cpp: damaged input for every reader, the same in each run.
// Reads: atled/io/*.hpp. ATLED_FUZZ_RUNS in the environment sets the number of runs a reader.
// SPDX-License-Identifier: MIT
#include "atled/io/json.hpp"
#include "atled/io/json_writer.hpp"
#include "atled/io/npy.hpp"
#include "atled/io/safetensors.hpp"
#include "atled/io/safetensors_index.hpp"
#include "atled/io/tokenizer.hpp"

#include "support/catch.hpp"
#include "unit/io/temp_dir.hpp"
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace io = atled::io;
using atled_test::bytes_of;
using atled_test::safetensors_bytes;
using atled_test::temp_dir;

namespace {
int num_runs(int fallback) {
  const char* wanted = std::getenv("ATLED_FUZZ_RUNS");
  return wanted == nullptr ? fallback : std::atoi(wanted);
}

/// Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014.
class random_bits {
 public:
  explicit random_bits(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

 private:
  std::uint64_t state_;
};

/// Pieces that mean something to one reader or another, good and bad.
const std::vector<std::string> pieces = {"{",
                                         "}",
                                         "[",
                                         "]",
                                         ":",
                                         ",",
                                         "\"",
                                         "\\",
                                         "(",
                                         ")",
                                         "'",
                                         "\n",
                                         " ",
                                         std::string(1, '\0'),
                                         "\\u0000",
                                         "\\ud800",
                                         "\\udc00",
                                         "\\u0077",
                                         "\xff",
                                         "\xc0\x80",
                                         "\xed\xa0\x80",
                                         "\xf0\x9f\x98\x80",
                                         "-1",
                                         "0",
                                         "1",
                                         "4",
                                         "8",
                                         "1.0",
                                         "1e3",
                                         "-0",
                                         "true",
                                         "null",
                                         "False",
                                         "True",
                                         "18446744073709551615",
                                         "18446744073709551616",
                                         "9223372036854775807",
                                         "4294967296",
                                         "\"F32\"",
                                         "\"F64\"",
                                         "\"BOOL\"",
                                         "\"BF16\"",
                                         "\"shape\"",
                                         "\"dtype\"",
                                         "\"data_offsets\"",
                                         "\"__metadata__\"",
                                         "[0,0]",
                                         "[0]",
                                         "[]",
                                         "{}",
                                         "'<f4'",
                                         "'>f8'",
                                         "'|O'",
                                         "'shape'",
                                         "(3,)",
                                         "()",
                                         "(0, 2)",
                                         std::string(70, '['),
                                         std::string(70, '('),
                                         std::string(300, 'n')};

/// One to four changes: flips, cuts, doubled parts, swapped parts, foreign pieces.
std::string damaged(std::string text, random_bits& random) {
  for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) {
    const std::size_t at = text.empty() ? 0 : random.below(text.size());
    const std::size_t length = random.below(16);
    switch (random.below(8)) {
      case 0:
        if (!text.empty()) {
          text[at] = static_cast<char>(static_cast<unsigned>(text[at]) ^ (1U << random.below(8)));
        }
        break;
      case 1:
        if (!text.empty()) text[at] = static_cast<char>(random.next());
        break;
      case 2:
        text.resize(at);
        break;
      case 3:
        text.erase(at, length);
        break;
      case 4:
        text.insert(at, text.substr(random.below(text.size() + 1), length));
        break;
      case 5:
        text.insert(at, pieces[random.below(pieces.size())]);
        break;
      case 6: {
        const std::string& piece = pieces[random.below(pieces.size())];
        text.replace(at, length, piece);
        break;
      }
      default:  // a number grows, shrinks or changes
        for (std::size_t i = at; i < text.size(); ++i) {
          if (text[i] < '0' || text[i] > '9') continue;
          text[i] = static_cast<char>('0' + random.below(10));
          break;
        }
    }
  }
  return text;
}

struct outcome {
  int accepted = 0;
  int refused = 0;
  int wrong = 0;
};

/// Runs a reader on damaged seeds. Whatever it throws but a sentence fails the test; `read` says
/// whether what it accepted is consistent.
template <class Read>
outcome fuzz(const std::vector<std::string>& seeds, int runs, Read read) {
  outcome out;
  random_bits random(2024);
  for (int run = 0; run < runs; ++run) {
    const std::string text = damaged(seeds[random.below(seeds.size())], random);
    try {
      out.wrong += read(text) ? 0 : 1;
      ++out.accepted;
    } catch (const atled::error& e) {
      const std::string_view sentence = e.what();
      const bool printable = sentence.size() > 10 && sentence.size() < 600 &&
                             sentence.find('\n') == sentence.npos &&
                             io::find_invalid_utf8(sentence) == sentence.npos;
      out.wrong += printable ? 0 : 1;
      ++out.refused;
    }
  }
  return out;
}

void copy(const io::json_value& value, io::json_writer& out) {
  switch (value.kind()) {
    case io::json_kind::null:
      out.null();
      return;
    case io::json_kind::boolean:
      out.value(value.boolean());
      return;
    case io::json_kind::integer:
    case io::json_kind::number:
      out.value(value.number());
      return;
    case io::json_kind::string:
      out.value(value.string());
      return;
    case io::json_kind::array:
      out.begin_array();
      for (const auto item : value.elements()) copy(item, out);
      out.end();
      return;
    case io::json_kind::object:
      out.begin_object();
      for (const auto member : value.members()) {
        out.key(member.name());
        copy(member.value, out);
      }
      out.end();
      return;
  }
}

std::string rewritten(const std::string& text) {
  const auto document = io::parse_json(text);
  io::json_writer out;
  copy(document.root(), out);
  return out.finish();
}

const std::string header =
    R"({"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("b\u00e9":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]},)"
    R"("s":{"dtype":"U8","shape":[],"data_offsets":[11,12]}}  )";
}  // namespace

TEST_CASE("fuzz: damaged JSON is refused with a sentence or reads back the same", "[io]") {
  const std::vector<std::string> seeds = {
      R"({"a":[1,-2.5e3,true,false,null,"x\u00e9\n"],"b":{"c":{}},"d":"\ud83d\ude00"})",
      R"([[[[1]]],{"k":18446744073709551615},"",0.1,1e-7])", header};
  const auto result = fuzz(seeds, num_runs(30'000), [](const std::string& text) {
    const std::string once = rewritten(text);
    return rewritten(once) == once;
  });
  CHECK(result.wrong == 0);
  CHECK(result.accepted > 0);
  CHECK(result.refused > 0);
}

TEST_CASE("fuzz: a damaged safetensors file is refused or reads and writes back the same", "[io]") {
  const temp_dir dir;
  const std::vector<std::string> seeds = {
      safetensors_bytes(header, std::string(8, '\7') + std::string("\1\0\1", 3) + "s"),
      safetensors_bytes("{}", ""), safetensors_bytes(R"({"__metadata__":{"a":"b"}})", "")};
  const auto read = [&](const std::string& bytes) {
    dir.file("m", bytes);
    const io::safetensors_file file(dir / "m");
    std::vector<io::byte_buffer> buffers;
    std::vector<io::tensor_source> sources;
    for (const auto& entry : file.tensors()) {
      buffers.push_back(file.read(entry.name));
      sources.push_back({entry.name, entry.element, entry.dims, buffers.back().span()});
    }
    io::safetensors_header plan;
    for (const auto& entry : file.tensors()) plan.tensors.push_back(entry);
    plan.metadata.assign(file.metadata().begin(), file.metadata().end());
    const std::string again = io::encode_safetensors_header(plan, "again").substr(8);
    const auto back = io::parse_safetensors_header(again, plan.data_end, "again");
    return back.tensors.size() == sources.size() && back.metadata.size() == plan.metadata.size();
  };
  // A damaged header nearly always breaks its length: half of the runs repair it.
  int count = 0;
  const auto result = fuzz(seeds, num_runs(2'000), [&](std::string bytes) {
    if (++count % 2 == 0 && bytes.size() > 8) {
      const auto end = bytes.find("}}", 8);
      const std::uint64_t length = (end == bytes.npos ? bytes.size() : end + 2) - 8;
      bytes.replace(0, 8, bytes_of(length));
    }
    return read(bytes);
  });
  CHECK(result.wrong == 0);
  CHECK(result.accepted > 0);
  CHECK(result.refused > 0);
}

TEST_CASE("fuzz: a damaged safetensors header never describes bytes outside the file", "[io]") {
  const std::vector<std::string> seeds = {header, R"({"w":{"dtype":"F64","shape":[0,3],)"
                                                  R"("data_offsets":[0,0]}})"};
  const auto result = fuzz(seeds, num_runs(30'000), [](const std::string& json) {
    const std::uint64_t file_size = 8 + json.size() + (json.size() % 2 == 0 ? 12U : 0U);
    const auto parsed = io::parse_safetensors_header(json, file_size, "m");
    std::uint64_t total = parsed.data_begin;
    for (const auto& tensor : parsed.tensors) {
      if (tensor.begin > file_size || tensor.size > file_size - tensor.begin) return false;
      if (static_cast<std::uint64_t>(tensor.type().bytes()) != tensor.size) return false;
      total += tensor.size;
    }
    return total == file_size;
  });
  CHECK(result.wrong == 0);
  CHECK(result.accepted > 0);
  CHECK(result.refused > 0);
}

TEST_CASE("fuzz: a damaged npy file is refused or holds what its shape says", "[io]") {
  const auto npy = [](std::string dictionary, std::string_view data) {
    dictionary += '\n';
    return "\x93NUMPY" + std::string("\1\0", 2) +
           bytes_of(static_cast<std::uint16_t>(dictionary.size())) + dictionary + std::string(data);
  };
  const std::vector<std::string> seeds = {
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }   ", std::string(24, '\3')),
      npy("{'descr': '>i8', 'fortran_order': True, 'shape': (2, 1, 2), }", std::string(32, '\4')),
      npy("{'descr': '|b1', 'fortran_order': False, 'shape': (), }", "\1")};
  const auto result = fuzz(seeds, num_runs(30'000), [](const std::string& bytes) {
    const auto array = io::parse_npy(bytes);
    return static_cast<std::uint64_t>(array.dims.size() * atled::size_of(array.element)) ==
           array.bytes.size;
  });
  CHECK(result.wrong == 0);
  CHECK(result.accepted > 0);
  CHECK(result.refused > 0);
}

TEST_CASE("fuzz: a damaged tokenizer is refused or is a tokenizer", "[io]") {
  const std::vector<std::string> seeds = {
      io::character_tokenizer::from_text("hello w\xc3\xa9rld\n\xff\xfe\"\\").to_json()};
  const auto result = fuzz(seeds, num_runs(20'000), [](const std::string& json) {
    const auto t = io::character_tokenizer::from_json(json);
    std::vector<io::token_id> all;
    for (std::size_t i = 0; i < t.vocabulary_size(); ++i) all.push_back(static_cast<int>(i));
    return io::character_tokenizer::from_json(t.to_json()) == t && !t.decode(all).empty();
  });
  CHECK(result.wrong == 0);
  CHECK(result.accepted > 0);
  CHECK(result.refused > 0);
}

TEST_CASE("fuzz: a damaged index of a sharded model is refused or consistent", "[io]") {
  const temp_dir dir;
  const std::array<float, 1> x{1};
  const auto a = io::source_of("a", atled::shape::of({1}), std::span(x));
  const auto b = io::source_of("b", atled::shape::of({1}), std::span(x));
  io::write_safetensors(dir / "1", std::array{a});
  io::write_safetensors(dir / "2", std::array{b});
  const std::vector<std::string> seeds = {
      R"({"metadata":{"total_size":8},"weight_map":{"a":"1","b":"2"}})"};
  const auto result = fuzz(seeds, num_runs(1'000), [&](const std::string& json) {
    dir.file("index", json);
    const io::sharded_safetensors model(dir / "index");
    for (const auto& file : model.files()) {
      for (const auto& entry : file.tensors()) {
        if (model.find(entry.name) != &file) return false;
      }
    }
    return true;
  });
  CHECK(result.wrong == 0);
  CHECK(result.accepted > 0);
  CHECK(result.refused > 0);
}

TEST_CASE("fuzz: any bytes after a plausible start are survived by every reader", "[io]") {
  const std::vector<std::string> seeds = {"", "{", "[", "\x93NUMPY\1", std::string(64, '\0')};
  random_bits random(7);
  const auto result = fuzz(seeds, num_runs(5'000), [&](std::string text) {
    for (std::size_t i = random.below(64); i > 0; --i) text += static_cast<char>(random.next());
    const auto t = io::character_tokenizer::from_text(text);
    bool same = t.decode(t.encode(text)) == text;
    for (const int reader : {0, 1, 2}) {
      try {
        if (reader == 0) (void)io::parse_json(text);
        if (reader == 1) (void)io::parse_npy(text);
        if (reader == 2) (void)io::parse_safetensors_header(text, 8 + text.size(), "m");
      } catch (const atled::error& e) {
        same = same && *e.what() != '\0';
      }
    }
    return same;
  });
  CHECK(result.wrong == 0);
}
