// unit/passes/shard_test.cpp: which collectives a sharded program has, and that its ranks compute
// what one process does.
// SPDX-License-Identifier: MIT
#include "atled/passes/shard.hpp"

#include "support/catch.hpp"
#include "support/op_cases.hpp"
#include "support/sharded.hpp"

using namespace atled;
using namespace atled::test;

namespace {

constexpr double rounding = 1e-13;

struct mlp_loss {  // 8 rows, 16 to 32 to 6
  auto operator()(auto w, auto b, auto v, auto c, auto x, auto y) const {
    const auto hidden = tanh(matmul(x, w) + b);
    return mean(square(matmul(hidden, v) + c - y));
  }
};
struct mlp_step {
  auto operator()(auto w, auto b, auto v, auto c, auto x, auto y) const {
    return value_and_grad(mlp_loss{}, argnums<0, 1, 2, 3>)(w, b, v, c, x, y);
  }
};
template <class F>
sharded mlp_of(F f, const mesh_shape& mesh, const named_specs& in, const named_specs& out) {
  return sharded::of<tensor<f64, 16, 32>, tensor<f64, 32>, tensor<f64, 32, 6>, tensor<f64, 6>,
                     tensor<f64, 8, 16>, tensor<f64, 8, 6>>(f, mesh, in, out);
}

/// Pre-norm attention and mlp: [B, T, C] to itself; q, k, v, up split by columns, the others by
/// rows.
struct block_parameters {
  template <class Fn>
  static auto call(Fn fn) {
    return fn;
  }
};
template <bool IsSplitOverPlaces>
struct transformer_block {
  auto operator()(auto x, auto g, auto q, auto k, auto v, auto o, auto up, auto down) const {
    const auto norm = [&](auto y) {
      const auto centred = y - mean(y, -1, keepdims);
      const auto out = centred / sqrt(mean(square(centred), -1, keepdims) + 1e-5) * g;
      return IsSplitOverPlaces ? with_sharding_constraint(out, P<>) : out;
    };
    const auto places = [](auto y) {
      return IsSplitOverPlaces ? with_sharding_constraint(y, P<none, "model">) : y;
    };
    const auto heads = [](auto y) { return reshape(y, {y.dim(0), y.dim(1), 4, 2}); };
    const auto h = norm(x);
    const auto mixed = nn::dot_product_attention(heads(matmul(h, q)), heads(matmul(h, k)),
                                                 heads(matmul(h, v)), true);
    const auto y = x + places(matmul(reshape(mixed, x.dims()), o));
    return y + places(matmul(gelu(matmul(norm(y), up)), down));
  }
};
template <bool S>
struct block_loss {
  auto operator()(auto x, auto... w) const { return sum(square(transformer_block<S>{}(x, w...))); }
};
template <bool S>
struct block_gradient {
  auto operator()(auto x, auto... w) const {
    return value_and_grad(block_loss<S>{}, argnums<0, 1, 2, 3, 4, 5, 6, 7>)(x, w...);
  }
};
template <class F>
sharded block_of(F f, const mesh_shape& mesh, const named_spec& x, bool has_gradient) {
  using matrix = tensor<f64, 8, 8>;
  const named_spec column = P<none, "model">;
  const named_spec row = P<"model", none>;
  named_specs in{x, P<>, column, column, column, row, column, row};
  named_specs out{P<>};
  if (has_gradient) out.insert(out.end(), in.begin(), in.end());
  return sharded::of<tensor<f64, 2, 4, 8>, tensor<f64, 8>, matrix, matrix, matrix, matrix,
                     tensor<f64, 8, 32>, tensor<f64, 32, 8>>(f, mesh, in, out);
}

struct vocabulary_loss {  // table [V, C], labels and indices [B, T]
  auto operator()(auto table, auto indices, auto labels) const {
    const auto x = tanh(take(table, indices, 0, index_mode::fill));
    return nn::cross_entropy(inner(x, table), labels);
  }
};

}  // namespace

