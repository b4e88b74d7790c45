// atled/core/partition_spec.hpp: which mesh axes split which axes of a tensor: P<"data", none>.
// Reads: core/mesh.hpp. passes/shard_rules.hpp says what each op makes of it.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/mesh.hpp"

namespace atled {

/// What a P says about one axis of a tensor: nothing, or the mesh axes that split it.
struct spec_entry {
  static constexpr int capacity = 64;
  char names[capacity]{};  // separated by +
  int size = 0;
  bool is_gathered = false;

  constexpr spec_entry() = default;
  constexpr spec_entry(none_tag) {}  // NOLINT: as `none` is written
  template <std::size_t N>
  constexpr spec_entry(const char (&name)[N]) {  // NOLINT: as a literal is
    push({name, N - 1});
  }
  constexpr void push(std::string_view name) {
    if (size > 0 && size < capacity) names[size++] = '+';
    for (const char c : name) {
      if (size < capacity) names[size++] = c;
    }
  }
  [[nodiscard]] constexpr std::string_view view() const {
    return {names, static_cast<std::size_t>(size)};
  }
};

/// Several mesh axes split one axis of a tensor, in the order of the mesh:
/// `P<over<"data", "model">>`.
template <spec_entry... Names>
inline constexpr spec_entry over = [] {
  spec_entry out;
  (out.push(Names.view()), ...);
  return out;
}();

/// Split where it is kept, and gathered before it is used, without a further word: the spec of
/// fully sharded parameters, `P<gathered<"data">, none>`. Their gradients are reduce-scattered.
template <spec_entry Name>
inline constexpr spec_entry gathered = [] {
  spec_entry out = Name;
  out.is_gathered = true;
  return out;
}();

/// A P as a value: one entry an axis of the tensor; axes without an entry are not split.
struct named_spec {
  spec_entry entries[max_rank]{};
  int rank = 0;

  /// `P(data,-)`.
  [[nodiscard]] constexpr atled::text text() const {
    atled::text out = "P(";
    for (int i = 0; i < rank; ++i) {
      if (i > 0) out << ',';
      if (entries[i].is_gathered) out << "gathered ";
      out << (entries[i].size == 0 ? std::string_view("-") : entries[i].view());
    }
    return out << ')';
  }
};

template <spec_entry... Entry>
struct spec_tag {
  static_assert(sizeof...(Entry) <= max_rank, "atled: a tensor has at most 8 axes");

  constexpr operator named_spec() const {  // NOLINT: converts
    named_spec out;
    ((out.entries[out.rank++] = Entry), ...);
    return out;
  }
};

/// A partition spec: for each axis of a tensor the mesh axis that splits it, or `none`.
///
///   P<"data", none>    P<over<"data", "model">>    P<gathered<"data">>    P<>: all is everywhere
template <spec_entry... Entry>
inline constexpr spec_tag<Entry...> P{};

/// Where the elements of a tensor are: for each of its axes a mask of the mesh axes that split it.
///
/// Invariants: a mesh axis is in one mask at most; `gathered` are some of those in the masks.
struct partition_spec {
  std::uint64_t masks;    ///< a byte for each axis of the tensor, the first lowest
  std::uint8_t partial;   ///< over these mesh axes the value is the sum of what ranks hold
  std::uint8_t gathered;  ///< over these it may be made whole without a word

  [[nodiscard]] constexpr std::uint32_t mask(int axis) const {
    return static_cast<std::uint32_t>(masks >> (8 * axis)) & 255U;
  }
  constexpr void set(int axis, std::uint32_t mesh_axes) {
    masks &= ~(std::uint64_t{255} << (8 * axis));
    masks |= static_cast<std::uint64_t>(mesh_axes) << (8 * axis);
  }
  /// All mesh axes that split something.
  [[nodiscard]] constexpr std::uint32_t used() const {
    std::uint64_t all = masks | (masks >> 32);
    all |= all >> 16;
    return static_cast<std::uint32_t>(all | (all >> 8)) & 255U;
  }
  friend constexpr bool operator==(const partition_spec& a, const partition_spec& b) {
    return a.masks == b.masks && a.partial == b.partial && a.gathered == b.gathered;
  }

