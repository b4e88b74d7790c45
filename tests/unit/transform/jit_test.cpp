// Tests of atled/transform/jit.hpp: facts of programs, trees, donation, and memory that is taken
// once. Reads: atled/transform/jit.hpp, atled/transform/transformed.hpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

using namespace atled;

namespace {
std::atomic<long> num_allocations{0};  // NOLINT: counts what the hooks below see

template <class K>
struct line {
  typename K::template leaf<f32, 3> slope;
  typename K::template leaf<f32> offset;
  ATLED_TREE(line, slope, offset)
};
}  // namespace

// Every allocation of this program passes here: tensors by operator new, the arena by
// aligned_alloc.
void* operator new(std::size_t size) {
  ++num_allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  ++num_allocations;
  const auto unit = static_cast<std::size_t>(alignment);
  void* memory = nullptr;
  if (posix_memalign(&memory, unit, (size + unit - 1) / unit * unit) != 0) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

TEST_CASE("jit: trees go in and come out with their structure", "[transform]") {
  constexpr auto f = [](auto model, auto x) {
    auto next = model;
    next.offset = sum(model.slope * x) + model.offset;
    return std::pair(next, std::array{x, x + x});
  };
  line<values> model{{1, 2, 3}, 0.5F};
  const auto [next, both] = jit(f)(model, tensor<f32, 3>{1, 1, 2});
  CHECK(next.offset.item() == 9.5F);
  CHECK(same_bits(next.slope, tensor<f32, 3>{1, 2, 3}));
  CHECK(same_bits(both[1], tensor<f32, 3>{2, 2, 4}));
}

TEST_CASE("jit: numbers are arguments and results like scalars", "[transform]") {
  constexpr auto f = [](auto x, auto n) { return std::tuple(x * 2.0, n + 1, 7); };
  const auto [x, n, seven] = jit(f)(1.5F, 3);
  CHECK(static_cast<float>(x) == 3.0F);
  CHECK(n.item() == 4);
  CHECK(seven.item() == 7);
}

TEST_CASE("jit: a function of a function is inlined and agrees", "[transform]") {
  constexpr auto f = [](auto x) { return sum(x * x * x); };
  const tensor<f64, 3> x{1, 2, 3};
  CHECK(same_bits(grad(f)(x), tensor<f64, 3>{3, 12, 27}));
  CHECK(same_bits(jit(grad(f))(x), grad(f)(x)));
  CHECK(same_bits(grad(jit(f))(x), grad(f)(x)));
}

TEST_CASE("program: flops and bytes are what a count by hand gives", "[transform]") {
  constexpr auto f = [](auto x, auto w) { return tanh(matmul(x, w)); };
  using product = decltype(jit(f))::program<tensor<f32, 8, 16>, tensor<f32, 16, 4>>;
  STATIC_REQUIRE(product::num_steps == 1);
  STATIC_REQUIRE(product::flops == 2 * 8 * 4 * 16 + 8 * 4);
  STATIC_REQUIRE(product::bytes_moved == 4 * (8 * 16 + 16 * 4 + 8 * 4));
  STATIC_REQUIRE(product::arena_bytes == 0);
  STATIC_REQUIRE(product::peak_bytes == 8 * 4 * 4);

  // Two products: the first one's result lies in the arena, 100 x 100 floats.
  constexpr auto chain = [](auto x) { return matmul(matmul(x, x), x); };
  using two = decltype(jit(chain))::program<tensor<f32, 100, 100>>;
  STATIC_REQUIRE(two::arena_bytes == 40'000);
  STATIC_REQUIRE(two::peak_bytes == 80'000);
  STATIC_REQUIRE(two::flops == 2 * 2 * 1'000'000);
  STATIC_REQUIRE(two::bytes_moved == 4 * 10'000 * 6);
}

TEST_CASE("program: the arena is reused once a value is dead", "[transform]") {
  constexpr auto chain = [](auto x) {
    auto y = x;
    for (int i = 0; i < 10; ++i) y = matmul(y, x);
    return y;
  };
  using program = decltype(jit(chain))::program<tensor<f32, 64, 64>>;
  STATIC_REQUIRE(program::num_steps == 10);
  STATIC_REQUIRE(program::num_kernels == 1);
  STATIC_REQUIRE(program::arena_bytes == 2 * 64 * 64 * 4);
}

TEST_CASE("program: text and kernels name what runs and the line it came from", "[transform]") {
  constexpr auto f = [](auto x) { return exp(x) + 1.0F; };
  using program = decltype(jit(f))::program<tensor<f32, 8>>;
  const std::string graph = program::text();
  CHECK(graph.find("f32[8] = exp a") != std::string::npos);
  CHECK(graph.find("jit_test.cpp") != std::string::npos);
  const std::string kernels = program::kernels();
  CHECK(kernels.find("kernel 0: loop, 1 step") != std::string::npos);
  CHECK(kernels.find("= exp v0") != std::string::npos);
}

TEST_CASE("jit: after the first call nothing is allocated", "[transform]") {
  constexpr auto f = [](auto model, auto x) {
    const auto loss = [](auto m, auto y) { return mean(square(matmul(y, m))); };
    const auto [value, gradient] = value_and_grad(loss)(model, x);
    return std::pair(model - 0.1F * gradient, value);
  };
  tensor<f32, 64, 64> model;
  for (int i = 0; i < 64; ++i) model(i, (i * 7) % 64) = 1;
  tensor<f32, 100, 64> x;
  for (auto& e : x) e = 0.5F;
  const auto step = jit(f);
  tensor<f32> loss;
  std::tie(model, loss) = step(std::move(model), x);
  const float before = loss;
  const long count = num_allocations;
  for (int i = 0; i < 100; ++i) std::tie(model, loss) = step(std::move(model), x);
  CHECK(num_allocations == count);
  CHECK(static_cast<float>(loss) < before);
}

TEST_CASE("jit: a loop allocates nothing but its results, on any number of threads",
          "[transform]") {
  constexpr auto decay = jit([](auto c0, auto xs) {
    return scan([](auto c, auto x) { return std::pair(0.5 * c + sum(x), c * x); }, c0, xs);
  });
  const tensor<f64> c0(1.0);
  const tensor<f64, 3, 2> xs{1, 2, 3, 4, 5, 6};
  const auto first = decay(c0, xs);
  const long count = num_allocations;
  const auto again = decay(c0, xs);
  CHECK(num_allocations - count <= 2);  // the results
  CHECK(same_bits(again.second, tensor<f64, 3, 2>{1, 2, 10.5, 14, 43.75, 52.5}));
  set_num_threads(2);
  CHECK(same_bits(decay(c0, xs).second, first.second));
  set_num_threads(1);
}

TEST_CASE("jit: a tensor that was given up says so when it is used again", "[transform]") {
  constexpr auto f = [](auto x) { return x + 1.0F; };
  tensor<f32, 100> x;
  x = jit(f)(std::move(x));
  CHECK(x(99) == 1.0F);
  const auto y = jit(f)(std::move(x));
  CHECK(y(0) == 2.0F);
  CHECK(x.is_empty());  // NOLINT: that is the point
  CHECK_THROWS_WITH(jit(f)(x), Catch::Contains("moved from or donated"));
}

TEST_CASE("jit: an output that needs a parameter's memory too early is moved there at the end",
          "[transform]") {
  // y is read after its memory's new owner is known: reverse(x) would overwrite what it reads.
  constexpr auto f = [](auto x) { return flip(x, 0) * 2.0F; };
  tensor<f32, 100> x;
  for (int i = 0; i < 100; ++i) x(i) = static_cast<float>(i);
  x = jit(f)(std::move(x));
  for (int i = 0; i < 100; ++i) REQUIRE(x(i) == static_cast<float>(2 * (99 - i)));
}

TEST_CASE("jit: an argument that is not computed yet is computed for the call", "[transform]") {
  const auto twice = jit([](auto x) { return 2.0F * x; });
  const auto kernels = jit([](auto x) { return 2.0F * x; }, by_kernels);
  const tensor<f32, 3> a{1, 2, 3};
  const tensor<f32, 3> b{10, 20, 30};
  const tensor<f32> one(1.0F);
  CHECK((twice(a + b) == tensor<f32, 3>{22, 44, 66}));
  CHECK((kernels(a + b * b) == tensor<f32, 3>{202, 804, 1806}));
  CHECK(twice(one + one).item() == 4.0F);
  CHECK(grad([](auto x) { return x * x * x; })(one + one).item() == 12.0F);
}
