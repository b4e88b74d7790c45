// expect-error: atled::device_put: a head would be cut in two: the number of heads must be divisible by the mesh axes that split them
// expect-lines: 80
#include "atled/nn/attention.hpp"
#include "atled/transform/device_put.hpp"
#include "atled/transform/sharded.hpp"

using namespace atled;
#ifdef ATLED_FIXED
constexpr int heads = 4;
#else
constexpr int heads = 2;
#endif
template <class K>
struct model_of {
  nn::causal_attention<K, f32, 8, heads, P<"model">> attention;
  ATLED_TREE(model_of, attention)
};

int main() {
  const mesh<axis<"model", 4>> devices;
  static_cast<void>(device_put(model_of<values>(), devices));
}
