// atled/core/bounded_tensor.hpp: the tensor whose sizes may change up to a bound.
// Reads: core/tensor.hpp, core/bounded.hpp. Programs on such tensors: passes/bound.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/bounded.hpp"
#include "atled/core/tensor.hpp"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

namespace atled {

namespace detail {

[[noreturn]] inline void throw_bad_size(const tensor_type& type, std::int64_t size, int axis) {
  text out = "tensor ";
  out << type << ": size " << size << " on axis " << axis << ": it must be from 0 to "
      << bound_of(type.dims[axis]);
  throw error(out);
}
[[noreturn]] inline void throw_bad_rows(const tensor_type& type, std::size_t count,
                                        std::int64_t row) {
  text out = "tensor ";
  out << type << ": " << static_cast<std::int64_t>(count) << " values: they must be rows of " << row
      << ", at most " << bound_of(type.dims[0]);
  throw error(out);
}
[[noreturn]] inline void throw_bad_place(const tensor_type& type, const shape& sizes,
                                         std::int64_t index, int axis) {
  text out = "tensor ";
  out << type << " of sizes " << sizes << ": index " << index << " on axis " << axis
      << ": it must be >= 0 and < " << sizes[axis];
  throw error(out);
}
[[noreturn]] inline void throw_other_sizes(const tensor_type& type, const shape& sizes,
                                           const shape& wanted) {
  text out = "tensor ";
  out << type << " of sizes " << sizes << " as " << wanted << ": the sizes must be equal";
  throw error(out);
}

/// What a call may do beside the user: give a result its sizes.
struct bounded_access {
  template <class Tensor>
  static constexpr void set_size(Tensor& x, int axis, std::int64_t size) noexcept {
    x.sizes_[axis] = size;
  }
};

}  // namespace detail

/// A tensor of which some axes have a bound in place of a size: `tensor<f32, upto<1024>, 64>`.
///
///   tensor<f32, upto<8>> x{1, 2, 3};    x.size() == 3    x.resize(5)    x.push_back(4.0f)
///
/// - A value, as every tensor. It has memory for its bounds, laid out as for them: rows of a
/// bounded
///   first axis follow one another, and sizes change without moving a value.
/// - A new one has size 0 on its bounded axes. What lies beyond the sizes is nobody's: programs
///   never let it into a result.
/// Units: sizes in elements; `bytes`, of the memory, in bytes.
template <element T, std::int64_t... Dims>
  requires has_bounded<Dims...>
class tensor<T, Dims...> {
  using memory = tensor<T, bound_of(Dims)...>;
  using braced = detail::braced_t<T>;

 public:
  using value_type = T;
  static constexpr tensor_type type{dtype_of<T>(), shape::of({Dims...})};
  static constexpr int rank = static_cast<int>(sizeof...(Dims));
  /// The largest sizes.
  static constexpr shape bounds = type.dims.bounds();
  static constexpr std::int64_t bytes = memory::bytes;
  /// Only axis 0 is bounded: the values are those of the first rows, one after the other.
  static constexpr bool is_contiguous = type.dims.bounded_axes() == 1;

  constexpr tensor() = default;
  constexpr tensor(const tensor&) = default;
  constexpr tensor(tensor&&) noexcept = default;
  constexpr tensor& operator=(const tensor&) = default;
  constexpr tensor& operator=(tensor&&) noexcept = default;
  constexpr ~tensor() = default;

