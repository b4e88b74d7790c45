// atled/core/visualize_sharding.hpp: a small picture of which ranks hold which part of a tensor.
// Reads: core/partition_spec.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/partition_spec.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace atled {

/// A picture of the blocks of a tensor, each with the numbers of the ranks that hold it.
///
///   visualize_sharding({dtype::f32, shape::of({8, 16})}, P<"data", "model">, mesh_shape)
///
///   f32[8,16] as P(data,model) on mesh{data:2,model:2}: f32[4,8] on each rank
///   +---+---+
///   | 0 | 1 |
///   +---+---+
///   | 2 | 3 |
///   +---+---+
///
/// The first two axes that are split are drawn, the first from top to bottom. An axis of the mesh
/// without a size counts as one rank.
/// Throws: atled::error if the spec does not fit the mesh or the tensor.
[[nodiscard]] inline std::string visualize_sharding(const tensor_type& type, const named_spec& spec,
                                                    const mesh_shape& mesh) {
  const resolved_spec found = resolve(spec, mesh, type);
  ATLED_REQUIRE(found.problem.empty(), found.problem);
  const mesh_shape ranks = mesh.of_ranks(mesh.known_size());
  int drawn[2] = {-1, -1};  // rows and columns of the picture
  for (int i = 0; i < type.rank(); ++i) {
    if (found.spec.mask(i) == 0) continue;
    if (drawn[0] < 0) {
      drawn[0] = i;
    } else if (drawn[1] < 0) {
      drawn[1] = i;
    }
  }
  if (drawn[1] < 0 && drawn[0] > 0) {  // columns of a matrix stand side by side
    drawn[1] = drawn[0];
    drawn[0] = -1;
  }
  const auto parts = [&](int axis) {
    return axis < 0 ? std::int64_t{1} : parts_of(ranks, found.spec.mask(axis));
  };
  const auto part_of = [&](std::int64_t rank, int axis) {
    std::int64_t out = 0;
    for (int a = 0; axis >= 0 && a < ranks.num_axes; ++a) {
      if (((found.spec.mask(axis) >> a) & 1U) == 0) continue;
      out = out * ranks.sizes[a] + ranks.place_of(rank, a);
    }
    return out;
  };
  const auto rows = static_cast<std::size_t>(parts(drawn[0]));
  const auto columns = static_cast<std::size_t>(parts(drawn[1]));
  std::vector<std::string> cells(rows * columns);
  std::size_t width = 1;
  for (std::int64_t r = 0; r < ranks.known_size(); ++r) {
    std::string& cell = cells[static_cast<std::size_t>(part_of(r, drawn[0])) * columns +
                              static_cast<std::size_t>(part_of(r, drawn[1]))];
    cell += (cell.empty() ? "" : ",") + std::to_string(r);
    width = cell.size() > width ? cell.size() : width;
  }
  text head;
  head << type << " as " << spec.text() << " on " << mesh.text() << ": "
       << tensor_type{type.element, block_of(mesh, found.spec, type.dims)} << " on each rank\n";
  std::string out(head.view());
  std::string line;
  for (std::size_t k = 0; k < columns; ++k) line += '+' + std::string(width + 2, '-');
  line += "+\n";
  for (std::size_t i = 0; i < rows; ++i) {
    out += line;
    for (std::size_t k = 0; k < columns; ++k) {
      const std::string& cell = cells[i * columns + k];
      out += "| " + cell + std::string(width - cell.size() + 1, ' ');
    }
    out += "|\n";
  }
  return out + line;
}
/// The same of a tensor and its mesh.
template <class Tensor, class Mesh>
  requires requires {
    Tensor::type;
    Mesh::shape_value;
  }
[[nodiscard]] std::string visualize_sharding(const Tensor&, const named_spec& spec, const Mesh&) {
  return visualize_sharding(Tensor::type, spec, Mesh::shape_value);
}

}  // namespace atled
