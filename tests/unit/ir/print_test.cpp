// unit/ir/print_test.cpp: graphs as text and as drawings.
// SPDX-License-Identifier: MIT
#include "atled/ir/print.hpp"

#include "atled/ir/builder.hpp"
#include "atled/ir/compact.hpp"

#include "support/catch.hpp"
#include "support/interpreter.hpp"
#include <array>
#include <limits>
#include <memory>

using namespace atled;

namespace {

constexpr void make_sample(ir::builder& b) {
  b.site = {"src/model.cpp", 30, "matmul"};
  const int x = b.parameter({dtype::f32, shape::of({8, 16})});
  const int w = b.parameter({dtype::f32, shape::of({16, 4})});
  ir::dot_axes axes{};
  axes.contract(1, 0);
  const int y = b.dot(x, w, axes);
  b.site = {"src/model.cpp", 31, "tanh"};
  const int z = b.unary(op::tanh, y);
  b.site = {};
  b.g.outputs[b.g.num_outputs++] = b.reduce(op::reduce_sum, b.scale(z, 0.5), 3);
}

constexpr std::string_view sample_text =
    "{ lambda a:f32[8,16] b:f32[16,4]; let\n"
    "    c:f32[8,4] = dot[contract=(1)(0)] a b   # model.cpp:30\n"
    "    d:f32[8,4] = tanh c   # model.cpp:31\n"
    "    f:f32[8,4] = broadcast[axes=()] 0.5\n"
    "    g:f32[8,4] = mul d f\n"
    "    h:f32[] = reduce_sum[axes=(0,1)] g\n"
    "  in h }\n";

constexpr bool prints_at_build_time() {
  ir::builder b{};
  make_sample(b);
  return ir::prints_as(b.g, sample_text) && !ir::prints_as(b.g, "{ lambda }") &&
         ir::printed_size(b.g) == sample_text.size();
}
static_assert(prints_at_build_time());

constexpr auto frozen_text() {
  std::array<char, sample_text.size()> out{};
  ir::builder b{};
  make_sample(b);
  ir::print_into(out.data(), b.g);
  return out;
}
constexpr auto frozen = frozen_text();
static_assert(std::string_view(frozen.data(), frozen.size()) == sample_text);

std::string text_of_number(double value) {
  return std::string(ir::detail::number_text(value).view());
}
}  // namespace

TEST_CASE("live_part: what no output needs is left out, parameters stay", "[ir]") {
  const ir::graph_ptr whole;
  {
    const auto b = std::make_unique<ir::builder>();
    const int x = b->parameter({dtype::f32, shape::of({4})});
    static_cast<void>(b->parameter({dtype::f32, shape::of({2})}));
    const int dead = b->unary(op::exp, x);
    static_cast<void>(b->unary(op::log, dead));
    const int y = b->binary(op::mul, b->unary(op::tanh, x), x);
    b->g.outputs[b->g.num_outputs++] = b->reduce(op::reduce_sum, y, 1);
    *whole = b->g;
  }
  const ir::graph_ptr live = ir::live_part(*whole);
  CHECK(whole->num_nodes == 7);
  CHECK(ir::to_text(*live) ==
        "{ lambda a:f32[4] b:f32[2]; let\n"
        "    c:f32[4] = tanh a\n"
        "    d:f32[4] = mul c a\n"
        "    e:f32[] = reduce_sum[axes=(0)] d\n"
        "  in e }\n");
}

TEST_CASE("print: one equation a line, with shapes and the user's line", "[ir]") {
  const auto b = oracle::make_builder();
  make_sample(*b);
  CHECK(ir::to_text(b->g) == sample_text);
}

TEST_CASE("print: numbers are short and mean themselves", "[ir]") {
  CHECK(text_of_number(1) == "1.0");
  CHECK(text_of_number(-0.0) == "-0.0");
  CHECK(text_of_number(0.5) == "0.5");
  CHECK(text_of_number(0.044715) == "0.044715");
  CHECK(text_of_number(3.14159265358979) == "3.14159");
  CHECK(text_of_number(123456) == "123456.0");
  CHECK(text_of_number(1e-9) == "1.0e-9");
  CHECK(text_of_number(-2.5e30) == "-2.5e30");
  CHECK(text_of_number(0.999999999) == "1.0");
  CHECK(text_of_number(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(text_of_number(std::numeric_limits<double>::quiet_NaN()) == "nan");
}

TEST_CASE("print: names count as letters do", "[ir]") {
  const auto name = [](int id) { return std::string(ir::detail::name_text(id).view()); };
  CHECK(name(0) == "a");
  CHECK(name(25) == "z");
  CHECK(name(26) == "ba");
  CHECK(name(26 * 26) == "baa");
}

TEST_CASE("print: the attributes of every op that has some are named", "[ir]") {
  const auto b = oracle::make_builder();
  const int x = b->parameter({dtype::f32, shape::of({4, 6})});
  const int i = b->parameter({dtype::i32, shape::of({3})});
  const int part = b->slice(x, shape::of({0, 1}), shape::of({2, 2}), shape::of({2, 1}));
  b->transpose(part, 0x01);
  b->gather(x, i, 0, 0, index_mode::clip);
  b->iota({dtype::i32, shape::of({3})}, 0);
  b->append(op::reverse, {x}, ir::attribute_list::of(2));
  b->append(op::cumsum, {x}, ir::attribute_list::of(1));
  const std::string out = ir::to_text(b->g);
  for (const char* piece : {"slice[start=(0,1) stride=(2,1)] a", "transpose[order=(1,0)] c",
                            "gather[axis=0 batch_dims=0 mode=clip] a b", "iota[axis=0]",
                            "reverse[axes=(1)] a", "cumsum[axis=1] a"}) {
    CAPTURE(piece);
    CHECK(out.find(piece) != std::string::npos);
  }
}

TEST_CASE("print: the drawing has a box for each node and an arrow for each operand", "[ir]") {
  const auto b = oracle::make_builder();
  make_sample(*b);
  const std::string drawing = ir::to_dot(b->g);
  CHECK(drawing.find("n2 [label=\"dot[contract=(1)(0)]\\nf32[8,4]\"];") != std::string::npos);
  CHECK(drawing.find("n0 -> n2;") != std::string::npos);
  CHECK(drawing.find("n7 -> out0;") != std::string::npos);
}
