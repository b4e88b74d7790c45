// atled/runtime/freeze.hpp: writes the tables of a program from its plan.
// Reads: passes/plan.hpp, runtime/tables.hpp. Next: transform/program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/runtime/tables.hpp"

namespace atled::runtime {

namespace detail {

[[nodiscard]] constexpr bool is_dot(const passes::plan& p, const passes::step& s) {
  return p.kernels[s.kernel].kind == passes::kernel_kind::dot;
}
[[nodiscard]] constexpr bool is_loop(const passes::plan& p, const passes::step& s) {
  return p.kernels[s.kernel].kind == passes::kernel_kind::loop;
}

inline constexpr std::size_t numbers_of_step = 2 * max_rank + 2;

[[nodiscard]] constexpr frozen_sizes sizes_of(const passes::plan& p, int num_outputs) {
  frozen_sizes out{};
  out.steps = static_cast<std::size_t>(p.num_steps);
  for (int i = 0; i < p.num_steps; ++i) {
    const passes::step& s = p.steps[i];
    const auto slots = static_cast<std::size_t>(s.num_slots);
    out.slots += slots;
    if (p.run_of[i] != 0) {
      out.cuts += 1;
      out.slot_steps += slots * passes::item_cut::max_parts;
    }
    if (is_dot(p, s)) {
      out.strides += 5 * slots;
    } else if (is_loop(p, s)) {
      out.strides += slots * static_cast<std::size_t>(s.domain.rank);
      out.partial_sizes += slots;
    } else if (p.kernels[s.kernel].kind == passes::kernel_kind::collective) {
      out.collectives += 1;
    } else if (p.kernels[s.kernel].kind != passes::kernel_kind::region) {
      out.numbers += numbers_of_step;
    }
  }
  out.runs = static_cast<std::size_t>(p.num_runs);
  for (int i = 0; i < num_outputs; ++i) out.late += p.late_copy[i] ? 1 : 0;
  return out;
}

/// Pieces of work of a loop: cut by its shape, never by the number of threads.
struct loop_cut {
  std::int64_t block, blocks, chunks, total;
  bool is_parallel;
};

[[nodiscard]] constexpr loop_cut cut_loop(const passes::plan& p, const passes::step& s,
                                          const std::int64_t* partial_sizes) {
  constexpr std::int64_t longest_block = 4096;
  constexpr std::int64_t worth_a_chunk = 8192;
  const passes::kernel& k = p.kernels[s.kernel];
  bool whole_rows = false;
  bool over_rows = false;
  bool over_all = false;
  std::int64_t kept = 0;
  for (int j = k.begin; j < k.begin + k.size; ++j) {
    const passes::instruction& i = p.instructions[j];
    whole_rows = whole_rows || i.kind == passes::instruction_kind::row_reduce;
    if (i.kind != passes::instruction_kind::partial) continue;
    (i.per_row ? over_all : over_rows) = true;
    kept += partial_sizes[i.slot];
  }
  loop_cut out{};
  const std::int64_t inner = s.domain[s.domain.rank - 1];
  std::int64_t rows = 1;
  for (int a = 0; a + 1 < s.domain.rank; ++a) rows *= s.domain[a];
  out.total = rows * inner;
  out.block = whole_rows || inner <= longest_block ? inner : longest_block;
  out.blocks = whole_rows ? 1 : out.block == 0 ? 0 : (inner + out.block - 1) / out.block;
  const std::int64_t items = rows * out.blocks;
  std::int64_t chunks = out.total / worth_a_chunk;
  std::int64_t most = 64;
  if (over_rows) {
    chunks = out.total / (4 * (kept > 0 ? kept : 1));
    if (chunks > out.total / 2048) chunks = out.total / 2048;
    most = 16;
  } else if (!over_all && out.total < 4 * worth_a_chunk) {
    chunks = 1;
  }
  if (chunks > most) chunks = most;
  if (chunks > items) chunks = items;
  out.chunks = chunks < 1 ? 1 : chunks;
  out.is_parallel = out.chunks > 1 && out.total >= 2 * worth_a_chunk;
  return out;
}

// Elements of the partial result behind a slot: those of the axes that it walks.
[[nodiscard]] constexpr std::int64_t partial_size(const passes::step& s, const passes::slot& at) {
  std::int64_t size = 1;
  for (int a = 0; a < s.domain.rank; ++a) {
    if (at.strides[a] != 0) size *= s.domain[a];
  }
  return size;
}

// Sizes for the kernels of one op; see runtime/lower.hpp.
constexpr void write_numbers(const ir::graph& g, int id, std::int64_t* out) {
  const shape& dims = g.type(g.operand(id, 0)).dims;
  const auto product = [](const shape& of, int from, int to) {
    std::int64_t size = 1;
    for (int a = from; a < to; ++a) size *= of[a];
    return size;
  };
  switch (g[id].code) {
    case op::gather:
    case op::scatter_add:
    case op::scatter_max: {
      const auto axis = static_cast<int>(g.attribute(id, 0));
      const auto batch = static_cast<int>(g.attribute(id, 1));
      const shape& indices = g.type(g.operand(id, 1)).dims;
      out[0] = product(dims, 0, batch);
      out[1] = product(dims, batch, axis);
      out[2] = dims[axis];
      out[3] = product(indices, batch, indices.rank);
      out[4] = product(dims, axis + 1, dims.rank);
      out[5] = g.attribute(id, 2);
      return;
    }
    case op::cumprod:
    case op::cummax:
    case op::cummin:
    case op::cumlogsumexp:
      out[3] = g.attribute(id, 1);
      [[fallthrough]];
    case op::cumsum:
    case op::reverse_cumsum: {
      const auto axis = static_cast<int>(g.attribute(id));
      out[0] = product(dims, 0, axis);
      out[1] = dims[axis];
      out[2] = product(dims, axis + 1, dims.rank);
      return;
    }
    case op::argmax:
    case op::argmin: {
      int axis = 0;
      while (!ir::has_axis(g.attribute(id), axis)) ++axis;
      out[0] = product(dims, 0, axis);
      out[1] = dims[axis];
      out[2] = product(dims, axis + 1, dims.rank);
      return;
    }
    case op::argsort: {
      const auto axis = static_cast<int>(g.attribute(id));
      out[0] = product(dims, 0, axis);
      out[1] = dims[axis];
      out[2] = product(dims, axis + 1, dims.rank);
      out[3] = g.attribute(id, 1);
      out[4] = g.attribute(id, 2);
      return;
    }
    case op::cholesky:
    case op::triangular_solve:
    case op::lu:
    case op::qr:
    case op::eigh:
    case op::svd: {
      out[0] = product(dims, 0, dims.rank - 2);
      out[1] = dims[dims.rank - 2];
      out[2] = dims[dims.rank - 1];
      if (g[id].code == op::triangular_solve) {
        out[2] = g.type(id).dims[dims.rank - 1];
        out[3] = g.attribute(id);
      }
      return;
    }
    case op::dynamic_slice:
    case op::dynamic_update_slice: {
      const shape& box =
          g[id].code == op::dynamic_slice ? g.type(id).dims : g.type(g.operand(id, 1)).dims;
      out[0] = dims.rank;
      for (int a = 0; a < dims.rank; ++a) {
        out[1 + a] = dims[a];
        out[1 + dims.rank + a] = box[a];
      }
      return;
    }
    case op::external: {  // calls, arguments, bytes from one call's result and arguments to the
                          // next
      const std::int64_t calls = g.attribute(id, 1) < 0 ? 1 : g.attribute(id, 1);
      out[0] = calls;
      out[1] = g[id].num_operands;
      out[2] = calls == 0 ? 0 : g.type(id).bytes() / calls;
      for (int i = 0; i < g[id].num_operands; ++i) {
        const bool moves = ir::has_axis(g.attribute(id, 2), i) && calls > 0;
        out[3 + i] = moves ? g.type(g.operand(id, i)).bytes() / calls : 0;
      }
      return;
    }
    case op::external_result:  // rows, bytes of a row, where the part begins in it, its bytes
      out[1] = dims[dims.rank - 1];
      out[0] = dims.size() / out[1];
      out[2] = g.attribute(id);
      out[3] = out[0] == 0 ? 0 : g.type(id).bytes() / out[0];
      return;
    default:
      return;
  }
}

/// Bytes of workspace for the kernel of one op.
[[nodiscard]] constexpr std::int64_t kernel_workspace(const ir::graph& g, int id) {
  if (g[id].code != op::argsort) return 0;
  const tensor_type& in = g.type(g.operand(id, 0));
  return kernels::argsort_workspace_bytes(in.element, in.dims[static_cast<int>(g.attribute(id))]);
}

[[nodiscard]] constexpr kernels::gemm_shape gemm_shape_of(const passes::plan& p,
                                                          const passes::step& s) {
  const passes::slot& lhs = p.slots[s.slots_begin];
  const passes::slot& rhs = p.slots[s.slots_begin + 1];
  kernels::gemm_shape out{};
  out.m = s.domain[3];
  out.n = s.domain[4];
  out.k = s.k;
  out.lhs = {lhs.strides[3], s.lhs_k, {lhs.strides[0], lhs.strides[1], lhs.strides[2]}};
  out.rhs = {s.rhs_k, rhs.strides[4], {rhs.strides[0], rhs.strides[1], rhs.strides[2]}};
  out.batch = {s.domain[0], s.domain[1], s.domain[2]};
  out.limits = {s.limits.k_by_row, s.limits.k_by_column, s.limits.column_by_row};
  return out;
}

/// Bytes of workspace for one thread's share of a product.
[[nodiscard]] constexpr std::int64_t dot_workspace(const passes::plan& p, const passes::step& s) {
  const auto shape = gemm_shape_of(p, s);
  const dtype element = p.kernels[s.kernel].element;
  return size_of(element) == 8 ? kernels::gemm_workspace_bytes<f64>(shape, 1)
                               : kernels::gemm_workspace_bytes<f32>(shape, 1);
}

/// Writes the runs of a plan.
template <frozen_sizes Sizes>
constexpr void freeze_runs(const ir::graph& g, const passes::plan& p, frozen_tables<Sizes>& out) {
  std::size_t cuts = 0;
  std::size_t slot_steps = 0;
  for (int r = 0; r < p.num_runs; ++r) {
    const passes::batch_run& run = p.runs[r];
    out.runs[static_cast<std::size_t>(r)] = {run.begin, run.end, run.items, cuts};
    for (int i = run.begin; i < run.end; ++i) {
      const passes::step& s = p.steps[i];
      const passes::item_cut cut = passes::detail::cut_into_items(p, s, run.items);
      out.cuts[cuts++] = {cut, slot_steps};
      for (int k = 0; k < s.num_slots; ++k) {
        const passes::slot& at = p.slots[s.slots_begin + k];
        const ir::node& base = g[at.base];
        const std::int64_t size = base.code == op::iota ? 1 : size_of(base.type.element);
        for (int c = 0; c < passes::item_cut::max_parts; ++c, ++slot_steps) {
          if (c >= cut.size) continue;
          out.slot_steps[slot_steps] = at.strides[cut.parts[c].axis] * cut.parts[c].rest * size;
        }
      }
    }
  }
}

}  // namespace detail

/// Writes the tables of a plan. Cost: O(slots x rank).
template <frozen_sizes Sizes>
[[nodiscard]] constexpr frozen_tables<Sizes> freeze(const ir::graph& g, const passes::plan& p) {
  frozen_tables<Sizes> out{};
  std::size_t slots = 0;
  std::size_t strides = 0;
  std::size_t partial_sizes = 0;
  std::size_t numbers = 0;
  std::size_t collectives = 0;
  int region_of[ir::graph::max_nodes]{};
  int regions = 0;
  for (int id = 0; g.num_regions > 0 && id < g.num_nodes; ++id) {
    if (has_regions(g[id].code)) region_of[id] = regions++;
  }
  for (int i = 0; i < p.num_steps; ++i) {
    const passes::step& s = p.steps[i];
    const auto index = static_cast<std::size_t>(i);
    frozen_step& f = out.steps[index];
    f.kernel = s.kernel;
    const bool is_region = p.kernels[s.kernel].kind == passes::kernel_kind::region;
    const bool is_collective = p.kernels[s.kernel].kind == passes::kernel_kind::collective;
    f.region = is_region ? region_of[s.node] : -1;
    f.collective = -1;
    if (is_collective) {
      f.collective = static_cast<int>(collectives);
      f.wait = s.wait;
      out.collectives[collectives++] = collective_call::of(g, s.node);
    }
    f.slots_begin = static_cast<int>(slots);
    f.num_slots = s.num_slots;
    out.first_stride[index] = strides;
    out.first_partial_size[index] = partial_sizes;
    out.first_number[index] = numbers;
    const bool dot = detail::is_dot(p, s);
    const bool loop = detail::is_loop(p, s);
    const std::size_t first_partial = partial_sizes;
    for (int k = 0; k < s.num_slots; ++k) {
      const passes::slot& at = p.slots[s.slots_begin + k];
      const passes::location& place = p.place[at.base];
      const bool is_index = g[at.base].code == op::iota;
      const std::int64_t size = size_of(g.type(at.base).element);
      out.places[slots++] = slot_place{
          place.space, is_index, place.index,
          is_index
              ? at.offset
              : (place.space == passes::memory_space::arena ? place.offset : 0) + at.offset * size};
      const int rank = dot ? 5 : loop ? s.domain.rank : 0;
      for (int a = 0; a < rank; ++a) out.strides[strides++] = at.strides[a];
      if (loop) out.partial_sizes[partial_sizes++] = detail::partial_size(s, at);
    }
    if (loop) {
      const detail::loop_cut cut = detail::cut_loop(p, s, out.partial_sizes.data() + first_partial);
      loops::loop_shape& shape = f.data.loop;
      shape.num_outer = s.domain.rank - 1;
      shape.rows = 1;
      for (int a = 0; a < shape.num_outer; ++a) {
        shape.outer[a] = s.domain[a];
        shape.rows *= s.domain[a];
      }
      shape.inner = s.domain[s.domain.rank - 1];
      shape.block = cut.block;
      shape.blocks = cut.blocks;
      shape.chunks = cut.chunks;
      f.data.is_parallel = cut.is_parallel;
      std::int64_t bytes = 0;
      const passes::kernel& k = p.kernels[s.kernel];
      for (int j = k.begin; j < k.begin + k.size; ++j) {
        const passes::instruction& in = p.instructions[j];
        if (in.kind != passes::instruction_kind::partial) continue;
        const auto size = out.partial_sizes[first_partial + static_cast<std::size_t>(in.slot)];
        bytes += (cut.chunks * size * size_of(in.element) + 63) / 64 * 64;
      }
      if (bytes > out.loop_workspace) out.loop_workspace = bytes;
    } else if (dot) {
      f.data.gemm = detail::gemm_shape_of(p, s);
      const auto bytes = detail::dot_workspace(p, s);
      if (bytes > out.dot_workspace) out.dot_workspace = bytes;
    } else if (!is_region && !is_collective) {
      detail::write_numbers(g, s.node, out.numbers.data() + numbers);
      const auto bytes = detail::kernel_workspace(g, s.node);
      if (bytes > out.loop_workspace) out.loop_workspace = bytes;
      numbers += detail::numbers_of_step;
    }
  }
  detail::freeze_runs(g, p, out);
  std::size_t late = 0;
  for (int i = 0; i < g.num_outputs; ++i) {
    if (!p.late_copy[i]) continue;
    out.late[late++] = {i, p.place[g.outputs[i]].offset, g.type(g.outputs[i]).bytes()};
  }
  return out;
}

}  // namespace atled::runtime
