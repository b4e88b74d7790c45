// property/derivatives_test.cpp: the laws of jvp, transpose and simplify, for each op on many
// shapes. Reads: support/op_cases.hpp. The oracle is the interpreter, in f64.
// SPDX-License-Identifier: MIT
#include "atled/ir/print.hpp"
#include "atled/ir/verify.hpp"
#include "atled/passes/gradient.hpp"
#include "atled/passes/simplify.hpp"

#include "support/catch.hpp"
#include "support/op_cases.hpp"
#include <cmath>
#include <memory>
#include <vector>

using namespace atled;
using namespace atled::oracle;
using passes::ids;

namespace {

std::unique_ptr<ids> list() {
  return std::make_unique<ids>();
}

/// One node with variables as its floating arguments, and more parameters behind its arguments.
struct subject {
  builder_ptr b = make_builder();
  std::vector<array> arguments;
  std::unique_ptr<ids> inputs = list();  // floating arguments only
  std::unique_ptr<ids> outputs = list();
  int z = 0;

  explicit subject(const op_case& one) : arguments(one.arguments) {
    std::vector<int> in;
    for (const array& argument : one.arguments) {
      const int parameter = b->parameter(argument.type);
      in.push_back(argument.is_real() ? b->variable(parameter) : parameter);
      if (argument.is_real()) inputs->push(in.back());
    }
    z = one.build(*b, in);
    outputs->push(z);
  }
  [[nodiscard]] bool is_real() const { return is_floating(b->type(z).element); }

  int argument(const array& value) {
    arguments.push_back(value);
    return b->parameter(value.type);
  }
  void output(int id) { b->g.outputs[b->g.num_outputs++] = id; }
  /// An output, zeros in place of a symbolic zero.
  void output_like(int id, int like) {
    output(id == ir::no_node ? passes::zeros_like(*b, like) : id);
  }

  [[nodiscard]] std::vector<array> run() const { return interpret(b->g, arguments); }
};

array alike(const tensor_type& type, numbers& random) {
  array out = random.reals(type.dims, -1, 1);
  out.type = type;
  for (double& x : out.reals) x = rounded(x, type.element);
  return out;
}

double inner(const array& x, const array& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

bool are_near(double x, double y, double relative, double absolute) {
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return x == y || std::abs(x - y) <= absolute + relative * std::max(std::abs(x), std::abs(y));
}
bool are_near(const array& x, const array& y, double relative, double absolute) {
  if (!(x.type == y.type)) return false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!are_near(x[i], y[i], relative, absolute)) return false;
  }
  return true;
}

/// The value of a case's node with all floating arguments moved along `tangents`.
array moved(const op_case& one, const std::vector<array>& tangents, double step) {
  op_case other = one;
  std::size_t next = 0;
  for (array& argument : other.arguments) {
    if (!argument.is_real()) continue;
    for (std::size_t i = 0; i < argument.size(); ++i) {
      argument.reals[i] += step * tangents[next].reals[i];
    }
    ++next;
  }
  subject s(other);
  s.output(s.z);
  return s.run()[0];
}

array difference(const op_case& one, const std::vector<array>& tangents) {
  const double step = 1e-5;
  array high = moved(one, tangents, step);
  const array low = moved(one, tangents, -step);
  for (std::size_t i = 0; i < high.size(); ++i) {
    high.reals[i] = (high.reals[i] - low.reals[i]) / (2 * step);
  }
  return high;
}

/// Calls `check` with each case of each op whose node is differentiable.
template <class Check>
void for_each_case(Check check) {
  for (int code = 0; code < num_ops; ++code) {
    const auto cases = cases_of(static_cast<op>(code));
    if (has_no_cases(static_cast<op>(code))) continue;
    REQUIRE(!cases.empty());
    for (std::size_t i = 0; i < cases.size(); ++i) {
      INFO(info(static_cast<op>(code)).name << ", " << cases[i].name << ", case " << i);
      check(static_cast<op>(code), cases[i]);
    }
  }
}

/// Appends the gradient of <ct, z> by all floating arguments.
std::vector<int> gradient_of(subject& s, int ct) {
  const auto cts = list();
  const auto out = list();
  cts->push(ct);
  passes::gradient(*s.b, *s.outputs, *cts, *s.inputs, *out);
  std::vector<int> ids;
  for (int i = 0; i < out->size; ++i) {
    const int id = (*out)[i];
    ids.push_back(id == ir::no_node ? passes::zeros_like(*s.b, (*s.inputs)[i]) : id);
  }
  return ids;
}

int dot_all(ir::builder& b, int x, int y) {
  const std::int64_t all = (std::int64_t{1} << b.type(x).rank()) - 1;
  return b.reduce(op::reduce_sum, b.mul(x, y), all);
}

}  // namespace

TEST_CASE("jvp: it is the limit of differences, for each op", "[property]") {
  for_each_case([](op code, const op_case& one) {
    subject s(one);
    if (!s.is_real() || s.inputs->size == 0 || !one.is_smooth) return;
    numbers random(static_cast<std::uint64_t>(code) + 100);
    std::vector<array> tangents;
    const auto tangent_ids = list();
    for (const int input : *s.inputs) {
      tangents.push_back(alike(s.b->type(input), random));
      tangent_ids->push(s.argument(tangents.back()));
    }
    const auto out = list();
    passes::jvp(*s.b, *s.outputs, *s.inputs, *tangent_ids, *out);
    s.output_like((*out)[0], s.z);
    CHECK(ir::verify(s.b->g).view() == "");
    CHECK(s.b->problem.view() == "");
    CHECK(are_near(s.run()[0], difference(one, tangents), 1e-7, 1e-7));
  });
}

