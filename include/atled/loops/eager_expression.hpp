// atled/loops/eager_expression.hpp: an expression over plain tensors, and the one loop that runs
// it. Reads: core/tensor.hpp, loops/eager_ops.hpp. Next: loops/eager.hpp, the operators.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/broadcast.hpp"
#include "atled/core/tensor.hpp"
#include "atled/loops/eager_ops.hpp"
#include "atled/loops/eager_space.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {

template <class Node>
class lazy;

namespace loops::eager {

// ---- nodes: the leaves, the literals, the ops ----------------------------------------------
// A node is a value: it holds what it reads, or shares it, so that nothing can dangle.

/// The values of a tensor: small ones by value, large ones shared until somebody writes to them.
template <element T, std::int64_t... Dims>
class leaf {
  using source = tensor<T, Dims...>;
  static constexpr bool small = source::bytes <= inline_bytes;
  static constexpr std::size_t extent = source::size() > 0
                                            ? static_cast<std::size_t>(source::size())
                                            : 1;

 public:
  using value_type = T;
  static constexpr shape dims = source::dims;
  static constexpr int cost = 0;

  explicit leaf(const source& x) : values_(held(x, x.data())) {}
  explicit leaf(source&& x) : values_(moved(std::move(x))) {}

  [[nodiscard]] const T* data() const {
    if constexpr (small) {
      return values_.data();
    } else {
      return atled::detail::tensor_access::values(values_);
    }
  }
  [[nodiscard]] static constexpr unsigned cuts(const shape& result) {
    return cuts_of(dims, result);
  }
  template <class Visit>
  void visit_leaves(Visit& visit) const {
    visit(data(), source::bytes, dims, sizeof(T), !small);
  }
  template <loop_space Space>
  [[nodiscard]] auto cursor() const {
    return cursor_of<Space, dims>(data());
  }

 private:
  using holder = std::conditional_t<small, std::array<T, extent>, source>;

  static holder held(const source& x, const T* values) {
    if constexpr (small) {
      holder out{};
      for (std::size_t i = 0; i < static_cast<std::size_t>(source::size()); ++i) out[i] = values[i];
      return out;
    } else {
      return x.share();
    }
  }
  static holder moved(source&& x) {
    const T* values = std::as_const(x).data();
    if constexpr (small) {
      return held(x, values);
    } else {
      return std::move(x);
    }
  }

  holder values_;
};

/// Memory that somebody else keeps alive.
template <element T, std::int64_t... Dims>
class view_leaf {
 public:
  using value_type = T;
  static constexpr shape dims = shape::of({Dims...});
  static constexpr int cost = 0;

  explicit view_leaf(const T* values) : values_(values) {}

  [[nodiscard]] const T* data() const { return values_; }
  [[nodiscard]] static constexpr unsigned cuts(const shape& result) {
    return cuts_of(dims, result);
  }
  template <class Visit>
  void visit_leaves(Visit& visit) const {
    visit(values_, tensor_type{dtype_of<T>(), dims}.bytes(), dims, sizeof(T), false);
  }
  template <loop_space Space>
  [[nodiscard]] auto cursor() const {
    return cursor_of<Space, dims>(values_);
  }

 private:
  const T* values_;
};

/// A number, already of the element type that it takes in its place.
template <element T>
class literal {
 public:
  using value_type = T;
  static constexpr shape dims{};
  static constexpr int cost = 0;

  template <number V>
  explicit literal(V value) : value_(in_registers<T>(atled::detail::to_element<T>(value))) {}

  [[nodiscard]] static constexpr unsigned cuts(const shape&) { return 0; }
  template <class Visit>
  void visit_leaves(Visit&) const {}
  template <loop_space>
  [[nodiscard]] auto cursor() const {
    return literal_cursor<compute_t<T>>{value_};
  }

 private:
  compute_t<T> value_;
};

/// `Op` on the elements of `Args`, broadcast together; the result has elements of type `R`.
template <class Op, element R, class... Args>
class apply {
 public:
  using value_type = R;
  using op_type = Op;
  static constexpr shape dims = broadcast_all({Args::dims...});
  static constexpr int cost = (Args::cost + ... + Op::cost);

  explicit apply(Args... args) : args_(std::move(args)...) {}

  /// The same operands under another op.
  template <class Other>
  [[nodiscard]] apply<Other, R, Args...> with_op() && {
    return std::apply([](Args&... args) { return apply<Other, R, Args...>(std::move(args)...); },
                      args_);
  }

  [[nodiscard]] static constexpr unsigned cuts(const shape& result) {
    return (Args::cuts(result) | ...);
  }
  template <class Visit>
  void visit_leaves(Visit& visit) const {
    std::apply([&](const Args&... args) { (args.visit_leaves(visit), ...); }, args_);
  }
  template <loop_space Space>
  [[nodiscard]] auto cursor() const {
    return std::apply(
        [](const Args&... args) {
          return apply_cursor<Op, decltype(args.template cursor<Space>())...>{
              {args.template cursor<Space>()...}};
        },
        args_);
  }

