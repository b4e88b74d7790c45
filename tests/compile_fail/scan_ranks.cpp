// expect-error: scan: carry leaf 0 begins as what ranks share and differs between them after a trip: begin with pvary(x, axis of data)
#include "atled/ops/collective.hpp"
#include "atled/ops/creation.hpp"
#include "atled/ops/scan.hpp"
#include "atled/transform/shard_map.hpp"

constexpr auto totals = [](auto rows, auto zero) {
#ifdef ATLED_FIXED
  const auto begin = pvary(zero, atled::axis<"data">);
#else
  const auto begin = zero;
#endif
  return scan([](auto sum, auto row) { return std::pair(sum + row, sum); }, begin, rows).first;
};

int main() {
  using namespace atled;
  const mesh<axis<"data">> devices;
  const auto f = shard_map(totals, devices, in_specs<P<none, "data">, P<>>, out_specs<P<"data">>);
  static_cast<void>(f(tensor<f32, 3, 8>(), tensor<f32, 8>()));
}
