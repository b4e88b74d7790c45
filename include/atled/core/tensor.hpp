// atled/core/tensor.hpp: the tensor that owns its values, and the view that does not.
// Reads: core/shape.hpp. Next: core/creation.hpp, core/print_tensor.hpp, loops/eager.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"
#include "atled/core/shape.hpp"
#include "atled/core/tensor_facts.hpp"
#include "atled/core/tensor_storage.hpp"

#include <concepts>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace atled {

template <element T, std::int64_t... Dims>
class tensor;
template <class T, std::int64_t... Dims>
  requires element<std::remove_const_t<T>>
class tensor_view;

namespace detail {
template <class T>
inline constexpr bool is_tensor_v = false;
template <class T, std::int64_t... Dims>
inline constexpr bool is_tensor_v<tensor<T, Dims...>> = true;

}  // namespace detail

/// A dense array of a static shape that owns its values, in row-major order.
///
///   tensor<f32, 2, 3> a{1, 2, 3, 4, 5, 6};    tensor<f32, 2, 2> b{{1, 2}, {3, 4}};
///
/// - A value: copies are deep, moves are O(1), and a moved-from tensor is empty: using its values
///   throws a sentence; assigning to it makes it whole again.
/// - Values begin on a 64-byte boundary. Up to 256 bytes live inside the object and are usable in
///   constant expressions; more live on the heap, and from 2 MiB on in huge pages.
/// - A new tensor is zero. `tensor::uninitialized()` leaves heap memory as it is.
/// - Pointers into a tensor stay valid until it is moved, destroyed, or written to while an
///   expression or `share()` still uses its values (then the tensor takes new memory).
/// Units: sizes in elements; `bytes` in bytes.
template <element T, std::int64_t... Dims>
class tensor : public detail::tensor_facts<T, Dims...> {
  using facts = detail::tensor_facts<T, Dims...>;
  using storage = detail::tensor_storage<T, facts::size()>;
  using braced = detail::braced_t<T>;

 public:
  using facts::bytes;
  using facts::dims;
  using facts::rank;
  using facts::size;
  using facts::type;

  constexpr tensor() : storage_(detail::zeroed) {}
  constexpr tensor(const tensor&) = default;
  constexpr tensor(tensor&&) noexcept = default;
  constexpr tensor& operator=(const tensor&) = default;
  constexpr tensor& operator=(tensor&&) noexcept = default;
  constexpr ~tensor() = default;

  /// All values, row-major. A scalar converts implicitly. Ill-formed: not exactly size() values.
  template <number... V>
    requires(sizeof...(V) > 0)
  explicit(rank > 0 && sizeof...(V) == 1) constexpr tensor(V... values)  // NOLINT: as a scalar is
      : storage_(detail::not_zeroed) {
    static_assert(sizeof...(V) == size(), "tensor: the number of values must equal its size");
    static_assert(!is_integer(type.element) || ((!std::is_floating_point_v<V>)&&...),
                  "tensor: a floating value for an integer element: convert it first");
    T* out = storage_.values();
    ((*out++ = detail::to_element<T>(values)), ...);
  }

  /// Rows in braces, for a matrix. Ill-formed: a row too many, too few, too long or too short.
  template <std::size_t... N>
    requires(rank == 2 && sizeof...(N) > 0)
  constexpr tensor(const braced (&... rows)[N])  // NOLINT: braces are no conversion
      : storage_(detail::not_zeroed) {
    static_assert(sizeof...(N) == dims[0], "tensor: the number of rows must equal its axis 0");
    static_assert(((N == dims[1]) && ...), "tensor: each row must have as many values as axis 1");
    T* out = storage_.values();
    (store_braced(out, rows), ...);
  }
  template <std::size_t... N, std::size_t... M>
    requires(rank == 3 && sizeof...(N) > 0)
  constexpr tensor(const braced (&... rows)[N][M])  // NOLINT
      : storage_(detail::not_zeroed) {
    static_assert(sizeof...(N) == dims[0], "tensor: the number of rows must equal its axis 0");
    static_assert(((N == dims[1] && M == dims[2]) && ...),
                  "tensor: the braces must have as many values as axis 1 and axis 2");
    T* out = storage_.values();
    (store_braced(out, rows), ...);
  }

  /// A copy of foreign values. Throws: not exactly size() values.
  explicit tensor(std::span<const T> values) : storage_(detail::not_zeroed) {
    if (static_cast<std::int64_t>(values.size()) != size()) {
      detail::throw_bad_count(type, values.size());
    }
    copy_values(values.data());
  }

