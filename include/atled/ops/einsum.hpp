// atled/ops/einsum.hpp: sums of products by labels: einsum("bthd,bshd->bhts", q, k).
// Reads: ops/einsum_labels.hpp, which reads the text. Values are contracted in pairs from the left,
// each pair one op::dot (one product, if nothing is contracted); then summed and put in order.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/einsum_labels.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/reshape.hpp"

#include <span>
#include <string_view>

namespace atled {

namespace detail {

/// A value and what its axes are called.
struct labelled {
  ir::operand value;
  labels axes;

  [[nodiscard]] constexpr std::int64_t size_of(char label) const {
    return value.type().dims[axes.find(label)];
  }
};

/// Collects the sizes, checks them, and does the work of `einsum`.
class einsum_contraction {
 public:
  constexpr einsum_contraction(std::string_view spec, ir::builder& b) : text_(spec), b_(b) {}

  constexpr expr run(std::span<const expr> operands) {
    const einsum_spec spec(text_);
    if (spec.num_inputs != static_cast<int>(operands.size()) ||
        spec.num_inputs > einsum_spec::most) {
      return failed(text() << spec.num_inputs << " terms and " << static_cast<int>(operands.size())
                           << " operands: there must be one term for each, at most 8");
    }
    const ir::operand none(b_, ir::poison);
    labelled terms[einsum_spec::most] = {{none, {}}, {none, {}}, {none, {}}, {none, {}},
                                         {none, {}}, {none, {}}, {none, {}}, {none, {}}};
    dtype element = dtype::boolean;
    for (int i = 0; i < spec.num_inputs; ++i) {
      const expr& given = operands[static_cast<std::size_t>(i)];
      if (given.is_poison()) return none;
      terms[i].value = ir::operand(b_, given.id());
      if (!read_input(spec.inputs[i], i, terms[i])) return none;
      element = promote(element, given.element());
    }
    if (element == dtype::boolean) return failed(text() << "it takes numbers, not booleans");
    labels output = spec.has_output ? labels{} : implicit_output(terms, spec.num_inputs);
    if (spec.has_output && !read_output(spec.output, output)) return none;

    for (int i = 0; i < spec.num_inputs; ++i) {
      terms[i].value = terms[i].value.as(element);
      while (take_diagonal(terms[i])) {
      }
      drop_ones(terms[i]);
    }
    labelled all = terms[0];
    for (int i = 1; i < spec.num_inputs; ++i) {
      label_set needed;
      needed.add(output);
      for (int j = i + 1; j < spec.num_inputs; ++j) needed.add(terms[j].axes);
      all = contract(all, terms[i], output, needed);
    }
    label_set wanted;
    wanted.add(output);
    all = summed(all, wanted);
    return in_order(all, output);
  }

 private:
  std::string_view text_;
  ir::builder& b_;
  std::int64_t size_of_[128]{};  // of each label; 0 is unknown
  bool is_known_[128]{};
  int num_ellipsis_ = 0;

  constexpr expr failed(const text& why) { return ir::fail(b_, text() << text_ << ": " << why); }

  constexpr bool read_input(std::string_view term, int number, labelled& out) {
    const tensor_type type = out.value.type();
    if (const text problem = read_term(term, type.rank(), out.axes); !problem.empty()) {
      static_cast<void>(failed(problem));
      return false;
    }
    if (out.axes.size != type.rank()) {
      static_cast<void>(failed(text() << "operand " << number << " is " << type
                                      << ": it must have one axis for each of its " << out.axes.size
                                      << " labels"));
      return false;
    }
    for (int i = 0; i < type.rank(); ++i) {
      const char label = out.axes.list[i];
      const auto index = static_cast<std::size_t>(label);
      const bool repeats = !is_label(label);
      if (repeats && label - '0' >= num_ellipsis_) num_ellipsis_ = label - '0' + 1;
      if (!is_known_[index] || (repeats && size_of_[index] == 1)) {
        is_known_[index] = true;
        size_of_[index] = type.dims[i];
      } else if (size_of_[index] != type.dims[i] && !(repeats && type.dims[i] == 1)) {
        static_cast<void>(failed(text()
                                 << "label " << std::string_view(&label, 1) << " is "
                                 << size_of_[index] << " and, in operand " << number << " " << type
                                 << ", " << type.dims[i] << ": the sizes must be equal"));
        return false;
      }
    }
    return true;
  }

