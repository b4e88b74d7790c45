// atled/transform/program.hpp: a function and its argument types, compiled: graph, plan, tables,
// facts. Reads: trace/trace.hpp, passes/compile.hpp, runtime/executor.hpp. Called by transform/.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/compact.hpp"
#include "atled/ir/print.hpp"
#include "atled/ir/verify.hpp"
#include "atled/passes/bound.hpp"
#include "atled/passes/jvp.hpp"
#include "atled/runtime/comm_report.hpp"
#include "atled/runtime/describe.hpp"
#include "atled/runtime/sparse_program.hpp"
#include "atled/trace/trace.hpp"
#include "atled/transform/planned.hpp"

#include <string>

namespace atled {

namespace detail {

struct trace_result {
  ir::graph graph;
  text problem;
};

template <class F, class... Args>
constexpr trace_result trace_function() {
  ir::builder b;
  ir::trace<F, Args...>(b);
  passes::refuse_forward_mode(b);
  if (!b.problem.empty()) return {{}, b.problem};
  return {b.g, {}};
}

/// Which arguments are given up by the caller.
template <bool... Given>
struct given_up {};

/// Marks the leaves of one argument that own memory, if the argument is given up.
template <class Tree>
constexpr void mark_donors(bool given, bool* is_free, int& at) {
  if constexpr (is_branch_v<Tree>) {
    using members = decltype(members_of(std::declval<Tree&>()));
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (mark_donors<std::remove_cvref_t<std::tuple_element_t<I, members>>>(given, is_free, at), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<members>>{});
  } else {
    is_free[at++] = given && requires(Tree leaf) {
      leaf.is_empty();
    };
  }
}

/// Each output may take over the first free parameter of its type among those given up. `g` is the
/// graph as the user wrote it, with the outputs of the program.
template <bool... Given, class... Args>
constexpr passes::donation match_donations(given_up<Given...>, std::tuple<Args...>*,
                                           const ir::graph& g) {
  passes::donation out{};
  bool is_free[ir::graph::max_outputs]{};
  int at = 0;
  (mark_donors<Args>(Given, is_free, at), ...);
  int search_from = 0;
  for (int i = 0; i < g.num_outputs; ++i) {
    out.parameter_of[i] = -1;
    // Trees come back in the order in which they went in: the search goes on from the last match.
    for (int n = 0; n < at; ++n) {
      const int p = (search_from + n) % at;
      if (!is_free[p] || !(g.type(g.parameters[p]) == g.type(g.outputs[i]))) continue;
      is_free[p] = false;
      out.parameter_of[i] = p;
      search_from = p + 1;
      break;
    }
  }
  return out;
}

template <class T, const shape& Dims, std::size_t... Axis>
auto tensor_of_shape(std::index_sequence<Axis...>) -> tensor<T, Dims.dims[Axis]...>;

/// The result tree with tensors in place of expressions. `Offset`: index of the first output.
template <class Traced, class Program, int Offset>
struct result_tree;
template <class Program, int Offset>
struct result_tree<expr, Program, Offset> {
  static constexpr tensor_type type = Program::output_type(Offset);
  static constexpr shape dims = type.dims;
  using result = decltype(tensor_of_shape<element_t<type.element>, dims>(
      std::make_index_sequence<static_cast<std::size_t>(dims.rank)>{}));
};
template <class Number, class Program, int Offset>
  requires std::is_arithmetic_v<Number>
struct result_tree<Number, Program, Offset> : result_tree<expr, Program, Offset> {
};

/// The sizes that all leaves of a returned model have in front of those that it declares.
struct leading_sizes {
  shape dims;
  bool ok;
};
template <class Model, class Program, int Offset>
constexpr leading_sizes leading_sizes_of() {
  leading_sizes out{{}, true};
  traced_t<Model> model{};
  int at = Offset;
  for_each_leaf_type<Model>(model, [&]<class Leaf>(expr&) {
    const tensor_type declared = leaf_type<Leaf>();
    const tensor_type given = Program::output_type(at);
    const int lead = given.rank() - declared.rank();
    if (at++ == Offset) {
      for (int i = 0; i < lead; ++i) out.dims.push(given.dims[i]);
    }
    out.ok = out.ok && lead == out.dims.rank && given.element == declared.element;
    for (int i = 0; i < given.rank() && out.ok; ++i) {
      out.ok = given.dims[i] == (i < lead ? out.dims[i] : declared.dims[i - lead]);
    }
  });
  return out;
}
template <const leading_sizes& Lead, std::size_t... Axis>
auto stacked_by(std::index_sequence<Axis...>) -> stacked<Lead.dims.dims[Axis]...>;

template <class Model, class Program, int Offset>
  requires model_like<Model>
struct result_tree<Model, Program, Offset> {
  using alone = rebind_t<Model, typename Program::leaves>;
  static constexpr leading_sizes lead = leading_sizes_of<alone, Program, Offset>();
  static_assert(
      lead.ok,
      "atled::jit: a struct is returned whose leaves are not of the types that it "
      "declares, nor all stacked along the same axes in front; return a tuple of tensors");
  using many = decltype(stacked_by<lead>(
      std::make_index_sequence<static_cast<std::size_t>(lead.dims.rank)>{}));
  using result = std::conditional_t<lead.dims.rank == 0, alone, rebind_t<Model, many>>;
};

template <class Program, int Offset, class... T>
constexpr auto offsets_of() {
  std::array<int, sizeof...(T) + 1> out{};
  out[0] = Offset;
  std::size_t i = 0;
  ((out[i + 1] = out[i] + num_leaves_v<T>, ++i), ...);
  return out;
}
template <class Program, int Offset, class... T>
struct result_members {
  static constexpr auto offsets = offsets_of<Program, Offset, T...>();
  template <std::size_t... I>
  static auto make(std::index_sequence<I...>)
      -> std::tuple<typename result_tree<T, Program, offsets[I]>::result...>;
  using tuple = decltype(make(std::index_sequence_for<T...>{}));
};
template <class... T, class Program, int Offset>
struct result_tree<std::tuple<T...>, Program, Offset> {
  using result = typename result_members<Program, Offset, T...>::tuple;
};
template <class T, class U, class Program, int Offset>
struct result_tree<std::pair<T, U>, Program, Offset> {
  using members = typename result_members<Program, Offset, T, U>::tuple;
  using result = std::pair<std::tuple_element_t<0, members>, std::tuple_element_t<1, members>>;
};
template <class T, std::size_t N, class Program, int Offset>
struct result_tree<std::array<T, N>, Program, Offset> {
  using result = std::array<typename result_tree<T, Program, Offset>::result, N>;
};

/// Stage 1: the traced graph, or the sentence of the first mistake.
template <class F, class... Args>
struct user_function {
  static constexpr trace_result traced = trace_function<F, Args...>();
  using leaves = values;
};
/// Of a function that is split over a mesh: what one rank runs; see transform/sharded.hpp.
template <class F, class... Args>
  requires requires {
    typename F::template one_rank<Args...>;
  }
struct user_function<F, Args...> : F::template one_rank<Args...> {};

constexpr trace_result bound_sizes(const ir::graph& traced) {
  ir::builder b;
  passes::bound(traced, b);
  if (!b.problem.empty()) return {{}, b.problem};
  return {b.g, {}};
}
/// The graph in which sizes that come with the call are parameters, if there are such.
template <class User, bool HasBounds>
struct bound_function : User {
  [[nodiscard]] static constexpr const ir::graph& fixed_graph() { return User::traced.graph; }
  static constexpr text sentence = User::traced.problem;
};
template <class User>
struct bound_function<User, true> : User {
  static constexpr trace_result bound = bound_sizes(User::traced.graph);
  [[nodiscard]] static constexpr const ir::graph& fixed_graph() { return bound.graph; }
  static constexpr text sentence = bound.problem;
};
template <class F, class... Args>
using traced_function =
    bound_function<user_function<F, Args...>,
                   (passes::size_list::of(user_function<F, Args...>::traced.graph).size > 0)>;

/// Stage 2: what the passes make of it; each result is frozen before the next pass begins.
template <class Traced, bool HasRegions>
struct simplified_function {
  static constexpr ir::graph graph = passes::prepare(Traced::fixed_graph());
};
template <class Traced>
struct simplified_function<Traced, true> {
  static constexpr ir::graph joined = passes::joined(Traced::fixed_graph());
  static constexpr ir::graph simple = passes::prepare(joined);
  static constexpr ir::graph graph = passes::joined(simple);
};

template <class F, class... Args>
struct expanded_function
    : simplified_function<traced_function<F, Args...>,
                          (traced_function<F, Args...>::traced.graph.num_regions > 0)> {
  using simplified =
      simplified_function<traced_function<F, Args...>,
                          (traced_function<F, Args...>::traced.graph.num_regions > 0)>;
  using simplified::graph;
  static constexpr ir::graph expanded = passes::expanded(graph);

  [[nodiscard]] static constexpr const ir::graph& open_graph() { return expanded; }
  /// The types of the user, whose sizes may be bounded.
  [[nodiscard]] static constexpr const ir::graph& user_graph() {
    return traced_function<F, Args...>::traced.graph;
  }
  [[nodiscard]] static constexpr tensor_type output_type(int index) {
    const ir::graph& g = user_graph();
    return g.num_outputs > index ? g.type(g.outputs[index]) : tensor_type{dtype::f32, {}};
  }
};

/// The graph without the bodies of its loops and branches.
template <class Open, bool HasRegions>
struct closed_function {
  [[nodiscard]] static constexpr const ir::graph& kernel_graph() { return Open::open_graph(); }
};
template <class Open>
struct closed_function<Open, true> {
  static constexpr ir::graph closed = passes::closed_program(Open::open_graph());
  [[nodiscard]] static constexpr const ir::graph& kernel_graph() { return closed; }
};

template <class F, class Given, class... Args>
struct function_source
    : expanded_function<F, Args...>,
      closed_function<expanded_function<F, Args...>,
                      (num_regions_of(expanded_function<F, Args...>::open_graph()) > 0)> {
  using leaves = typename user_function<F, Args...>::leaves;  ///< policy of returned models
  static constexpr passes::donation donated = match_donations(
      Given{}, static_cast<std::tuple<Args...>*>(nullptr), function_source::user_graph());
};
template <class F, class Given, class... Args>
using planned_function = planned_graph<function_source<F, Given, Args...>>;

/// The first law that a pass has broken, if any: our mistake, not the user's.
template <class Traced, class Planned>
struct verified_function {
  static constexpr text sentence = [] {
    for (const ir::graph* g :
         {&Traced::traced.graph, &Traced::fixed_graph(), &Planned::graph, &Planned::open_graph()}) {
      if (const text broken = ir::verify(*g); !broken.empty()) return broken;
    }
    return text{};
  }();
};

}  // namespace detail

/// A function compiled for argument types: all that is known about it at build time.
///
/// `F` is stateless; `Given` says which arguments are given up, so that results may take their
/// memory. Ill-formed: the traced function is; the sentence is in `trace_error<...>`.
template <class F, class Given, class... Args>
class program {
  static_assert(spell<detail::traced_function<F, Args...>>::ok,
                "atled::jit: the traced function is ill-formed; trace_error<...> says why");

