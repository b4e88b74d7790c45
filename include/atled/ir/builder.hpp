// atled/ir/builder.hpp: the only way to make a node: types it, finds its equal, keeps the first
// error. Reads: ir/type_rules.hpp. Used by trace/ (from user code) and passes/ (from rules).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/mesh.hpp"
#include "atled/ir/custom_rule.hpp"
#include "atled/ir/regions.hpp"
#include "atled/ir/type_rules.hpp"

#include <initializer_list>

namespace atled::ir {

/// Builds a graph; equal operations become one node (hash-consing).
///
/// - `site` is the position given to the nodes that follow; rules set it to that of their node.
/// - The first ill-typed operation leaves its sentence in `problem`; its result is `poison`, and an
///   operation on `poison` is `poison` and says nothing more.
/// Cost: O(operands + rank) for each node.
class builder {
 public:
  graph g{};
  text problem{};
  call_site site{"", 0, ""};

  mesh_shape mesh{};  ///< over which passes/shard.hpp will split what is traced; else without axes

  int scope = 0;  ///< of the checkpointed call that is traced; that of their node in rules

  constexpr builder() = default;
  builder(const builder&) = delete;
  builder& operator=(const builder&) = delete;
  constexpr ~builder() {
    for (int i = 0; i < num_rules_; ++i) delete rules_[i];
    for (int i = 0; i < num_pullbacks_; ++i) delete pullbacks_[i];
  }

  [[nodiscard]] constexpr const tensor_type& type(int id) const { return g.nodes[id].type; }

  // --- sources -----------------------------------------------------------------------------

  constexpr int parameter(const tensor_type& type) {
    has_bounded_ = has_bounded_ || type.dims.bounded_axes() != 0;
    const int id = push(op::parameter, nullptr, 0, attribute_list::of(g.num_parameters), type);
    g.parameters[g.num_parameters++] = id;
    return id;
  }
  /// A node equal to `id` in value and different from all others: what a derivative is taken by.
  constexpr int variable(int id) {
    if (id < 0) return poison;
    id = entered(id);
    return push(op::variable, &id, 1, attribute_list::of(g.num_nodes), type(id));
  }
  /// A scalar constant, rounded to its element type.
  constexpr int constant(double value, dtype element) {
    if (has_bounded_ && is_made_of_token(value)) return fail_number();
    std::int64_t bits = 0;
    if (is_floating(element)) {
      bits = std::bit_cast<std::int64_t>(rounded_to(value, element));
    } else {
      bits = static_cast<std::int64_t>(value);
    }
    return append(op::constant, {}, attribute_list::of(bits), {element, {}});
  }
  constexpr int integer_constant(std::int64_t value, dtype element) {
    if (is_floating(element)) return constant(static_cast<double>(value), element);
    if (has_bounded_ && is_made_of_token(static_cast<double>(value))) return fail_number();
    return append(op::constant, {}, attribute_list::of(value), {element, {}});
  }
  /// A constant of any shape.
  constexpr int splat(double value, const tensor_type& type) {
    return broadcast(constant(value, type.element), type.dims, 0);
  }
  /// A size as a scalar: of a bounded one the value that comes with the call.
  constexpr int size_of(std::int64_t size, dtype element) {
    if (!is_bounded(size)) return integer_constant(size, element);
    const dtype exact = is_half(element) ? dtype::f32 : element;
    return convert(reduce(op::reduce_sum, splat(1, {exact, shape::of({size})}), 1), element);
  }
  constexpr int iota(const tensor_type& type, int axis) {
    return append(op::iota, {}, attribute_list::of(axis), type);
  }

  // --- elementwise -------------------------------------------------------------------------

