// atled/comm/grid.hpp: the ranks of a mesh: a communicator for all, one for each axis.
// Reads: comm/communicator.hpp. Next: comm/single.hpp; comm/mpi_grid.hpp has the one of MPI.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/communicator.hpp"
#include "atled/core/diagnostic.hpp"
#include "atled/core/mesh.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace atled::comm {

/// An axis of a mesh; size 0 is open: it takes the ranks that the others leave.
struct axis_size {
  std::string_view name;
  int size = 0;
};

/// `mesh{data:?,model:2}`, as sentences show it.
[[nodiscard]] constexpr text describe_mesh(std::span<const axis_size> axes) {
  text out = "mesh{";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) out << ',';
    out << axes[i].name << ':';
    if (axes[i].size == 0) {
      out << '?';
    } else {
      out << axes[i].size;
    }
  }
  return out << '}';
}

/// The sizes of all axes on so many ranks; of several open axes the first takes what is left.
///
/// Throws: the ranks are not a multiple of the static sizes, or not their product.
[[nodiscard]] inline std::vector<int> resolve_sizes(std::span<const axis_size> axes, int ranks) {
  int product = 1;
  int open = -1;
  std::vector<int> sizes;
  for (const axis_size& a : axes) {
    if (a.size == 0 && open < 0) open = static_cast<int>(sizes.size());
    sizes.push_back(a.size == 0 ? 1 : a.size);
    product *= sizes.back();
  }
  const bool fits = open < 0 ? ranks == product : ranks % product == 0;
  if (!fits) {
    text out = describe_mesh(axes);
    out << ": " << ranks << (ranks == 1 ? " rank is not " : " ranks are not ");
    if (open >= 0) out << "a multiple of ";
    throw error(out << product);
  }
  if (open >= 0) sizes[static_cast<std::size_t>(open)] = ranks / product;
  return sizes;
}

/// A fact that must be the same on all ranks before they begin: a name, and the hash of a value.
struct common_fact {
  std::string_view name;
  std::uint64_t hash = 0;
};

/// The ranks of a mesh, as one rank sees them. Ranks count the last axis fastest.
class grid {
 public:
  grid() = default;
  grid(const grid&) = delete;
  grid& operator=(const grid&) = delete;
  virtual ~grid() = default;

  /// All ranks of the mesh.
  [[nodiscard]] virtual communicator& all() noexcept = 0;
  [[nodiscard]] virtual int num_axes() const noexcept = 0;
  /// The ranks that differ from this one in their place along one axis; `rank()` is that place.
  [[nodiscard]] virtual communicator& along(int axis) = 0;
  /// The ranks that differ along a set of axes, one bit each.
  ///
  /// Blocks until: all ranks have called it, the first time for several axes but not all.
  [[nodiscard]] virtual communicator& over(unsigned axes) = 0;

  /// The step that sentences name: `... of step 120`.
  virtual void note_step(std::int64_t step) = 0;
  /// Units: seconds. How long a rank waits in a collective until it ends the job; 0 is for ever.
  virtual void set_time_limit(double seconds) = 0;

  /// Memory that all ranks of the host see: collectives on it need no copy. Freed with the grid.
  ///
  /// Null where there is none: any other memory serves as well. Units: bytes, the same on all
  /// ranks. Blocks until: all ranks have called it.
  [[nodiscard]] virtual void* shared_buffer(std::int64_t bytes) = 0;

  /// True once for each value: what ranks compare once, they compare at the same call.
  [[nodiscard]] bool is_first_time(std::uint64_t hash) {
    for (const std::uint64_t known : compared_) {
      if (known == hash) return false;
    }
    compared_.push_back(hash);
    return true;
  }

  /// Compares facts of the start, such as hashes of program, configuration and seed.
  ///
  /// Blocks until: all ranks have called it.
  /// Throws: a rank differs, on all ranks the same sentence.
  void require_same(std::span<const common_fact> facts, std::string_view mesh,
                    const call_site& at = call_site::here()) {
    const auto ranks = static_cast<std::size_t>(all().size());
    std::vector<std::uint64_t> mine;
    for (const common_fact& fact : facts) mine.push_back(fact.hash);
    std::vector<std::uint64_t> theirs(mine.size() * ranks);
    // i64[n]: hashes are only moved
    const auto count = static_cast<std::int64_t>(mine.size());
    all().all_gather(mine.data(), theirs.data(), count, dtype::i64,
                     {at.in("require_same"), {dtype::i64, shape::of({count})}});
    for (std::size_t i = 0; i < facts.size(); ++i) {
      text differing;
      int num_differing = 0;
      for (std::size_t r = 1; r < ranks; ++r) {
        if (theirs[r * mine.size() + i] == theirs[i]) continue;
        if (num_differing < 8) {
          differing << (num_differing == 0 ? "" : ", ") << static_cast<std::int64_t>(r);
        }
        ++num_differing;
      }
      if (num_differing == 0) continue;
      text out = mesh;
      out << ": the " << facts[i].name << (num_differing == 1 ? " of rank " : " of ranks ")
          << differing << (num_differing > 8 ? " and more" : "")
          << (num_differing == 1 ? " is" : " are")
          << " not that of rank 0: all ranks must begin with the same " << facts[i].name;
      throw error(out);
    }
  }
  void require_same(std::initializer_list<common_fact> facts, std::string_view mesh,
                    const call_site& at = call_site::here()) {
    require_same(std::span<const common_fact>(facts.begin(), facts.size()), mesh, at);
  }

 private:
  std::vector<std::uint64_t> compared_;
};

/// How a grid is made from an object of a type: specialised beside each engine.
///
/// `static std::shared_ptr<grid> make(const Source&, std::span<const axis_size>)`
template <class Source>
struct grid_from {};

/// What a mesh can be built from: `comm::single`, and with `atled/mpi.hpp` an MPI communicator.
template <class Source>
concept grid_source = requires(const Source& source, std::span<const axis_size> axes) {
  { grid_from<Source>::make(source, axes) } -> std::convertible_to<std::shared_ptr<grid>>;
};

template <class Source>
[[nodiscard]] std::shared_ptr<grid> make_grid(const Source& source, const mesh_shape& shape) {
  static_assert(grid_source<Source>,
                "atled: a mesh is built from comm::single, or from an MPI communicator with "
                "atled/mpi.hpp");
  std::vector<axis_size> axes;
  for (int i = 0; i < shape.num_axes; ++i) {
    axes.push_back({shape.name(i), static_cast<int>(shape.sizes[i])});
  }
  return grid_from<Source>::make(source, axes);
}

}  // namespace atled::comm
