// support/interpreter.hpp: runs a graph node by node, as plainly as it can: the oracle of the
// tests. Reads: support/scalar_ops.hpp, ir/graph.hpp. Everything is computed in f64 or i64 and
// rounded to the node's type, so that each single op is correctly rounded. Slow on purpose.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/builder.hpp"
#include "atled/ir/regions.hpp"

#include "support/factorizations.hpp"
#include "support/scalar_ops.hpp"
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace atled::oracle {
namespace detail {

/// A position in a tensor, one index an axis.
struct position {
  std::int64_t at[max_rank];
};
inline position position_of(const shape& dims, std::int64_t flat) {
  position out{};
  for (int i = dims.rank - 1; i >= 0; --i) {
    out.at[i] = flat % dims[i];
    flat /= dims[i];
  }
  return out;
}
inline std::size_t flat_of(const shape& dims, const position& p) {
  std::int64_t flat = 0;
  for (int i = 0; i < dims.rank; ++i) flat = flat * dims[i] + p.at[i];
  return static_cast<std::size_t>(flat);
}

inline void copy_element(array& to, std::size_t i, const array& from, std::size_t j) {
  if (to.is_real()) {
    to.reals[i] = from.reals[j];
  } else {
    to.integers[i] = from.integers[j];
  }
}
inline void add_element(array& to, std::size_t i, const array& from, std::size_t j) {
  if (to.is_real()) {
    to.reals[i] = rounded(to.reals[i] + from.reals[j], to.type.element);
  } else {
    to.integers[i] = wrapped(wrapped_sum(to.integers[i], from.integers[j]), to.type.element);
  }
}
inline std::int64_t clamped(std::int64_t value, std::int64_t high) {
  return value < 0 ? 0 : value > high ? high : value;
}

class interpreter {
 public:
  explicit interpreter(const ir::graph& g)
      : g_(g), values_(static_cast<std::size_t>(g.num_nodes)) {}

  std::vector<array> run(const std::vector<array>& arguments) {
    if (static_cast<int>(arguments.size()) != g_.num_parameters) {
      throw std::invalid_argument("interpret: wrong number of arguments");
    }
    std::vector<bool> needed(values_.size());
    for (int i = 0; i < g_.num_outputs; ++i) needed.at(index(g_.outputs[i])) = true;
    for (int id = g_.num_nodes - 1; id >= 0; --id) {
      for (int i = 0; needed[index(id)] && i < g_[id].num_operands; ++i) {
        needed[index(g_.operand(id, i))] = true;
      }
    }
    find_depths();
    for (int id = 0; id < g_.num_nodes; ++id) {
      if (needed[index(id)] && depths_[index(id)] == 0)
        values_[index(id)] = value_of(id, arguments);
    }
    std::vector<array> out;
    for (int i = 0; i < g_.num_outputs; ++i) out.push_back(values_[index(g_.outputs[i])]);
    return out;
  }

 protected:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] const array& in(int id, int i) const { return values_[index(g_.operand(id, i))]; }

  array value_of(int id, const std::vector<array>& arguments) {
    const tensor_type& type = g_.type(id);
    switch (info(g_[id].code).kind) {
      case op_kind::source:
        return source(id, arguments);
      case op_kind::elementwise:
        return elementwise(id);
      case op_kind::shape:
        if (g_[id].code == op::barrier || g_[id].code == op::sharding_constraint) return in(id, 0);
        return moved(id);
      case op_kind::index:
        return indexed(id);
      case op_kind::reduction:
        return reduced(id);
      case op_kind::cumulative:
        return accumulated(id);
      case op_kind::ordering:
        return ordered(id);
      case op_kind::linear:
        return factored(id);
      case op_kind::product:
        return product(id);
      case op_kind::collective:
        throw std::invalid_argument("interpret: a collective outside its vmap");
      case op_kind::call:
        return called(id);
      case op_kind::region:
        if (g_[id].code == op::result_of) return results_.at(g_.operand(id, 0)).at(place(id));
        if (g_[id].code == op::loop) results_[id] = loop_results(id, arguments);
        if (g_[id].code == op::cond) results_[id] = branch_results(id, arguments);
        return g_[id].code == op::enter ? in(id, 0) : array(type);
    }
    return array(type);
  }

  // --- loops and branches ---------------------------------------------------------------------
  // What is inside of them is left out of the walk over all nodes, and run by its loop or branch.

  /// For each node the depths that it is inside of, as a mask.
  void find_depths() {
    depths_.assign(values_.size(), 0);
    if (g_.num_regions == 0) return;
    const auto inside = std::make_unique<ir::scopes>();
    inside->extend(g_);
    for (std::size_t i = 0; i < depths_.size(); ++i) depths_[i] = inside->of[i];
  }
  [[nodiscard]] std::size_t place(int id) const {
    return static_cast<std::size_t>(g_.attribute(id));
  }

  /// The nodes inside, at this depth, that lead to `roots`, in the order in which they can run.
  [[nodiscard]] std::vector<int> body_of(std::vector<int> roots, std::int64_t depth) const {
    if (depths_.empty()) throw std::runtime_error("no loops and branches on ranks in lock-step");
    std::set<int> seen;
    while (!roots.empty()) {
      const int id = roots.back();
      roots.pop_back();
      if (depths_[index(id)] >> depth == 0 || !seen.insert(id).second) continue;
      for (int i = 0; i < g_[id].num_operands; ++i) roots.push_back(g_.operand(id, i));
    }
    std::vector<int> out;
    for (const int id : seen) {
      const bool is_given = g_[id].code == op::carry || g_[id].code == op::item;
      if (depths_[index(id)] >> depth == 1 && !is_given) out.push_back(id);
    }
    return out;
  }
  void run_body(const std::vector<int>& body, const std::vector<array>& arguments) {
    for (const int id : body) values_[index(id)] = value_of(id, arguments);
  }

  std::vector<array> loop_results(int id, const std::vector<array>& arguments) {
    const auto loop = ir::loop_parts::of(g_, id);
    const bool is_reverse = loop.has(ir::loop_parts::is_reverse);
    std::vector<int> roots;
    for (int i = 0; i < loop.num_results(); ++i) roots.push_back(loop.result(i));
    const std::vector<int> body = body_of(roots, loop.depth);
    const std::vector<int> test =
        loop.predicate() < 0 ? std::vector<int>{} : body_of({loop.predicate()}, loop.depth);

    std::int64_t trips = loop.trips;
    if (loop.count() >= 0) {
      const std::int64_t count = clamped(values_[index(loop.count())].integers[0], 1'000'000);
      trips = trips < 0 ? count : std::min(trips, count);
    }
    std::vector<array> out;
    for (int i = 0; i < loop.num_carries; ++i) {
      values_[index(loop.carry(i))] = in(loop.carry(i), 0);
      out.push_back(in(loop.carry(i), 0));
    }
    for (int i = 0; i < loop.num_ys; ++i) {
      const int row = loop.result(loop.num_carries + i);
      out.emplace_back(ir::stacked(g_.type(row), loop.trips));
    }
    for (std::int64_t trip = 0; trips < 0 || trip < trips; ++trip) {
      run_body(test, arguments);
      if (loop.predicate() >= 0 && values_[index(loop.predicate())].integers[0] == 0) break;
      const std::int64_t row = is_reverse ? trips - 1 - trip : trip;
      for (int i = 0; i < loop.num_items; ++i) {
        array& item = values_[index(loop.item(i))];
        item = array(g_.type(loop.item(i)));
        for (std::size_t k = 0; k < item.size(); ++k) {
          copy_element(item, k, in(loop.item(i), 0),
                       index(static_cast<int>(row)) * item.size() + k);
        }
      }
      run_body(body, arguments);
      for (int i = 0; i < loop.num_results(); ++i) {
        const array& now = values_[index(loop.result(i))];
        array& result = out[index(i)];
        if (i < loop.num_carries) {
          result = now;
          continue;
        }
        for (std::size_t k = 0; k < now.size(); ++k) {
          copy_element(result, index(static_cast<int>(row)) * now.size() + k, now, k);
        }
      }
      for (int i = 0; i < loop.num_carries; ++i) values_[index(loop.carry(i))] = out[index(i)];
    }
    return out;
  }

  std::vector<array> branch_results(int id, const std::vector<array>& arguments) {
    const auto cond = ir::cond_parts::of(g_, id);
    const std::int64_t chosen = clamped(in(id, 0).integers[0], cond.num_branches - 1);
    std::vector<int> roots;
    for (int i = 0; i < cond.num_results; ++i) {
      roots.push_back(cond.result(static_cast<int>(chosen), i));
    }
    run_body(body_of(roots, cond.depth), arguments);
    std::vector<array> out;
    for (const int root : roots) out.push_back(values_[index(root)]);
    return out;
  }

  // Whatever is called has the value of its first operand, or is for run time alone.
  [[nodiscard]] array called(int id) const {
    if (g_[id].code == op::custom) return in(id, 0);
    if (g_[id].code == op::extent) {
      array out(g_.type(id));
      out.reals[0] = 1;
      for (int i = 0; i < in(id, 0).type.rank(); ++i) {
        if (ir::has_axis(g_.attribute(id), i)) {
          out.reals[0] *= static_cast<double>(in(id, 0).type.dims[i]);
        }
      }
      return out;
    }
    throw std::runtime_error("the interpreter runs no host function");
  }

  array source(int id, const std::vector<array>& arguments) {
    const tensor_type& type = g_.type(id);
    if (g_[id].code == op::variable) return in(id, 0);
    if (g_[id].code == op::parameter) {
      const array& out = arguments.at(static_cast<std::size_t>(g_.attribute(id)));
      if (!(out.type == type)) throw std::invalid_argument("interpret: argument of wrong type");
      return out;
    }
    array out(type);
    if (g_[id].code == op::constant) {
      if (out.is_real()) {
        out.reals[0] = g_.constant_value(id);
      } else {
        out.integers[0] = g_.attribute(id);
      }
      return out;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {  // iota
      const auto p = position_of(type.dims, static_cast<std::int64_t>(i));
      const std::int64_t value = p.at[g_.attribute(id)];
      if (out.is_real()) {
        out.reals[i] = rounded(static_cast<double>(value), type.element);
      } else {
        out.integers[i] = wrapped(value, type.element);
      }
    }
    return out;
  }

  array elementwise(int id) {
    const op code = g_[id].code;
    array out(g_.type(id));
    const dtype element = out.type.element;
    const array& x = in(id, 0);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (code == op::select) {
        copy_element(out, i, in(id, x.integers[i] != 0 ? 1 : 2), i);
      } else if (code == op::convert) {
        if (out.is_real()) {
          out.reals[i] = rounded(x[i], element);
        } else {
          out.integers[i] =
              x.is_real() ? truncated(x.reals[i], element) : wrapped(x.integers[i], element);
        }
      } else if (code == op::is_finite) {
        out.integers[i] = std::isfinite(x.reals[i]) ? 1 : 0;
      } else if (code == op::threefry) {
        const auto word = [&](int j) { return static_cast<std::uint32_t>(in(id, j).integers[i]); };
        out.integers[i] =
            threefry_word(static_cast<int>(g_.attribute(id)), word(0), word(1), word(2), word(3));
      } else if (is_compare(code)) {
        out.integers[i] = x.is_real() ? compared(code, x.reals[i], in(id, 1).reals[i])
                                      : compared(code, x.integers[i], in(id, 1).integers[i]);
      } else if (g_[id].num_operands == 1) {
        if (out.is_real()) {
          const double value = code == op::polygamma
                                   ? polygamma(static_cast<int>(g_.attribute(id)), x.reals[i])
                                   : real_unary(code, x.reals[i]);
          out.reals[i] = rounded(value, element);
        } else {
          out.integers[i] = wrapped(integer_unary(code, x.integers[i], element), element);
        }
      } else if (out.is_real()) {
        out.reals[i] = rounded(real_binary(code, x.reals[i], in(id, 1).reals[i]), element);
      } else {
        const std::int64_t y = in(id, 1).integers[i];
        out.integers[i] = wrapped(integer_binary(code, x.integers[i], y, element), element);
      }
    }
    return out;
  }

  /// Ops that move elements: for each element of the result, or of the operand, where it comes from
  /// or goes to.
  array moved(int id) {
    const op code = g_[id].code;
    const array& x = in(id, 0);
    const shape& from = x.type.dims;
    array out(g_.type(id));
    const shape& to = out.type.dims;
    if (code == op::reshape) {
      out.reals = x.reals;
      out.integers = x.integers;
      return out;
    }
    if (code == op::pad) {
      for (std::size_t i = 0; i < out.size(); ++i) copy_element(out, i, in(id, 1), 0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        auto p = position_of(from, static_cast<std::int64_t>(i));
        for (int a = 0; a < from.rank; ++a) {
          p.at[a] = g_.attribute(id, a) + p.at[a] * (g_.attribute(id, from.rank + a) + 1);
        }
        copy_element(out, flat_of(to, p), x, i);
      }
      return out;
    }
    if (code == op::concatenate) {
      const auto axis = static_cast<int>(g_.attribute(id));
      std::int64_t start = 0;
      for (int j = 0; j < g_[id].num_operands; ++j) {
        const array& part = in(id, j);
        for (std::size_t i = 0; i < part.size(); ++i) {
          auto p = position_of(part.type.dims, static_cast<std::int64_t>(i));
          p.at[axis] += start;
          copy_element(out, flat_of(to, p), part, i);
        }
        start += part.type.dims[axis];
      }
      return out;
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto p = position_of(to, static_cast<std::int64_t>(i));
      position q{};
      int axis = 0;
      for (int a = 0; a < to.rank; ++a) {
        if (code == op::broadcast) {
          if (!ir::has_axis(g_.attribute(id), a)) continue;
          q.at[axis] = from[axis] == 1 ? 0 : p.at[a];
          ++axis;
        } else if (code == op::transpose) {
          q.at[ir::permuted_axis(g_.attribute(id), a)] = p.at[a];
        } else if (code == op::slice) {
          q.at[a] = g_.attribute(id, a) + p.at[a] * g_.attribute(id, to.rank + a);
        } else {  // reverse
          q.at[a] = ir::has_axis(g_.attribute(id), a) ? to[a] - 1 - p.at[a] : p.at[a];
        }
      }
      copy_element(out, i, x, flat_of(from, q));
    }
    return out;
  }

  /// For element `p` of what a gather gives: the element of the value that it means; false if none.
  bool gathered_place(int id, const position& p, position& q) const {
    const shape& value = in(id, 0).type.dims;
    const array& indices = in(id, 1);
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const auto batch_dims = static_cast<int>(g_.attribute(id, 1));
    const int num_index_axes = indices.type.rank() - batch_dims;
    position where{};
    for (int i = 0; i < batch_dims; ++i) where.at[i] = p.at[i];
    for (int i = 0; i < num_index_axes; ++i) where.at[batch_dims + i] = p.at[axis + i];
    std::int64_t place = indices.integers[flat_of(indices.type.dims, where)];
    for (int i = 0; i < axis; ++i) q.at[i] = p.at[i];
    for (int i = axis + 1; i < value.rank; ++i) q.at[i] = p.at[i - 1 + num_index_axes];
    const bool is_inside = place >= 0 && place < value[axis];
    if (!is_inside && static_cast<index_mode>(g_.attribute(id, 2)) == index_mode::fill)
      return false;
    if (value[axis] == 0) return false;
    q.at[axis] = clamped(place, value[axis] - 1);
    return true;
  }

  array indexed(int id) {
    const op code = g_[id].code;
    const array& x = in(id, 0);
    const shape& dims = x.type.dims;
    if (code == op::gather) {
      array out(g_.type(id));
      for (std::size_t i = 0; i < out.size(); ++i) {
        const auto p = position_of(out.type.dims, static_cast<std::int64_t>(i));
        position q{};
        if (gathered_place(id, p, q)) copy_element(out, i, x, flat_of(dims, q));
      }
      return out;
    }
    if (code == op::scatter_add || code == op::scatter_max) {
      array out = x;
      const array& updates = in(id, 2);
      for (std::size_t i = 0; i < updates.size(); ++i) {
        const auto p = position_of(updates.type.dims, static_cast<std::int64_t>(i));
        position q{};
        if (!gathered_place(id, p, q)) continue;
        if (code == op::scatter_add) {
          add_element(out, flat_of(dims, q), updates, i);
        } else if (const double x_at = out[flat_of(dims, q)];
                   !(x_at != x_at || x_at >= updates[i])) {
          copy_element(out, flat_of(dims, q), updates, i);
        }
      }
      return out;
    }
    const bool updates = code == op::dynamic_update_slice;
    array out = updates ? x : array(g_.type(id));
    const shape& part = updates ? in(id, 1).type.dims : out.type.dims;
    for (std::int64_t i = 0; i < part.size(); ++i) {
      auto p = position_of(part, i);
      for (int a = 0; a < dims.rank; ++a) {
        const std::int64_t start = in(id, (updates ? 2 : 1) + a).integers[0];
        p.at[a] += clamped(start, dims[a] - part[a]);
      }
      if (updates) {
        copy_element(out, flat_of(dims, p), in(id, 1), static_cast<std::size_t>(i));
      } else {
        copy_element(out, static_cast<std::size_t>(i), x, flat_of(dims, p));
      }
    }
    return out;
  }

  array reduced(int id) {
    const op code = g_[id].code;
    const array& x = in(id, 0);
    const shape& dims = x.type.dims;
    const std::int64_t mask = g_.attribute(id);
    array out(g_.type(id));
    std::vector<std::vector<std::size_t>> groups(out.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto p = position_of(dims, static_cast<std::int64_t>(i));
      position q{};
      int axis = 0;
      for (int a = 0; a < dims.rank; ++a) {
        if (!ir::has_axis(mask, a)) q.at[axis++] = p.at[a];
      }
      groups[flat_of(out.type.dims, q)].push_back(i);
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (code == op::argmax || code == op::argmin) {
        out.integers[i] = extreme_index(code, x, groups[i]);
      } else if (x.is_real()) {
        out.reals[i] = rounded(real_reduction(code, x, groups[i]), out.type.element);
      } else {
        out.integers[i] = wrapped(integer_reduction(code, x, groups[i]), out.type.element);
      }
    }
    return out;
  }
  static std::int64_t extreme_index(op code, const array& x,
                                    const std::vector<std::size_t>& group) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < group.size(); ++i) {
      const double now = x[group[i]];
      const double most = x[group[best]];
      if (std::isnan(most)) break;
      const bool is_better = code == op::argmax ? now > most : now < most;
      if (is_better || std::isnan(now)) best = i;
    }
    return static_cast<std::int64_t>(best);
  }
  static double real_reduction(op code, const array& x, const std::vector<std::size_t>& group) {
    const double infinity = std::numeric_limits<double>::infinity();
    const bool is_min = code == op::reduce_min;
    double most = is_min ? infinity : -infinity;
    double sum = 0;
    double product = 1;
    for (const std::size_t i : group) {
      most = real_binary(is_min ? op::min : op::max, most, x.reals[i]);
      sum += x.reals[i];
      product *= x.reals[i];
    }
    if (code == op::reduce_sum) return sum;
    if (code == op::reduce_prod) return product;
    if (code != op::reduce_logsumexp) return most;
    if (!std::isfinite(most)) return most;
    double exponentials = 0;
    for (const std::size_t i : group) exponentials += std::exp(x.reals[i] - most);
    return most + std::log(exponentials);
  }
  static std::int64_t integer_reduction(op code, const array& x,
                                        const std::vector<std::size_t>& group) {
    const auto [low, high] = limits_of(x.type.element);
    std::int64_t out = code == op::reduce_sum    ? 0
                       : code == op::reduce_prod ? 1
                       : code == op::reduce_min  ? high
                                                 : low;
    const op step = code == op::reduce_sum    ? op::add
                    : code == op::reduce_prod ? op::mul
                    : code == op::reduce_min  ? op::min
                                              : op::max;
    for (const std::size_t i : group) {
      out = integer_binary(step, out, x.integers[i], x.type.element);
    }
    return out;
  }

  /// Each element is the reduction of those up to it, or from it on.
  array accumulated(int id) {
    const array& x = in(id, 0);
    const op code = g_[id].code;
    const auto axis = static_cast<int>(g_.attribute(id));
    const bool is_reverse =
        code == op::reverse_cumsum || (g_[id].num_attributes > 1 && g_.attribute(id, 1) != 0);
    const op reduction = code == op::cumprod        ? op::reduce_prod
                         : code == op::cummax       ? op::reduce_max
                         : code == op::cummin       ? op::reduce_min
                         : code == op::cumlogsumexp ? op::reduce_logsumexp
                                                    : op::reduce_sum;
    array out(g_.type(id));
    const shape& dims = out.type.dims;
    for (std::size_t i = 0; i < out.size(); ++i) {
      auto p = position_of(dims, static_cast<std::int64_t>(i));
      const std::int64_t here = p.at[axis];
      std::vector<std::size_t> group;
      for (std::int64_t k = is_reverse ? here : 0; k < (is_reverse ? dims[axis] : here + 1); ++k) {
        p.at[axis] = k;
        group.push_back(flat_of(dims, p));
      }
      if (x.is_real()) {
        out.reals[i] = rounded(real_reduction(reduction, x, group), out.type.element);
      } else {
        out.integers[i] = wrapped(integer_reduction(reduction, x, group), out.type.element);
      }
    }
    return out;
  }

  array ordered(int id) {
    const array& x = in(id, 0);
    const auto axis = static_cast<int>(g_.attribute(id));
    const bool descends = g_.attribute(id, 1) != 0;
    array out(g_.type(id));
    const auto is_before = [&](double l, double r) {  // NaN is the largest
      if (descends) std::swap(l, r);
      return l < r || (std::isnan(r) && !std::isnan(l));
    };
    for (std::size_t i = 0; i < x.size(); ++i) {  // its place is the number of those before it
      auto p = position_of(x.type.dims, static_cast<std::int64_t>(i));
      const std::int64_t here = p.at[axis];
      std::int64_t place = 0;
      for (std::int64_t k = 0; k < x.type.dims[axis]; ++k) {
        p.at[axis] = k;
        const double other = x[flat_of(x.type.dims, p)];
        place += is_before(other, x[i]) || (k < here && !is_before(x[i], other)) ? 1 : 0;
      }
      p.at[axis] = place;
      if (place < out.type.dims[axis]) out.integers[flat_of(out.type.dims, p)] = here;
    }
    return out;
  }

  array factored(int id) {
    const array& x = in(id, 0);
    array out(g_.type(id));
    const int rank = x.type.rank();
    const auto rows = static_cast<std::size_t>(x.type.dims[rank - 2]);
    const auto cols = static_cast<std::size_t>(x.type.dims[rank - 1]);
    const auto width = static_cast<std::size_t>(out.type.dims[rank - 1]);
    const auto height = static_cast<std::size_t>(out.type.dims[rank - 2]);
    const std::size_t count = rows * cols == 0 ? 0 : x.size() / (rows * cols);
    for (std::size_t i = 0; i < count; ++i) {
      const matrix a(rows, cols, x.reals.data() + i * rows * cols);
      matrix result;
      if (g_[id].code == op::triangular_solve) {
        const matrix y(height, width, in(id, 1).reals.data() + i * height * width);
        result = solved_triangle(a, y, g_.attribute(id));
      } else {
        result = factorized(g_[id].code, a);
      }
      for (std::size_t k = 0; k < height * width; ++k) {
        out.reals[i * height * width + k] = rounded(result.at[k], out.type.element);
      }
    }
    return out;
  }

  array product(int id) {
    const array& x = in(id, 0);
    const array& y = in(id, 1);
    const auto axes = ir::dot_axes::unpacked(g_.attributes_of(id));
    array out(g_.type(id));
    shape contracted{};
    for (int i = 0; i < axes.num_contract; ++i) contracted.push(x.type.dims[axes.lhs_contract[i]]);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto p = position_of(out.type.dims, static_cast<std::int64_t>(i));
      position left{};
      position right{};
      int axis = 0;
      for (int a = 0; a < axes.num_batch; ++a, ++axis) {
        left.at[axes.lhs_batch[a]] = right.at[axes.rhs_batch[a]] = p.at[axis];
      }
      for (int a = 0; a < x.type.rank(); ++a) {
        if (axes.role_of_lhs(a) == 'f') left.at[a] = p.at[axis++];
      }
      for (int a = 0; a < y.type.rank(); ++a) {
        if (axes.role_of_rhs(a) == 'f') right.at[a] = p.at[axis++];
      }
      double real = 0;
      std::int64_t integer = 0;
      for (std::int64_t k = 0; k < contracted.size(); ++k) {
        const auto c = position_of(contracted, k);
        for (int a = 0; a < axes.num_contract; ++a) {
          left.at[axes.lhs_contract[a]] = right.at[axes.rhs_contract[a]] = c.at[a];
        }
        const std::size_t l = flat_of(x.type.dims, left);
        const std::size_t r = flat_of(y.type.dims, right);
        if (x.is_real()) {
          real += x.reals[l] * y.reals[r];
        } else {
          integer = wrapped_sum(integer, wrapped_product(x.integers[l], y.integers[r]));
        }
      }
      if (x.is_real()) {
        out.reals[i] = rounded(real, out.type.element);
      } else {
        out.integers[i] = wrapped(integer, out.type.element);
      }
    }
    return out;
  }

  const ir::graph& g_;
  std::vector<array> values_;
  std::vector<std::uint32_t> depths_;
  std::map<int, std::vector<array>> results_;  ///< of loops and branches
};

}  // namespace detail

/// The outputs of a graph for these arguments, one array a parameter.
[[nodiscard]] inline std::vector<array> interpret(const ir::graph& g,
                                                  const std::vector<array>& arguments) {
  return detail::interpreter(g).run(arguments);
}

struct free_memory {
  void operator()(ir::builder* b) const {
    b->~builder();
    std::free(b);
  }
};
using builder_ptr = std::unique_ptr<ir::builder, free_memory>;

/// An empty builder on the heap: a graph is too large for the stack.
///
/// Its memory comes as zeros from the system, so that only what is used costs time; a builder is
/// all zeros but for the texts of its position.
[[nodiscard]] inline builder_ptr make_builder() {
  auto* b = static_cast<ir::builder*>(std::calloc(1, sizeof(ir::builder)));
  if (b == nullptr) throw std::bad_alloc();
  b->site = call_site{};
  return builder_ptr(b);
}

}  // namespace atled::oracle