  constexpr int unary(op code, int x) { return append(code, {x}); }
  constexpr int binary(op code, int x, int y) { return append(code, {x, y}); }
  constexpr int neg(int x) { return append(op::neg, {x}); }
  constexpr int add(int x, int y) { return append(op::add, {x, y}); }
  constexpr int sub(int x, int y) { return append(op::sub, {x, y}); }
  constexpr int mul(int x, int y) { return append(op::mul, {x, y}); }
  constexpr int strong_mul(int x, int y) { return append(op::strong_mul, {x, y}); }
  constexpr int div(int x, int y) { return append(op::div, {x, y}); }
  constexpr int select(int p, int x, int y) { return append(op::select, {p, x, y}); }
  /// `x` times a constant.
  constexpr int scale(int x, double factor) {
    return x < 0 ? poison : mul(x, splat(factor, type(x)));
  }
  constexpr int convert(int x, dtype element) {
    if (x < 0) return poison;
    if (type(x).element == element) return x;
    return append(op::convert, {x}, {}, {element, {}});
  }

  /// A node of its own with the value of `x`: a conversion to the type that it has.
  constexpr int copy(int x) {
    if (x < 0) return poison;
    x = entered(x);
    return push(op::convert, &x, 1, {}, type(x));
  }

  // --- shape -------------------------------------------------------------------------------

  /// Operand axis j becomes the j-th axis of `mask`; its size stays or is 1 and repeats.
  constexpr int broadcast(int x, const shape& dims, std::int64_t mask) {
    if (x < 0) return poison;
    if (type(x).dims == dims) return x;
    return append(op::broadcast, {x}, attribute_list::of(mask), {type(x).element, dims});
  }
  /// `x` with an axis of size 1 put in at `axis`.
  constexpr int broadcast_one(int x, int axis) {
    if (x < 0) return poison;
    const shape from = type(x).dims;
    shape dims{};
    for (int i = 0; i <= from.rank; ++i) {
      dims.push(i == axis ? 1 : from[i < axis ? i : i - 1]);
    }
    return reshape(x, dims);
  }
  constexpr int reshape(int x, const shape& dims) {
    if (x < 0) return poison;
    if (type(x).dims == dims) return x;
    return append(op::reshape, {x}, {}, {type(x).element, dims});
  }
  constexpr int transpose(int x, std::int64_t permutation) {
    return append(op::transpose, {x}, attribute_list::of(permutation));
  }
  constexpr int slice(int x, const shape& starts, const shape& sizes, const shape& strides) {
    if (x < 0) return poison;
    attribute_list attributes{};
    for (int i = 0; i < starts.rank; ++i) attributes.push(starts[i]);
    for (int i = 0; i < strides.rank; ++i) attributes.push(strides[i]);
    return append(op::slice, {x}, attributes, {type(x).element, sizes});
  }
  /// Places `x` at `low`, its elements `interior` + 1 apart, in a tensor of size `sizes`.
  constexpr int pad(int x, int filler, const shape& low, const shape& interior,
                    const shape& sizes) {
    if (x < 0) return poison;
    attribute_list attributes{};
    for (int i = 0; i < low.rank; ++i) attributes.push(low[i]);
    for (int i = 0; i < interior.rank; ++i) attributes.push(interior[i]);
    return append(op::pad, {x, filler}, attributes, {type(x).element, sizes});
  }

  // --- checkpointed calls ------------------------------------------------------------------