TEST_CASE("transpose: <ct, J dx> = <J^T ct, dx>, for each op", "[property]") {
  for_each_case([](op code, const op_case& one) {
    subject s(one);
    if (!s.is_real() || s.inputs->size == 0) return;
    numbers random(static_cast<std::uint64_t>(code) + 200);
    std::vector<array> tangents;
    const auto tangent_ids = list();
    for (const int input : *s.inputs) {
      tangents.push_back(alike(s.b->type(input), random));
      tangent_ids->push(s.argument(tangents.back()));
    }
    const array ct = alike(s.b->type(s.z), random);
    const int ct_id = s.argument(ct);
    const auto out = list();
    passes::jvp(*s.b, *s.outputs, *s.inputs, *tangent_ids, *out);
    s.output_like((*out)[0], s.z);
    for (const int id : gradient_of(s, ct_id)) s.output(id);
    REQUIRE(s.b->problem.view() == "");
    CHECK(ir::verify(s.b->g).view() == "");
    const auto results = s.run();
    double right = 0;
    for (std::size_t i = 0; i < tangents.size(); ++i) {
      CHECK(results[i + 1].type == tangents[i].type);
      right += inner(results[i + 1], tangents[i]);
    }
    const double epsilon = one.name == "convert" ? 1e-2 : 1e-12;
    CHECK(are_near(inner(ct, results[0]), right, epsilon, epsilon));
  });
}

TEST_CASE("second derivatives: forward over reverse = reverse over reverse = differences",
          "[property]") {
  for_each_case([](op code, const op_case& one) {
    subject s(one);
    if (!s.is_real() || s.inputs->size == 0 || !one.is_smooth) return;
    numbers random(static_cast<std::uint64_t>(code) + 300);
    const array ct = alike(s.b->type(s.z), random);
    const int ct_id = s.argument(ct);
    std::vector<array> tangents;
    const auto tangent_ids = list();
    for (const int input : *s.inputs) {
      tangents.push_back(alike(s.b->type(input), random));
      tangent_ids->push(s.argument(tangents.back()));
    }
    const auto gradient = gradient_of(s, ct_id);
    const auto gradients = list();
    for (const int id : gradient) gradients->push(id);

    const auto forward = list();  // H t
    passes::jvp(*s.b, *gradients, *s.inputs, *tangent_ids, *forward);
    int along = ir::no_node;  // <gradient, t>
    for (int i = 0; i < gradients->size; ++i) {
      const int part = dot_all(*s.b, (*gradients)[i], (*tangent_ids)[i]);
      along = along == ir::no_node ? part : s.b->add(along, part);
    }
    const auto scalar = list();
    const auto seed = list();
    const auto reverse = list();
    scalar->push(along);
    seed->push(s.b->constant(1, dtype::f64));
    passes::gradient(*s.b, *scalar, *seed, *s.inputs, *reverse);
    for (int i = 0; i < gradients->size; ++i) {
      s.output_like((*forward)[i], (*s.inputs)[i]);
      s.output_like((*reverse)[i], (*s.inputs)[i]);
    }
    REQUIRE(s.b->problem.view() == "");
    CHECK(ir::verify(s.b->g).view() == "");
    const auto results = s.run();
    double curvature = 0;  // <t, H t>
    for (std::size_t i = 0; i < tangents.size(); ++i) {
      CHECK(are_near(results[2 * i], results[2 * i + 1], 1e-11, 1e-11));
      curvature += inner(results[2 * i], tangents[i]);
    }
    const double step = 1e-4;
    const double expected =
        (inner(ct, moved(one, tangents, step)) + inner(ct, moved(one, tangents, -step)) -
         2 * inner(ct, moved(one, tangents, 0))) /
        (step * step);
    CHECK(are_near(curvature, expected, 1e-5, 1e-5));
  });
}

TEST_CASE("simplify: values stay, for each op and its derivatives", "[property]") {
  for_each_case([](op code, const op_case& one) {
    subject s(one);
    numbers random(static_cast<std::uint64_t>(code) + 400);
    s.output(s.z);
    if (s.is_real() && s.inputs->size > 0) {
      const int ct = s.argument(alike(s.b->type(s.z), random));
      for (const int id : gradient_of(s, ct)) s.output(id);
    }
    const auto expected = s.run();

    const auto simple = make_builder();
    passes::simplify(s.b->g, *simple);
    REQUIRE(simple->problem.view() == "");
    CHECK(ir::verify(simple->g).view() == "");
    const auto live = make_builder();
    passes::copy_live(simple->g, *live);
    CHECK(ir::verify(live->g).view() == "");
    CHECK(live->g.num_nodes <= simple->g.num_nodes);
    CHECK(live->g.num_nodes <= s.b->g.num_nodes + 1);

    const auto actual = interpret(live->g, s.arguments);
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      CHECK(are_near(actual[i], expected[i], 1e-14, 1e-15));
    }
  });
}

TEST_CASE("derivatives: types follow the arguments in f32, bf16 and f16", "[property]") {
  for (const dtype element : {dtype::f32, dtype::bf16, dtype::f16}) {
    for_each_case([element](op code, op_case one) {
      for (array& argument : one.arguments) {
        if (argument.is_real()) argument.type.element = element;
      }
      subject s(one);
      if (!s.is_real() || s.inputs->size == 0) return;
      numbers random(static_cast<std::uint64_t>(code) + 500);
      const int ct = s.argument(alike(s.b->type(s.z), random));
      const auto gradient = gradient_of(s, ct);
      REQUIRE(s.b->problem.view() == "");
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        s.output(gradient[i]);
        CHECK(s.b->type(gradient[i]) == s.b->type((*s.inputs)[static_cast<int>(i)]));
      }
      CHECK(ir::verify(s.b->g).view() == "");
    });
  }
}
