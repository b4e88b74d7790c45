// atled/core/tensor_storage.hpp: where the values of a tensor live: inside it, or on the heap.
// Reads: core/large_memory.hpp, core/shape.hpp. Next: core/tensor.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"
#include "atled/core/large_memory.hpp"
#include "atled/core/shape.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace atled {

/// Units: bytes. A cache line, and the widest vector register.
inline constexpr std::size_t tensor_alignment = 64;
/// Units: bytes. Tensors up to this size need no allocation.
inline constexpr std::int64_t inline_bytes = 256;

namespace detail {

struct zeroed_t {};
struct not_zeroed_t {};
struct not_allocated_t {};
inline constexpr zeroed_t zeroed;
inline constexpr not_zeroed_t not_zeroed;
inline constexpr not_allocated_t not_allocated;

template <class Mode>
concept storage_mode = std::same_as<Mode, zeroed_t> || std::same_as<Mode, not_zeroed_t> ||
    std::same_as<Mode, not_allocated_t>;

/// The bytes of a shape, or -1 where they do not fit into 63 bits. A negative size counts as 0.
template <element T, std::int64_t... Dims>
[[nodiscard]] constexpr std::int64_t size_in_bytes() {
  std::int64_t product = sizeof(T);
  bool overflows = false;
  ((overflows |= __builtin_mul_overflow(product, Dims < 0 ? 0 : Dims, &product)), ...);
  return overflows ? -1 : product;
}

[[noreturn]] inline void throw_moved_from(const tensor_type& type) {
  text out = "tensor ";
  out << type << ": moved from or donated: it holds no values; assign to it before use";
  throw error(out);
}

[[noreturn]] inline void throw_bad_index(const tensor_type& type, std::int64_t index, int axis) {
  text out = "tensor ";
  out << type << ": index " << index << " on axis " << axis << ": it must be >= 0 and < "
      << type.dims[axis];
  throw error(out);
}

[[noreturn]] inline void throw_bad_count(const tensor_type& type, std::size_t count) {
  text out = "tensor ";
  out << type << ": " << static_cast<std::int64_t>(count) << " values: it needs exactly "
      << type.size();
  throw error(out);
}

/// Values inside the object. Invariant: a moved-from storage is empty, as on the heap.
template <class T, std::int64_t Size>
class inline_storage {
 public:
  constexpr explicit inline_storage(zeroed_t) {}
  constexpr explicit inline_storage(not_zeroed_t) {}
  constexpr explicit inline_storage(not_allocated_t) : empty_(true) {}
  constexpr inline_storage(const inline_storage&) = default;
  constexpr inline_storage& operator=(const inline_storage&) = default;
  constexpr inline_storage(inline_storage&& other) noexcept : inline_storage(std::as_const(other)) {
    other.empty_ = true;
  }
  constexpr inline_storage& operator=(inline_storage&& other) noexcept {
    if (this == &other) return *this;
    *this = std::as_const(other);
    other.empty_ = true;
    return *this;
  }
  constexpr ~inline_storage() = default;

  [[nodiscard]] constexpr bool is_empty() const noexcept { return empty_; }
  [[nodiscard]] constexpr int use_count() const noexcept { return empty_ ? 0 : 1; }
  [[nodiscard]] constexpr T* values() noexcept { return values_; }
  [[nodiscard]] constexpr const T* values() const noexcept { return values_; }
  [[nodiscard]] constexpr T* own_values() noexcept { return values_; }
  [[nodiscard]] constexpr T* values_to_overwrite() noexcept {
    empty_ = false;
    return values_;
  }
  constexpr void share(const inline_storage& other) noexcept { *this = other; }

 private:
  alignas(tensor_alignment) T values_[static_cast<std::size_t>(Size > 0 ? Size : 1)]{};
  bool empty_ = false;
};

/// Values on the heap, counted: the count lies behind them, in a cache line of its own. It changes
/// by the compilers' atomic built-ins, since <atomic> alone takes a third of a second to compile.
///
/// Invariants: null, or aligned memory whose count is the number of storages that point to it.
template <class T, std::int64_t Size>
class heap_storage {
  static constexpr std::size_t bytes = static_cast<std::size_t>(Size) * sizeof(T);
  static constexpr std::size_t count_offset = (bytes + 63) / 64 * 64;
  static constexpr bool is_large = bytes >= std::size_t{huge_page_bytes};