  /// Nodes made from now on belong to a call of a checkpointed function.
  constexpr void open_scope(std::int64_t budget) {
    if (g.num_scopes + 1 >= graph::max_scopes) {
      fail("checkpoint", text("a program can hold 4095 calls of such functions, but has more"));
      return;
    }
    g.scopes[++g.num_scopes] = {scope, budget};
    scope = g.num_scopes;
  }
  constexpr void close_scope() { scope = g.scopes[scope].parent; }
  /// The value of `id`, if it is at hand in `from` only, is at hand in `to`, which is further out.
  constexpr void move_home(int id, int from, int to) {
    if (id >= 0 && g.nodes[id].home == from) g.nodes[id].home = to;
  }
  /// All that nodes refer to by number: axes, checkpointed calls, host functions.
  constexpr void copy_tables(const graph& from) {
    for (int i = 0; i < from.num_axes; ++i) g.axes[i] = from.axes[i];
    g.num_axes = from.num_axes;
    for (int i = 1; i <= from.num_scopes; ++i) g.scopes[i] = from.scopes[i];
    g.num_scopes = from.num_scopes;
    for (int i = 0; i < from.num_externals; ++i) g.externals[i] = from.externals[i];
    g.num_externals = from.num_externals;
  }
  /// The number of a host function, for op::external.
  constexpr int external(external_function function) {
    for (int i = 0; i < g.num_externals; ++i) {
      if (g.externals[i] == function) return i;
    }
    if (g.num_externals == graph::max_externals) {
      fail(op::external, text("a program can hold 256 host functions, but has more"));
      return 0;
    }
    g.externals[g.num_externals] = function;
    return g.num_externals++;
  }

  // --- derivatives of the user's own ---------------------------------------------------------

  /// Keeps a rule, or deletes it where there is no room; its index for `custom`.
  constexpr int keep_rule(custom_rule* rule) {
    if (num_rules_ == max_rules) {
      delete rule;
      fail("custom_jvp", text("a program can hold 4096 calls of such functions, but has more"));
      return 0;
    }
    rules_[num_rules_] = rule;
    return num_rules_++;
  }
  constexpr int keep_pullback(custom_pullback* pullback) {
    if (num_pullbacks_ == max_rules) {
      delete pullback;
      fail("custom_vjp", text("a program can hold 4096 calls of such functions, but has more"));
      return 0;
    }
    pullbacks_[num_pullbacks_] = pullback;
    return num_pullbacks_++;
  }
  [[nodiscard]] constexpr custom_rule& rule(std::int64_t index) { return *rules_[index]; }
  [[nodiscard]] constexpr const custom_pullback& pullback(std::int64_t index) const {
    return *pullbacks_[index];
  }
  /// Some node may be an op::custom_linear, which reverse mode alone can resolve.
  [[nodiscard]] constexpr bool has_pullbacks() const { return num_pullbacks_ > 0; }

  // --- the rest ----------------------------------------------------------------------------

  constexpr int reduce(op code, int x, std::int64_t mask) {
    if (x < 0) return poison;
    if (mask == 0 && code != op::argmax && code != op::argmin) return x;
    return append(code, {x}, attribute_list::of(mask));
  }
  constexpr int dot(int lhs, int rhs, const dot_axes& axes) {
    return append(op::dot, {lhs, rhs}, axes.packed());
  }
  constexpr int gather(int x, int indices, int axis, int batch_dims, index_mode mode) {
    return append(op::gather, {x, indices}, gather_attributes(axis, batch_dims, mode));
  }
  constexpr int scatter_add(int x, int indices, int updates, int axis, int batch_dims,
                            index_mode mode) {
    return append(op::scatter_add, {x, indices, updates},
                  gather_attributes(axis, batch_dims, mode));
  }
  constexpr int scatter_max(int x, int indices, int updates, int axis, int batch_dims,
                            index_mode mode) {
    return append(op::scatter_max, {x, indices, updates},
                  gather_attributes(axis, batch_dims, mode));
  }

  // --- axes that have names ------------------------------------------------------------------

  /// A name for the axis of lanes of what is traced until `close_axis`; returns its index.
  ///
  /// `mesh_axis` is the place + 1 in a mesh whose ranks are the lanes.
  constexpr int open_axis(std::string_view name, std::int64_t size, int mesh_axis = 0) {
    named_axis& axis = g.axes[g.num_axes];
    for (const char c : name) {
      if (axis.name_size < named_axis::name_capacity) axis.name[axis.name_size++] = c;
    }
    axis.size = size;
    axis.bit = num_open_;
    axis.mesh_axis = mesh_axis;
    if (mesh_axis > 0) {
      rank_bits_ |= std::uint32_t{1} << num_open_;
      axis_of_rank_bit_[num_open_] = g.num_axes;
    }
    open_axes_[num_open_++] = g.num_axes;
    return g.num_axes++;
  }
  constexpr void close_axis() { --num_open_; }
  /// The innermost open axis of this name, or -1.
  [[nodiscard]] constexpr int axis_named(std::string_view name) const {
    for (int i = num_open_ - 1; i >= 0; --i) {
      if (g.axes[open_axes_[i]].view() == name.substr(0, named_axis::name_capacity)) {
        return open_axes_[i];
      }
    }
    return -1;
  }
  [[nodiscard]] constexpr int num_open_axes() const { return num_open_; }
  /// The open axes, the outermost first.
  [[nodiscard]] constexpr int open_axis_at(int i) const { return open_axes_[i]; }