  /// All values of a tensor of one axis. Ill-formed: more than its bound.
  template <number... V>
    requires(sizeof...(V) > 0 && rank == 1)
  explicit(sizeof...(V) == 1) constexpr tensor(V... given) {  // NOLINT: braces are no conversion
    constexpr auto count = static_cast<std::int64_t>(sizeof...(V));
    static_assert(count <= bounds[0], "tensor: there are more values than its bound");
    static_assert(!is_integer(type.element) || ((!std::is_floating_point_v<V>)&&...),
                  "tensor: a floating value for an integer element: convert it first");
    if constexpr (count <= bounds[0]) {
      T* out = values_.data();
      ((*out++ = detail::to_element<T>(given)), ...);
    }
    sizes_[0] = count;
  }
  /// Rows in braces. Ill-formed: more rows than the bound; a row too long or too short.
  template <std::size_t... N>
    requires(rank == 2 && sizeof...(N) > 0)
  constexpr tensor(const braced (&... rows)[N]) {  // NOLINT: braces are no conversion
    constexpr std::int64_t lengths[]{static_cast<std::int64_t>(N)...};
    constexpr std::int64_t counts[]{static_cast<std::int64_t>(sizeof...(N)), lengths[0]};
    static_assert(((lengths[0] == static_cast<std::int64_t>(N)) && ...),
                  "tensor: all rows must have the same number of values");
    static_assert(is_size(counts[0], 0) && is_size(counts[1], 1),
                  "tensor: the number of rows and values must be its sizes, or up to their bounds");
    sizes_[0] = counts[0];
    sizes_[1] = counts[1];
    T* out = values_.data();
    const auto store = [&](const auto& row) {
      for (std::int64_t i = 0; i < counts[1]; ++i) out[i] = detail::to_element<T>(row[i]);
      out += bounds[1];
    };
    (store(rows), ...);
  }
  /// A copy of rows that follow one another. Throws: no whole rows; more than the bound.
  explicit tensor(std::span<const T> rows) requires(is_contiguous)  //
  {
    const auto count = static_cast<std::int64_t>(rows.size());
    if (row_size() == 0 || count % row_size() != 0 || count / row_size() > bounds[0]) {
      detail::throw_bad_rows(type, rows.size(), row_size());
    }
    sizes_[0] = count / row_size();
    if (count > 0) std::memcpy(values_.data(), rows.data(), rows.size_bytes());
  }
  /// The same values in a tensor that could grow. Ill-formed: a size that is another, or beyond its
  /// bound.
  template <std::int64_t... Fixed>
    requires(sizeof...(Fixed) == sizeof...(Dims) && !has_bounded<Fixed...>)
  constexpr tensor(const tensor<T, Fixed...>& other) {  // NOLINT: the same value
    static_assert((fits(Fixed, Dims) && ...),
                  "tensor: the sizes must be equal, or up to the bound of an axis that has one");
    int axis = 0;
    ((sizes_[axis++] = Fixed), ...);
    const T* from = other.data();
    T* const to = values_.data();
    for_each_place([&](std::int64_t at) { to[at] = *from++; });
  }

  /// Zeros: one size for each bounded axis. Throws: a size beyond its bound.
  template <std::integral... N>
  [[nodiscard]] static constexpr tensor of_size(N... sizes) {
    tensor out;
    out.resize(sizes...);
    return out;
  }
  /// A tensor of size 0 whose memory is still unwritten.
  [[nodiscard]] static constexpr tensor uninitialized() { return tensor(memory::uninitialized()); }

  /// Number of elements.
  [[nodiscard]] constexpr std::int64_t size() const { return sizes_.size(); }
  /// The size of one axis, negative ones counted from the last.
  [[nodiscard]] constexpr std::int64_t size(int axis) const {
    return sizes_[axis < 0 ? axis + rank : axis];
  }
  [[nodiscard]] constexpr const shape& sizes() const { return sizes_; }