 public:
  explicit heap_storage(zeroed_t) : values_(allocate(true)) {}
  explicit heap_storage(not_zeroed_t) : values_(allocate(false)) {}
  explicit heap_storage(not_allocated_t) noexcept {}
  heap_storage(const heap_storage& other) {
    if (other.values_ != nullptr) copy_from(other);
  }
  heap_storage(heap_storage&& other) noexcept : values_(std::exchange(other.values_, nullptr)) {}
  heap_storage& operator=(const heap_storage& other) {
    if (values_ == other.values_) return *this;
    if (other.values_ == nullptr) {
      release();
    } else {
      std::memcpy(values_to_overwrite(), other.values_, bytes);
    }
    return *this;
  }
  heap_storage& operator=(heap_storage&& other) noexcept {
    if (this == &other) return *this;
    release();
    values_ = std::exchange(other.values_, nullptr);
    return *this;
  }
  ~heap_storage() { release(); }

  [[nodiscard]] bool is_empty() const noexcept { return values_ == nullptr; }
  [[nodiscard]] int use_count() const noexcept {
    return values_ == nullptr ? 0 : __atomic_load_n(count(), __ATOMIC_ACQUIRE);
  }
  [[nodiscard]] T* values() noexcept { return values_; }
  [[nodiscard]] const T* values() const noexcept { return values_; }

  /// The values for writing: copied first where somebody else still reads them.
  [[nodiscard]] T* own_values() {
    if (use_count() != 1) [[unlikely]] {
      heap_storage copy(not_zeroed);
      std::memcpy(copy.raw(), values_, bytes);
      *this = std::move(copy);
    }
    return values_;
  }
  [[nodiscard]] T* values_to_overwrite() {
    if (use_count() != 1) *this = heap_storage(not_zeroed);
    return values_;
  }
  void share(const heap_storage& other) noexcept {
    if (values_ == other.values_) return;
    release();
    values_ = other.values_;
    __atomic_fetch_add(count(), 1, __ATOMIC_RELAXED);
  }

 private:
  static constexpr std::size_t block_bytes = count_offset + sizeof(int);

  [[nodiscard]] static T* allocate(bool is_zeroed) {
    void* memory = nullptr;
    if constexpr (is_large) {
      memory = tensor_memory.take(block_bytes, is_zeroed);
    } else {
      memory = ::operator new (block_bytes, std::align_val_t{tensor_alignment});
      if (is_zeroed) std::memset(memory, 0, bytes);
    }
    ::new (static_cast<char*>(memory) + count_offset) int{1};
    return static_cast<T*>(memory);
  }
  void copy_from(const heap_storage& other) {
    values_ = allocate(false);
    std::memcpy(raw(), other.values_, bytes);
  }
  void release() noexcept {
    if (values_ == nullptr) return;
    if (__atomic_fetch_sub(count(), 1, __ATOMIC_ACQ_REL) == 1) {
      if constexpr (is_large) {
        tensor_memory.give_back(raw(), block_bytes);
      } else {
        ::operator delete (raw(), std::align_val_t{tensor_alignment});
      }
    }
    values_ = nullptr;
  }
  [[nodiscard]] void* raw() const noexcept { return values_; }
  [[nodiscard]] int* count() const noexcept {
    return std::launder(
        static_cast<int*>(static_cast<void*>(static_cast<char*>(raw()) + count_offset)));
  }

  T* values_ = nullptr;
};

template <class T, std::int64_t Size>
using tensor_storage = std::conditional_t<(Size * std::int64_t{sizeof(T)} <= inline_bytes),
                                          inline_storage<T, Size>, heap_storage<T, Size>>;

/// What expressions need to know about the storage of a tensor: who else uses it.
struct tensor_access {
  template <class Tensor>
  [[nodiscard]] static constexpr int use_count(const Tensor& x) noexcept {
    return x.storage_.use_count();
  }
  /// The values as they are, shared or not; null if the tensor is empty and on the heap.
  template <class Tensor>
  [[nodiscard]] static constexpr auto* values(Tensor& x) noexcept {
    return x.storage_.values();
  }
};

}  // namespace detail
}  // namespace atled