 public:
  using planned = detail::planned_function<F, Given, Args...>;
#ifdef ATLED_VERIFY_PASSES
  static_assert(spell<detail::verified_function<detail::traced_function<F, Args...>, planned>>::ok,
                "atled: a pass broke a law of the graph; trace_error<...> says which");
#endif
  using lowered = detail::lowered_graph<planned>;
  static_assert(!lowered::facts.unsupported,
                "atled::jit: a product has more than three batch axes that cannot be merged: "
                "reshape or transpose its operands so that fewer remain");

  /// The result: the tree that the function returns, with tensors as leaves.
  using result = typename detail::result_tree<ir::traced_result_t<F, Args...>, planned, 0>::result;

  /// With the sizes that come with the call, which stand behind the user's.
  static constexpr int num_parameters = planned::graph.num_parameters;
  /// The sizes that come with the call: distinct ones among those of the arguments.
  static constexpr passes::size_list bounded_sizes = passes::size_list::of(planned::user_graph());
  static constexpr int num_outputs = planned::graph.num_outputs;
  static constexpr int num_steps = planned::plan.num_steps;
  static constexpr int num_kernels = planned::plan.num_kernels;
  /// Memory of intermediate values and fresh results at the worst moment. Units: bytes.
  static constexpr std::int64_t peak_bytes = planned::plan.peak_bytes + lowered::facts.region_bytes;
  static constexpr std::int64_t arena_bytes = planned::plan.arena_bytes;
  /// Additions, multiplications and other elementwise operations of one call.
  static constexpr std::int64_t flops = lowered::facts.flops;
  /// Read and written by all kernels, each operand once a kernel. Units: bytes.
  static constexpr std::int64_t bytes_moved = lowered::facts.bytes_moved;