  constexpr bool read_output(std::string_view term, labels& out) {
    int letters = 0;
    for (const char c : term) letters += is_label(c) ? 1 : 0;
    text problem = read_term(term, letters + num_ellipsis_, out);
    if (problem.empty() && out.size > max_rank) problem << "the result has more than 8 axes";
    for (int i = 0; i < out.size && problem.empty(); ++i) {
      const char label = out.list[i];
      if (out.find(label) != i || !is_known_[static_cast<std::size_t>(label)]) {
        problem << "label " << std::string_view(&label, 1)
                << " of the result must be in it once, and in an operand";
      }
    }
    if (!problem.empty()) static_cast<void>(failed(problem));
    return problem.empty();
  }

  /// Without an arrow: the ellipsis, then each label that occurs once, in the order of letters.
  constexpr labels implicit_output(const labelled* terms, int count) const {
    labels out;
    for (int i = num_ellipsis_; i > 0; --i) out.push(static_cast<char>('0' + i - 1));
    for (int label = 'A'; label <= 'z'; ++label) {
      int uses = 0;
      for (int i = 0; i < count; ++i) {
        for (int j = 0; j < terms[i].axes.size; ++j) uses += terms[i].axes.list[j] == label ? 1 : 0;
      }
      if (uses == 1) out.push(static_cast<char>(label));
    }
    return out;
  }

  /// Makes one axis of the first two that have the same label; false if there are none.
  constexpr bool take_diagonal(labelled& x) const {
    for (int j = 0; j < x.axes.size; ++j) {
      const int i = x.axes.find(x.axes.list[j]);
      if (i == j || x.value.is_poison()) continue;
      const tensor_type type = x.value.type();
      const tensor_type index{dtype::i32, type.dims};
      const ir::operand on =
          ir::operand(b_, b_.iota(index, i)) == ir::operand(b_, b_.iota(index, j));
      const ir::operand kept_values = ir::select(on, x.value, x.value.like(0));
      x.value = reduced(op::reduce_sum, kept_values, std::int64_t{1} << j, false);
      remove(x.axes, j);
      return true;
    }
    return false;
  }

  /// Drops axes under an ellipsis that are 1 here and larger elsewhere.
  constexpr void drop_ones(labelled& x) const {
    for (int i = x.axes.size - 1; i >= 0; --i) {
      const char label = x.axes.list[i];
      if (is_label(label) || x.size_of(label) == size_of_[static_cast<std::size_t>(label)])
        continue;
      shape dims{};
      for (int j = 0; j < x.axes.size; ++j) {
        if (j != i) dims.push(x.value.type().dims[j]);
      }
      x.value = ir::operand(b_, b_.reshape(x.value.id(), dims));
      remove(x.axes, i);
    }
  }

  static constexpr void remove(labels& from, int place) {
    for (int i = place; i + 1 < from.size; ++i) from.list[i] = from.list[i + 1];
    --from.size;
  }

  /// `x` summed over the labels that nothing needs.
  constexpr labelled summed(const labelled& x, const label_set& needed) const {
    labelled out{x.value, {}};
    std::int64_t mask = 0;
    for (int i = 0; i < x.axes.size; ++i) {
      if (needed.has(x.axes.list[i])) {
        out.axes.push(x.axes.list[i]);
      } else {
        mask |= std::int64_t{1} << i;
      }
    }
    if (mask == 0) return x;
    const dtype element = x.value.type().element;
    out.value = sum_over(x.value, mask).as(element);
    return out;
  }

  constexpr labelled contract(const labelled& x, const labelled& y, const labels& output,
                              const label_set& needed) const {
    label_set shared = needed;  // and what only the other one has, which does no harm
    shared.add(y.axes);
    const labelled lhs = summed(x, shared);
    shared = needed;
    shared.add(x.axes);
    const labelled rhs = summed(y, shared);
    if (lhs.value.is_poison() || rhs.value.is_poison()) return {{b_, ir::poison}, {}};
    bool contracts = false;
    for (int i = 0; i < lhs.axes.size; ++i) {
      const char label = lhs.axes.list[i];
      contracts = contracts || (rhs.axes.has(label) && !needed.has(label));
    }
    if (!contracts) return multiplied(lhs, rhs, output);
    for (int i = 0; i < output.size; ++i) {  // the operand whose free label comes first leads
      const char label = output.list[i];
      if (lhs.axes.has(label) == rhs.axes.has(label)) continue;
      return lhs.axes.has(label) ? dotted(lhs, rhs, output, needed)
                                 : dotted(rhs, lhs, output, needed);
    }
    return dotted(lhs, rhs, output, needed);
  }