TEST_CASE("shard: data parallel sums the loss and each gradient once", "[passes]") {
  const auto s = mlp_of(mlp_step{}, mesh_of({{"data", 4}}),
                        {P<>, P<>, P<>, P<>, P<"data">, P<"data">}, {P<>, P<>, P<>, P<>, P<>});
  REQUIRE(s.problem() == "");
  CHECK(s.collectives() ==
        "psum f64[] over data\n"
        "psum f64[16,32] over data\n"
        "psum f64[32] over data\n"
        "psum f64[32,6] over data\n"
        "psum f64[6] over data\n");
  CHECK(s.difference_on_random() < rounding);
}

TEST_CASE("shard: a column and a row linear layer need one sum of an activation", "[passes]") {
  const auto s = mlp_of(mlp_step{}, mesh_of({{"model", 2}}),
                        {P<none, "model">, P<"model">, P<"model", none>, P<>, P<>, P<>},
                        {P<>, P<none, "model">, P<"model">, P<"model", none>, P<>});
  REQUIRE(s.problem() == "");
  CHECK(s.collectives() == "psum f64[8,6] over model\n");
  CHECK(s.difference_on_random() < rounding);
}

TEST_CASE("shard: both at once", "[passes]") {
  const auto s = mlp_of(mlp_step{}, mesh_of({{"data", 2}, {"model", 2}}),
                        {P<none, "model">, P<"model">, P<"model", none>, P<>, P<"data">, P<"data">},
                        {P<>, P<none, "model">, P<"model">, P<"model", none>, P<>});
  REQUIRE(s.problem() == "");
  CHECK(s.collectives() ==
        "psum f64[4,6] over model\n"
        "psum f64[] over data\n"
        "psum f64[16,16] over data\n"
        "psum f64[16] over data\n"
        "psum f64[16,6] over data\n"
        "psum f64[6] over data\n");
  CHECK(s.difference_on_random() < rounding);
}

TEST_CASE("shard: fully sharded parameters are gathered, their gradients scattered", "[passes]") {
  const named_spec w = P<gathered<"data">>;
  const auto s = mlp_of(mlp_step{}, mesh_of({{"data", 2}}), {w, w, w, w, P<"data">, P<"data">},
                        {P<>, w, w, w, w});
  REQUIRE(s.problem() == "");
  CHECK(s.collectives() ==
        "all_gather f64[8,32] over data\n"
        "all_gather f64[16] over data\n"
        "all_gather f64[16,6] over data\n"
        "all_gather f64[3] over data\n"
        "psum f64[] over data\n"
        "psum_scatter f64[2,8,32] over data\n"
        "psum_scatter f64[2,16] over data\n"
        "psum_scatter f64[2,16,6] over data\n"
        "psum_scatter f64[2,3] over data\n");
  CHECK(s.difference_on_random() < rounding);
}

TEST_CASE("shard: a transformer block split over heads sums two activations each way", "[passes]") {
  const auto forward = block_of(block_loss<false>{}, mesh_of({{"model", 2}}), P<>, false);
  REQUIRE(forward.problem() == "");
  CHECK(forward.collectives() == "psum f64[2,4,8] over model\npsum f64[2,4,8] over model\n");
  CHECK(forward.difference_on_random() < rounding);
  const auto both = block_of(block_gradient<false>{}, mesh_of({{"model", 2}}), P<>, true);
  REQUIRE(both.problem() == "");
  CHECK(both.collectives() ==
        "psum f64[2,4,8] over model\npsum f64[2,4,8] over model\n"
        "psum f64[2,4,8] over model\npsum f64[2,4,8] over model\n");
  CHECK(both.difference_on_random() < rounding);
}

struct vocabulary_step {
  auto operator()(auto table, auto indices, auto labels) const {
    return value_and_grad(vocabulary_loss{})(table, indices, labels);
  }
};
sharded vocabulary_of(const mesh_shape& mesh, const named_spec& rows) {
  const named_spec table = P<"model", none>;
  return sharded::of<tensor<f64, 12, 4>, tensor<i32, 2, 3>, tensor<i32, 2, 3>>(
      vocabulary_step{}, mesh, {table, rows, rows}, {P<>, table});
}

