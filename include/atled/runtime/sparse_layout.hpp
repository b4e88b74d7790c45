// atled/runtime/sparse_layout.hpp: a small program, element by element: which numbers are known at
// build time, which are others moved, and which must be computed.
// Reads: passes/fold.hpp, runtime/inline_program.hpp. Next: runtime/sparse_program.hpp.
//
// A Hessian is computed along all vectors of a basis at once: matrices in which most elements are
// 0, and known to be. A tangent that is exactly 0 stays 0 (strong zero), so that what remains of
// the matrices are some diagonals. No other arithmetic is left out: x + 0 is computed where x is.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/fold.hpp"
#include "atled/runtime/inline_program.hpp"

namespace atled::runtime {

/// The most elements of all nodes together, known or not; and numbers known.
inline constexpr int max_sparse_elements = 1 << 15;
inline constexpr int max_known_numbers = 512;

/// A number of a type, with the bits of a double or of an integer.
struct known_number {
  dtype element;
  std::int64_t bits;
};

struct sparse_node {
  op code;
  dtype element;
  std::int64_t bits;    ///< the first attribute
  int size;             ///< elements that have a place of their own; 1 if all are one number
  int first;            ///< in sparse_layout::places
  int count;            ///< elements that are computed
  std::int64_t offset;  ///< where these are in the function's memory, in bytes
  int num_operands;
  int operands_begin;  ///< in sparse_layout::operands
};

/// Where each element is: an offset in the function's memory, or -1 - i for known number i.
struct sparse_layout {
  bool fits;
  std::int64_t bytes;
  std::int64_t known_offset;  ///< eight bytes for each known number
  int num_known;
  int num_nodes;
  int num_outputs;
  known_number known[max_known_numbers];
  sparse_node nodes[max_inline_nodes];
  int operands[4 * max_inline_nodes];
  int outputs[max_inline_fold];
  int places[max_sparse_elements];
  int num_places;

  [[nodiscard]] constexpr int operand(int id, int index) const {
    return operands[nodes[id].operands_begin + index];
  }
  [[nodiscard]] constexpr int place(int id, int index) const {
    const sparse_node& n = nodes[id];
    return places[n.first + (n.size == 1 ? 0 : index)];
  }
  /// The same in bytes, for a known number too.
  [[nodiscard]] constexpr int offset_of(int id, int index) const {
    const int at = place(id, index);
    return at >= 0 ? at : static_cast<int>(known_offset) + 8 * (-1 - at);
  }
};

namespace detail {

class sparse_layout_maker {
 public:
  constexpr explicit sparse_layout_maker(const ir::graph& g) : g_(g) {}

  [[nodiscard]] constexpr const sparse_layout& made() {
    if (!is_small()) return out_;
    out_.num_nodes = g_.num_nodes;
    out_.num_outputs = g_.num_outputs;
    for (int i = 0; i < g_.num_operands; ++i) out_.operands[i] = g_.operands[i];
    for (int i = 0; i < g_.num_outputs; ++i) out_.outputs[i] = g_.outputs[i];
    for (int id = 0; id < g_.num_nodes; ++id) {
      add(id);
      if (!is_fine_) return out_;
    }
    out_.known_offset = out_.bytes;
    out_.bytes += 8 * out_.num_known;
    out_.fits = num_computed_ <= max_inline_elements;
    return out_;
  }

 private:
  const ir::graph& g_;
  sparse_layout out_{};
  bool is_fine_ = true;
  std::int64_t num_computed_ = 0;
  int slots_[2 * max_known_numbers]{};  // a hash table of numbers, + 1
  int moved_[max_sparse_elements]{};

  /// A graph that runtime/inline_program.hpp could run, and in which a basis may be hidden.
  [[nodiscard]] constexpr bool is_small() const {
    if (g_.num_nodes > max_inline_nodes || g_.num_operands > 4 * max_inline_nodes ||
        g_.num_outputs > max_inline_fold) {
      return false;
    }
    bool has_index = false;
    std::int64_t elements = 0;
    for (int id = 0; id < g_.num_nodes; ++id) {
      const op code = g_[id].code;
      if (!is_inlinable(code) || !has_inline_type(g_, id)) return false;
      if (g_[id].num_operands > max_inline_fold) return false;
      const std::int64_t size = g_.type(id).size();
      if (code == op::dot && size * contracted_size(g_, id) > max_inline_product) return false;
      has_index = has_index || code == op::iota;
      elements += size;
      if (elements > 2 * max_sparse_elements) return false;
    }
    return has_index;
  }

  constexpr int known(passes::folded value, dtype element) {
    if (element == dtype::f32) value.real = static_cast<double>(static_cast<float>(value.real));
    const std::int64_t bits =
        is_floating(element) ? std::bit_cast<std::int64_t>(value.real) : value.integer;
    const auto hash = static_cast<std::uint64_t>(bits) * 0x9e3779b97f4a7c15U +
                      static_cast<std::uint64_t>(element);
    for (std::uint64_t at = hash >> 40;; ++at) {
      int& slot = slots_[at % (2 * max_known_numbers)];
      if (slot == 0) {
        if (out_.num_known == max_known_numbers) {
          is_fine_ = false;
          return -1;
        }
        out_.known[out_.num_known++] = {element, bits};
        slot = out_.num_known;
        return -slot;
      }
      const known_number& there = out_.known[slot - 1];
      if (there.element == element && there.bits == bits) return -slot;
    }
  }
  [[nodiscard]] constexpr passes::folded value_at(int place) const {
    if (place >= 0) return passes::folded::none();
    const known_number& x = out_.known[-1 - place];
    return is_floating(x.element) ? passes::folded::of(std::bit_cast<double>(x.bits))
                                  : passes::folded::of_integer(x.bits);
  }

