// atled/io/checkpoint.hpp: trees saved and loaded: save_checkpoint, load_checkpoint. What the ranks
// of one mesh have saved, those of any other load. Reads: io/checkpoint_folder.hpp, transform/
// sharded.hpp for what specs say of leaves.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/checkpoint_folder.hpp"
#include "atled/transform/device_put.hpp"
#include "atled/transform/sharded.hpp"

#include <exception>

namespace atled::io {

namespace detail {

/// A leaf of a tree on one rank.
struct placed_leaf {
  std::string name;
  dtype element = dtype::f32;
  shape whole{};
  tensor_block place;
  bool is_first = false;  ///< of the ranks that hold this block: the one that writes it
  std::int64_t unit = 0;  ///< of a grouped_leaf_of whose bytes are in the order of blocks, else 0
};

/// Whether the leaves of a tree are those of models of blocks.
template <class Mesh, class Tree>
void append_is_of_blocks(std::vector<bool>& out) {
  if constexpr (!is_branch_v<Tree> || model_like<Tree>) {
    out.insert(out.end(), num_leaves_v<Tree>,
               !std::is_same_v<atled::detail::leaves_on<Mesh, Tree>, values>);
  } else {
    using members = decltype(members_of(std::declval<Tree&>()));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (append_is_of_blocks<Mesh, std::remove_cvref_t<std::tuple_element_t<I, members>>>(out), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<members>>{});
  }
}

/// The last axis as two, [groups, the rest]: there the block of a rank is a box.
inline void split_groups(shape& dims, std::int64_t groups) {
  dims[dims.rank - 1] /= groups;
  dims.rank += 1;
  dims[dims.rank - 1] = dims[dims.rank - 2];
  dims[dims.rank - 2] = groups;
}
inline void split_groups(placed_leaf& leaf, std::int64_t groups) {
  split_groups(leaf.whole, groups);
  split_groups(leaf.place.dims, groups);
  split_groups(leaf.place.start, groups);
  leaf.place.start[leaf.place.start.rank - 2] = 0;
}
/// The bytes of a leaf in the order of the checkpoint, or of what is loaded in that of the leaf.
inline std::vector<std::byte> in_order_of(const placed_leaf& leaf, const std::byte* from,
                                          bool is_loaded) {
  const shape& dims = leaf.place.dims;
  const auto groups = static_cast<std::size_t>(dims[dims.rank - 2]);
  const auto units = static_cast<std::size_t>(dims[dims.rank - 1] / leaf.unit);
  return atled::detail::regrouped(from,
                                  static_cast<std::size_t>(tensor_type{leaf.element, dims}.bytes()),
                                  is_loaded ? groups : units, is_loaded ? units : groups,
                                  static_cast<std::size_t>(leaf.unit * size_of(leaf.element)));
}

/// Where the leaves of a tree lie, by what layers declare and specs say.
template <class Tree, auto... Spec, auto... Axis>
std::vector<placed_leaf> placed_leaves(const Tree& tree, const mesh<Axis...>& devices,
                                       each_axis<Spec...> specs) {
  using grid = mesh<Axis...>;
  static_assert(num_leaves_v<Tree> <= atled::detail::leaf_words::capacity,
                "atled::io: a tree has too many leaves");
  auto words = std::make_unique<atled::detail::leaf_words>();
  using atled::detail::declared_specs;
  const bool is_said = atled::detail::say_all<declared_specs, Tree>(specs, *words);
  ATLED_REQUIRE(is_said,
                "checkpoint: in_specs: one entry for each member of the tree, or one for all");
  std::vector<bool> is_of_blocks;
  append_is_of_blocks<grid, Tree>(is_of_blocks);
  std::vector<placed_leaf> out;
  for_each_named_leaf(
      [&](std::string_view name, const auto& leaf) {
        const auto i = static_cast<int>(out.size());
        tensor_type type = std::remove_cvref_t<decltype(leaf)>::type;
        const bool is_whole =
            words->is_declared[i] && type.dims.size() == words->declared[i].dims.size();
        if (is_whole) type.dims = words->declared[i].dims;  // whose axes may be fewer where whole
        placed_leaf placed{name.empty() ? "value" : std::string(name),
                           type.element,
                           type.dims,
                           {{{}, type.dims.rank}, type.dims},
                           true,
                           is_of_blocks[out.size()] ? words->unit[i] : 0};
        partition_spec spec{};
        if (words->is_said[i] && !is_whole) {
          const resolved_spec found = resolve(words->spec[i], grid::shape_value);
          if (!found.problem.empty()) throw error(found.problem);
          spec = found.spec;
          placed.place.start = atled::detail::block_start(devices, spec, type.dims);
        }
        for (int a = 0; a < grid::shape_value.num_axes; ++a) {
          const auto& ranks = devices.ranks().along(a);
          placed.is_first =
              placed.is_first && (((spec.used() >> a) & 1U) != 0 || ranks.rank() == 0);
          for (int k = 0; k < type.dims.rank; ++k) {
            if (((spec.mask(k) >> a) & 1U) != 0) placed.whole[k] *= ranks.size();
          }
        }
        if (words->is_declared[i] && !(placed.whole == words->declared[i].dims)) {
          throw error("checkpoint: leaf " + printable(name) + ' ' +
                      shown_type(type.element, words->declared[i].dims) + ": blocks " +
                      shown_type(type.element, type.dims) +
                      " must make up its sizes; they must be divisible by the mesh");
        }
        if (const std::int64_t groups = words->groups[i]; groups > 0) {
          if (type.dims[type.dims.rank - 1] % (groups * words->unit[i]) != 0) {
            throw error("checkpoint: leaf " + printable(name) + ' ' +
                        shown_type(type.element, type.dims) +
                        ": a block must hold whole units of " + std::to_string(groups) + " times " +
                        std::to_string(words->unit[i]) + " columns");
          }
          split_groups(placed, groups);
        }
        out.push_back(std::move(placed));
      },
      tree);
  return out;
}

/// What went wrong on the first rank on which anything did, the same on all; empty if nothing did.
///
/// Blocks until: all ranks have called it.
inline std::string first_problem(comm::communicator& ranks, std::string mine) {
  constexpr std::int64_t longest = 1024;
  const comm::place where{call_site::here(), {dtype::i32, {}}};
  const std::int32_t own = mine.empty() ? 0 : ranks.size() - ranks.rank();
  std::int32_t worst = 0;
  ranks.all_reduce(&own, &worst, 1, dtype::i32, comm::reduction::max, where);
  if (worst == 0) return {};
  const int source = ranks.size() - worst;
  mine.resize(longest);
  ranks.broadcast(mine.data(), mine.data(), longest, dtype::u8, source, where);
  mine.resize(mine.find('\0') == mine.npos ? longest : mine.find('\0'));
  return mine;
}

/// Runs a step on each rank; the sentence of the first on which it throws.
template <class Step>
std::string try_together(comm::communicator& ranks, Step step) {
  std::string mine;
  try {
    step();
  } catch (const std::exception& why) {
    mine = why.what();
    if (mine.empty()) mine = "checkpoint: an error without words";
  }
  return first_problem(ranks, std::move(mine));
}
template <class Step>
void run_together(comm::communicator& ranks, Step step) {
  const std::string why = try_together(ranks, step);
  if (!why.empty()) throw error(why);
}

inline std::int64_t of_first_rank(comm::communicator& ranks, std::int64_t number) {
  ranks.broadcast(&number, &number, 1, dtype::i64, 0, {call_site::here(), {dtype::i64, {}}});
  return number;
}

}  // namespace detail

/// Saves a tree of which each rank holds its blocks; the number of the checkpoint.
///
///   save_checkpoint("run", state, devices, step)                a model<on<grid>>, or a whole one
///   save_checkpoint("run", std::tuple(w, x), devices, step, {}, in_specs<P<>, P<"data">>)
///
/// Leaves of models lie as their layers declare, others as specs say: whole on all ranks without.
/// Each block is written once, by the first rank that holds it. The two newest checkpoints are
/// kept. A leaf of `grouped_leaf_of`, as queries, keys and values, has an axis more there, that of
/// its groups, so that the order of its columns is one on all meshes.
///
/// Cost: the blocks of this rank are written and read back; four small collectives.
/// Blocks until: all ranks have called it, and the checkpoint is on the disk.
/// Throws: on all ranks alike; older checkpoints are then as they were.
template <class Tree, auto... Axis, auto... Spec>
std::int64_t save_checkpoint(const std::string& folder, const Tree& tree,
                             const mesh<Axis...>& devices, std::int64_t step,
                             std::span<const metadata_entry> metadata = {},
                             in_specs_option<Spec...> = {}) {
  comm::communicator& ranks = devices.ranks().all();
  const checkpoint_folder into(folder);
  std::vector<detail::placed_leaf> leaves;
  std::int64_t number = 0;
  detail::run_together(ranks, [&] {
    leaves = detail::placed_leaves(tree, devices, each_axis<Spec...>{});
    if (ranks.rank() == 0) number = into.begin();
  });
  number = detail::of_first_rank(ranks, number);
  std::string why = detail::try_together(ranks, [&] {
    std::vector<block_source> blocks;
    std::vector<std::vector<std::byte>> ordered;
    std::size_t at = 0;
    for_each_leaf(
        [&](const auto& leaf) {
          const detail::placed_leaf& placed = leaves[at++];
          if (!placed.is_first) return;
          std::span<const std::byte> bytes = std::as_bytes(leaf.span());
          if (placed.unit > 0) {
            bytes = ordered.emplace_back(detail::in_order_of(placed, bytes.data(), false));
          }
          blocks.push_back({placed.name, placed.element, placed.whole, placed.place, bytes});
        },
        tree);
    into.write_part(number, ranks.rank(), blocks);
  });
  if (why.empty()) {
    why = detail::try_together(ranks, [&] {
      if (ranks.rank() == 0) into.finish(number, step, ranks.size(), metadata);
    });
  }
  if (why.empty()) return number;
  if (ranks.rank() == 0) into.abandon(number);
  throw error(why);
}

/// Saves a tree of one process.
template <class Tree>
std::int64_t save_checkpoint(const std::string& folder, const Tree& tree, std::int64_t step,
                             std::span<const metadata_entry> metadata = {}) {
  return save_checkpoint(folder, tree, mesh<axis<"rank", 1>>(), step, metadata);
}

/// Loads the newest checkpoint that is whole; nothing if the folder has none.
///
/// Each rank reads the parts that hold its own blocks, whatever mesh has saved them. One that is
/// damaged on any rank is skipped by all, and named in `skipped`.
///
/// Cost: the bytes of this rank, rounded up to pieces of 256 KiB, read and copied once.
/// Blocks until: all ranks have called it.
/// Throws: on all ranks alike: all are damaged; the tree is another. `tree` is then as it was.
template <class Tree, auto... Axis, auto... Spec>
[[nodiscard]] std::optional<loaded_checkpoint> load_checkpoint(const std::string& folder,
                                                               Tree& tree,
                                                               const mesh<Axis...>& devices,
                                                               unlisted others = unlisted::refuse,
                                                               in_specs_option<Spec...> = {}) {
  comm::communicator& ranks = devices.ranks().all();
  const checkpoint_folder from(folder);
  const auto leaves = detail::placed_leaves(tree, devices, each_axis<Spec...>{});
  std::vector<byte_buffer> staged;
  std::vector<block_target> targets;
  for (const detail::placed_leaf& leaf : leaves) {
    staged.emplace_back(
        static_cast<std::size_t>(tensor_type{leaf.element, leaf.place.dims}.bytes()));
    targets.push_back({leaf.name, leaf.element, leaf.whole, leaf.place, staged.back().span()});
  }
  const std::vector<std::int64_t> found =
      ranks.rank() == 0 ? from.complete() : std::vector<std::int64_t>();
  const std::int64_t count = detail::of_first_rank(ranks, static_cast<std::int64_t>(found.size()));
  loaded_checkpoint out;
  for (std::int64_t i = 0; i < count; ++i) {
    out.number =
        detail::of_first_rank(ranks, ranks.rank() == 0 ? found[static_cast<std::size_t>(i)] : 0);
    std::optional<checkpoint_reader> reader;
    std::string why =
        detail::try_together(ranks, [&] { reader.emplace(from.path_of(out.number), out.number); });
    if (why.empty()) {
      reader->require_fits(targets, others);
      why = detail::try_together(ranks, [&] { reader->read(targets); });
    }
    if (!why.empty()) {
      out.skipped.push_back(std::move(why));
      continue;
    }
    std::size_t at = 0;
    for_each_leaf(
        [&](auto& leaf) {
          const detail::placed_leaf& placed = leaves[at];
          const byte_buffer& bytes = staged[at++];
          if (bytes.size == 0) return;
          if (placed.unit > 0) {
            const auto ordered = detail::in_order_of(placed, bytes.data.get(), true);
            std::memcpy(leaf.data(), ordered.data(), ordered.size());
          } else {
            std::memcpy(leaf.data(), bytes.data.get(), bytes.size);
          }
        },
        tree);
    out.step = reader->step();
    out.metadata.assign(reader->metadata().begin(), reader->metadata().end());
    return out;
  }
  if (count == 0) return std::nullopt;
  throw error(out.skipped.front());
}

/// Loads into a tree of one process.
template <class Tree>
[[nodiscard]] std::optional<loaded_checkpoint> load_checkpoint(const std::string& folder,
                                                               Tree& tree,
                                                               unlisted others = unlisted::refuse) {
  return load_checkpoint(folder, tree, mesh<axis<"rank", 1>>(), others);
}

}  // namespace atled::io