 private:
  std::tuple<Args...> args_;
};

// ---- running -------------------------------------------------------------------------------

template <class Source, class Axes>
struct tensor_of_axes;
template <class Source, std::size_t... Axis>
struct tensor_of_axes<Source, std::index_sequence<Axis...>> {
  using type = tensor<typename Source::value_type, Source::dims.dims[Axis]...>;
};
/// The tensor type that has the `value_type` and the `dims` of a source.
template <class Source>
using tensor_of = typename tensor_of_axes<
    Source, std::make_index_sequence<static_cast<std::size_t>(Source::dims.rank)>>::type;

/// Writes the values of a node in row-major order. Pre: `out` holds the node's size, and overlaps
/// no leaf but one that is read at the index that is written.
template <class Node, class T>
void evaluate(const Node& node, T* out, bool in_place) {
  constexpr std::int64_t size = Node::dims.size();
  if constexpr (size > 0) {
    constexpr loop_space space = loop_space::of(Node::dims, Node::cuts(Node::dims));
    constexpr std::int64_t inner = space.inner();
    constexpr int lanes = lanes_for<T>(inner);
    const auto cursor = node.template cursor<space>();
    if constexpr (size <= 4 * lanes && space.groups.rank == 1) {
      run_span<lanes, false>(cursor, out, 0, size);
    } else {
      constexpr bool is_parallel = size * (1 + Node::cost) >= parallel_cost;
      const bool stream = size * std::int64_t{sizeof(T)} >= stream_bytes && !in_place;
      run_rows<lanes, space.groups.rank - 1, is_parallel>(cursor, space.groups, out, stream);
    }
  }
}

/// Which leaves lie in the memory that is about to be written.
struct overlap_check {
  const void* out;
  std::int64_t bytes;
  shape dims;
  std::size_t element_bytes;
  int owners = 0;          ///< leaves that share the memory as its owners
  bool overlaps = false;   ///< some leaf does
  bool is_unsafe = false;  ///< some leaf is read elsewhere than where is written

  void operator()(const void* leaf, std::int64_t leaf_bytes, const shape& leaf_dims,
                  std::size_t leaf_element_bytes, bool is_owner) {
    const auto begin = reinterpret_cast<std::uintptr_t>(leaf);
    const auto target = reinterpret_cast<std::uintptr_t>(out);
    if (begin >= target + static_cast<std::uintptr_t>(bytes) ||
        target >= begin + static_cast<std::uintptr_t>(leaf_bytes)) {
      return;
    }
    overlaps = true;
    if (is_owner) ++owners;
    if (begin != target || leaf_dims != dims || leaf_element_bytes != element_bytes) {
      is_unsafe = true;
    }
  }
};

template <class Node>
struct is_equality : std::false_type {};
template <class... Args>
struct is_equality<apply<equal, boolean, Args...>> : std::true_type {};
template <class... Args>
struct is_equality<apply<not_equal, boolean, Args...>> : std::true_type {};

}  // namespace loops::eager

/// An elementwise computation on tensors that has not run yet: what `a * b + 2` returns.
///
/// - It becomes a tensor where one is expected, in one loop; a scalar one becomes its number.
/// - It is a value: it owns temporaries and shares the memory of named tensors, so it may be
///   stored, copied and returned. Writing to a tensor later does not change it.
/// - A `tensor_view` in it is only looked at: who made the view keeps its memory alive.
/// - `a == b` and `a != b` also are conditions: all elements are equal; some differ.
template <class Node>
class lazy {
 public:
  using tensor_expression_tag = void;
  using node_type = Node;
  using value_type = typename Node::value_type;
  using result = loops::eager::tensor_of<Node>;
  static constexpr shape dims = Node::dims;
  static constexpr tensor_type type{dtype_of<value_type>(), Node::dims};
  static constexpr int rank = Node::dims.rank;
  [[nodiscard]] static constexpr std::int64_t size() { return Node::dims.size(); }

  explicit lazy(Node node) : node_(std::move(node)) {}

  /// Runs it. Cost: one pass over the operands and the result.
  [[nodiscard]] result eval() const { return result(*this); }

  operator value_type() const  // NOLINT: a scalar is its value
      requires(rank == 0) {
    value_type out;
    evaluate_into(&out);
    return out;
  }
  explicit operator bool() const requires(rank > 0 && loops::eager::is_equality<Node>::value) {
    constexpr bool wanted = std::is_same_v<typename Node::op_type, loops::eager::equal>;
    for (const bool value : eval()) {
      if (value != wanted) return !wanted;
    }
    return wanted;
  }

  /// Writes the values to memory of size() elements that none of the operands uses.
  void evaluate_into(value_type* out) const { loops::eager::evaluate(node_, out, false); }

  /// Writes the values to a tensor: in place if nobody else can notice.
  template <std::int64_t... Dims>
  void assign_to(tensor<value_type, Dims...>& out) const& {
    store(out, false);
  }
  template <std::int64_t... Dims>
  void assign_to(tensor<value_type, Dims...>& out) && {
    store(out, true);
  }
  template <std::int64_t... Dims>
  void assign_to(const tensor_view<value_type, Dims...>& out) const {
    const auto check = checked(out.data());
    if (check.is_unsafe) {
      out.assign(eval());
    } else {
      loops::eager::evaluate(node_, out.data(), check.overlaps);
    }
  }

  [[nodiscard]] const Node& node() const& { return node_; }
  [[nodiscard]] Node&& node() && { return std::move(node_); }

 private:
  [[nodiscard]] loops::eager::overlap_check checked(const value_type* out) const {
    loops::eager::overlap_check check{out, type.bytes(), dims, sizeof(value_type)};
    node_.visit_leaves(check);
    return check;
  }

  template <class Tensor>
  void store(Tensor& out, bool is_dying) const {
    value_type* const target = detail::tensor_access::values(out);
    if (!out.is_empty()) {
      const auto check = checked(target);
      const int own_uses = is_dying ? check.owners : 0;
      if (!check.is_unsafe && detail::tensor_access::use_count(out) - own_uses == 1) {
        loops::eager::evaluate(node_, target, check.overlaps);
        return;
      }
    }
    out = eval();
  }

  Node node_;
};

}  // namespace atled
