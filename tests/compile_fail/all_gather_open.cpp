// expect-error: all_gather_open.cpp:11: all_gather: axis data has as many ranks as the communicator: its size must be known when the program is built; give it one in the mesh
#include "atled/ops/collective.hpp"
#include "atled/transform/shard_map.hpp"

#ifdef ATLED_FIXED
using ranks = atled::mesh<atled::axis<"data", 1>>;
#else
using ranks = atled::mesh<atled::axis<"data">>;
#endif

constexpr auto gathered_rows = [](auto x) { return all_gather(x, atled::axis<"data">); };

int main() {
  using namespace atled;
  const ranks devices;
  const auto f = shard_map(gathered_rows, devices, in_specs<P<"data">>, out_specs<P<>>);
  static_cast<void>(f(tensor<f32, 8>()));
}
