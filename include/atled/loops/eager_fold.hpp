// atled/loops/eager_fold.hpp: the loops of reductions; their order depends on the shape alone.
// Reads: loops/eager_expression.hpp, core/axis.hpp. Next: loops/eager_reduce.hpp, the functions.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/axis.hpp"
#include "atled/loops/eager_expression.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace atled::loops::eager {

// ---- what is reduced: the neutral element, two lanes, all lanes ----------------------------

struct sum_of {
  static constexpr const char* name = "sum";
  static constexpr bool has_neutral = true;
  template <class T>
  static constexpr T neutral = T{0};
  template <class V>
  ATLED_INLINE static V combine(V x, V y) {
    return x + y;
  }
  template <class V>
  ATLED_INLINE static auto lanes(V x) {
    return reduce_add(x);
  }
};
struct mean_of : sum_of {
  static constexpr const char* name = "mean";
};
struct prod_of {
  static constexpr const char* name = "prod";
  static constexpr bool has_neutral = true;
  template <class T>
  static constexpr T neutral = T{1};
  template <class V>
  ATLED_INLINE static V combine(V x, V y) {
    return x * y;
  }
  template <class V>
  ATLED_INLINE static auto lanes(V x) {
    return reduce_mul(x);
  }
};
struct max_of {
  static constexpr const char* name = "max";
  static constexpr bool has_neutral = false;
  template <class T>
  static constexpr T neutral = std::numeric_limits<T>::has_infinity
                                   ? -std::numeric_limits<T>::infinity()
                                   : std::numeric_limits<T>::lowest();
  template <class V>
  ATLED_INLINE static V combine(V x, V y) {
    return max(x, y);
  }
  template <class V>
  ATLED_INLINE static auto lanes(V x) {
    return reduce_max(x);
  }
};
struct min_of {
  static constexpr const char* name = "min";
  static constexpr bool has_neutral = false;
  template <class T>
  static constexpr T neutral = std::numeric_limits<T>::has_infinity
                                   ? std::numeric_limits<T>::infinity()
                                   : std::numeric_limits<T>::max();
  template <class V>
  ATLED_INLINE static V combine(V x, V y) {
    return min(x, y);
  }
  template <class V>
  ATLED_INLINE static auto lanes(V x) {
    return reduce_min(x);
  }
};
struct any_of : max_of {
  static constexpr const char* name = "any";
  static constexpr bool has_neutral = true;
  template <class T>
  static constexpr T neutral = T{0};
};
struct all_of : min_of {
  static constexpr const char* name = "all";
  static constexpr bool has_neutral = true;
  template <class T>
  static constexpr T neutral = T{1};
};

/// The C++ type in which elements of type T are accumulated: f32 for bf16 and f16, i32 for
/// booleans.
template <element T>
using accumulator = std::conditional_t<std::is_same_v<T, boolean>, i32, compute_t<T>>;

// ---- which axes ----------------------------------------------------------------------------

/// The options of a call, `axis<...>` and `keepdims`, on a type.
struct reduction_axes {
  std::int64_t mask = 0;
  bool keep = false;
  text problem;

  template <class... Options>
  [[nodiscard]] static constexpr reduction_axes of(const tensor_type& type, const char* name,
                                                   const Options&... options) {
    reduction_axes out{};
    bool any_axis = false;
    [[maybe_unused]] const auto read = [&](const axes& option) {
      out.keep |= option.keep;
      if (option.all) return;
      any_axis = true;
      out.add(type, name, option.list[0]);
    };
    (read(axes(options)), ...);
    if (!any_axis) out.mask = (std::int64_t{1} << type.rank()) - 1;
    return out;
  }

  [[nodiscard]] constexpr bool has(int axis) const { return ((mask >> axis) & 1) != 0; }

  /// Number of elements that are combined into one.
  [[nodiscard]] constexpr std::int64_t count(const shape& dims) const {
    std::int64_t product = 1;
    for (int i = 0; i < dims.rank; ++i) product *= has(i) ? dims.dims[i] : 1;
    return product;
  }
  [[nodiscard]] constexpr shape result(const shape& dims) const {
    shape out{};
    for (int i = 0; i < dims.rank; ++i) {
      if (!has(i)) out.push(dims.dims[i]);
      if (has(i) && keep) out.push(1);
    }
    return out;
  }

