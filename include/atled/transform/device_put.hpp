// atled/transform/device_put.hpp: from whole tensors to the blocks of one rank, outside a program:
// device_put; back, device_get; and what a rank holds of a model: bytes_per_rank.
// Reads: trace/split_leaves.hpp, comm/grid.hpp. Next: transform/sharded.hpp takes the blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/grid.hpp"
#include "atled/trace/split_leaves.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace atled {
namespace detail {

/// Calls `fn(place in the block, place in the whole, count)` for each row of the block of a whole
/// that begins at `starts`. Units: elements.
template <class Fn>
void for_each_row(const shape& block, const shape& whole, const shape& starts, Fn fn) {
  if (block.size() == 0) return;
  const shape strides = row_major_strides(whole);
  const int last = block.rank - 1;
  const std::int64_t row = block.rank == 0 ? 1 : block[last];
  for (std::int64_t i = 0; i < block.size() / row; ++i) {
    std::int64_t rest = i;
    std::int64_t place = block.rank == 0 ? 0 : starts[last];
    for (int k = last - 1; k >= 0; --k) {
      place += (starts[k] + rest % block[k]) * strides[k];
      rest /= block[k];
    }
    fn(i * row, place, row);
  }
}

/// Copies the block of `to` that begins at `starts` out of `from`.
inline void copy_block(std::byte* to, const std::byte* from, const shape& block, const shape& whole,
                       const shape& starts, std::size_t element_size) {
  for_each_row(block, whole, starts, [&](std::int64_t in_block, std::int64_t at, std::int64_t n) {
    std::memcpy(to + static_cast<std::size_t>(in_block) * element_size,
                from + static_cast<std::size_t>(at) * element_size,
                static_cast<std::size_t>(n) * element_size);
  });
}
/// The other way: `from` becomes the block of `to` that begins at `starts`.
inline void place_block(std::byte* to, const std::byte* from, const shape& block,
                        const shape& whole, const shape& starts, std::size_t element_size) {
  for_each_row(block, whole, starts, [&](std::int64_t in_block, std::int64_t at, std::int64_t n) {
    std::memcpy(to + static_cast<std::size_t>(at) * element_size,
                from + static_cast<std::size_t>(in_block) * element_size,
                static_cast<std::size_t>(n) * element_size);
  });
}

/// The bytes of [rows, Groups, units, Unit] as [rows, units, Groups, Unit], or back: `first` is the
/// number of parts that come first, `second` that of those inside them. Units: bytes.
inline std::vector<std::byte> regrouped(const std::byte* from, std::size_t size, std::size_t first,
                                        std::size_t second, std::size_t unit) {
  std::vector<std::byte> out(size);
  std::byte* to = out.data();
  for (std::size_t row = 0; row < size; row += first * second * unit) {
    for (std::size_t j = 0; j < second; ++j) {
      for (std::size_t i = 0; i < first; ++i, to += unit) {
        std::memcpy(to, from + row + (i * second + j) * unit, unit);
      }
    }
  }
  return out;
}
/// A whole leaf in the order of its blocks, or back in the order that its layer declares.
template <class Word>
std::vector<std::byte> in_order(const std::byte* from, bool is_of_blocks) {
  constexpr auto bytes = static_cast<std::size_t>(Word::type.bytes());
  if constexpr (requires { Word::groups; }) {
    constexpr shape dims = Word::type.dims;
    static_assert(dims[dims.rank - 1] % (Word::groups * Word::unit) == 0);
    constexpr auto groups = static_cast<std::size_t>(Word::groups);
    constexpr std::size_t units =
        static_cast<std::size_t>(dims[dims.rank - 1] / Word::unit) / groups;
    return regrouped(from, bytes, is_of_blocks ? groups : units, is_of_blocks ? units : groups,
                     static_cast<std::size_t>(Word::unit * size_of(Word::type.element)));
  } else {
    return {from, from + bytes};
  }
}

/// The whole tensor of which ranks hold blocks: along each mesh axis, the last first, the blocks
/// of all of its ranks.
template <auto... Axis>
std::vector<std::byte> gathered_blocks(const mesh<Axis...>& devices, const partition_spec& spec,
                                       const tensor_type& block, const std::byte* from) {
  constexpr int num_axes = mesh<Axis...>::shape_value.num_axes;
  const auto element_size = static_cast<std::size_t>(size_of(block.element));
  tensor_type now = block;
  std::vector<std::byte> out(from, from + now.bytes());
  for (int a = num_axes - 1; a >= 0; --a) {
    int along = 0;
    while (along < now.rank() && ((spec.mask(along) >> a) & 1U) == 0) ++along;
    comm::communicator& ranks = devices.ranks().along(a);
    if (along == now.rank() || ranks.size() == 1) continue;
    std::vector<std::byte> parts(out.size() * static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(out.data(), parts.data(), now.size(), now.element,
                     {call_site::here().in("device_get"), now});
    tensor_type next = now;
    next.dims[along] *= ranks.size();
    std::vector<std::byte> joined(parts.size());
    shape start{{}, now.rank()};
    for (int r = 0; r < ranks.size(); ++r, start[along] += now.dims[along]) {
      place_block(joined.data(), parts.data() + static_cast<std::size_t>(r) * out.size(), now.dims,
                  next.dims, start, element_size);
    }
    out = std::move(joined);
    now = next;
  }
  return out;
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

/// This rank's blocks of a model that each rank holds: `mlp<on<grid>>` of `mlp<values>`;
/// `device_put<on<grid, "data">>(model, devices)` makes a fully sharded one.
///
/// The layers say how their leaves are split. Cost: a copy of the blocks.
/// Ill-formed: a size, or a number of heads, is not divisible by the mesh axes that split it.
template <class Policy = void, model_like Model, auto... Axis>
[[nodiscard]] auto device_put(const Model& model, const mesh<Axis...>& devices) {
  using grid = mesh<Axis...>;
  using policy = std::conditional_t<std::is_void_v<Policy>, on<grid>, Policy>;
  static_assert(detail::policy_of_blocks<policy, grid>,
                "atled::device_put: the policy must be on<> of the mesh that is passed");
  using named = rebind_t<Model, typename policy::specs>;
  rebind_t<Model, policy> out;
  const named words{};
  for_each_leaf(
      [&](auto& to, const auto& from, const auto& word) {
        if constexpr (requires { word.spec; }) {
          using said = std::remove_cvref_t<decltype(word)>;
          constexpr auto found = resolve(said::spec, grid::shape_value);
          using block = std::remove_cvref_t<decltype(to)>;
          static_assert(
              whole_of(grid::shape_value, found.spec, block::type.dims) == said::type.dims,
              "atled::device_put: the sizes of a leaf must be divisible by those of the "
              "mesh axes that split them");
          if constexpr (requires { said::groups; } &&
                        std::is_same_v<typename policy::specs, detail::declared_specs>) {
            constexpr std::int64_t columns = block::type.dims[block::type.dims.rank - 1];
            static_assert(columns % (said::groups * said::unit) == 0,
                          "atled::device_put: a head would be cut in two: the number of heads must "
                          "be divisible by the mesh axes that split them");
          }
          const auto* begin = reinterpret_cast<const std::byte*>(from.data());
          std::vector<std::byte> ordered;
          if constexpr (requires { said::groups; }) {
            ordered = detail::in_order<said>(begin, true);
            begin = ordered.data();
          }
          detail::copy_block(reinterpret_cast<std::byte*>(to.data()), begin, block::type.dims,
                             said::type.dims,
                             detail::block_start(devices, found.spec, block::type.dims),
                             static_cast<std::size_t>(size_of(block::type.element)));
        } else {
          to = from;
        }
      },
      out, model, words);
  return out;
}

/// The model of which each rank holds blocks, whole on all of them: `mlp<values>` of
/// `mlp<on<grid>>`. What ranks hold alike is taken from this rank.
///
/// Same bits as before device_put. Blocks until: all ranks have called it.
template <model_like Blocks, auto... Axis>
[[nodiscard]] auto device_get(const Blocks& blocks, const mesh<Axis...>& devices) {
  using grid = mesh<Axis...>;
  static_assert(detail::policy_of_blocks<policy_of_t<Blocks>, grid>,
                "atled::device_get: the model must hold the blocks of a rank of this mesh");
  rebind_t<Blocks, values> out;
  const rebind_t<Blocks, typename policy_of_t<Blocks>::specs> words{};
  for_each_leaf(
      [&](auto& to, const auto& from, const auto& word) {
        if constexpr (requires { word.spec; }) {
          using said = std::remove_cvref_t<decltype(word)>;
          const auto all =
              detail::gathered_blocks(devices, resolve(said::spec, grid::shape_value).spec,
                                      from.type, reinterpret_cast<const std::byte*>(from.data()));
          const auto ordered = detail::in_order<said>(all.data(), false);
          std::memcpy(to.data(), ordered.data(), ordered.size());
        } else {
          to = from;
        }
      },
      out, blocks, words);
  return out;
}

/// What one rank of a mesh holds of a model, or where it is fully sharded along a mesh axis:
/// `bytes_per_rank<model, grid, "data">`. Units: bytes.
///
/// Of parameters; gradients take as much, and Adam's state twice as much.
template <model_like Model, class Mesh, spec_entry Stored = none>
inline constexpr std::int64_t bytes_per_rank = [] {
  using blocks = rebind_t<Model, on<Mesh, Stored>>;
  std::int64_t out = 0;
  traced_t<blocks> leaves{};
  detail::for_each_leaf_type<blocks>(
      leaves, [&]<class Leaf>(const auto&) { out += detail::leaf_type<Leaf>().bytes(); });
  return out;
}();

}  // namespace atled