TEST_CASE("shard: a table split over its symbols, as embedding and as output layer", "[passes]") {
  const auto s = vocabulary_of(mesh_of({{"model", 2}}), P<>);
  REQUIRE(s.problem() == "");
  CHECK(s.collectives() ==
        "psum f64[2,3,4] over model\n"  // the embedding
        "pmax f64[2,3] over model\n"    // the logsumexp
        "psum f64[2,3] over model\n"
        "psum f64[2,3] over model\n"      // the label's logit
        "psum f64[2,3,4] over model\n");  // the cotangent of the embedding
  CHECK(s.difference_on_random(12) < rounding);
  const auto d = vocabulary_of(mesh_of({{"data", 2}, {"model", 2}}), P<"data">);
  REQUIRE(d.problem() == "");
  CHECK(d.collectives() ==
        "psum f64[1,3,4] over model\n"
        "pmax f64[1,3] over model\n"
        "psum f64[1,3] over model\n"
        "psum f64[1,3] over model\n"
        "psum f64[1,3,4] over model\n"
        "psum f64[] over data\n"
        "psum f64[6,4] over data\n");
  CHECK(d.difference_on_random(12) < rounding);
}

TEST_CASE("shard: between split activations a sum is scattered", "[passes]") {
  const auto s = block_of(block_gradient<true>{}, mesh_of({{"model", 2}}), P<none, "model">, true);
  REQUIRE(s.problem() == "");
  CHECK(s.collectives() ==
        "all_gather f64[2,2,8] over model\npsum_scatter f64[2,2,2,8] over model\n"  // attention
        "all_gather f64[2,2,8] over model\npsum_scatter f64[2,2,2,8] over model\n"  // mlp
        "all_gather f64[2,2,8] over model\npsum_scatter f64[2,2,2,8] over model\n"  // and back
        "all_gather f64[2,2,8] over model\npsum_scatter f64[2,2,2,8] over model\n"
        "psum f64[] over model\n"     // the loss
        "psum f64[8] over model\n");  // the scale of the norms
  CHECK(s.difference_on_random() < rounding);
}

TEST_CASE("shard: an open axis counts in a mean, which takes one sum", "[passes]") {
  const auto mean_loss = [](auto w, auto x) { return mean(square(matmul(x, w))); };
  const auto s = sharded::of<tensor<f64, 4, 3>, tensor<f64, 12, 4>>(
      mean_loss, mesh_of({{"data", 0}}), {P<>, P<"data">}, {P<>});
  REQUIRE(s.problem() == "");
  CHECK(s.collectives() == "psum f64[] over data\n");
  oracle::numbers random(3);
  const oracle::array w = random.reals(shape::of({4, 3}), -1, 1);
  for (const std::int64_t ranks : {1, 2, 4}) {
    const oracle::array x = random.reals(shape::of({12 * ranks, 4}), -1, 1);
    double expected = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(12 * ranks); ++i) {
      for (std::size_t j = 0; j < 3; ++j) {
        double y = 0;
        for (std::size_t k = 0; k < 4; ++k) y += x[i * 4 + k] * w[k * 3 + j];
        expected += y * y / static_cast<double>(36 * ranks);
      }
    }
    for (const double actual : s.run({w, x}, ranks)) CHECK(std::abs(actual - expected) < rounding);
  }
}

TEST_CASE("shard: the norm of all gradients counts replicated ones once", "[passes]") {
  const auto clipped = [](auto a, auto b) {
    const auto norm = sqrt(sum(square(a)) + sum(square(b)));
    const auto scale = minimum(1.0, 1.0 / norm);
    return std::tuple(norm, a * scale, b * scale);
  };
  const auto s = sharded::of<tensor<f64>, tensor<f64, 2>>(
      clipped, mesh_of({{"model", 2}}), {P<>, P<"model">}, {P<>, P<>, P<"model">});
  REQUIRE(s.problem() == "");
  CHECK(s.collectives() == "psum f64[] over model\n");
  oracle::array a(tensor_type{dtype::f64, {}});
  a.reals[0] = 3;
  oracle::array b(tensor_type{dtype::f64, shape::of({2})});
  b.reals[1] = 4;
  CHECK(s.run({a, b}) == numbers{5, 5});
  CHECK(s.difference({a, b}) == 0);
}

