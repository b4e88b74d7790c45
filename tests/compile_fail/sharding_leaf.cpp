// expect-error: jit: argument 0 leaf hidden.weight f32[784,128] as P(-,model) on mesh{data:?,model:3}: axis 1 (128) must be divisible by model (3)
#include "atled/nn/linear.hpp"
#include "atled/transform/sharded.hpp"

using namespace atled;
template <class K>
struct model_of {
#ifdef ATLED_FIXED
  nn::linear<K, f32, 784, 129, P<none, "model">> hidden;
#else
  nn::linear<K, f32, 784, 128, P<none, "model">> hidden;
#endif
  ATLED_TREE(model_of, hidden)
};
constexpr auto apply = [](auto model, auto x) { return model.hidden(x); };

int main() {
  const mesh<axis<"data">, axis<"model", 3>> devices;
  const auto f = jit(apply, devices, in_specs<none, P<"data">>);
  static_cast<void>(f(model_of<on<mesh<axis<"data">, axis<"model", 3>>>>(), tensor<f32, 8, 784>()));
}