  constexpr labelled dotted(const labelled& lhs, const labelled& rhs, const labels& output,
                            const label_set& needed) const {
    labelled out{lhs.value, {}};
    ir::dot_axes pairs{};
    const auto batch = [&](char label) {
      const bool shared = lhs.axes.has(label) && rhs.axes.has(label);
      if (!shared || !needed.has(label) || out.axes.has(label)) return;
      pairs.batch(lhs.axes.find(label), rhs.axes.find(label));
      out.axes.push(label);
    };
    for (int i = 0; i < output.size; ++i) batch(output.list[i]);
    for (int i = 0; i < lhs.axes.size; ++i) batch(lhs.axes.list[i]);
    for (int i = 0; i < lhs.axes.size; ++i) {
      const char label = lhs.axes.list[i];
      if (!rhs.axes.has(label)) {
        out.axes.push(label);
      } else if (!needed.has(label)) {
        pairs.contract(i, rhs.axes.find(label));
      }
    }
    for (int i = 0; i < rhs.axes.size; ++i) {
      if (!lhs.axes.has(rhs.axes.list[i])) out.axes.push(rhs.axes.list[i]);
    }
    out.value = ir::operand(b_, b_.dot(lhs.value.id(), rhs.value.id(), pairs));
    return out;
  }

  /// The product of each pair of elements, in the order of the result as far as that is known.
  constexpr labelled multiplied(const labelled& lhs, const labelled& rhs,
                                const labels& output) const {
    labelled out{lhs.value, {}};
    shape dims{};
    const auto add = [&](char label) {
      if (out.axes.has(label)) return;
      if (lhs.axes.has(label) || rhs.axes.has(label)) {
        out.axes.push(label);
        if (dims.rank < max_rank) {
          dims.push(lhs.axes.has(label) ? lhs.size_of(label) : rhs.size_of(label));
        }
      }
    };
    for (int i = 0; i < output.size; ++i) add(output.list[i]);
    for (int i = 0; i < lhs.axes.size; ++i) add(lhs.axes.list[i]);
    for (int i = 0; i < rhs.axes.size; ++i) add(rhs.axes.list[i]);
    if (out.axes.size > max_rank) {
      const text why = "a product would have more than 8 axes";
      return {{b_, b_.fail(b_.site.function, why)}, {}};
    }
    const auto fit = [&](const labelled& x) {
      const ir::operand ordered(in_order(x, out.axes), b_.site);
      std::int64_t missing = 0;
      for (int i = 0; i < out.axes.size; ++i) {
        if (!x.axes.has(out.axes.list[i])) missing |= std::int64_t{1} << i;
      }
      return ir::spread(ordered, dims, missing);
    };
    const ir::operand left = fit(lhs);
    out.value = left * fit(rhs);
    return out;
  }

  /// The axes of `x` in the order in which `wanted` names them; `wanted` may name more.
  constexpr expr in_order(const labelled& x, const labels& wanted) const {
    if (x.value.is_poison()) return x.value;
    axes order = axes{std::initializer_list<int>{}};
    for (int i = 0; i < wanted.size; ++i) {
      if (x.axes.has(wanted.list[i])) order.push(x.axes.find(wanted.list[i]));
    }
    return transpose(x.value, order, b_.site);
  }
};

}  // namespace detail

/// The sum of products that the labels say: one letter an axis, one term an operand.
///
///   einsum("ij,jk->ik", a, b)          matmul
///   einsum("bthd,bshd->bhts", q, k)    attention scores
///   einsum("ii", a)                    trace
///   einsum("...ij->...ji", a)          transpose of the last axes
///
/// A label that the result lacks is summed. Without an arrow the result has the labels that occur
/// once, in the order of letters. Three operands and more are contracted from the left.
/// Ill-formed: terms and operands do not match; a label has two sizes; an unknown label.
[[nodiscard]] constexpr expr einsum(std::string_view spec, std::span<const expr> operands,
                                    call_site at = call_site::here()) {
  ir::builder& b = operands.front().builder();
  b.site = at.in("einsum");
  return detail::einsum_contraction(spec, b).run(operands);
}
[[nodiscard]] constexpr expr einsum(std::string_view spec, const expr& x,
                                    call_site at = call_site::here()) {
  return einsum(spec, std::span<const expr>(&x, 1), at);
}
[[nodiscard]] constexpr expr einsum(std::string_view spec, const expr& x, const expr& y,
                                    call_site at = call_site::here()) {
  const expr operands[] = {x, y};
  return einsum(spec, std::span<const expr>(operands), at);
}
[[nodiscard]] constexpr expr einsum(std::string_view spec, const expr& x, const expr& y,
                                    const expr& z, call_site at = call_site::here()) {
  const expr operands[] = {x, y, z};
  return einsum(spec, std::span<const expr>(operands), at);
}

}  // namespace atled