TEST_CASE("shard: a logsumexp and a cross-entropy over a split axis take the largest of all ranks",
          "[passes]") {
  const auto both = [](auto x) { return value_and_grad([](auto y) { return logsumexp(y); })(x); };
  const auto s =
      sharded::of<tensor<f64, 2>>(both, mesh_of({{"model", 2}}), {P<"model">}, {P<>, P<"model">});
  REQUIRE(s.problem() == "");
  oracle::array x(tensor_type{dtype::f64, shape::of({2})});
  x.reals = {1000, 1000};
  CHECK(are_near(s.run({x}), {1000.6931471805599, 1000.6931471805599}));
  CHECK(s.difference({x}) < rounding);
  x.reals = {-infinity, -infinity};
  CHECK(s.run({x}) == numbers{-infinity, -infinity});

  const auto loss = [](auto logits, auto label) {
    return value_and_grad([](auto y, auto at) { return sum(nn::softmax_cross_entropy(y, at)); })(
        logits, label);
  };
  const auto c = sharded::of<tensor<f64, 1, 4>, tensor<i32, 1>>(
      loss, mesh_of({{"model", 2}}), {P<none, "model">, P<>}, {P<>, P<none, "model">});
  REQUIRE(c.problem() == "");
  oracle::array logits(tensor_type{dtype::f64, shape::of({1, 4})});
  logits.reals = {1000, 0, -1000, 0};
  oracle::array label(tensor_type{dtype::i32, shape::of({1})});
  label.integers = {2};
  CHECK(c.run({logits, label}) == numbers{2000, 2000});
  CHECK(c.difference({logits, label}) == 0);
}

TEST_CASE("shard: a loop keeps its carries split, and sums of trips are taken once", "[passes]") {
  const auto layers = [](auto x, auto w) {
    return scan([](auto h, auto one) { return std::pair(tanh(matmul(h, one)), mean(h)); }, x, w);
  };
  const auto s = sharded::of<tensor<f64, 8, 4>, tensor<f64, 3, 4, 4>>(
      layers, mesh_of({{"data", 2}}), {P<"data">, P<>}, {P<"data">, P<>});
  CHECK(s.problem() == "");
  CHECK(s.collectives() == "psum f64[3] over data\n");

  const auto accumulated = [](auto w, auto batches) {
    return scan(
               [w](auto total, auto x) {
                 const auto d =
                     grad([](auto v, auto y) { return sum(square(matmul(y, v))); })(w, x);
                 return std::pair(total + d, sum(x));
               },
               zeros_like(w), batches)
        .first;
  };
  const auto t = sharded::of<tensor<f64, 4, 2>, tensor<f64, 3, 8, 4>>(
      accumulated, mesh_of({{"data", 2}}), {P<>, P<none, "data">}, {P<>});
  CHECK(t.problem() == "");
  CHECK(t.collectives() == "psum f64[4,2] over data\n");
  int sums_in_loop = 0;
  for (int id = 0; id < t.local().num_nodes; ++id) {
    if (t.local()[id].code != op::psum) continue;
    sums_in_loop += t.local()[t.local().operand(id, 0)].code == op::result_of ? 0 : 1;
  }
  CHECK(sums_in_loop == 0);
}

TEST_CASE("shard: random numbers do not depend on the mesh", "[passes]") {
  const auto noise = [](auto x, auto key) {
    return x * random::uniform(key, x.dims(), dtype::f64) +
           random::normal(key, x.dims(), dtype::f64);
  };
  for (const auto& spec :
       {named_spec(P<"data">), named_spec(P<none, "model">), named_spec(P<"data", none, "model">),
        named_spec(P<over<"data", "model">>)}) {
    const auto s = sharded::of<tensor<f64, 4, 6, 2>, tensor<u32, 2>>(
        noise, mesh_of({{"data", 2}, {"model", 2}}), {spec, P<>}, {spec});
    REQUIRE(s.problem() == "");
    CHECK(s.collectives() == "");
    CHECK(s.difference_on_random() == 0);
  }
}

