// unit/comm/combine_test.cpp: reductions over rows of memory.
// Reads: comm/combine.hpp.
// SPDX-License-Identifier: MIT
#include "atled/comm/combine.hpp"

#include "support/catch.hpp"
#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace atled;

template <class T>
std::vector<T> combined(comm::reduction how, const std::vector<std::vector<T>>& rows) {
  std::vector<const void*> pointers;
  for (const auto& row : rows) pointers.push_back(row.data());
  std::vector<T> out(rows[0].size());
  comm::combine_rows(how, dtype_of<T>(), pointers.data(), static_cast<int>(rows.size()), out.data(),
                     static_cast<std::int64_t>(out.size()));
  return out;
}

TEST_CASE("combine: rows are added in their order, whatever their length", "[comm]") {
  for (const std::size_t count : {1U, 31U, 32U, 33U, 100U}) {
    std::vector<std::vector<float>> rows(3, std::vector<float>(count));
    for (std::size_t i = 0; i < count; ++i) {
      rows[0][i] = 1e8F;
      rows[1][i] = -1e8F;
      rows[2][i] = static_cast<float>(i) + 0.5F;
    }
    const auto sum = combined(comm::reduction::sum, rows);
    for (std::size_t i = 0; i < count; ++i) CHECK(sum[i] == static_cast<float>(i) + 0.5F);
  }
}

TEST_CASE("combine: integers wrap round, and a NaN is the maximum and the minimum", "[comm]") {
  const i32 most = std::numeric_limits<i32>::max();
  CHECK(combined<i32>(comm::reduction::sum, {{most}, {1}})[0] == std::numeric_limits<i32>::min());
  CHECK(combined<u8>(comm::reduction::sum, {{200}, {100}})[0] == 44);
  CHECK(combined<i64>(comm::reduction::min, {{3}, {-4}, {5}})[0] == -4);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto how : {comm::reduction::max, comm::reduction::min}) {
    CHECK(std::isnan(combined<float>(how, {{nan}, {1}})[0]));
    CHECK(std::isnan(combined<float>(how, {{1}, {nan}, {2}})[0]));
  }
}

TEST_CASE("combine: a sum of bf16 is rounded once", "[comm]") {
  // 256 + 1 is no bf16, but 256 + 1 + 1 is.
  const auto sum = combined<bf16>(comm::reduction::sum, {{bf16(256)}, {bf16(1)}, {bf16(1)}});
  CHECK(static_cast<float>(sum[0]) == 258);
  // 2048 + 1 is no f16, but 2048 + 1 + 1 is.
  const auto half = combined<f16>(comm::reduction::sum, {{f16(2048)}, {f16(1)}, {f16(1)}});
  CHECK(static_cast<float>(half[0]) == 2050);
}

}  // namespace