  /// One size for each bounded axis. What was there stays, what is new is 0.
  /// Throws: a size below 0 or beyond its bound.
  template <std::integral... N>
  constexpr void resize(N... sizes) {
    constexpr int num_bounded = (0 + ... + (is_bounded(Dims) ? 1 : 0));
    static_assert(sizeof...(N) == std::size_t{num_bounded},
                  "tensor: resize takes one size for each bounded axis");
    shape next = sizes_;
    if constexpr (sizeof...(N) == std::size_t{num_bounded}) {
      const std::int64_t given[]{static_cast<std::int64_t>(sizes)...};
      int at = 0;
      for (int axis = 0; axis < rank; ++axis) {
        if (!is_bounded(type.dims[axis])) continue;
        next[axis] = given[at++];
        if (next[axis] < 0 || next[axis] > bounds[axis]) {
          detail::throw_bad_size(type, next[axis], axis);
        }
      }
    }
    clear_new(next);
  }
  /// A further value of a tensor of one axis. Throws: the bound is reached.
  constexpr void push_back(T value) requires(rank == 1)  //
  {
    if (sizes_[0] == bounds[0]) detail::throw_bad_size(type, sizes_[0] + 1, 0);
    values_.data()[sizes_[0]++] = value;
  }
  /// A further row. Throws: the bound is reached. Ill-formed: not the type of a row.
  template <tensor_like Row>
  constexpr void push_back(const Row& row) requires(is_contiguous&& rank > 1)  //
  {
    static_assert(Row::dims == shape::of({Dims...}).without_first() &&
                      std::same_as<typename Row::value_type, T>,
                  "tensor: push_back takes a tensor like one of its rows");
    if (sizes_[0] == bounds[0]) detail::throw_bad_size(type, sizes_[0] + 1, 0);
    T* const to = values_.data() + sizes_[0]++ * row_size();
    for (std::int64_t i = 0; i < row_size(); ++i) to[i] = row.data()[i];
  }

  /// True after a move or a donation: there are no values.
  [[nodiscard]] constexpr bool is_empty() const noexcept { return values_.is_empty(); }

  /// The memory, laid out as for the bounds. Throws: moved from or donated.
  [[nodiscard]] constexpr T* data() & { return values_.data(); }
  [[nodiscard]] constexpr const T* data() const& { return values_.data(); }
  void data() && = delete;       // the pointer would outlive the values
  void data() const&& = delete;  // the pointer would outlive the values
  [[nodiscard]] constexpr T* data_to_overwrite() & { return values_.data_to_overwrite(); }

  /// The values, where only axis 0 is bounded: else they are not one after the other.
  [[nodiscard]] constexpr std::span<T> span() & requires(is_contiguous) {
    return {data(), static_cast<std::size_t>(size())};
  }
  [[nodiscard]] constexpr std::span<const T> span() const& requires(is_contiguous) {
    return {data(), static_cast<std::size_t>(size())};
  }
  void span() && = delete;
  void span() const&& = delete;
  [[nodiscard]] constexpr T* begin() & requires(is_contiguous) { return data(); }
  [[nodiscard]] constexpr T* end() & requires(is_contiguous) { return data() + size(); }
  [[nodiscard]] constexpr const T* begin() const& requires(is_contiguous) { return data(); }
  [[nodiscard]] constexpr const T* end() const& requires(is_contiguous) { return data() + size(); }
  void begin() && = delete;
  void end() && = delete;

  /// One element. Throws: an index outside the sizes; moved from or donated.
  template <std::integral... I>
  [[nodiscard]] constexpr T& operator()(I... indices) & {
    return data()[offset_of(indices...)];
  }
  template <std::integral... I>
  [[nodiscard]] constexpr const T& operator()(I... indices) const& {
    return data()[offset_of(indices...)];
  }
  template <std::integral... I>
  [[nodiscard]] constexpr T operator()(I... indices) && {
    return static_cast<const tensor&>(*this)(indices...);
  }

  /// The values as a tensor of these sizes, which it must have. Throws: it has others.
  template <std::int64_t... Fixed>
    requires(sizeof...(Fixed) == sizeof...(Dims))
  [[nodiscard]] constexpr tensor<T, Fixed...> to_fixed() const {
    if (!(sizes_ == shape::of({Fixed...}))) {
      detail::throw_other_sizes(type, sizes_, shape::of({Fixed...}));
    }
    auto out = tensor<T, Fixed...>::uninitialized();
    T* to = out.data();
    const T* const from = values_.data();
    for_each_place([&](std::int64_t at) { *to++ = from[at]; });
    return out;
  }