  /// The mesh that it runs on; without axes for a program of one process.
  static constexpr mesh_shape mesh_axes = runtime::mesh_of(planned::graph);
  /// Collectives among the steps, those in the bodies of loops and branches included.
  static constexpr int num_collectives = lowered::facts.comm.num_collectives;
  /// A hash of all collectives in their order; ranks compare it at the first call on their mesh.
  static constexpr std::uint64_t schedule_hash = [] {
    runtime::comm_facts out = lowered::facts.comm;
    out.mix(static_cast<std::uint64_t>(num_steps));
    out.mix(static_cast<std::uint64_t>(flops));
    return out.hash;
  }();
  /// What a call of one rank passes to and gets from collectives along an axis of the mesh; a loop
  /// without a bound counts as one trip, a branch as the one that sends most. Units: bytes.
  [[nodiscard]] static constexpr std::int64_t comm_bytes(std::string_view axis) {
    const int at = mesh_axes.axis_named(axis);
    return at < 0 ? 0 : lowered::facts.comm.bytes[at];
  }
  /// Each collective, one a line: op, type, axis, bytes and the user's line.
  [[nodiscard]] static std::string comm_report() {
    return runtime::comm_report(frozen(), mesh_axes);
  }
  /// Blocks until: all ranks have called it, the first time on these ranks.
  /// Throws: atled::error, on all ranks, where another program runs on one of them.
  static void compare_on(comm::grid& ranks) {
    if constexpr (num_collectives > 0) {
      if (!ranks.is_first_time(schedule_hash)) return;
      ranks.require_same({{"schedule of the program", schedule_hash}}, mesh_axes.text().view());
    }
  }