  /// The axis is that of a vmap or mesh around what is traced now.
  [[nodiscard]] constexpr bool is_axis_open(int axis) const {
    for (int i = 0; i < num_open_; ++i) {
      if (open_axes_[i] == axis) return true;
    }
    return false;
  }
  /// The open axes whose lanes are ranks, as bits of node::varies.
  [[nodiscard]] constexpr std::uint32_t rank_axes() const {
    std::uint32_t out = 0;
    for (int i = 0; i < num_open_; ++i) {
      if (g.axes[open_axes_[i]].is_of_ranks()) out |= std::uint32_t{1} << i;
    }
    return out;
  }

  /// From here on the value of variable `id` differs along these axes.
  constexpr void vary(int id, std::uint32_t axes) {
    if (id >= 0) g.nodes[id].varies |= axes;
  }
  /// A value differs where its operands do; a collective makes it shared along its axis, or not.
  constexpr void find_varies(int id) {
    node& n = g.nodes[id];
    if (n.code == op::result_of) {
      n.varies |= varies_of_result(g.operand(id, 0), static_cast<int>(g.attribute(id)));
      return;
    }
    for (int i = 0; i < n.num_operands; ++i) n.varies |= g.nodes[g.operand(id, i)].varies;
    if (n.code == op::enter) n.varies |= decided(g.attribute(id));
    if (!is_collective(n.code)) return;
    const std::uint32_t bit = std::uint32_t{1} << g.axes[g.attribute(id)].bit;
    const bool is_shared = n.code == op::psum || n.code == op::pmax || n.code == op::pmin ||
                           n.code == op::all_gather || n.code == op::axis_size;
    n.varies = is_shared ? n.varies & ~bit : n.varies | bit;
  }
  /// And here it does so no longer: the axes are left.
  constexpr void share(int id, std::uint32_t axes) {
    if (id >= 0) g.nodes[id].varies &= ~axes;
  }
  [[nodiscard]] constexpr std::uint32_t varies(int id) const {
    return id < 0 ? 0 : g.nodes[id].varies;
  }
  /// The sum over the lanes of each of these axes; those of a mesh may be closed by now: what was
  /// traced inside is differentiated from outside.
  constexpr int psum(int x, std::uint32_t axes) {
    for (int i = 0; (axes >> i) != 0; ++i) {
      if (((axes >> i) & 1U) == 0) continue;
      const int axis = i < num_open_ ? open_axes_[i] : axis_of_rank_bit_[i];
      x = append(op::psum, {x}, attribute_list::of(axis));
    }
    return x;
  }
  /// The axes of a mesh, open or closed, as bits of node::varies.
  [[nodiscard]] constexpr std::uint32_t bits_of_ranks() const {
    return rank_axes() | (rank_bits_ & ~((std::uint32_t{1} << num_open_) - 1));
  }
  /// Variable `id` leads into a mesh, or out of it: blocks that differ between ranks inside are
  /// what each rank has for itself outside.
  [[nodiscard]] constexpr bool is_border(int id) const {
    return g[id].code == op::variable &&
           ((varies(id) ^ varies(g.operand(id, 0))) & bits_of_ranks()) != 0;
  }
  /// `x` where it stands for variable `id`, on the same side of the mesh.
  constexpr int on_side_of(int id, std::uint32_t side, int x) {
    const std::uint32_t ranks = bits_of_ranks();
    if (x < 0 || !is_border(id) || ((side ^ varies(x)) & ranks) == 0) return x;
    const int out = variable(x);
    g.nodes[out].varies = (varies(out) & ~ranks) | (side & ranks);
    return out;
  }
  /// What takes the place of variable `id`, given what takes that of its operand.
  constexpr int on_far_side(int id, int x) { return on_side_of(id, varies(id), x); }
  /// What takes the place of its operand.
  constexpr int on_near_side(int id, int x) { return on_side_of(id, varies(g.operand(id, 0)), x); }