  /// A copy in O(1): the memory is shared until one of the two is written to.
  [[nodiscard]] constexpr tensor share() const {
    tensor out(values_.share());
    out.sizes_ = sizes_;
    return out;
  }

  friend constexpr void swap(tensor& lhs, tensor& rhs) noexcept {
    swap(lhs.values_, rhs.values_);
    std::swap(lhs.sizes_, rhs.sizes_);
  }

  /// True if both have the same sizes and equal elements; a NaN equals nothing.
  friend constexpr bool array_equal(const tensor& lhs, const tensor& rhs) {
    if (!(lhs.sizes_ == rhs.sizes_)) return false;
    bool out = true;
    lhs.for_each_place(
        [&](std::int64_t at) { out = out && lhs.values_.data()[at] == rhs.values_.data()[at]; });
    return out;
  }

  /// Calls `fn(offset)` for the place in memory of each element, in row-major order.
  template <class Fn>
  constexpr void for_each_place(const Fn& fn) const {
    if (sizes_.size() == 0) return;
    shape at{{}, rank};
    while (true) {
      std::int64_t flat = 0;
      for (int i = 0; i < rank; ++i) flat = flat * bounds[i] + at[i];
      fn(flat);
      int axis = rank - 1;
      while (axis >= 0 && ++at[axis] == sizes_[axis]) at[axis--] = 0;
      if (axis < 0) return;
    }
  }

 private:
  friend struct detail::bounded_access;

  constexpr explicit tensor(memory&& values) : values_(std::move(values)) {}

  static constexpr bool fits(std::int64_t size, std::int64_t of_axis) {
    return is_bounded(of_axis) ? size >= 0 && size <= bound_of(of_axis) : size == of_axis;
  }
  static constexpr bool is_size(std::int64_t size, int axis) { return fits(size, type.dims[axis]); }
  static constexpr std::int64_t row_size() { return row_major_strides(bounds)[0]; }

  template <std::integral... I>
  [[nodiscard]] constexpr std::int64_t offset_of(I... indices) const {
    static_assert(sizeof...(I) == sizeof...(Dims), "tensor: one index for each axis is needed");
    std::int64_t flat = 0;
    int axis = 0;
    const auto add = [&](std::int64_t index) {
      if (index < 0 || index >= sizes_[axis]) [[unlikely]]
        detail::throw_bad_place(type, sizes_, index, axis);
      flat = flat * bounds[axis] + index;
      ++axis;
    };
    (add(static_cast<std::int64_t>(indices)), ...);
    return flat;
  }

  /// Takes other sizes: zeros where an element was not there before.
  constexpr void clear_new(const shape& next) {
    const shape before = sizes_;
    sizes_ = next;
    T* const values = values_.data();
    if constexpr (is_contiguous) {
      for (std::int64_t i = before.size(); i < next.size(); ++i) values[i] = T{};
      return;
    }
    for_each_place([&](std::int64_t at) {
      std::int64_t rest = at;
      bool was_there = true;
      for (int axis = rank - 1; axis >= 0; --axis) {
        was_there = was_there && rest % bounds[axis] < before[axis];
        rest /= bounds[axis];
      }
      if (!was_there) values[at] = T{};
    });
  }

  memory values_{};
  shape sizes_ = [] {
    shape out = bounds;
    for (int i = 0; i < rank; ++i) out[i] = is_bounded(type.dims[i]) ? 0 : out[i];
    return out;
  }();
};

namespace detail {
template <class T>
inline constexpr bool is_bounded_tensor_v = false;
template <element T, std::int64_t... Dims>
  requires has_bounded<Dims...>
inline constexpr bool is_bounded_tensor_v<tensor<T, Dims...>> = true;
}  // namespace detail

/// A tensor some of whose sizes come with the call.
template <class T>
concept bounded_tensor_like = detail::is_bounded_tensor_v<std::remove_cvref_t<T>>;

}  // namespace atled