TEST_CASE("shard: a constraint moves what it must and no more", "[passes]") {
  const auto move = [](auto to) {
    return [to](auto x) { return with_sharding_constraint(x * 2.0, to) + 1.0; };
  };
  const auto of = [&](const named_spec& from, const named_spec& to) {
    return sharded::of<tensor<f64, 4, 8>>(move(to), mesh_of({{"data", 2}, {"model", 2}}), {from},
                                          {to});
  };
  struct row {
    named_spec from, to;
    const char* sent;
  };
  for (const row& r :
       {row{P<"data">, P<"data">, ""}, row{P<>, P<"data">, ""},
        row{P<"data">, P<over<"data", "model">>, ""},
        row{P<"data">, P<>, "all_gather f64[2,8] over data\n"},
        row{P<none, "data">, P<>, "all_gather f64[4,4] over data\n"},
        row{P<"data">, P<none, "data">, "all_to_all f64[2,2,4] over data\n"},
        row{P<"data", "model">, P<"data">, "all_gather f64[2,4] over model\n"},
        row{P<over<"data", "model">>, P<"model">,
            "all_gather f64[1,8] over model\nall_gather f64[2,8] over data\n"},
        row{P<over<"data", "model">>, P<"data", "model">, "all_to_all f64[2,1,4] over model\n"}}) {
    const auto s = of(r.from, r.to);
    INFO(std::string(r.from.text().view()) << " to " << std::string(r.to.text().view()));
    REQUIRE(s.problem() == "");
    CHECK(s.collectives() == r.sent);
    CHECK(s.difference_on_random() == 0);
  }
}

TEST_CASE("shard: scores split by symbols give the loss and gradient of whole ones", "[passes]") {
  const mesh_shape two = mesh_of({{"model", 2}});
  const auto split = sharded::of<tensor<f64, 4>, tensor<i32>>(
      [](auto scores, auto label) {
        return value_and_grad([](auto x, auto y) {
          return nn::cross_entropy(reshape(x, {1, 4}), reshape(y, {1}));
        })(scores, label);
      },
      two, {P<"model">, P<>}, {P<>, P<"model">});
  REQUIRE(split.problem() == "");
  CHECK(split.collectives() ==
        "pmax f64[1] over model\npsum f64[1] over model\npsum f64[1] over model\n");
  const auto scores = oracle::make_array({dtype::f64, shape::of({4})}, {1000, 0, -1000, 0});
  const auto label = oracle::make_array({dtype::i32, {}}, {2});
  CHECK(split.run({scores, label}) == numbers{2000, 2000});
  CHECK(split.difference({scores, label}) == 0);  // [1,0] and [-1,0] are the blocks of the whole

  const auto total = sharded::of<tensor<f64, 2>>(
      [](auto x) { return value_and_grad([](auto y) { return logsumexp(y); })(x); }, two,
      {P<"model">}, {P<>, P<"model">});
  REQUIRE(total.problem() == "");
  const auto both = oracle::make_array({dtype::f64, shape::of({2})}, {1000, 1000});
  for (const double value : total.run({both})) CHECK(value == Approx(1000.6931471805599));
  CHECK(total.difference({both}) < rounding);
}

TEST_CASE("shard: a table split by symbols that is the head as well", "[passes]") {
  const auto slope = [](auto table, auto text, auto next) {
    return value_and_grad([](auto w, auto in, auto out) {
      return nn::cross_entropy(inner(tanh(take(w, in, 0, index_mode::fill)), w), out);
    })(table, text, next);
  };
  for (const named_spec& ends : {named_spec(P<>), named_spec(P<"data">)}) {
    const auto s = sharded::of<tensor<f64, 6, 8>, tensor<i32, 2, 4>, tensor<i32, 2, 4>>(
        slope, mesh_of({{"data", 2}, {"model", 2}}), {P<"model">, ends, ends}, {P<>, P<"model">});
    REQUIRE(s.problem() == "");
    CHECK(s.difference_on_random(6) < rounding);
  }
}