  // --- regions -----------------------------------------------------------------------------

  /// A number for a region, or for what it binds.
  constexpr int new_region() { return ++g.num_regions; }
  /// Lanes decide by themselves, along these axes, whether they go through a branch of a region:
  /// what enters it differs between them as to whether it is used.
  constexpr void decide(std::int64_t region, std::uint32_t axes) {
    if (axes == 0) return;
    if (num_decided_ < max_decided) {
      decided_[num_decided_++] = {region, axes};
    } else {
      decided_elsewhere_ |= axes;
    }
  }
  [[nodiscard]] constexpr std::uint32_t decided(std::int64_t region) const {
    std::uint32_t out = decided_elsewhere_;
    for (int i = 0; i < num_decided_; ++i) {
      if (decided_[i].region == region) out |= decided_[i].axes;
    }
    return out;
  }
  /// A region like another.
  constexpr int new_region_like(std::int64_t region) {
    const int out = new_region();
    decide(out, decided(region));
    return out;
  }
  /// Nodes made from now on, until `close_region`, are the body of a loop, or a branch: what a
  /// branch uses from outside enters it by an op::enter.
  constexpr void open_loop() { open_regions_[num_regions_open_++] = {0, -1, g.num_nodes}; }
  constexpr void open_branch(int region, int branch) {
    open_regions_[num_regions_open_++] = {region, branch, g.num_nodes};
    ++num_branches_;
  }
  constexpr void close_region() {
    if (open_regions_[--num_regions_open_].branch >= 0) --num_branches_;
  }
  [[nodiscard]] constexpr int depth() const { return num_regions_open_; }

  /// What a loop binds: `from` is where a carry begins, or the stack of an item.
  constexpr int bound(op code, int from, std::int64_t region, std::int64_t depth) {
    if (from < 0) return poison;
    attribute_list attributes{};
    attributes.push(region);
    attributes.push(depth);
    attributes.push(new_region());
    return append(code, {from}, attributes);
  }
  constexpr int enter(int x, std::int64_t region, std::int64_t depth, int branch) {
    if (x < 0) return poison;
    attribute_list attributes{};
    attributes.push(region);
    attributes.push(depth);
    attributes.push(branch);
    return append(op::enter, {x}, attributes);
  }
  constexpr int result_of(int x, int index) {
    if (x < 0) return poison;
    return append(op::result_of, {x}, attribute_list::of(index), result_type(g, x, index));
  }

  /// The node of `code` on these operands: an equal one that is there, or a new one.
  constexpr int append(op code, std::initializer_list<int> operands,
                       const attribute_list& attributes = {}, const tensor_type& wanted = {}) {
    return append(code, operands.begin(), static_cast<int>(operands.size()), attributes, wanted);
  }
  constexpr int append(op code, const int* operands, int count,
                       const attribute_list& attributes = {}, const tensor_type& wanted = {}) {
    operand_types in{};
    for (int i = 0; i < count; ++i) {
      if (operands[i] < 0) return poison;
      in.types[in.size++] = type(operands[i]);
    }
    if (num_branches_ > 0) return append_inside(code, operands, in, attributes, wanted);
    return find_or_push(code, operands, in, attributes, wanted);
  }