  /// The simplified graph, one equation a line; what no result needs is left out.
  [[nodiscard]] static std::string text() {
    static constexpr auto compact =
        ir::compact_graph<ir::sizes_of(planned::graph)>::of(planned::graph);
    return ir::to_text(*ir::live_part(*compact.expand()));
  }
  /// The distinct kernels, how often each runs, and its instructions.
  [[nodiscard]] static std::string kernels() {
    constexpr runtime::kernel_table_sizes sizes{
        static_cast<std::size_t>(planned::plan.num_kernels),
        static_cast<std::size_t>(planned::plan.num_instructions)};
    static constexpr auto table =
        runtime::kernel_table<sizes>::of(planned::kernel_graph(), planned::plan);
    return runtime::kernels_text(table);
  }

  [[nodiscard]] static const runtime::frozen_program& frozen() {
    return lowered::frozen;
  }
  /// The program is so small that a call is one function, without steps; see
  /// runtime/inline_layout.hpp.
  static constexpr bool is_inline =
      runtime::inline_program<planned>::fits || runtime::sparse_program<planned>::fits;
  static void run_inline(const std::byte* const* parameters, std::byte* const* outputs) {
    if constexpr (runtime::inline_program<planned>::fits) {
      runtime::inline_program<planned>::run(parameters, outputs);
    } else {
      runtime::sparse_program<planned>::run(parameters, outputs);
    }
  }
  /// The parameter whose memory an output takes over, or -1.
  [[nodiscard]] static constexpr int donor_of(int output) {
    return planned::donated.parameter_of[output];
  }
};

}  // namespace atled
