// static/docs_from_jax.cpp: each line that docs/from_jax.md shows as ours stands here and compiles.
// `cmake/check_docs.cmake` finds it by its characters, blanks aside: change both files together.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <tuple>
#include <utility>

using namespace atled;

namespace {

using scalar = tensor<f32>;
using vector = tensor<f32, 3>;
using matrix = tensor<f32, 4, 3>;
using square_matrix = tensor<f32, 3, 3>;
using integers = tensor<i32, 2>;
using key_type = random::key_tensor;

/// Does the function, on arguments of these types, become a graph without a mistake?
template <class... Args, class F>
constexpr bool is_traced(F) {
  ir::builder traced{};
  ir::trace<F, Args...>(traced);
  return traced.problem.empty();
}

constexpr auto f = [](auto x) { return sum(sin(x) * x); };  // f32[3] -> f32[]
constexpr auto h = [](auto x) { return x * sum(x); };       // f32[3] -> f32[3]
constexpr auto l = [](auto x) { return 2.0 * x; };          // linear
constexpr auto k = [](auto x, auto y, auto z) { return sum(x * y + z); };
constexpr auto g = [](auto x) { return std::pair(sum(x * x), x); };  // a value, and more
constexpr auto dot_of = [](auto w, auto x) { return sum(w * x); };

// ---- transformations ----------------------------------------------------------------------------
static_assert(is_traced<vector>([](auto x) {
  return std::tuple(grad(f)(x), value_and_grad(f)(x), grad(g, has_aux)(x), hessian(f)(x),
                    jacfwd(h)(x), jacrev(h)(x), linear_transpose(l, x)(x), stop_gradient(x));
}));
static_assert(is_traced<vector, vector, vector>([](auto x, auto y, auto z) {
  return grad(k, argnums<0, 2>)(x, y, z);
}));
static_assert(is_traced<vector, vector>([](auto x, auto ct) {
  const auto [y, pullback] = vjp(h, x);
  const auto [d_x] = pullback(ct);
  return std::pair(y, d_x);
}));
static_assert(is_traced<vector, vector>([](auto x, auto ct) {
  const auto [y, pullback, aux] = vjp(g, x, has_aux);
  const auto [d_x] = pullback(sum(ct));
  return std::tuple(y, d_x, aux);
}));
static_assert(is_traced<vector, vector>([](auto x, auto dx) {
  const auto [y, dy] = jvp(h, x, dx);
  return std::pair(y, dy);
}));
static_assert(is_traced<vector, vector>([](auto x, auto dx) {
  const auto [y, df] = linearize(h, x);
  return std::pair(y, df(dx));
}));
static_assert(is_traced<vector, matrix>([](auto w, auto xs) {
  return std::tuple(vmap(dot_of, in_axes<none, 0>)(w, xs), vmap(h, out_axes<1>)(xs),
                    vmap(grad(dot_of), in_axes<none, 0>)(w, xs));
}));
constexpr auto centred = [](auto x) { return x - pmean(x, axis<"batch">); };
static_assert(is_traced<matrix>([](auto xs) { return vmap(centred, axis_name<"batch">)(xs); }));
static_assert(is_traced<vector>([](auto x) {
  return std::tuple(checkpoint(h)(x), checkpoint(h, policy::dots_saved)(x),
                    checkpoint(h, policy::names_saved<"a">)(checkpoint_name(x, "a")));
}));

constexpr auto cube = custom_jvp([](auto x) { return x * x * x; },
                                 [](auto primals, auto tangents) {
                                   const auto [x] = primals;
                                   const auto [dx] = tangents;
                                   return std::pair(x * x * x, 3.0 * x * x * dx);
                                 });
constexpr auto clipped =
    custom_vjp([](auto x) { return x; }, [](auto x) { return std::pair(x, std::tuple()); },
               [](auto, auto ct) { return clip(ct, -1.0, 1.0); });
static_assert(is_traced<scalar>([](auto x) { return std::pair(grad(cube)(x), grad(clipped)(x)); }));

tensor<f32, 3> solve(const tensor<f32, 3>& x) {
  return x;
}
static_assert(is_traced<vector>([](auto x) { return external_call<solve>(x); }));

static_assert(eval_shape<tensor<f32, 3>>(h).dims[0] == 3);

// ---- control flow -------------------------------------------------------------------------------
constexpr auto add_row = [](auto c, auto x) { return std::pair(c + x, c * x); };
constexpr auto double_it = [](auto c) { return std::pair(2.0 * c, c); };
constexpr auto is_small = [](auto c) { return sum(c) < 100.0; };
constexpr auto doubled = [](auto c) { return 2.0 * c; };
constexpr auto times_i = [](auto i, auto c) { return c * astype<f32>(i + 1); };
constexpr auto product = [](auto a, auto b) { return a * b; };
static_assert(is_traced<vector, matrix>([](auto init, auto xs) {
  const auto [last, ys] = scan(add_row, init, xs);
  return std::tuple(last, ys, scan(add_row, init, xs, reversed), scan(double_it, init, length<10>),
                    scan(add_row, init, xs, unroll<4>), map(h, xs), associative_scan(product, xs));
}));
static_assert(is_traced<vector, tensor<i32>>([](auto x, auto i) {
  return std::tuple(cond(x(0) > 0.0, h, l, x), switch_(i, std::tuple(h, l, doubled), x),
                    fori_loop(0, 10, times_i, x), fori_loop(0, i, times_i, x, max_trips<64>),
                    while_loop(is_small, doubled, x),
                    while_loop(is_small, doubled, x, max_trips<64>));
}));

// ---- random numbers -----------------------------------------------------------------------------
static_assert(is_traced<key_type, vector>([](auto key, auto logits) {
  const auto [a, b] = random::split<2>(key);
  return std::tuple(a, b, random::split(key, 100), random::fold_in(key, 7),
                    random::normal<f32, 3, 4>(key), random::uniform<f32, 8>(key, -1, 1),
                    random::randint<i32, 8>(key, 0, 10), random::bernoulli<8>(key, 0.9F),
                    random::gumbel<f32, 8>(key), random::categorical(key, logits));
}));
static_assert(is_traced<key_type, matrix>([](auto key, auto x) {
  return std::tuple(random::gamma(key, 2.0, {8}), random::exponential(key, {8}),
                    random::poisson(key, 3.0, {8}), random::permutation(key, x),
                    random::choice(key, x, {5}));
}));

// ---- indexing -----------------------------------------------------------------------------------
static_assert(is_traced<matrix, integers, tensor<f32, 2, 3>, tensor<i32>>([](auto x, auto ids,
                                                                             auto u, auto i) {
  return std::tuple(x(1, 2), x(-1), x(range(), range(1, 3)), x(range(0, to_end, 2)),
                    x(ellipsis, newaxis), x(ids), at(x, 0).set(1.0), at(x, ids).add(u),
                    at(x, range(0, 2), 1).multiply(2.0), at(x, ids).get(index_mode::clip),
                    take(x, ids, 0), dynamic_slice(x, {i, 0}, {2, 3}),
                    dynamic_update_slice(x, u, {i, 0}), one_hot(ids, 10), segment_sum(u, ids, 4),
                    where(x > 0.0, x, 0.0));
}));
static_assert(is_traced<matrix, tensor<i32, 4, 2>>([](auto x, auto ids) {
  return take_along_axis(x, ids, 1);
}));

// ---- NumPy's functions --------------------------------------------------------------------------
static_assert(is_traced<matrix, matrix>([](auto x, auto y) {
  return std::tuple(sum(x, 0), mean(x, -1, keepdims), std_(x, {0, 1}), max(x), argmax(x, 1),
                    reshape(x, {2, -1}), transpose(x), transpose(x, {1, 0}), concatenate({x, y}, 1),
                    stack({x, y}), split<3>(x, 1), broadcast_to(x, {2, 4, 3}), astype<f64>(x),
                    clip(x, 0.0, 1.0), cumsum(x, 1), sort(x, 1), argsort(x, 1), top_k(x, 2),
                    quantile(x, 0.5, 0), einsum("ij,kj->ik", x, y), matmul(x, transpose(y)),
                    pad(x, {1, 1}, {1, 1}, pad_mode::edge), roll(x, 1, 0), tile(x, {2, 1}),
                    maximum(x, y), remainder(x, y), floor_divide(x, y), pow(x, 2),
                    x(range(), newaxis) + y, (x > 0.0) & isfinite(y), zeros_like(x),
                    full_like(x, 2.0), eye(x, 4), linspace(x, 0, 1, 5), arange(x, 10));
}));
static_assert(is_traced<matrix>([](auto x) {
  return std::tuple(relu(x), gelu(x), silu(x), softmax(x, -1), logsumexp(x, -1), erf(x), lgamma(x),
                    digamma(x));
}));
static_assert(is_traced<tensor<f32, 2, 8, 8, 3>, tensor<f32, 3, 3, 3, 4>>([](auto x, auto w) {
  return std::pair(conv(x, w, {.padding = same, .layout = channels_last}),
                   max_pool(x, {2, 2}, {.strides = {2, 2}, .layout = channels_last}));
}));

// ---- linear algebra -----------------------------------------------------------------------------
static_assert(is_traced<square_matrix, vector>([](auto a, auto b) {
  return std::tuple(linalg::solve(a, b), linalg::cholesky(a), linalg::inv(a), linalg::det(a),
                    linalg::slogdet(a), linalg::eigh(a), linalg::svd(a), linalg::qr(a),
                    linalg::expm(a), linalg::lstsq(a, b).x, linalg::matrix_norm(a), norm(b),
                    linalg::solve_triangular(a, b, {.lower = true}));
}));

// ---- trees and models ---------------------------------------------------------------------------
template <class K>
struct mlp {
  nn::linear<K, f32, 3, 16> hidden;
  nn::linear<K, f32, 16, 1> out;
  ATLED_TREE(mlp, hidden, out)
  constexpr auto operator()(auto x) const { return out(tanh(hidden(x))); }
};
template <class K>
struct head {
  nn::layer_norm<K, f32, 16> norm;
  nn::linear<K, f32, 16, 10> out;
  ATLED_TREE(head, norm, out)
};
static_assert(is_traced<head<values>, tensor<f32, 4, 16>, tensor<i32, 4>>([](auto model, auto x,
                                                                             auto labels) {
  const auto logits = model.out(model.norm(x));
  return nn::cross_entropy(logits, labels);
}));
constexpr auto loss = [](auto model, auto x) { return mean(square(model(x))); };
constexpr optim::adamw rule{.learning_rate = 1e-3};
constexpr auto careful =
    optim::chain([](auto d) { return optim::clip_by_global_norm(d, 1.0); }, optim::adamw{});
constexpr optim::lbfgs<10> curved{};
static_assert(is_traced<mlp<values>, matrix>([](auto model, auto x) {
  return curved.update(loss, model, curved.init(model), x);
}));
static_assert(is_traced<mlp<values>, matrix>([](auto model, auto x) {
  const auto gradient = grad(loss)(model, x);
  return tree_map([](auto p, auto d) { return p - 0.1 * d; }, model, gradient);
}));

constexpr auto train_step = [](auto model, auto state, auto x) {
  return rule.update(model, grad(loss)(model, x), state);
};
constexpr auto careful_step = [](auto model, auto state, auto x) {
  return careful.update(model, grad(loss)(model, x), state);
};

// ---- sizes that come with the call --------------------------------------------------------------
using bag_type = tensor<f32, upto<8>>;
static_assert(is_traced<bag_type, tensor<f32, upto<1024, "tokens">>>([](auto x, auto y) {
  return std::tuple(x / size(x, 0), zeros_like(x), broadcast_to(x, {4, x.dim(0)}), sum(y));
}));
[[maybe_unused]] auto grow() {
  tensor<f32, upto<8>> bag{1, 2, 3};
  bag.resize(8);
  bag.resize(3);
  bag.push_back(4);
  return bag;
}

// ---- calls from outside a trace, and programs ---------------------------------------------------
[[maybe_unused]] auto calls(const matrix& x) {
  auto key = random::key(0);
  auto model = nn::init<mlp>(key);
  auto state = rule.init(model);
  constexpr auto step = jit(train_step);
  constexpr auto watched = jit(train_step, debug_nans);
  static_cast<void>(watched);
  std::tie(model, state) = step(std::move(model), std::move(state), x);  // in place
  using program = decltype(step)::program<mlp<values>, decltype(state), matrix>;
  static_assert(program::peak_bytes < 100'000 && program::flops > 0);
  return program::text() + make_graph(f)(vector{1, 2, 3});
}
static_assert(is_traced<mlp<values>, decltype(optim::adamw::init(mlp<values>{})), matrix>(
    [](auto model, auto state, auto x) { return careful_step(model, state, x); }));
[[maybe_unused]] void check(const vector& x) {
  check_grads<2>(f, x);
}

}  // namespace