  constexpr void put(int place) {
    if (out_.num_places == max_sparse_elements) {
      is_fine_ = false;
      return;
    }
    out_.places[out_.num_places++] = place;
  }
  /// A place for one more element that is computed.
  constexpr int computed(sparse_node& n) {
    const std::int64_t at = n.offset + n.count++ * size_of(n.element);
    ++num_computed_;
    return static_cast<int>(at);
  }

  constexpr void add(int id) {
    const ir::node& from = g_[id];
    sparse_node& n = out_.nodes[id];
    n.code = from.code;
    n.element = from.type.element;
    n.bits = from.num_attributes > 0 ? g_.attribute(id) : 0;
    n.num_operands = from.num_operands;
    n.operands_begin = from.operands_begin;
    n.first = out_.num_places;
    n.size = static_cast<int>(from.type.size());
    n.offset = out_.bytes;
    switch (info(from.code).kind) {
      case op_kind::elementwise:
        apply(n, id);
        break;
      case op_kind::shape:
        move(n, id);
        break;
      case op_kind::source:
        begin(n, id);
        break;
      default:  // reductions and products
        for (int i = 0; i < n.size; ++i) put(computed(n));
        break;
    }
    out_.bytes += (n.count * size_of(n.element) + 63) / 64 * 64;
  }

  constexpr void begin(sparse_node& n, int id) {
    if (n.code == op::constant) {
      n.size = 1;
      put(known(is_floating(n.element) ? passes::folded::of(g_.constant_value(id))
                                       : passes::folded::of_integer(g_.attribute(id)),
                n.element));
    } else if (n.code == op::iota) {
      const shape& dims = g_.type(id).dims;
      const auto along = static_cast<int>(n.bits);
      const std::int64_t stride = row_major_strides(dims)[along];
      for (int i = 0; i < n.size && is_fine_; ++i) {
        const std::int64_t value = i / stride % dims[along];
        put(known(is_floating(n.element) ? passes::folded::of(static_cast<double>(value))
                                         : passes::folded::of_integer(value),
                  n.element));
      }
    } else {
      for (int i = 0; i < n.size && is_fine_; ++i) put(computed(n));
    }
  }

  constexpr void move(sparse_node& n, int id) {
    const int x = out_.operand(id, 0);
    if (n.code != op::pad && n.code != op::concatenate && out_.nodes[x].size == 1) {
      n.size = 1;
      put(out_.place(x, 0));
      return;
    }
    if (n.size > max_sparse_elements) {
      is_fine_ = false;
      return;
    }
    moved_places(g_, id, moved_);
    for (int i = 0; i < n.size && is_fine_; ++i) {
      int from = x;
      int index = moved_[i];
      if (n.code == op::pad && index < 0) {
        from = out_.operand(id, 1);
        index = 0;
      }
      for (int k = 0; n.code == op::concatenate; ++k) {
        from = out_.operand(id, k);
        const auto size = static_cast<int>(g_.type(from).size());
        if (index < size) break;
        index -= size;
      }
      put(out_.place(from, index));
    }
  }

  constexpr void apply(sparse_node& n, int id) {
    bool is_one = true;
    for (int k = 0; k < n.num_operands; ++k) {
      is_one = is_one && out_.nodes[out_.operand(id, k)].size == 1;
    }
    if (is_one) n.size = 1;
    const dtype from = out_.nodes[out_.operand(id, 0)].element;
    const int looked_at = n.num_operands < 3 ? n.num_operands : 3;
    int first[3]{};  // in out_.places, of each operand, and how far apart its elements are
    int step[3]{};
    for (int k = 0; k < looked_at; ++k) {
      const sparse_node& x = out_.nodes[out_.operand(id, k)];
      first[k] = x.first;
      step[k] = x.size == 1 ? 0 : 1;
    }
    for (int i = 0; i < n.size && is_fine_; ++i) {
      int places[3]{};
      bool any_known = false;
      for (int k = 0; k < looked_at; ++k) {
        places[k] = out_.places[first[k] + i * step[k]];
        any_known = any_known || places[k] < 0;
      }
      if (!any_known) {  // most are so: no call is made for them
        put(computed(n));
        continue;
      }
      passes::folded values[3]{};
      bool all_known = n.num_operands <= 3;
      for (int k = 0; k < looked_at; ++k) {
        values[k] = value_at(places[k]);
        all_known = all_known && values[k].known;
      }
      if (n.code == op::select && values[0].known) {
        put(values[0].integer != 0 ? places[1] : places[2]);
        continue;
      }
      passes::folded value{};
      if (all_known) {
        value = passes::fold_known(n.code, from, n.element, values, n.num_operands);
      } else if (n.code == op::strong_mul && is_floating(n.element) &&
                 ((values[0].known && values[0].real == 0) ||
                  (values[1].known && values[1].real == 0))) {
        value = passes::folded::of(0);
      }
      put(value.known ? known(value, n.element) : computed(n));
    }
  }
};

}  // namespace detail

[[nodiscard]] constexpr sparse_layout make_sparse_layout(const ir::graph& g) {
  detail::sparse_layout_maker maker(g);
  return maker.made();
}

}  // namespace atled::runtime