  /// A copy of what a view shows. Ill-formed: another shape or element type.
  template <tensor_like X>
    requires(!std::same_as<X, tensor>)
  constexpr tensor(const X& other) : storage_(detail::not_zeroed) {  // NOLINT: the same value
    static_assert(spell<detail::store_sentence<X::type, type>>::ok,
                  "atled: the source does not fit; trace_error<...> says why");
    if constexpr (X::type == type) copy_values(other.data());
  }

  /// Runs an expression as one loop. Ill-formed: another shape or element type.
  template <tensor_expression E>
  tensor(E&& e) : storage_(detail::not_zeroed) {  // NOLINT: the expression is the same value
    constexpr tensor_type from = std::remove_cvref_t<E>::type;
    static_assert(spell<detail::store_sentence<from, type>>::ok,
                  "atled: the source does not fit; trace_error<...> says why");
    if constexpr (from == type) e.evaluate_into(storage_.values());
  }
  template <tensor_expression E>
  tensor& operator=(E&& e) {
    constexpr tensor_type from = std::remove_cvref_t<E>::type;
    static_assert(spell<detail::store_sentence<from, type>>::ok,
                  "atled: the source does not fit; trace_error<...> says why");
    if constexpr (from == type) std::forward<E>(e).assign_to(*this);
    return *this;
  }

  /// A tensor whose heap values are still unwritten; small tensors are zero.
  [[nodiscard]] static constexpr tensor uninitialized() { return tensor(detail::not_zeroed); }

  /// True after a move or a donation: there are no values.
  [[nodiscard]] constexpr bool is_empty() const noexcept { return storage_.is_empty(); }

  /// The values, 64-byte aligned. Throws: moved from or donated.
  [[nodiscard]] constexpr T* data() & {
    check_not_empty();
    return storage_.own_values();
  }
  [[nodiscard]] constexpr const T* data() const& {
    check_not_empty();
    return storage_.values();
  }
  void data() && = delete;       // the pointer would outlive the values
  void data() const&& = delete;  // the pointer would outlive the values

  /// Like `data()`, for a caller who writes every value and reads none: an empty tensor gets
  /// memory.
  [[nodiscard]] constexpr T* data_to_overwrite() & { return storage_.values_to_overwrite(); }

  [[nodiscard]] constexpr std::span<T> span() & { return {data(), extent}; }
  [[nodiscard]] constexpr std::span<const T> span() const& { return {data(), extent}; }
  void span() && = delete;
  void span() const&& = delete;

  [[nodiscard]] constexpr T* begin() & { return data(); }
  [[nodiscard]] constexpr T* end() & { return data() + size(); }
  [[nodiscard]] constexpr const T* begin() const& { return data(); }
  [[nodiscard]] constexpr const T* end() const& { return data() + size(); }
  void begin() && = delete;
  void end() && = delete;

  /// One element. Throws: an index out of range; moved from or donated.
  template <std::integral... I>
  [[nodiscard]] constexpr T& operator()(I... indices) & {
    return data()[facts::offset_of(indices...)];
  }
  template <std::integral... I>
  [[nodiscard]] constexpr const T& operator()(I... indices) const& {
    return data()[facts::offset_of(indices...)];
  }
  template <std::integral... I>
  [[nodiscard]] constexpr T operator()(I... indices) && {
    return static_cast<const tensor&>(*this)(indices...);
  }

  /// The only element, as a C++ number. Ill-formed: the tensor has more or none.
  [[nodiscard]] constexpr T item() const {
    static_assert(size() == 1, "tensor: item() needs a tensor of one element");
    return *static_cast<const tensor&>(*this).data();
  }
  constexpr operator T() const  // NOLINT: a scalar is its value
      requires(rank == 0) {
    return item();
  }

  /// A copy in O(1): the memory is shared until one of the two is written to.
  [[nodiscard]] constexpr tensor share() const {
    tensor out(detail::not_allocated);
    out.storage_.share(storage_);
    return out;
  }

  friend constexpr void swap(tensor& lhs, tensor& rhs) noexcept {
    tensor held(std::move(lhs));
    lhs = std::move(rhs);
    rhs = std::move(held);
  }

 private:
  friend struct detail::tensor_access;
  static constexpr std::size_t extent = static_cast<std::size_t>(facts::size());

