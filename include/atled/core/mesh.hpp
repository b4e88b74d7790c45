// atled/core/mesh.hpp: the axes of a mesh of ranks: their names and sizes, as a value.
// Reads: core/axis.hpp. comm/ has the ranks themselves; core/partition_spec.hpp names these axes.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/axis.hpp"
#include "atled/core/diagnostic.hpp"

#include <memory>
#include <type_traits>

namespace atled {

/// The axes of a mesh as a value.
///
/// - Ranks are numbered row-major: neighbours along the last axis are neighbours in number.
/// - A size of 0 is open: it is what the communicator has, and known at run time only.
struct mesh_shape {
  static constexpr int max_axes = 8;
  static constexpr int name_capacity = 32;

  char names[max_axes][name_capacity + 1];
  int name_sizes[max_axes];
  std::int64_t sizes[max_axes];
  int num_axes;

  constexpr void push(std::string_view name, std::int64_t size) {
    for (const char c : name.substr(0, name_capacity)) {
      names[num_axes][name_sizes[num_axes]++] = c;
    }
    sizes[num_axes++] = size;
  }
  [[nodiscard]] constexpr std::string_view name(int axis) const {
    return {names[axis], static_cast<std::size_t>(name_sizes[axis])};
  }
  /// The axis of this name, or -1.
  [[nodiscard]] constexpr int axis_named(std::string_view wanted) const {
    for (int i = 0; i < num_axes; ++i) {
      if (name(i) == wanted) return i;
    }
    return -1;
  }
  [[nodiscard]] constexpr bool is_open(int axis) const { return sizes[axis] == 0; }
  /// The number of axes without a size.
  [[nodiscard]] constexpr int num_open() const {
    int out = 0;
    for (int i = 0; i < num_axes; ++i) out += is_open(i) ? 1 : 0;
    return out;
  }
  /// The product of the sizes that are known.
  [[nodiscard]] constexpr std::int64_t known_size() const {
    std::int64_t out = 1;
    for (int i = 0; i < num_axes; ++i) out *= is_open(i) ? 1 : sizes[i];
    return out;
  }

  /// `mesh{data:?,model:2}`.
  [[nodiscard]] constexpr atled::text text() const {
    atled::text out = "mesh{";
    for (int i = 0; i < num_axes; ++i) {
      out << (i == 0 ? "" : ",") << name(i) << ':';
      if (is_open(i)) {
        out << '?';
      } else {
        out << sizes[i];
      }
    }
    return out << '}';
  }
  /// `data, model`.
  [[nodiscard]] constexpr atled::text names_text() const {
    atled::text out;
    for (int i = 0; i < num_axes; ++i) out << (i == 0 ? "" : ", ") << name(i);
    return out;
  }

  /// Why so many ranks do not fit; empty where they do.
  [[nodiscard]] constexpr atled::text problem_with(std::int64_t ranks) const {
    atled::text out;
    if (num_open() > 1) return out << text() << ": one axis at most may be without a size";
    if (num_open() == 1 && (ranks <= 0 || ranks % known_size() != 0)) {
      return out << text() << ": " << ranks << " ranks are not a multiple of " << known_size();
    }
    if (num_open() == 0 && ranks != known_size()) {
      return out << text() << ": " << ranks << (ranks == 1 ? " rank is" : " ranks are") << " not "
                 << known_size();
    }
    return out;
  }
  /// With all sizes known. Pre: `problem_with(ranks)` is empty.
  [[nodiscard]] constexpr mesh_shape of_ranks(std::int64_t ranks) const {
    mesh_shape out = *this;
    for (int i = 0; i < num_axes; ++i) {
      if (is_open(i)) out.sizes[i] = ranks / known_size();
    }
    return out;
  }
  /// The place of a rank along an axis. Pre: all sizes are known.
  [[nodiscard]] constexpr std::int64_t place_of(std::int64_t rank, int axis) const {
    for (int i = num_axes - 1; i > axis; --i) rank /= sizes[i];
    return rank % sizes[axis];
  }

  friend constexpr bool operator==(const mesh_shape& a, const mesh_shape& b) {
    if (a.num_axes != b.num_axes) return false;
    for (int i = 0; i < a.num_axes; ++i) {
      if (a.sizes[i] != b.sizes[i] || a.name(i) != b.name(i)) return false;
    }
    return true;
  }
};

namespace comm {

/// The ranks of a mesh, with a communicator for each axis: comm/grid.hpp.
class grid;
/// One process: comm/single.hpp.
struct single;
/// The ranks of what a user has, such as an MPI_Comm, as a mesh: comm/grid.hpp.
template <class Source>
[[nodiscard]] std::shared_ptr<grid> make_grid(const Source& source, const mesh_shape& shape);

}  // namespace comm

namespace detail {

template <class Tag>
struct is_mesh_axis : std::false_type {};
template <axis_label Label, int Size>
struct is_mesh_axis<axis_tag<Label, Size>>
    : std::bool_constant<!Label.is_number && Size >= 0 && (Label.name.view().size() > 0) &&
                         (Label.name.view().size() <= mesh_shape::name_capacity)> {};

template <auto... Axis>
consteval mesh_shape make_mesh_shape() {
  mesh_shape out{};
  (out.push(Axis.label.name.view(), Axis.size), ...);
  return out;
}
constexpr bool has_equal_names(const mesh_shape& shape) {
  for (int i = 0; i < shape.num_axes; ++i) {
    if (shape.axis_named(shape.name(i)) != i) return true;
  }
  return false;
}

}  // namespace detail

/// The ranks that run one program, along named axes.
///
///   using grid = mesh<axis<"data">, axis<"model", 2>>;   data takes what the communicator has
///   grid devices{MPI_COMM_WORLD};                        with atled/mpi.hpp
///   grid alone;                                          one process
///
/// The type says all that is known at build time: `grid::shape_value`. Copies share communicators.
/// Throws: atled::error on all ranks if their number does not fit.
template <auto... Axis>
class mesh {
  static_assert(sizeof...(Axis) > 0 && sizeof...(Axis) <= mesh_shape::max_axes,
                "atled: a mesh has 1 to 8 axes");
  static_assert((true && ... && detail::is_mesh_axis<std::remove_cv_t<decltype(Axis)>>::value),
                "atled: an axis of a mesh has a name of 1 to 32 letters and may have a size: "
                "mesh<axis<data>, axis<model, 2>> with the names as string literals");

 public:
  static constexpr mesh_shape shape_value = detail::make_mesh_shape<Axis...>();
  static_assert(!detail::has_equal_names(shape_value), "atled: two axes of a mesh have one name");

  template <class Source = comm::single>
  mesh() : mesh(Source{}) {}
  template <class Source>
    requires(!std::is_base_of_v<mesh, Source>)
  explicit mesh(const Source& source) : ranks_(comm::make_grid(source, shape_value)) {}

  /// The ranks, with their communicators; shared by all copies.
  [[nodiscard]] comm::grid& ranks() const { return *ranks_; }
  [[nodiscard]] const std::shared_ptr<comm::grid>& shared_ranks() const { return ranks_; }

 private:
  std::shared_ptr<comm::grid> ranks_;
};

namespace detail {
template <class T>
inline constexpr bool is_mesh_v = false;
template <auto... Axis>
inline constexpr bool is_mesh_v<mesh<Axis...>> = true;
}  // namespace detail

}  // namespace atled