 private:
  constexpr void add(const tensor_type& type, const char* name, int number) {
    const int own = number < 0 ? number + type.rank() : number;
    if (!problem.empty()) return;
    if (own < 0 || own >= type.rank()) {
      problem << name << ": " << type << " along axis " << number << ": ";
      if (type.rank() == 0) {
        problem << "a scalar has no axes";
      } else {
        problem << "the axis must be from " << -type.rank() << " to " << type.rank() - 1;
      }
    } else if (has(own)) {
      problem << name << ": " << type << ": axis " << own << " is given twice: each axis once";
    } else {
      mask |= std::int64_t{1} << own;
    }
  }
};

// ---- loops ---------------------------------------------------------------------------------

/// Units: elements. A row is cut into blocks of this size, whose results meet in a binary tree.
inline constexpr std::int64_t reduce_block = 4096;
/// Units: rows. As many are added to a column before the partial sums are.
inline constexpr std::int64_t reduce_rows = 128;
/// Lanes of the sums, whatever the registers: equal bits on every machine.
inline constexpr int reduce_lanes = 16;

template <class Kind, class Acc>
[[nodiscard]] Acc combine_two(Acc x, Acc y) {
  return Kind::combine(vec<Acc, 1>{x}, vec<Acc, 1>{y}).r;
}

template <class Acc, int N, class Cursor>
[[nodiscard]] ATLED_INLINE vec<Acc, N> load_as(const Cursor& cursor, std::int64_t i) {
  return convert<Acc>(cursor.template load<N>(i));
}

template <class Kind, class Acc, class Cursor>
[[nodiscard]] Acc reduce_span(const Cursor& cursor, std::int64_t begin, std::int64_t end) {
  constexpr int lanes = reduce_lanes;
  const auto neutral = splat<lanes>(Kind::template neutral<Acc>);
  vec<Acc, lanes> a = neutral;
  vec<Acc, lanes> b = neutral;
  vec<Acc, lanes> c = neutral;
  vec<Acc, lanes> d = neutral;
  std::int64_t i = begin;
  for (; i + 4 * lanes <= end; i += 4 * lanes) {
    a = Kind::combine(a, load_as<Acc, lanes>(cursor, i));
    b = Kind::combine(b, load_as<Acc, lanes>(cursor, i + lanes));
    c = Kind::combine(c, load_as<Acc, lanes>(cursor, i + 2 * lanes));
    d = Kind::combine(d, load_as<Acc, lanes>(cursor, i + 3 * lanes));
  }
  for (; i + lanes <= end; i += lanes) a = Kind::combine(a, load_as<Acc, lanes>(cursor, i));
  if (i < end) {
    const int count = static_cast<int>(end - i);
    const auto tail = convert<Acc>(cursor.template load_partial<lanes>(i, count));
    b = Kind::combine(b, select(first_lanes<lanes>(count), tail, neutral));
  }
  return Kind::lanes(Kind::combine(Kind::combine(a, b), Kind::combine(c, d)));
}

/// Elements [begin, begin + size) of a row to one.
template <class Kind, class Acc, class Cursor>
[[nodiscard]] Acc reduce_row(const Cursor& cursor, std::int64_t begin, std::int64_t size) {
  if (size <= reduce_block) return reduce_span<Kind, Acc>(cursor, begin, begin + size);
  const std::int64_t blocks = (size + reduce_block - 1) / reduce_block;
  std::vector<Acc> partial(static_cast<std::size_t>(blocks));
  Acc* const parts = partial.data();
#if defined(_OPENMP)
#  pragma omp parallel for schedule(static) if (size >= parallel_cost)
#endif
  for (std::int64_t k = 0; k < blocks; ++k) {
    const std::int64_t from = k * reduce_block;
    parts[k] =
        reduce_span<Kind, Acc>(cursor, begin + from, begin + std::min(from + reduce_block, size));
  }
  for (std::int64_t step = 1; step < blocks; step *= 2) {
    for (std::int64_t k = 0; k + step < blocks; k += 2 * step) {
      parts[k] = combine_two<Kind>(parts[k], parts[k + step]);
    }
  }
  return parts[0];
}