TEST_CASE("shard: what it cannot do it says", "[passes]") {
  const mesh_shape grid = mesh_of({{"data", 4}, {"model", 2}});
  const auto says = [&](auto f, const named_spec& x, const named_spec& y) {
    return sharded::of<tensor<f32, 8, 16>, tensor<f32, 8, 16>>(f, grid, {x, y}, {}).problem();
  };
  const auto add = [](auto x, auto y) { return x + y; };
  CHECK(says(add, P<"data">, P<"model">) ==
        "add: lhs P(data,-) and rhs P(model,-): axis 0 is sharded two ways; put "
        "with_sharding_constraint on one of them");
  CHECK(says(add, P<"data">, P<none, "data">) ==
        "add: lhs P(data,-) and rhs P(-,data): mesh axis data would split two axes; put "
        "with_sharding_constraint on one of them");
  CHECK(says([](auto x, auto y) { return sort(x, 1) + y; }, P<none, "model">, P<>) ==
        "sort: f32[8,16] as P(-,model): axis 1 must be whole here; put with_sharding_constraint on "
        "the operand");
  CHECK(says([](auto x, auto y) { return cumsum(x, 1) + y; }, P<none, "model">, P<>) ==
        "cumsum: f32[8,16] as P(-,model): axis 1 must be whole here; put with_sharding_constraint "
        "on the operand");
  CHECK(says([](auto x, auto y) { return reshape(x, {128}) + reshape(y, {128}); }, P<none, "model">,
             P<>) ==
        "reshape: f32[8,16] as P(-,model) to f32[128]: axis 1 is split, and must stay the "
        "outermost part of an axis that it divides; put with_sharding_constraint on the operand");
  CHECK(says([](auto x, auto y) { return matmul(x, transpose(y)); }, P<"data">, P<"data">) ==
        "matmul: lhs P(data,-) and rhs P(data,-): mesh axis data would split two axes of the "
        "product; put with_sharding_constraint on one of them");
  CHECK(says([](auto x, auto y) { return matmul(x, transpose(y)); }, P<none, "data">,
             P<none, "model">) ==
        "matmul: lhs P(-,data) and rhs P(-,model): lhs axis 1 and rhs axis 1 go together and are "
        "sharded two ways; put with_sharding_constraint on one of them");
  const auto constrained = [&](const named_spec& to) {
    return says([&](auto x, auto y) { return with_sharding_constraint(x, to) + y; }, P<>, P<>);
  };
  CHECK(constrained(P<"batch", none>) ==
        "with_sharding_constraint: P(batch,-) on mesh{data:4,model:2}: no mesh axis batch; it has "
        "data, model");
  CHECK(constrained(P<"data", "data">) ==
        "with_sharding_constraint: P(data,data): mesh axis data is used for axis 0 and axis 1");
  CHECK(constrained(P<none, none, "data">) ==
        "with_sharding_constraint: f32[8,16] as P(-,-,data): the spec has 3 entries for 2 axes");
  CHECK(sharded::of<tensor<f32, 6, 16>>(
            [](auto x) { return with_sharding_constraint(x, P<"data", "model">); }, grid, {P<>}, {})
            .problem() ==
        "with_sharding_constraint: f32[6,16] as P(data,model) on mesh{data:4,model:2}: axis 0 (6) "
        "must be divisible by data (4)");
  CHECK(sharded::of<tensor<f32, 8, 16>>([](auto x) { return x * 2.0f; }, grid, {P<"data">}, {P<>})
            .problem() ==
        "jit: output 0 is f32[8,16] as P(data,-), and P(-,-) would move it between ranks; say so "
        "with reshard");
}
