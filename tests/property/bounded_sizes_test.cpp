// property/bounded_sizes_test.cpp: a function of bounded sizes is, at each size, the function of
// that size: value, gradient, in lanes. Reads: passes/bound.hpp, support/interpreter.hpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include "support/catch.hpp"
#include "support/op_cases.hpp"
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace atled;
using namespace atled::oracle;

namespace {

constexpr std::int64_t N = upto<5>;
constexpr std::int64_t M = upto<4, "m">;

using pair_of = std::array<expr, 2>;
using function = expr (*)(const pair_of& x, const pair_of& i);

/// Two floating arguments and two of integers, which are places along the axis of 5.
struct bounded_case {
  std::string name;
  std::array<shape, 2> reals;
  function f;
  bool has_gradient = true;
};

/// Numbers that tell the elements of `x` apart, each from its place.
expr weights_like(const expr& x) {
  ir::builder& b = x.builder();
  const shape dims = x.dims();
  expr out(b, b.splat(0.3, {dtype::f64, dims}));
  for (int i = 0; i < dims.rank; ++i) {
    out = out + cos(expr(b, b.iota({dtype::f64, dims}, i)) * (1.7 + i));
  }
  return out;
}

struct value_of {
  function f;
  auto operator()(const pair_of& x, const pair_of& i) const {
    const expr out = f(x, i);
    return pair_of{out, out};
  }
};
struct weighted {
  function f;
  auto operator()(const pair_of& x, const pair_of& i) const {
    const expr out = astype<f64>(f(x, i));
    return sum(out * weights_like(out));
  }
};
struct gradient_of {
  function f;
  auto operator()(const pair_of& x, const pair_of& i) const { return grad(weighted{f})(x, i); }
};
struct second_of {
  function f;
  auto operator()(const pair_of& x, const pair_of& i) const {
    const auto inner = [this](const pair_of& at, const pair_of& places) {
      const pair_of g = grad(weighted{f})(at, places);
      return sum(g[0] * weights_like(g[0])) + sum(sin(g[1]) * weights_like(g[1]));
    };
    return grad(inner)(x, i);
  }
};
template <class Of>
struct in_lanes {
  function f;
  auto operator()(const pair_of& x, const pair_of& i) const {
    return vmap(Of{f}, in_axes<0, none>)(x, i);
  }
};

std::int64_t value_at(std::int64_t size, std::int64_t n, std::int64_t m) {
  return size == N ? n : size == M ? m : size;
}
shape sizes_at(const shape& dims, std::int64_t n, std::int64_t m) {
  shape out = dims;
  for (int i = 0; i < dims.rank; ++i) out[i] = value_at(dims[i], n, m);
  return out;
}

/// Calls fn(place in `sizes`, place in `bounds`).
template <class Fn>
void for_each_inside(const shape& sizes, const shape& bounds, const Fn& fn) {
  for (std::int64_t flat = 0; flat < sizes.size(); ++flat) {
    const auto at = oracle::detail::position_of(sizes, flat);
    fn(static_cast<std::size_t>(flat), oracle::detail::flat_of(bounds, at));
  }
}
/// The elements of `x` in a tensor of the bounds, beyond them what must never be seen.
array in_bounds(const array& x, const shape& dims) {
  array out(tensor_type{x.type.element, dims.bounds()});
  for (double& v : out.reals) v = std::numeric_limits<double>::quiet_NaN();
  for (auto& v : out.integers) v = -77;
  for_each_inside(x.type.dims, dims.bounds(), [&](std::size_t i, std::size_t j) {
    oracle::detail::copy_element(out, j, x, i);
  });
  return out;
}

std::vector<array> arguments_at(const bounded_case& c, std::int64_t n, std::int64_t m,
                                bool has_lanes) {
  numbers random(static_cast<std::uint64_t>(n * 10 + m));
  std::vector<array> out;
  for (const shape& dims : c.reals) {
    shape sizes = sizes_at(dims, n, m);
    if (has_lanes) sizes = passes::detail::in_lanes(2, sizes);
    out.push_back(random.distinct(sizes));
    for (double& v : out.back().reals) v += 0.7;
  }
  out.push_back(random.integers(shape::of({n}), dtype::i32, -1, n + 2));
  out.push_back(random.integers(shape::of({3}), dtype::i32, -1, n + 2));
  return out;
}

/// The graph of `Of` on arguments of these shapes, simplified as `jit` would have it.
template <class Of>
builder_ptr graph_of(function f, const std::array<shape, 4>& dims, bool is_bounded,
                     std::vector<shape>& outputs) {
  const auto b = make_builder();
  const auto parameter = [&](int i, dtype element) {
    return expr(*b, b->parameter({element, dims[static_cast<std::size_t>(i)]}));
  };
  const expr x0 = parameter(0, dtype::f64);
  const expr x1 = parameter(1, dtype::f64);
  const expr i0 = parameter(2, dtype::i32);
  const expr i1 = parameter(3, dtype::i32);
  ir::set_outputs(*b, Of{f}(pair_of{x0, x1}, pair_of{i0, i1}));
  if (!b->problem.empty()) throw std::runtime_error(std::string(b->problem.view()));
  const text traced = ir::verify(b->g);
  if (!traced.empty()) throw std::runtime_error(std::string(traced.view()));
  for (int i = 0; i < b->g.num_outputs; ++i) outputs.push_back(b->type(b->g.outputs[i]).dims);
  auto out = make_builder();
  const ir::graph* from = &b->g;
  const auto plain = make_builder();
  if (is_bounded) {
    passes::bound(b->g, *plain);
    if (!plain->problem.empty()) throw std::runtime_error(std::string(plain->problem.view()));
    from = &plain->g;
  }
  const text broken = ir::verify(*from);
  if (!broken.empty()) throw std::runtime_error(std::string(broken.view()));
  passes::simplify(*from, *out);
  return out;
}

template <class Of>
void check(const bounded_case& c, bool has_lanes, double tolerance) {
  std::array<shape, 4> dims{c.reals[0], c.reals[1], shape::of({N}), shape::of({3})};
  const auto lanes = [&](shape& s) {
    if (has_lanes) s = passes::detail::in_lanes(2, s);
  };
  lanes(dims[0]);
  lanes(dims[1]);
  std::vector<shape> out_dims;
  const auto bounded = graph_of<Of>(c.f, dims, true, out_dims);
  for (const auto& [n, m] : {std::pair{3, 2}, {1, 4}, {5, 3}}) {
    if (n != 3 && std::is_same_v<Of, second_of>) continue;
    INFO("n = " << n << ", m = " << m);
    const std::vector<array> exact = arguments_at(c, n, m, has_lanes);
    std::vector<array> padded;
    std::array<shape, 4> fixed_dims{};
    for (std::size_t i = 0; i < exact.size(); ++i) {
      padded.push_back(in_bounds(exact[i], dims[i]));
      fixed_dims[i] = exact[i].type.dims;
    }
    passes::size_list known{};
    for (const shape& s : dims) {
      for (int a = 0; a < s.rank; ++a) {
        if (is_bounded(s[a]) && known.find(s[a]) == known.size) known.values[known.size++] = s[a];
      }
    }
    for (int i = 0; i < known.size; ++i) {
      array size(tensor_type{dtype::i32, {}});
      size.integers[0] = value_at(known.values[i], n, m);
      padded.push_back(size);
    }
    std::vector<shape> fixed_out;
    const auto fixed = graph_of<Of>(c.f, fixed_dims, false, fixed_out);
    const auto wanted = interpret(fixed->g, exact);
    const auto got = interpret(bounded->g, padded);
    REQUIRE(wanted.size() == got.size());
    for (std::size_t o = 0; o < got.size(); ++o) {
      REQUIRE(sizes_at(out_dims[o], n, m) == wanted[o].type.dims);
      for_each_inside(wanted[o].type.dims, out_dims[o].bounds(), [&](std::size_t i, std::size_t j) {
        const double e = wanted[o][i];
        const double a = got[o][j];
        const bool is_same = (std::isnan(a) && std::isnan(e)) ||
                             std::abs(a - e) <= tolerance * (1 + std::abs(e)) || a == e;
        if (!is_same) {
          INFO("output " << o << " place " << i << ": " << a << ", at the fixed size " << e);
          CHECK(is_same);
        }
      });
    }
  }
}

const shape unused = shape::of({2});
const shape rows = shape::of({N, 3});
const shape columns = shape::of({2, N});
const shape line = shape::of({N});

#define CASE(...)                                  \
  [](const pair_of& x, const pair_of& i) -> expr { \
    [[maybe_unused]] const auto& [a, b] = x;       \
    [[maybe_unused]] const auto& [p, q] = i;       \
    return __VA_ARGS__;                            \
  }

std::vector<bounded_case> reductions() {
  return {
      {"elementwise",
       {rows, shape::of({3})},
       CASE(exp(a * 0.3) * log(b + 2) + where(a > 1.0, a, b))},
      {"sum", {rows, columns}, CASE(sum(a * a) * sum(b, 1))},
      {"sum of rows", {rows, columns}, CASE(sum(exp(a), 0) + sum(sin(b)))},
      {"mean", {rows, columns}, CASE(mean(a * a, 0) + mean(b * b))},
      {"var", {rows, columns}, CASE(var(a, 0) + std_(b))},
      {"var less one", {rows, line}, CASE(var(a, {}, {}, 1) + norm(b))},
      {"size", {rows, line}, CASE(sum(a) / size(a, 0) + sum(b) * size(b, -1))},
      {"extremes",
       {rows, columns},
       CASE(reduce_max(a, 0) + reduce_min(a, 0) + sum(reduce_max(b, 1)))},
      {"prod", {rows, columns}, CASE(prod(a, 0) * prod(b))},
      {"prod with a zero", {line, unused}, CASE(prod(where(a > 1.2, 0.0, a)))},
      {"logsumexp", {rows, columns}, CASE(logsumexp(a, 0) + logsumexp(b, axes{}))},
      {"softmax", {rows, columns}, CASE(softmax(a, 0) + sum(softmax(b, -1) * b))},
      {"log_softmax", {columns, line}, CASE(log_softmax(a, -1) + log_softmax(b, 0))},
      {"argmax", {rows, columns}, CASE(argmax(a, 0)), false},
      {"argmin", {rows, columns}, CASE(argmin(b, 1)), false},
      {"truth",
       {rows, unused},
       CASE(where(any(a > 2.0, 0), 1.0, 0.0) + where(all(a > 1.0, 0), 2.0, 0.0)),
       false},
  };
}
std::vector<bounded_case> orders() {
  return {
      {"cumsum", {rows, columns}, CASE(cumsum(a, 0) + sum(cumsum(b, 1)))},
      {"reversed cumsum",
       {rows, columns},
       CASE(cumsum(a, 0, reversed) + sum(cumsum(b, 1, reversed)))},
      {"cumprod", {rows, columns}, CASE(cumprod(a, 0) + sum(cumprod(b, 1, reversed)))},
      {"cummax", {rows, columns}, CASE(cummax(a, 0) + sum(cummax(b, 1, reversed)))},
      {"cummin", {rows, columns}, CASE(cummin(a, 0, reversed) + sum(cummin(b, 1)))},
      {"cumlogsumexp",
       {rows, columns},
       CASE(cumlogsumexp(a, 0) + sum(cumlogsumexp(b, 1, reversed)))},
      {"sort", {rows, columns}, CASE(sort(a, 0) + sum(sort(b, 1, descending)))},
      {"argsort", {rows, columns}, CASE(argsort(b, 1, descending)), false},
      {"searchsorted", {line, unused}, CASE(searchsorted(sort(a, 0), b)), false},
      {"flip", {rows, columns}, CASE(flip(a, {0, 1}) + sum(flip(b, 1) * b))},
  };
}
std::vector<bounded_case> products() {
  return {
      {"contraction", {rows, rows}, CASE(matmul(transpose(a), b))},
      {"free axis", {rows, shape::of({3, 2})}, CASE(matmul(a, b))},
      {"inner product", {line, line}, CASE(dot(a, a) * dot(a, b))},
      {"attention", {rows, rows}, CASE(matmul(softmax(matmul(a, transpose(b)) * 0.3, -1), b))},
      {"causal attention",
       {rows, rows},
       CASE(matmul(softmax(where(tri(a, a.dim(0), a.dim(0)), matmul(a, transpose(b)), -1e9), -1),
                   b))},
      {"two sizes",
       {rows, shape::of({M, 3})},
       CASE(matmul(softmax(matmul(a, transpose(b)), 1), b * b))},
      {"einsum", {rows, columns}, CASE(einsum("nc,kn->kc", a, b))},
      {"outer", {line, shape::of({M})}, CASE(outer(a, b) * sum(outer(b, a)))},
  };
}
std::vector<bounded_case> indices() {
  return {
      {"take", {rows, columns}, CASE(take(a, q, 0) + sum(take(b, q, 1)))},
      {"take clipped",
       {rows, columns},
       CASE(take(a, q, 0, index_mode::clip) + sum(take(b, q, -1, index_mode::clip)))},
      {"take with a filler", {rows, unused}, CASE(take(a, q, 0, index_mode::fill, 0.5))},
      {"bounded indices", {rows, shape::of({4, 3})}, CASE(take(b, p, 0) * take(a, p, 0))},
      {"indexing", {rows, columns}, CASE(a(p, 1) + b(0, p))},
      {"take_along_axis", {rows, columns}, CASE(take_along_axis(b, argsort(b, 1), 1))},
      {"one_hot", {rows, unused}, CASE(matmul(transpose(one_hot(p, 4, dtype::f64)), a))},
      {"segment_sum", {rows, unused}, CASE(segment_sum(a, p, 4))},
      {"scatter_add into bounded", {rows, shape::of({3, 3})}, CASE(scatter_add(a, q, b))},
      {"scatter_add clipped",
       {rows, shape::of({3, 3})},
       CASE(scatter_add(a, q, b, 0, index_mode::clip))},
      {"scatter_add of bounded", {rows, shape::of({4, 3})}, CASE(scatter_add(b, p, a))},
      {"set at bounded", {rows, shape::of({4, 3})}, CASE(at(b, p).set(a))},
      {"max at bounded", {rows, shape::of({4, 3})}, CASE(at(b, p).max(a))},
      {"set in bounded", {rows, shape::of({3, 3})}, CASE(at(a, q).set(b))},
      {"dynamic_slice", {rows, unused}, CASE(dynamic_slice(a, {2, 1}, {1, 2}))},
      {"dynamic_update_slice", {rows, shape::of({1, 2})}, CASE(dynamic_update_slice(a, b, {3, 1}))},
      {"a bounded window",
       {shape::of({7, 3}), rows},
       CASE(dynamic_slice(a, {q(0), 0}, {b.dim(0), 3}) * b)},
      {"a bounded update", {shape::of({7, 3}), rows}, CASE(dynamic_update_slice(a, b, {q(1), 0}))},
      {"an update of two axes",
       {shape::of({2, 7, 3}), shape::of({1, N, 2})},
       CASE(dynamic_update_slice(a, b, {1, q(0), q(2)}))},
  };
}
std::vector<bounded_case> lanes() {
  return {
      {"lanes of rows",
       {rows, shape::of({3})},
       CASE(vmap([](auto u, auto v) { return sum(u * v) * u; }, in_axes<0, none>)(a, b))},
      {"lanes share a mean",
       {rows, unused},
       CASE(vmap([](auto u) { return u - pmean(u, axis<"n">) * psum(1.0 * sum(u), axis<"n">); },
                 axis_name<"n">)(a))},
      {"gradients of rows",
       {rows, shape::of({3})},
       CASE(vmap(grad([](auto u, auto v) { return sum(sin(u * v)); }), in_axes<0, none>)(a, b))},
      {"jacobians",
       {line, unused},
       CASE(jacfwd([](auto u) { return sin(u) * sum(u * u); })(a) *
            jacrev([](auto u) { return cumsum(u * u, 0); })(a))},
      {"hessian", {line, unused}, CASE(hessian([](auto u) { return sum(exp(u)) * prod(u); })(a))},
      {"random numbers",
       {rows, columns},
       CASE(random::uniform(random::key(q(0)), a.dims(), dtype::f64) +
            sum(random::normal(random::key(q(1)), b.dims(), dtype::f64))),
       false},
      {"a permutation", {rows, unused}, CASE(random::permutation(random::key(q(0)), a))},
      {"attention in a window",
       {shape::of({1, N, 2, 4}), shape::of({1, N, 2, 4})},
       CASE(nn::attention(a, a * 0.5, b, {.is_causal = true, .window = 2}))},
  };
}
std::vector<bounded_case> shapes() {
  return {
      {"reshape",
       {rows, columns},
       CASE(reshape(a, {-1, 3, 1}) * reshape(transpose(b), {b.dim(1), -1, 2}))},
      {"concatenate", {rows, rows}, CASE(concatenate({a, b, a}, 1))},
      {"stack", {rows, rows}, CASE(stack({a, b}, 1))},
      {"pad", {rows, unused}, CASE(pad(a, {0, 1}, {0, 2}))},
      {"slice of another axis", {rows, columns}, CASE(slice_in_dim(a, 1, 3, 1, 1) * transpose(b))},
      {"range of another axis", {rows, unused}, CASE(a(ellipsis, range(0, 2)))},
      {"broadcast", {line, unused}, CASE(broadcast_to(a, {4, a.dim(0)}) * expand_dims(a, 0))},
      {"iota", {rows, unused}, CASE(a * expand_dims(arange(a, a.dim(0), dtype::f64), 1))},
  };
}
#undef CASE

}  // namespace

#define CHECK_ALL(cases)                          \
  for (const bounded_case& c : cases) {           \
    INFO(c.name);                                 \
    check<value_of>(c, false, 1e-13);             \
    check<in_lanes<value_of>>(c, true, 1e-13);    \
    if (!c.has_gradient) continue;                \
    check<gradient_of>(c, false, 1e-12);          \
    check<in_lanes<gradient_of>>(c, true, 1e-12); \
    check<second_of>(c, false, 1e-11);            \
  }

TEST_CASE("a reduction over a bounded axis is that over its size", "[property]") {
  CHECK_ALL(reductions());
}
TEST_CASE("an order along a bounded axis is that of its size", "[property]") {
  CHECK_ALL(orders());
}
TEST_CASE("a product over a bounded axis is that over its size", "[property]") {
  CHECK_ALL(products());
}
TEST_CASE("an index of a bounded axis is one of its size", "[property]") {
  CHECK_ALL(indices());
}
TEST_CASE("a bounded number of lanes is its size", "[property]") {
  CHECK_ALL(lanes());
}
TEST_CASE("a bounded axis keeps its place among others", "[property]") {
  CHECK_ALL(shapes());
}
