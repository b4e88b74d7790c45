// atled/transform/device_put.hpp: from whole tensors to the blocks of one rank, outside a program:
// device_put; and what a rank holds of a model: bytes_per_rank.
// Reads: trace/split_leaves.hpp, comm/grid.hpp. Next: transform/sharded.hpp takes the blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/grid.hpp"
#include "atled/trace/split_leaves.hpp"

#include <cstring>

namespace atled {
namespace detail {

/// Copies the block of `to` that begins at `starts` out of `from`.
inline void copy_block(std::byte* to, const std::byte* from, const shape& block, const shape& whole,
                       const shape& starts, std::size_t element_size) {
  if (block.size() == 0) return;
  const shape strides = row_major_strides(whole);
  const int last = block.rank - 1;
  const std::size_t row =
      element_size * static_cast<std::size_t>(block.rank == 0 ? 1 : block[last]);
  const std::int64_t rows = block.rank == 0 ? 1 : block.size() / block[last];
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t rest = i;
    std::int64_t place = block.rank == 0 ? 0 : starts[last];
    for (int k = last - 1; k >= 0; --k) {
      place += (starts[k] + rest % block[k]) * strides[k];
      rest /= block[k];
    }
    std::memcpy(to, from + static_cast<std::size_t>(place) * element_size, row);
    to += row;
  }
}

/// Where this rank's block begins in a whole tensor.
template <auto... Axis>
shape block_start(const mesh<Axis...>& devices, const partition_spec& spec, const shape& block) {
  constexpr mesh_shape axes = mesh<Axis...>::shape_value;
  shape out{{}, block.rank};
  for (int i = 0; i < block.rank; ++i) {
    for (int a = 0; a < axes.num_axes; ++a) {
      if (((spec.mask(i) >> a) & 1U) == 0) continue;
      const auto& ranks = devices.ranks().along(a);
      out[i] = out[i] * ranks.size() + ranks.rank();
    }
    out[i] *= block[i];
  }
  return out;
}

template <auto Spec, class Mesh>
constexpr text open_axis_problem() {
  text out;
  const auto found = resolve(Spec, Mesh::shape_value);
  if (!found.problem.empty()) return found.problem;
  for (int a = 0; a < Mesh::shape_value.num_axes; ++a) {
    if (((found.spec.used() >> a) & 1U) == 0 || !Mesh::shape_value.is_open(a)) continue;
    return out << "device_put: mesh axis " << Mesh::shape_value.name(a)
               << " has no size at build time: each rank passes its own block";
  }
  return out;
}
template <auto Spec, class Mesh>
struct placed_spec {
  static constexpr text sentence = open_axis_problem<Spec, Mesh>();
};

}  // namespace detail

/// This rank's block of a tensor that each rank holds.
///
///   device_put(x, devices, P<none, "model">)      f32[784,128] to f32[784,64] where model is 2
///
/// Cost: a copy of the block. Ill-formed: the spec names no axis of the mesh, or one without a
/// size.
template <element T, std::int64_t... Dims, auto... Axis, spec_entry... Entry>
[[nodiscard]] auto device_put(const tensor<T, Dims...>& x, const mesh<Axis...>& devices,
                              spec_tag<Entry...>) {
  using grid = mesh<Axis...>;
  static_assert(spell<detail::placed_spec<P<Entry...>, grid>>::ok,
                "atled::device_put: the spec does not fit the mesh; trace_error<...> says why");
  using block = typename on<grid>::template split_leaf<P<Entry...>, T, Dims...>;
  static_assert(whole_of(grid::shape_value, resolve(P<Entry...>, grid::shape_value).spec,
                         block::type.dims) == shape::of({Dims...}),
                "atled::device_put: the sizes of the tensor must be divisible by those of the mesh "
                "axes that split them");
  block out = block::uninitialized();
  const shape start =
      detail::block_start(devices, resolve(P<Entry...>, grid::shape_value).spec, block::type.dims);
  detail::copy_block(reinterpret_cast<std::byte*>(out.data()),
                     reinterpret_cast<const std::byte*>(x.data()), block::type.dims,
                     shape::of({Dims...}), start, sizeof(T));
  return out;
}

/// This rank's blocks of a model that each rank holds: `mlp<on<grid>>` of `mlp<values>`.
///
/// The layers say how their leaves are split. Cost: a copy of the blocks.
template <model_like Model, auto... Axis>
[[nodiscard]] auto device_put(const Model& model, const mesh<Axis...>& devices) {
  using grid = mesh<Axis...>;
  using named = rebind_t<Model, detail::declared_specs>;
  rebind_t<Model, on<grid>> out;
  const named words{};
  for_each_leaf(
      [&](auto& to, const auto& from, const auto& word) {
        if constexpr (requires { word.spec; }) {
          constexpr named_spec spec = std::remove_cvref_t<decltype(word)>::spec;
          constexpr auto found = resolve(spec, grid::shape_value);
          using block = std::remove_cvref_t<decltype(to)>;
          using whole = std::remove_cvref_t<decltype(from)>;
          static_assert(
              whole_of(grid::shape_value, found.spec, block::type.dims) == whole::type.dims,
              "atled::device_put: the sizes of a leaf must be divisible by those of the "
              "mesh axes that split them");
          detail::copy_block(reinterpret_cast<std::byte*>(to.data()),
                             reinterpret_cast<const std::byte*>(from.data()), block::type.dims,
                             whole::type.dims,
                             detail::block_start(devices, found.spec, block::type.dims),
                             static_cast<std::size_t>(size_of(block::type.element)));
        } else {
          to = from;
        }
      },
      out, model, words);
  return out;
}

/// What one rank of a mesh holds of a model. Units: bytes.
///
/// Of parameters; gradients take as much, and Adam's state twice as much.
template <model_like Model, class Mesh>
inline constexpr std::int64_t bytes_per_rank = [] {
  using blocks = rebind_t<Model, on<Mesh>>;
  std::int64_t out = 0;
  traced_t<blocks> leaves{};
  detail::for_each_leaf_type<blocks>(
      leaves, [&]<class Leaf>(const auto&) { out += detail::leaf_type<Leaf>().bytes(); });
  return out;
}();

}  // namespace atled