/// `reduce_lanes` columns of [rows, stride] to one row: blocks of rows, met in a binary tree.
template <class Kind, bool Whole, class Acc, class T>
void reduce_columns(const T* in, std::int64_t rows, std::int64_t stride, Acc* out, int count) {
  constexpr int lanes = reduce_lanes;
  const auto neutral = splat<lanes>(Kind::template neutral<Acc>);
  vec<Acc, lanes> tree[64];  // level l holds 2^l blocks, if bit l of their number is set
  std::uint64_t blocks = 0;
  for (std::int64_t first = 0; first < rows; first += reduce_rows, ++blocks) {
    auto part = neutral;
    const std::int64_t end = std::min(first + reduce_rows, rows);
    for (std::int64_t r = first; r < end; ++r) {
      if constexpr (Whole) {
        part = Kind::combine(part, convert<Acc>(load<lanes>(in + r * stride)));
      } else {
        part = Kind::combine(part, convert<Acc>(load_partial<lanes>(in + r * stride, count)));
      }
    }
    int level = 0;
    for (; ((blocks >> level) & 1U) != 0; ++level) part = Kind::combine(tree[level], part);
    tree[level] = part;
  }
  auto total = neutral;
  for (int level = 0; (blocks >> level) != 0; ++level) {
    if (((blocks >> level) & 1U) != 0) total = Kind::combine(tree[level], total);
  }
  store_partial(out, total, count);
}

/// The middle axis of [outer, rows, inner] to one element each.
template <class Kind, class Acc, class T>
void reduce_middle(const T* in, std::int64_t outer, std::int64_t rows, std::int64_t inner,
                   Acc* out) {
  if (inner == 1) {
    const leaf_cursor<T, true, 0> cursor{in, {}};
#if defined(_OPENMP)
#  pragma omp parallel for schedule(static) if (outer > 1 && outer * rows >= parallel_cost)
#endif
    for (std::int64_t o = 0; o < outer; ++o) {
      out[o] = reduce_row<Kind, Acc>(cursor, o * rows, rows);
    }
    return;
  }
  const std::int64_t chunks = (inner + reduce_lanes - 1) / reduce_lanes;
#if defined(_OPENMP)
#  pragma omp parallel for schedule(static) if (outer * rows * inner >= parallel_cost)
#endif
  for (std::int64_t task = 0; task < outer * chunks; ++task) {
    const std::int64_t o = task / chunks;
    const std::int64_t i = (task % chunks) * reduce_lanes;
    const T* const from = in + o * rows * inner + i;
    Acc* const to = out + o * inner + i;
    const std::int64_t left = inner - i;
    if (left >= reduce_lanes) {
      reduce_columns<Kind, true>(from, rows, inner, to, reduce_lanes);
    } else {
      reduce_columns<Kind, false>(from, rows, inner, to, static_cast<int>(left));
    }
  }
}

/// Any set of axes: the last run of them first, then the one before it, each as a middle axis.
template <class Kind, class Acc, class T>
void reduce_axes(const T* in, const shape& dims, const reduction_axes& along, Acc* out) {
  int last = dims.rank - 1;
  std::int64_t inner = 1;
  while (last >= 0 && !along.has(last)) inner *= dims.dims[last--];
  std::int64_t rows = 1;
  while (last >= 0 && along.has(last)) rows *= dims.dims[last--];
  reduction_axes rest = along;
  shape left{};
  std::int64_t outer = 1;
  for (int i = 0; i <= last; ++i) {
    left.push(dims.dims[i]);
    outer *= dims.dims[i];
  }
  rest.mask &= (std::int64_t{1} << (last + 1)) - 1;
  if (rest.mask == 0) {
    reduce_middle<Kind>(in, outer, rows, inner, out);
    return;
  }
  std::vector<Acc> partial(static_cast<std::size_t>(outer * inner));
  reduce_middle<Kind>(in, outer, rows, inner, partial.data());
  left.push(inner);
  reduce_axes<Kind>(static_cast<const Acc*>(partial.data()), left, rest, out);
}

/// Reduces a node to accumulators; whole rows of an expression without storing it.
template <class Kind, class Acc, class Node>
void reduce_node(const Node& node, const reduction_axes& along, Acc* out) {
  constexpr shape dims = Node::dims;
  constexpr loop_space space = loop_space::of(dims, Node::cuts(dims));
  if (dims.size() == 0) {
    std::fill_n(out, along.result(dims).size(), Kind::template neutral<Acc>);
  } else if constexpr (requires { node.data(); }) {
    reduce_axes<Kind>(node.data(), dims, along, out);
  } else if (space.groups.rank == 1 && along.count(dims) == dims.size()) {
    *out = reduce_row<Kind, Acc>(node.template cursor<space>(), 0, dims.size());
  } else {
    const auto stored = lazy(node).eval();
    reduce_axes<Kind>(stored.data(), dims, along, out);
  }
}

}  // namespace atled::loops::eager
