// support/op_cases.hpp: for each op, some nodes of it with arguments: what the laws are tested on.
// Reads: support/interpreter.hpp. A new op does not compile here until it has its cases.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/vmap.hpp"

#include "support/interpreter.hpp"
#include <functional>
#include <string>
#include <vector>

namespace atled::oracle {

/// One node: its arguments in f64 (or an integer type), and how to append it.
struct op_case {
  std::string name;
  std::vector<array> arguments;
  std::function<int(ir::builder&, const std::vector<int>&)> build;
  bool is_smooth = true;  ///< differences are near its derivative at these arguments
};

/// Numbers that look random and are the same everywhere.
class numbers {
 public:
  explicit numbers(std::uint64_t seed) : state_(seed * 2654435761U + 88172645463325252U) {}
  double next(double low, double high) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return low + (high - low) * static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  array reals(const shape& dims, double low, double high) {
    array out(tensor_type{dtype::f64, dims});
    for (double& x : out.reals) x = next(low, high);
    return out;
  }
  /// All different, so that a maximum is one element, and no nearer than 0.1 to each other.
  array distinct(const shape& dims) {
    array out = reals(dims, 0, 0.1);
    const auto count = out.reals.size();
    for (std::size_t i = 0; i < count; ++i) {
      out.reals[i] += 0.2 * static_cast<double>((i * 7 + 3) % (count + 1)) - 0.5;
    }
    return out;
  }
  array integers(const shape& dims, dtype element, std::int64_t low, std::int64_t high) {
    array out(tensor_type{element, dims});
    for (auto& x : out.integers) {
      x = static_cast<std::int64_t>(next(static_cast<double>(low), static_cast<double>(high)));
    }
    return out;
  }

