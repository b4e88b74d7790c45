// expect-error: jit: argument 0 leaf attention.qkv.weight f32[8,24] is whole: its columns are in another order than those of blocks; pass device_put(model, devices)
#include "atled/nn/attention.hpp"
#include "atled/transform/sharded.hpp"

using namespace atled;
template <class K>
struct model_of {
  nn::causal_attention<K, f32, 8, 4, P<"model">> attention;
  ATLED_TREE(model_of, attention)
};
constexpr auto apply = [](auto model, auto x) { return model.attention(x); };
using grid = mesh<axis<"data">, axis<"model", 2>>;

int main() {
  const grid devices;
  const auto f = jit(apply, devices, in_specs<none, P<"data">>);
#ifdef ATLED_FIXED
  static_cast<void>(f(model_of<on<grid>>(), tensor<f32, 2, 4, 8>()));
#else
  static_cast<void>(f(model_of<values>(), tensor<f32, 2, 4, 8>()));
#endif
}
