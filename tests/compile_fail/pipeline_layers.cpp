// expect-error: atled::pipeline: more stages than layers: each must hold one at least
#include "atled/comm/single.hpp"
#include "atled/transform/pipeline.hpp"

using namespace atled;

constexpr auto first = [](auto ends, auto x) { return x * ends; };
constexpr auto layer = [](auto w, auto x) { return x * w; };
constexpr auto last = [](auto, auto x, auto y) { return x * y; };

int main() {
  const mesh<axis<"pipe", 4>> devices;
#ifdef ATLED_FIXED
  const auto step = pipeline<8>(first, layer, last, devices, axis<"pipe">, of_layers<5>);
#else
  const auto step = pipeline<8>(first, layer, last, devices, axis<"pipe">, of_layers<3>);
#endif
  return step.bubble < 1 ? 0 : 1;
}