  template <class Mode>
    requires detail::storage_mode<Mode>
  constexpr explicit tensor(Mode mode) : storage_(mode) {}

  constexpr void check_not_empty() const {
    if (storage_.is_empty()) [[unlikely]]
      detail::throw_moved_from(type);
  }

  constexpr void copy_values(const T* from) {
    T* const to = storage_.values();
    for (std::int64_t i = 0; i < size(); ++i) to[i] = from[i];
  }

  template <class Braces>
  static constexpr void store_braced(T*& out, const Braces& braces) {
    if constexpr (std::is_array_v<Braces>) {
      for (const auto& inner : braces) store_braced(out, inner);
    } else {
      *out++ = detail::to_element<T>(braces);
    }
  }

  storage storage_;
};

/// Foreign memory seen as a tensor, without a copy: the caller keeps it alive and unmoved.
///
///   tensor_view<const f32, 2, 3> a(pointer);    tensor_view<f32, 6> b(std::span(vector));
///
/// - Row-major, of a static shape; `const T` for memory that may only be read.
/// - Copying a view copies the pointer. `tensor(view)` copies the values.
/// - Accepted wherever a tensor is read; any alignment of T will do.
template <class T, std::int64_t... Dims>
  requires element<std::remove_const_t<T>>
class tensor_view : public detail::tensor_facts<std::remove_const_t<T>, Dims...> {
  using facts = detail::tensor_facts<std::remove_const_t<T>, Dims...>;
  using owner = tensor<std::remove_const_t<T>, Dims...>;
  using owner_ref = std::conditional_t<std::is_const_v<T>, const owner&, owner&>;

 public:
  using facts::rank;
  using facts::size;
  using facts::type;

  constexpr explicit tensor_view(T* values) : values_(values) {}
  /// Throws: not exactly size() values.
  constexpr explicit tensor_view(std::span<T> values) : values_(values.data()) {
    if (static_cast<std::int64_t>(values.size()) != size()) {
      detail::throw_bad_count(type, values.size());
    }
  }
  constexpr tensor_view(owner_ref values) : values_(values.data()) {}  // NOLINT: still a tensor
  tensor_view(owner&&) = delete;        // the view would outlive the values
  tensor_view(const owner&&) = delete;  // the view would outlive the values
  template <class U = T>  // a template, so as not to be the copy constructor where T is not const
    requires std::is_const_v<U>
  constexpr tensor_view(const tensor_view<std::remove_const_t<U>, Dims...>& other)  // NOLINT
      : values_(other.data()) {}

  [[nodiscard]] constexpr T* data() const { return values_; }
  [[nodiscard]] constexpr std::span<T> span() const {
    return {values_, static_cast<std::size_t>(size())};
  }
  [[nodiscard]] constexpr T* begin() const { return values_; }
  [[nodiscard]] constexpr T* end() const { return values_ + size(); }

  /// One element. Throws: an index out of range.
  template <std::integral... I>
  [[nodiscard]] constexpr T& operator()(I... indices) const {
    return values_[facts::offset_of(indices...)];
  }
  [[nodiscard]] constexpr std::remove_const_t<T> item() const {
    static_assert(size() == 1, "tensor: item() needs a tensor of one element");
    return *values_;
  }

  /// Writes through the view (while `=` makes it show other memory). Both may overlap.
  /// Ill-formed: another shape or element type.
  template <class Source>
  void assign(const Source& source) const {
    static_assert(!std::is_const_v<T>, "tensor_view: it shows memory that may only be read");
    static_assert(spell<detail::store_sentence<Source::type, type>>::ok,
                  "atled: the source does not fit; trace_error<...> says why");
    if constexpr (std::is_const_v<T> || Source::type != type) {
      return;
    } else if constexpr (tensor_like<Source>) {
      if (size() > 0) std::memmove(values_, source.data(), static_cast<std::size_t>(facts::bytes));
    } else {
      source.assign_to(*this);
    }
  }

 private:
  T* values_;
};

/// True if both have the same shape and equal elements; a NaN equals nothing.
template <tensor_like A, tensor_like B>
[[nodiscard]] constexpr bool array_equal(const A& lhs, const B& rhs) {
  if (A::dims != B::dims) return false;
  const auto* left = lhs.data();
  const auto* right = rhs.data();
  for (std::int64_t i = 0; i < A::size(); ++i) {
    if (!(left[i] == right[i])) return false;
  }
  return true;
}

}  // namespace atled