 private:
  std::uint64_t state_;
};

namespace detail {

inline std::vector<shape> all_shapes() {
  return {shape{},           shape::of({1}),       shape::of({5}),         shape::of({2, 3}),
          shape::of({3, 1}), shape::of({2, 3, 2}), shape::of({2, 1, 2, 3})};
}

inline std::vector<op_case> unary_cases(op code, double low, double high, bool is_smooth = true) {
  std::vector<op_case> out;
  numbers random(static_cast<std::uint64_t>(code));
  for (const shape& dims : all_shapes()) {
    out.push_back(
        {"unary",
         {random.reals(dims, low, high)},
         [code](ir::builder& b, const std::vector<int>& x) { return b.unary(code, x[0]); },
         is_smooth});
  }
  return out;
}

inline std::vector<op_case> binary_cases(op code, double low, double high, double low2,
                                         double high2, bool is_smooth = true) {
  std::vector<op_case> out;
  numbers random(static_cast<std::uint64_t>(code));
  for (const shape& dims : all_shapes()) {
    const array x = random.reals(dims, low, high);
    out.push_back({"binary",
                   {x, random.reals(dims, low2, high2)},
                   [code](ir::builder& b, const std::vector<int>& in) {
                     return b.binary(code, in[0], in[1]);
                   },
                   is_smooth});
    if (low >= low2) {
      out.push_back({"of itself",
                     {x},
                     [code](ir::builder& b, const std::vector<int>& in) {
                       return b.binary(code, in[0], in[0]);
                     },
                     is_smooth});
    }
  }
  return out;
}

inline std::vector<op_case> integer_binary_cases(op code, std::int64_t low, std::int64_t high) {
  std::vector<op_case> out;
  numbers random(static_cast<std::uint64_t>(code));
  for (const dtype element : {dtype::i32, dtype::u32}) {
    const std::int64_t from = element == dtype::u32 && low < 0 ? 0 : low;
    const shape dims = shape::of({3, 4});
    out.push_back(
        {"integers",
         {random.integers(dims, element, from, high), random.integers(dims, element, from, high)},
         [code](ir::builder& b, const std::vector<int>& in) {
           return b.binary(code, in[0], in[1]);
         }});
  }
  return out;
}

inline std::vector<op_case> broadcast_cases() {
  struct row {
    shape from, to;
    std::int64_t mask;
  };
  std::vector<op_case> out;
  numbers random(1);
  for (const row& r :
       {row{{}, shape::of({2, 3}), 0}, row{shape::of({3}), shape::of({2, 3}), 2},
        row{shape::of({2}), shape::of({2, 3}), 1}, row{shape::of({1, 3}), shape::of({4, 2, 3}), 6},
        row{shape::of({2, 1}), shape::of({2, 4, 3}), 5}, row{shape::of({3}), shape::of({3, 1}), 1},
        row{shape::of({1}), shape::of({0}), 1}}) {
    out.push_back({"broadcast",
                   {random.reals(r.from, -1, 1)},
                   [r](ir::builder& b, const std::vector<int>& x) {
                     return b.broadcast(x[0], r.to, r.mask);
                   }});
  }
  return out;
}

inline std::vector<op_case> shape_cases(op code) {
  std::vector<op_case> out;
  numbers random(static_cast<std::uint64_t>(code));
  const auto add = [&](const shape& from, auto build) {
    out.push_back({"shape",
                   {random.reals(from, -1, 1)},
                   [build](ir::builder& b, const std::vector<int>& x) { return build(b, x[0]); }});
  };
  if (code == op::reshape) {
    add(shape::of({2, 6}), [](ir::builder& b, int x) { return b.reshape(x, shape::of({3, 4})); });
    add(shape::of({1}), [](ir::builder& b, int x) { return b.reshape(x, shape{}); });
    add(shape::of({4}), [](ir::builder& b, int x) { return b.reshape(x, shape::of({1, 4, 1})); });
  } else if (code == op::transpose) {
    add(shape::of({2, 3}), [](ir::builder& b, int x) { return b.transpose(x, 0x01); });
    add(shape::of({2, 3, 4}), [](ir::builder& b, int x) { return b.transpose(x, 0x102); });
    add(shape::of({2, 3, 4, 1}), [](ir::builder& b, int x) { return b.transpose(x, 0x0312); });
  } else if (code == op::slice) {
    add(shape::of({7}), [](ir::builder& b, int x) {
      return b.slice(x, shape::of({1}), shape::of({3}), shape::of({2}));
    });
    add(shape::of({4, 5}), [](ir::builder& b, int x) {
      return b.slice(x, shape::of({0, 2}), shape::of({4, 2}), shape::of({1, 1}));
    });
    add(shape::of({4, 5}), [](ir::builder& b, int x) {
      return b.slice(x, shape::of({2, 0}), shape::of({0, 5}), shape::of({1, 1}));
    });
  } else if (code == op::reverse) {
    add(shape::of({3, 4}), [](ir::builder& b, int x) {
      return b.append(op::reverse, {x}, ir::attribute_list::of(2));
    });
    add(shape::of({3, 4}), [](ir::builder& b, int x) {
      return b.append(op::reverse, {x}, ir::attribute_list::of(3));
    });
  }
  return out;
}

inline std::vector<op_case> pad_cases() {
  std::vector<op_case> out;
  numbers random(2);
  out.push_back({"pad",
                 {random.reals(shape::of({3}), -1, 1), random.reals({}, -1, 1)},
                 [](ir::builder& b, const std::vector<int>& x) {
                   return b.pad(x[0], x[1], shape::of({2}), shape::of({1}), shape::of({9}));
                 }});
  out.push_back(
      {"pad",
       {random.reals(shape::of({2, 2}), -1, 1), random.reals({}, -1, 1)},
       [](ir::builder& b, const std::vector<int>& x) {
         return b.pad(x[0], x[1], shape::of({0, 1}), shape::of({0, 0}), shape::of({3, 3}));
       }});
  return out;
}

inline std::vector<op_case> concatenate_cases() {
  numbers random(3);
  std::vector<op_case> out;
  for (const std::int64_t axis : {0, 1}) {
    std::vector<array> parts;
    for (const std::int64_t size : {2, 0, 3}) {
      parts.push_back(random.reals(axis == 0 ? shape::of({size, 2}) : shape::of({2, size}), -1, 1));
    }
    out.push_back({"concatenate", parts, [axis](ir::builder& b, const std::vector<int>& x) {
                     return b.append(op::concatenate, x.data(), static_cast<int>(x.size()),
                                     ir::attribute_list::of(axis));
                   }});
  }
  return out;
}

inline std::vector<op_case> gather_cases(op code) {
  const bool scatters = code != op::gather;
  struct row {
    shape value, indices, result;
    int axis, batch_dims;
  };
  std::vector<op_case> out;
  numbers random(4);
  for (const row& r : {row{shape::of({5}), shape::of({4}), shape::of({4}), 0, 0},
                       row{shape::of({5}), shape{}, shape{}, 0, 0},
                       row{shape::of({4, 3}), shape::of({2, 3}), shape::of({2, 3, 3}), 0, 0},
                       row{shape::of({2, 4, 3}), shape::of({2}), shape::of({2, 2, 3}), 1, 0},
                       row{shape::of({2, 4, 3}), shape::of({2, 3}), shape::of({2, 3, 3}), 1, 1},
                       row{shape::of({2, 4}), shape::of({2}), shape::of({2}), 1, 1}}) {
    for (const index_mode mode : {index_mode::clip, index_mode::fill}) {
      const array indices = random.integers(r.indices, dtype::i32, -1, r.value[r.axis] + 2);
      op_case one{std::string(info(code).name),
                  {random.reals(r.value, -1, 1), indices},
                  [r, mode, code](ir::builder& b, const std::vector<int>& x) {
                    if (code == op::gather) return b.gather(x[0], x[1], r.axis, r.batch_dims, mode);
                    return code == op::scatter_add
                               ? b.scatter_add(x[0], x[1], x[2], r.axis, r.batch_dims, mode)
                               : b.scatter_max(x[0], x[1], x[2], r.axis, r.batch_dims, mode);
                  }};
      if (scatters) one.arguments.push_back(random.reals(r.result, -1, 1));
      out.push_back(one);
    }
  }
  return out;
}

inline std::vector<op_case> dynamic_slice_cases(bool updates) {
  std::vector<op_case> out;
  numbers random(5);
  for (const std::int64_t start : {-1, 1, 9}) {
    array at(tensor_type{dtype::i32, {}});
    at.integers[0] = start;
    op_case one{updates ? "dynamic_update_slice" : "dynamic_slice",
                {random.reals(shape::of({5, 3}), -1, 1)},
                [updates](ir::builder& b, const std::vector<int>& x) {
                  const tensor_type part{dtype::f64, shape::of({2, 2})};
                  tensor_type wanted = b.type(x[0]);
                  wanted.dims = updates ? wanted.dims : part.dims;
                  return b.append(updates ? op::dynamic_update_slice : op::dynamic_slice, x.data(),
                                  static_cast<int>(x.size()), {}, wanted);
                }};
    if (updates) one.arguments.push_back(random.reals(shape::of({2, 2}), -1, 1));
    one.arguments.push_back(at);
    one.arguments.push_back(at);
    out.push_back(one);
  }
  return out;
}

inline std::vector<op_case> reduce_cases(op code) {
  std::vector<op_case> out;
  numbers random(static_cast<std::uint64_t>(code));
  const bool is_index = code == op::argmax || code == op::argmin;
  for (const shape& dims : all_shapes()) {
    for (std::int64_t mask = 1; mask < (std::int64_t{1} << dims.rank); ++mask) {
      if (is_index && (mask & (mask - 1)) != 0) continue;
      out.push_back({"reduce",
                     {random.distinct(dims)},
                     [code, mask](ir::builder& b, const std::vector<int>& x) {
                       return b.reduce(code, x[0], mask);
                     }});
    }
  }
  if (code == op::reduce_sum || code == op::reduce_prod) {
    out.push_back(
        {"reduce nothing",
         {random.reals(shape::of({0, 3}), -1, 1)},
         [code](ir::builder& b, const std::vector<int>& x) { return b.reduce(code, x[0], 1); }});
  }
  return out;
}

inline std::vector<op_case> cumulative_cases(op code) {
  std::vector<op_case> out;
  numbers random(6);
  for (const shape& dims : all_shapes()) {
    for (int axis = 0; axis < dims.rank; ++axis) {
      out.push_back({"cumulative",
                     {random.reals(dims, -1, 1)},
                     [code, axis](ir::builder& b, const std::vector<int>& x) {
                       return b.append(code, {x[0]}, ir::attribute_list::of(axis));
                     }});
    }
  }
  return out;
}

inline std::vector<op_case> running_cases(op code) {
  std::vector<op_case> out;
  numbers random(static_cast<std::uint64_t>(code));
  for (const shape& dims :
       {shape::of({1}), shape::of({5}), shape::of({3, 4}), shape::of({2, 3, 2})}) {
    for (int axis = 0; axis < dims.rank; ++axis) {
      for (const std::int64_t is_reversed : {0, 1}) {
        ir::attribute_list attributes{};
        attributes.push(axis);
        attributes.push(is_reversed);
        out.push_back({"running",
                       {random.distinct(dims)},
                       [code, attributes](ir::builder& b, const std::vector<int>& x) {
                         return b.append(code, {x[0]}, attributes);
                       }});
      }
    }
  }
  return out;
}

inline std::vector<op_case> argsort_cases() {
  std::vector<op_case> out;
  numbers random(14);
  for (const std::int64_t axis : {0, 1, 2}) {
    for (const std::int64_t descending : {0, 1}) {
      ir::attribute_list attributes{};
      attributes.push(axis);
      attributes.push(descending);
      attributes.push(2 + descending);
      out.push_back({"argsort",
                     {random.distinct(shape::of({3, 4, 3}))},
                     [attributes](ir::builder& b, const std::vector<int>& x) {
                       return b.append(op::argsort, {x[0]}, attributes);
                     }});
    }
  }
  return out;
}

/// Matrices without equal eigenvalues or pivots: random numbers and a diagonal that grows.
inline array matrices(numbers& random, const shape& dims) {
  array out = random.reals(dims, -0.5, 0.5);
  const std::int64_t cols = dims[dims.rank - 1];
  const std::int64_t rows = dims[dims.rank - 2];
  for (std::int64_t i = 0; i < dims.size(); ++i) {
    const std::int64_t row = i / cols % rows;
    if (row == i % cols) out.reals[static_cast<std::size_t>(i)] += 2 + static_cast<double>(row);
  }
  return out;
}

inline std::vector<op_case> factorization_cases(op code) {
  std::vector<op_case> out;
  numbers random(static_cast<std::uint64_t>(code));
  std::vector<shape> shapes{shape::of({1, 1}), shape::of({3, 3}), shape::of({2, 3, 3})};
  if (code == op::lu || code == op::qr || code == op::svd) shapes.push_back(shape::of({4, 2}));
  if (code == op::lu) shapes.push_back(shape::of({2, 4}));
  for (const shape& dims : shapes) {
    out.push_back(
        {"factorization",
         {matrices(random, dims)},
         [code](ir::builder& b, const std::vector<int>& x) { return b.append(code, {x[0]}); }});
  }
  return out;
}

inline std::vector<op_case> triangular_solve_cases() {
  std::vector<op_case> out;
  numbers random(15);
  for (std::int64_t flags = 0; flags < 8; ++flags) {
    for (const std::int64_t batch : {1, 2}) {
      out.push_back(
          {"triangular_solve",
           {matrices(random, shape::of({batch, 3, 3})),
            random.reals(shape::of({batch, 3, 2}), -1, 1)},
           [flags](ir::builder& b, const std::vector<int>& x) {
             return b.append(op::triangular_solve, {x[0], x[1]}, ir::attribute_list::of(flags));
           }});
    }
  }
  return out;
}

inline std::vector<op_case> dot_cases() {
  struct row {
    shape lhs, rhs;
    std::vector<std::pair<int, int>> batch, contract;
  };
  std::vector<op_case> out;
  numbers random(7);
  const std::vector<row> rows = {
      {shape::of({3}), shape::of({3}), {}, {{0, 0}}},
      {shape::of({2, 3}), shape::of({3, 4}), {}, {{1, 0}}},
      {shape::of({3, 2}), shape::of({4, 3}), {}, {{0, 1}}},
      {shape::of({2}), shape::of({3}), {}, {}},
      {shape::of({2, 3, 4}), shape::of({4, 5}), {}, {{2, 0}}},
      {shape::of({2, 3, 4}), shape::of({2, 4, 5}), {{0, 0}}, {{2, 1}}},
      {shape::of({3, 2, 4}), shape::of({5, 4, 2}), {{1, 2}}, {{2, 1}}},
      {shape::of({2, 3, 4, 2}), shape::of({2, 5, 4, 3}), {{0, 0}}, {{1, 3}, {2, 2}}},
      {shape::of({2, 3, 4}), shape::of({4, 3, 2}), {{0, 2}, {2, 0}}, {{1, 1}}},
      {shape::of({2, 0}), shape::of({0, 3}), {}, {{1, 0}}},
  };
  for (const row& r : rows) {
    ir::dot_axes axes{};
    for (const auto& [lhs, rhs] : r.batch) axes.batch(lhs, rhs);
    for (const auto& [lhs, rhs] : r.contract) axes.contract(lhs, rhs);
    out.push_back(
        {"dot",
         {random.reals(r.lhs, -1, 1), random.reals(r.rhs, -1, 1)},
         [axes](ir::builder& b, const std::vector<int>& x) { return b.dot(x[0], x[1], axes); }});
  }
  return out;
}

inline std::vector<op_case> select_cases() {
  std::vector<op_case> out;
  numbers random(8);
  for (const shape& dims : all_shapes()) {
    out.push_back(
        {"select",
         {random.integers(dims, dtype::boolean, 0, 2), random.reals(dims, -1, 1),
          random.reals(dims, -1, 1)},
         [](ir::builder& b, const std::vector<int>& x) { return b.select(x[0], x[1], x[2]); }});
  }
  return out;
}

inline std::vector<op_case> pow_cases() {
  auto out = binary_cases(op::pow, 0.5, 2, -2, 2);
  numbers random(9);
  for (const double exponent : {0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -2.5}) {
    out.push_back({"pow by a constant",
                   {random.reals(shape::of({4}), 0.5, 2)},
                   [exponent](ir::builder& b, const std::vector<int>& x) {
                     return b.binary(op::pow, x[0], b.splat(exponent, b.type(x[0])));
                   }});
  }
  return out;
}

inline std::vector<op_case> polygamma_cases() {
  std::vector<op_case> out;
  numbers random(14);
  for (const int order : {0, 1, 2}) {
    out.push_back({"polygamma",
                   {random.reals(shape::of({2, 3}), 0.6, 4)},
                   [order](ir::builder& b, const std::vector<int>& x) {
                     return b.append(op::polygamma, {x[0]}, ir::attribute_list::of(order));
                   }});
  }
  return out;
}

inline std::vector<op_case> convert_cases() {
  std::vector<op_case> out;
  numbers random(10);
  for (const dtype to : {dtype::f32, dtype::bf16, dtype::f16, dtype::i32, dtype::boolean}) {
    out.push_back({"convert",
                   {random.reals(shape::of({4}), -4, 4)},
                   [to](ir::builder& b, const std::vector<int>& x) { return b.convert(x[0], to); },
                   false});
  }
  out.push_back(
      {"convert",
       {random.integers(shape::of({4}), dtype::i32, -4, 4)},
       [](ir::builder& b, const std::vector<int>& x) { return b.convert(x[0], dtype::f64); }});
  return out;
}

inline std::vector<op_case> not_cases() {
  numbers random(11);
  std::vector<op_case> out;
  for (const dtype element : {dtype::boolean, dtype::i32, dtype::u8}) {
    out.push_back(
        {"not",
         {random.integers(shape::of({6}), element, 0, 2)},
         [](ir::builder& b, const std::vector<int>& x) { return b.unary(op::logical_not, x[0]); }});
  }
  return out;
}

inline std::vector<op_case> source_cases(op code) {
  std::vector<op_case> out;
  numbers random(12);
  out.push_back({"source",
                 {random.reals(shape::of({2, 3}), -1, 1)},
                 [code](ir::builder& b, const std::vector<int>& x) {
                   const tensor_type type = b.type(x[0]);
                   if (code == op::variable) return b.variable(x[0]);
                   if (code == op::constant) return b.mul(x[0], b.splat(1.5, type));
                   if (code == op::iota) return b.mul(x[0], b.iota(type, 1));
                   return b.add(x[0], x[0]);
                 }});
  return out;
}

/// A collective of three lanes, axis 0 of its argument, as `vmap` makes it.
inline std::vector<op_case> collective_cases(op code) {
  std::vector<op_case> out;
  numbers random(13);
  const auto build = [code](ir::builder& b, const std::vector<int>& x) {
    const int lane = b.variable(b.reduce(op::reduce_sum, x[0], 1));
    const int axis = b.open_axis("lanes", 3);
    b.vary(lane, std::uint32_t{1} << b.g.axes[axis].bit);
    auto attributes = ir::attribute_list::of(axis);
    tensor_type wanted = b.type(lane);
    if (code == op::all_gather) {
      attributes.push(1);
      wanted.dims = shape::of({wanted.dims[0], 3, wanted.dims[1]});
    } else if (code == op::psum_scatter) {
      attributes.push(0);
      wanted.dims = shape::of({wanted.dims[1]});
    } else if (code == op::all_to_all) {
      attributes.push(0);
      attributes.push(1);
      wanted.dims = shape::of({wanted.dims[1], 3});
    } else if (code == op::ppermute) {
      attributes = ir::lane_sources{{2, -1, 0}, 3}.packed(axis);
    }
    int z = ir::poison;
    if (code == op::axis_index || code == op::axis_size) {
      const int index = b.append(code, {}, attributes, {dtype::i32, {}});
      const tensor_type type = b.type(lane);
      z = b.mul(lane, b.broadcast(b.convert(index, type.element), type.dims, 0));
    } else {
      z = b.append(code, {lane}, attributes, wanted);
    }
    passes::ids outputs{};
    passes::ids inputs{};
    passes::ids mapped{};
    outputs.push(z);
    inputs.push(lane);
    mapped.push(x[0]);
    const auto results = std::make_unique<passes::lane_ids>();
    passes::vmap(b, outputs, inputs, mapped, 3, axis, *results);
    b.close_axis();
    return results->values[0];
  };
  out.push_back({"collective", {random.distinct(shape::of({3, 3, 2}))}, build});
  return out;
}

}  // namespace detail

/// Nodes of an op, one of each kind of arguments that it takes.
[[nodiscard]] inline std::vector<op_case> cases_of(op code) {
  using namespace detail;
  switch (code) {
    case op::parameter:
    case op::variable:
    case op::constant:
    case op::iota:
      return source_cases(code);
    case op::neg:
    case op::exp:
    case op::expm1:
    case op::tanh:
    case op::logistic:
    case op::sin:
    case op::cos:
    case op::erf:
    case op::erfc:
    case op::sinh:
    case op::cosh:
      return unary_cases(code, -3, 3);
    case op::erf_inv:
      return unary_cases(code, -0.9, 0.9);
    case op::lgamma:
      return unary_cases(code, 0.6, 4);
    case op::polygamma:
      return polygamma_cases();
    case op::cbrt:
    case op::log:
    case op::sqrt:
    case op::rsqrt:
      return unary_cases(code, 0.3, 3);
    case op::log1p:
      return unary_cases(code, -0.7, 3);
    case op::abs:
    case op::sign:
      return unary_cases(code, -3, -0.1);
    case op::floor:
    case op::ceil:
    case op::round:
      return unary_cases(code, 1.1, 1.4);
    case op::is_finite:
    case op::stop_gradient:
      return unary_cases(code, -3, 3, false);
    case op::logical_not:
      return not_cases();
    case op::convert:
      return convert_cases();
    case op::add:
    case op::sub:
    case op::mul:
    case op::strong_mul:
      return binary_cases(code, -2, 2, -2, 2);
    case op::div:
      return binary_cases(code, 0.5, 2, 0.5, 2);
    case op::rem:
      return binary_cases(code, 4.1, 5.9, 1.95, 2.04);
    case op::pow:
      return pow_cases();
    case op::max:
    case op::min:
      return binary_cases(code, -1, 0, 0.1, 1);
    case op::atan2:
      return binary_cases(code, 0.2, 1, 0.2, 1);
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
      return integer_binary_cases(code, -100, 100);
    case op::shift_left:
    case op::shift_right:
      return integer_binary_cases(code, 0, 40);
    case op::eq:
    case op::ne:
    case op::lt:
    case op::le:
    case op::gt:
    case op::ge:
      return binary_cases(code, -2, 2, -2, 2);
    case op::select:
      return select_cases();
    case op::threefry: {
      numbers random(13);
      std::vector<array> words;
      for (int i = 0; i < 4; ++i) {
        words.push_back(random.integers(shape::of({5}), dtype::u32, 0, 4'000'000'000));
      }
      return {{"threefry", words, [](ir::builder& b, const std::vector<int>& x) {
                 return b.append(op::threefry, x.data(), 4, ir::attribute_list::of(2));
               }}};
    }
    case op::broadcast:
      return broadcast_cases();
    case op::reshape:
    case op::transpose:
    case op::slice:
    case op::reverse:
      return shape_cases(code);
    case op::pad:
      return pad_cases();
    case op::concatenate:
      return concatenate_cases();
    case op::gather:
    case op::scatter_add:
    case op::scatter_max:
      return gather_cases(code);
    case op::dynamic_slice:
      return dynamic_slice_cases(false);
    case op::dynamic_update_slice:
      return dynamic_slice_cases(true);
    case op::reduce_sum:
    case op::reduce_prod:
    case op::reduce_max:
    case op::reduce_min:
    case op::reduce_logsumexp:
    case op::argmax:
    case op::argmin:
      return reduce_cases(code);
    case op::cumsum:
    case op::reverse_cumsum:
      return cumulative_cases(code);
    case op::cumprod:
    case op::cummax:
    case op::cummin:
    case op::cumlogsumexp:
      return running_cases(code);
    case op::argsort:
      return argsort_cases();
    case op::cholesky:
    case op::lu:
    case op::qr:
    case op::eigh:
    case op::svd:
      return factorization_cases(code);
    case op::triangular_solve:
      return triangular_solve_cases();
    case op::dot:
      return dot_cases();
    case op::psum:
    case op::pmax:
    case op::pmin:
    case op::all_gather:
    case op::psum_scatter:
    case op::all_to_all:
    case op::ppermute:
    case op::axis_index:
    case op::axis_size:
      return collective_cases(code);
    case op::checkpoint_name:  // see unit/transform/checkpoint, custom_jvp, custom_vjp, external
    case op::custom:
    case op::custom_linear:
    case op::custom_part:
    case op::external:
    case op::external_result:
    case op::barrier:
    case op::sharding_constraint:  // see unit/passes/shard
    case op::extent:
    case op::carry:  // see unit/ops/control_test.cpp
    case op::item:
    case op::enter:
    case op::loop:
    case op::cond:
    case op::result_of:
      return {};
  }
  __builtin_unreachable();
}

/// What is no operation on arrays: these have tests of their own.
[[nodiscard]] inline bool has_no_cases(op code) {
  const op_kind kind = info(code).kind;
  return kind == op_kind::call || kind == op_kind::region || code == op::barrier ||
         code == op::sharding_constraint || code == op::checkpoint_name;
}

}  // namespace atled::oracle