  /// `P(data,-)` for a tensor of `rank` axes.
  [[nodiscard]] constexpr atled::text text(const mesh_shape& mesh, int rank) const {
    atled::text out = "P(";
    for (int i = 0; i < rank; ++i) {
      if (i > 0) out << ',';
      if (mask(i) == 0) out << '-';
      bool is_first = true;
      for (int a = 0; a < mesh.num_axes; ++a) {
        if (((mask(i) >> a) & 1U) == 0) continue;
        if (!is_first) out << '+';
        if (is_first && ((gathered >> a) & 1U) != 0) out << "gathered ";
        out << mesh.name(a);
        is_first = false;
      }
    }
    return out << ')';
  }
};

/// The number of parts that these mesh axes make, as far as it is known at build time.
[[nodiscard]] constexpr std::int64_t parts_of(const mesh_shape& mesh, std::uint32_t mesh_axes) {
  std::int64_t out = 1;
  for (int a = 0; mesh_axes != 0 && a < mesh.num_axes; ++a) {
    if (((mesh_axes >> a) & 1U) != 0 && !mesh.is_open(a)) out *= mesh.sizes[a];
  }
  return out;
}
/// What one rank holds of a tensor of these sizes. Pre: they are divisible.
[[nodiscard]] constexpr shape block_of(const mesh_shape& mesh, const partition_spec& spec,
                                       const shape& dims) {
  shape out = dims;
  for (int i = 0; spec.masks != 0 && i < dims.rank; ++i) {
    if (spec.mask(i) != 0) out[i] /= parts_of(mesh, spec.mask(i));
  }
  return out;
}
/// A tensor of which one rank holds this block: the sizes along open axes stay those of the block.
[[nodiscard]] constexpr shape whole_of(const mesh_shape& mesh, const partition_spec& spec,
                                       const shape& block) {
  shape out = block;
  for (int i = 0; i < block.rank; ++i) out[i] *= parts_of(mesh, spec.mask(i));
  return out;
}

/// A spec against a mesh, or what is wrong with it.
struct resolved_spec {
  partition_spec spec;
  text problem;
};

namespace detail {

/// The mesh axes of one entry; `problem` says what is wrong with them.
constexpr std::uint32_t resolved_entry(const named_spec& named, int at, const mesh_shape& mesh,
                                       text& problem) {
  std::uint32_t out = 0;
  const spec_entry& entry = named.entries[at];
  int last = -1;
  for (int begin = 0, end = 0; begin < entry.size; begin = end + 1) {
    for (end = begin; end < entry.size && entry.names[end] != '+';) ++end;
    const std::string_view name(&entry.names[begin], static_cast<std::size_t>(end - begin));
    const int axis = mesh.axis_named(name);
    if (axis < 0) {
      problem << named.text() << " on " << mesh.text() << ": no mesh axis " << name << "; it has "
              << mesh.names_text();
      return 0;
    }
    if (axis < last) {
      problem << named.text() << " on " << mesh.text() << ": axes that split one axis together "
              << "stand in the order of the mesh, " << mesh.names_text();
      return 0;
    }
    last = axis;
    out |= std::uint32_t{1} << axis;
  }
  return out;
}

}  // namespace detail

/// `named` as masks over the axes of `mesh`; the sentence if a name is unknown or used twice.
[[nodiscard]] constexpr resolved_spec resolve(const named_spec& named, const mesh_shape& mesh) {
  resolved_spec out{};
  int axis_of[mesh_shape::max_axes]{};  // + 1
  for (int i = 0; i < named.rank; ++i) {
    const std::uint32_t mask = detail::resolved_entry(named, i, mesh, out.problem);
    if (!out.problem.empty()) return out;
    for (int a = 0; a < mesh.num_axes; ++a) {
      if (((mask >> a) & 1U) == 0) continue;
      if (axis_of[a] > 0) {
        out.problem << named.text() << ": mesh axis " << mesh.name(a) << " is used for axis "
                    << axis_of[a] - 1 << " and axis " << i;
        return out;
      }
      axis_of[a] = i + 1;
    }
    out.spec.set(i, mask);
    if (named.entries[i].is_gathered) out.spec.gathered |= static_cast<std::uint8_t>(mask);
  }
  return out;
}

/// The same for a tensor of a type, whose sizes must be divisible. `name` is how the sentence
/// begins: nothing, or which argument it is.
[[nodiscard]] constexpr resolved_spec resolve(const named_spec& named, const mesh_shape& mesh,
                                              const tensor_type& type, const text& name = {}) {
  resolved_spec out = resolve(named, mesh);
  if (!out.problem.empty()) {
    if (!name.empty()) {
      const text why = out.problem;
      out.problem = name;
      out.problem << ' ' << why;
    }
    return out;
  }
  text start = name;
  if (!start.empty()) start << ' ';
  start << type << " as " << named.text();
  if (named.rank > type.rank()) {
    out.problem = start << ": the spec has " << named.rank << " entries for " << type.rank()
                        << (type.rank() == 1 ? " axis" : " axes");
    return out;
  }
  for (int i = 0; i < named.rank; ++i) {
    const std::int64_t parts = parts_of(mesh, out.spec.mask(i));
    if (type.dims[i] % parts == 0) continue;
    out.problem = start << " on " << mesh.text() << ": axis " << i << " (" << type.dims[i]
                        << ") must be divisible by " << named.entries[i].view() << " (" << parts
                        << ")";
    return out;
  }
  return out;
}

}  // namespace atled