  /// As `fail`, in the name of a verb whatever the function on that line is called.
  constexpr int fail_as(std::string_view verb, const call_site& at, const text& why) {
    site = {at.file, at.line, ""};
    return fail(verb, why);
  }

  /// Keeps the sentence if it is the first.
  constexpr int fail(op code, const text& why) { return fail(info(code).name, why); }
  constexpr int fail(std::string_view operation, const text& why) {
    if (problem.empty()) {
      problem = sentence_start(site, operation);
      problem << why;
    }
    return poison;
  }

 private:
  bool has_bounded_ = false;  // a parameter has a bounded size

  // A bounded size is a token and no number: what is computed from it lies where no other does.
  static constexpr bool is_made_of_token(double value) {
    const double magnitude = value < 0 ? -value : value;
    const bool is_token = magnitude >= 0x1p62 && magnitude < 0x1p63;
    return is_token || (magnitude > 0x1p-63 && magnitude <= 0x1p-62);
  }
  constexpr int fail_number() {
    return fail(op::constant, text("a number is made of a bounded size: that is known at the call "
                                   "only; use size(x, axis)"));
  }

  static constexpr std::uint32_t table_size = 2 * graph::max_nodes;
  static constexpr std::uint32_t table_mask = table_size - 1;
  int table_[table_size]{};  // node + 1; 0 is free
  static constexpr int max_open = 32;
  int open_axes_[max_open]{};
  int num_open_ = 0;
  std::uint32_t rank_bits_ = 0;       // of node::varies, that have ever been those of a mesh
  int axis_of_rank_bit_[max_open]{};  // the last one

  struct decided_region {
    std::int64_t region;
    std::uint32_t axes;
  };
  static constexpr int max_decided = 64;
  decided_region decided_[max_decided]{};
  int num_decided_ = 0;
  std::uint32_t decided_elsewhere_ = 0;  // of regions that have no place there

  static constexpr int max_rules = 1 << 12;
  custom_rule* rules_[max_rules]{};
  int num_rules_ = 0;
  custom_pullback* pullbacks_[max_rules]{};
  int num_pullbacks_ = 0;

  struct open_region {
    int region;
    int branch;  // -1: the body of a loop
    int begin;   // nodes from here on were made inside
  };
  open_region open_regions_[max_depth]{};
  int num_regions_open_ = 0;
  int num_branches_ = 0;

  constexpr int find_or_push(op code, const int* operands, const operand_types& in,
                             const attribute_list& attributes, const tensor_type& wanted) {
    const int count = in.size;
    const typed result = infer_type(code, in, attributes, wanted);
    if (!result.ok()) return fail(code, result.problem);

    const std::uint32_t hash = hash_of(code, operands, count, attributes, result.type);
    for (std::uint32_t slot = hash & table_mask;; slot = (slot + 1) & table_mask) {
      const int found = table_[slot] - 1;
      if (found < 0) {
        const int id = push(code, operands, count, attributes, result.type);
        table_[slot] = id + 1;
        return id;
      }
      if (equals(found, code, operands, count, attributes, result.type) && is_at_hand(found)) {
        return found;
      }
    }
  }

  // An outer value as the open branches see it; constants are everywhere.
  constexpr int entered(int x) {
    if (num_branches_ == 0 || is_everywhere(x)) return x;
    int level = 0;
    while (level < num_regions_open_ && open_regions_[level].begin <= x) ++level;
    for (; level < num_regions_open_; ++level) {
      if (open_regions_[level].branch < 0) continue;
      attribute_list attributes{};
      attributes.push(open_regions_[level].region);
      attributes.push(level);
      attributes.push(open_regions_[level].branch);
      operand_types in{};
      in.types[in.size++] = type(x);
      x = find_or_push(op::enter, &x, in, attributes, {});
    }
    return x;
  }
  [[nodiscard]] constexpr bool is_everywhere(int x) const {
    if (g[x].code == op::broadcast) x = g.operand(x, 0);
    return g[x].code == op::constant || g[x].code == op::iota;
  }
  constexpr int append_inside(op code, const int* operands, const operand_types& in,
                              const attribute_list& attributes, const tensor_type& wanted) {
    int inside[operand_types::capacity]{};
    for (int i = 0; i < in.size; ++i) inside[i] = entered(operands[i]);
    return find_or_push(code, inside, in, attributes, wanted);
  }

