// unit/core/tensor_storage_test.cpp: who owns memory, and when it is copied.
// Reads: atled/core/tensor_storage.hpp.
// SPDX-License-Identifier: MIT
#include "atled/core/tensor_storage.hpp"

#include "support/catch.hpp"
#include "support/resident.hpp"
#include <algorithm>
#include <type_traits>
#include <utility>

namespace {

using namespace atled;
using atled::detail::heap_storage;
using atled::detail::inline_storage;
using atled::detail::tensor_storage;
using heap = heap_storage<f32, 100>;

static_assert(std::is_same_v<tensor_storage<f32, 64>, inline_storage<f32, 64>>);
static_assert(std::is_same_v<tensor_storage<f32, 65>, heap_storage<f32, 65>>);
static_assert(detail::size_in_bytes<f64, 3, 4>() == 96);
static_assert(detail::size_in_bytes<f64, (std::int64_t{1} << 40), (std::int64_t{1} << 40)>() == -1);

}  // namespace

TEST_CASE("tensor_storage: shared memory is copied by the first who writes", "[core]") {
  heap a(detail::zeroed);
  heap b(detail::not_allocated);
  b.share(a);
  CHECK(a.use_count() == 2);
  CHECK(std::as_const(a).values() == std::as_const(b).values());
  *b.own_values() = 1;
  CHECK(a.use_count() == 1);
  CHECK((*a.values() == 0 && *b.values() == 1));
}

TEST_CASE("tensor_storage: memory that is overwritten is not copied but left to the others",
          "[core]") {
  heap a(detail::zeroed);
  heap b(detail::not_allocated);
  b.share(a);
  const f32* before = std::as_const(a).values();
  CHECK(a.values_to_overwrite() != before);
  CHECK(std::as_const(b).values() == before);
  CHECK((a.use_count() == 1 && b.use_count() == 1));
}

TEST_CASE("tensor_storage: assignment reuses memory, a move leaves nothing", "[core]") {
  heap a(detail::zeroed);
  heap b(detail::zeroed);
  const f32* before = std::as_const(b).values();
  b = a;
  CHECK(std::as_const(b).values() == before);
  a = std::move(b);
  CHECK(std::as_const(a).values() == before);
  CHECK((b.is_empty() && b.use_count() == 0));
}

TEST_CASE("tensor_storage: large zeros take no memory, also where memory was used before",
          "[core]") {
  constexpr std::int64_t size = std::int64_t{16} << 20;
  using large = heap_storage<f32, size>;
  {
    large used(detail::not_zeroed);
    std::fill_n(used.values(), size, 5.0F);
  }
  const std::int64_t before = resident_bytes();
  const large zeros(detail::zeroed);
  if (memory_is_plain) CHECK(resident_bytes() - before < size);  // a quarter of its bytes
  CHECK(std::all_of(zeros.values(), zeros.values() + size, [](f32 x) { return x == 0; }));
}
