// unit/core/partition_spec_test.cpp: specs as they are written, as masks, and their sentences.
// SPDX-License-Identifier: MIT
#include "atled/core/partition_spec.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {

constexpr mesh_shape grid = mesh<axis<"data">, axis<"model", 2>, axis<"seq", 4>>::shape_value;
constexpr tensor_type activation{dtype::f32, shape::of({6, 16})};

constexpr bool says(const named_spec& spec, std::string_view sentence) {
  return resolve(spec, grid, activation).problem.view() == sentence;
}

static_assert(named_spec(P<>).text().view() == "P()");
static_assert(named_spec(P<"data", none>).text().view() == "P(data,-)");
static_assert(named_spec(P<over<"data", "model">, none>).text().view() == "P(data+model,-)");
static_assert(named_spec(P<none, gathered<"model">>).text().view() == "P(-,gathered model)");

static_assert(resolve(P<none, "model">, grid).spec.mask(0) == 0);
static_assert(resolve(P<none, "model">, grid).spec.mask(1) == 2);
static_assert(resolve(P<over<"data", "model">, "seq">, grid).spec.mask(0) == 3);
static_assert(resolve(P<over<"data", "model">, "seq">, grid).spec.used() == 7);
static_assert(resolve(P<gathered<"model">>, grid).spec.gathered == 2);
static_assert(resolve(P<over<"data", "model">, "seq">, grid).spec.text(grid, 3).view() ==
              "P(data+model,seq,-)");

static_assert(block_of(grid, resolve(P<"data", over<"model", "seq">>, grid).spec,
                       activation.dims) == shape::of({6, 2}));
static_assert(whole_of(grid, resolve(P<"data", over<"model", "seq">>, grid).spec,
                       shape::of({6, 2})) == activation.dims);

static_assert(says(P<"data", "model">, ""));
static_assert(says(P<"batch", none>,
                   "P(batch,-) on mesh{data:?,model:2,seq:4}: no mesh axis batch; "
                   "it has data, model, seq"));
static_assert(says(P<"data", "data">,
                   "P(data,data): mesh axis data is used for axis 0 and axis 1"));
static_assert(says(P<"seq">,
                   "f32[6,16] as P(seq) on mesh{data:?,model:2,seq:4}: axis 0 (6) must be "
                   "divisible by seq (4)"));
static_assert(says(P<none, none, "seq">,
                   "f32[6,16] as P(-,-,seq): the spec has 3 entries for 2 axes"));
static_assert(says(P<over<"model", "data">>,
                   "P(model+data) on mesh{data:?,model:2,seq:4}: axes that split one axis together "
                   "stand in the order of the mesh, data, model, seq"));
static_assert(
    resolve(P<"seq">, grid, activation, text("argument 0 leaf hidden.weight")).problem.view() ==
    "argument 0 leaf hidden.weight f32[6,16] as P(seq) on mesh{data:?,model:2,seq:4}: "
    "axis 0 (6) must be divisible by seq (4)");

template <auto Spec>
struct holder {};
static_assert(!std::is_same_v<holder<P<"data">>, holder<P<"model">>>);

}  // namespace

TEST_CASE("partition_spec: a spec says for each axis what splits it", "[core]") {
  const partition_spec spec = resolve(P<none, over<"model", "seq">>, grid).spec;
  CHECK(spec.mask(0) == 0);
  CHECK(spec.mask(1) == 6);
  CHECK(parts_of(grid, spec.mask(1)) == 8);
}