  static constexpr attribute_list gather_attributes(int axis, int batch_dims, index_mode mode) {
    attribute_list out{};
    out.push(axis);
    out.push(batch_dims);
    out.push(static_cast<std::int64_t>(mode));
    return out;
  }

  constexpr int push(op code, const int* operands, int count, const attribute_list& attributes,
                     const tensor_type& type) {
    node& n = g.nodes[g.num_nodes];
    n.code = code;
    n.num_operands = count;
    n.operands_begin = g.num_operands;
    n.num_attributes = attributes.size;
    n.attributes_begin = g.num_attributes;
    n.type = type;
    n.at = site;
    if (scope != 0 && count > 0 && !is_splat(code, operands)) n.scope = n.home = scope;
    for (int i = 0; i < count; ++i) g.operands[g.num_operands++] = operands[i];
    for (int i = 0; i < attributes.size; ++i) {
      g.attributes[g.num_attributes++] = attributes.values[i];
    }
    find_varies(g.num_nodes);
    return g.num_nodes++;
  }

  [[nodiscard]] constexpr std::uint32_t varies_of_result(int of, int index) const {
    if (g[of].code == op::cond) {
      const auto cond = cond_parts::of(g, of);
      std::uint32_t out = varies(cond.index());
      for (int i = 0; i < cond.num_branches; ++i) out |= varies(cond.result(i, index));
      return out;
    }
    const auto loop = loop_parts::of(g, of);
    const std::uint32_t first = index < loop.num_carries ? varies(loop.carry(index)) : 0;
    return first | varies(loop.result(index)) | varies(loop.predicate()) | varies(loop.count());
  }

  // A node of another checkpointed call is none to share.
  [[nodiscard]] constexpr bool is_at_hand(int id) const {
    const int home = g.nodes[id].home;
    return home == 0 || home == scope || g.is_inside(scope, home);
  }
  [[nodiscard]] constexpr bool is_splat(op code, const int* operands) const {
    return code == op::broadcast && g.is_constant(operands[0]);
  }

  // Fibonacci hashing over all that makes a node what it is.
  static constexpr std::uint32_t hash_of(op code, const int* operands, int count,
                                         const attribute_list& attributes,
                                         const tensor_type& type) {
    constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U;
    std::uint64_t h =
        (static_cast<std::uint64_t>(code) << 8) + static_cast<std::uint64_t>(type.element);
    for (int i = 0; i < count; ++i) {
      h = (h ^ static_cast<std::uint64_t>(operands[i])) * factor;
      h ^= h >> 29;
    }
    for (int i = 0; i < attributes.size; ++i) {
      h = (h ^ static_cast<std::uint64_t>(attributes.values[i])) * factor;
      h ^= h >> 29;
    }
    for (int i = 0; i < type.rank(); ++i) {
      h = (h ^ static_cast<std::uint64_t>(type.dims[i])) * factor;
    }
    return static_cast<std::uint32_t>(h >> 32);
  }

  [[nodiscard]] constexpr bool equals(int id, op code, const int* operands, int count,
                                      const attribute_list& attributes,
                                      const tensor_type& type) const {
    const node& n = g.nodes[id];
    if (n.code != code || n.num_operands != count || n.num_attributes != attributes.size) {
      return false;
    }
    for (int i = 0; i < count; ++i) {
      if (g.operands[n.operands_begin + i] != operands[i]) return false;
    }
    for (int i = 0; i < attributes.size; ++i) {
      if (g.attributes[n.attributes_begin + i] != attributes.values[i]) return false;
    }
    return n.type == type;
  }
};

}  // namespace atled::ir
