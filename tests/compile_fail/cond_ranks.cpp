// expect-error: cond: the branch that is taken differs between the ranks of data, which meet in psum inside: all must come; use where, or decide by pmax or psum over data
#include "atled/ops/collective.hpp"
#include "atled/ops/control.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/shard_map.hpp"

using namespace atled;

constexpr auto clipped = [](auto x) {
  const auto norm = sum(x * x);
  const auto scaled = [](auto y) { return y / psum(sum(y * y), axis<"data">); };
  const auto kept = [](auto y) { return y; };
#ifdef ATLED_FIXED
  return cond(pmax(norm, axis<"data">) > 1.0, scaled, kept, x);
#else
  return cond(norm > 1.0, scaled, kept, x);
#endif
};

int main() {
  const mesh<axis<"data">> devices;
  const auto f = shard_map(clipped, devices, in_specs<P<"data">>, out_specs<P<"data">>);
  static_cast<void>(f(tensor<f32, 8>()));
}
