// atled/transform/sharded.hpp: jit over a mesh: a function of whole tensors, split over ranks from
// the specs of its arguments and results. Reads: passes/shard.hpp, trace/split_leaves.hpp,
// transform/mesh_axes.hpp.
//
// A rank passes its blocks. A leaf of a model has the spec that its layer was given; a model of the
// policy `values` is whole on each rank, one of the policy `on<grid>` holds blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/single.hpp"
#include "atled/passes/shard.hpp"
#include "atled/trace/split_leaves.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/mesh_axes.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {

template <int Parts>
struct reproducible_option {};
/// An option of `jit` over a mesh: the same bits on every mesh of the same axes whose sizes are 1,
/// 2, 4 ... up to `Parts`: `jit(step, devices, in_specs<...>, out_specs<...>, reproducible<4>)`.
///
/// Sums over split axes are taken as `Parts` parts of equal size, which a fixed binary tree adds
/// up, at once and on all ranks alike; all other numbers are made as without a mesh. Where another
/// axis of such a sum is split too, its parts have other shapes on other meshes: a product's bits
/// do not depend on that; a sum over rows keeps its bits as long as its chunks of rows stay the
/// same. Cost: `Parts` smaller products for each whose contracted axis is split, on one rank; on R
/// ranks log2(R) exchanges of the sum in place of one all_reduce, and none is scattered.
/// Ill-formed: a split axis is open, or is not divisible by `Parts`; a product along it.
template <int Parts>
inline constexpr reproducible_option<Parts> reproducible{};

namespace detail {

/// What stands for a leaf of no model.
struct leaf_of_no_model {
  static constexpr tensor_type type{};
};

/// A tree with declared specs in place of the leaves of its models: what their policy says, or
/// inside a trace `Specs`.
template <class Specs, class Tree>
struct declared_tree {
  using type = leaf_of_no_model;
};
template <class Specs, class Tree>
  requires model_like<Tree>
struct declared_tree<Specs, Tree> {
  using own = std::conditional_t<std::is_same_v<policy_of_t<Tree>, tracing>, Specs,
                                 typename specs_of<policy_of_t<Tree>>::type>;
  using type = rebind_t<Tree, own>;
};
template <class Specs, class... T>
struct declared_tree<Specs, std::tuple<T...>> {
  using type = std::tuple<typename declared_tree<Specs, T>::type...>;
};
template <class Specs, class T, class U>
struct declared_tree<Specs, std::pair<T, U>> {
  using type =
      std::pair<typename declared_tree<Specs, T>::type, typename declared_tree<Specs, U>::type>;
};
template <class Specs, class T, std::size_t N>
struct declared_tree<Specs, std::array<T, N>> {
  using type = std::array<typename declared_tree<Specs, T>::type, N>;
};

template <class Mesh, class... Trees>
constexpr auto first_policy();

/// The leaf policy of the first model in a tree whose leaves are one rank's blocks, else `values`.
template <class Mesh, class Tree>
constexpr auto find_policy() {
  using tree = std::remove_cvref_t<Tree>;
  if constexpr (model_like<tree>) {
    if constexpr (policy_of_blocks<policy_of_t<tree>, Mesh>) {
      return std::type_identity<policy_of_t<tree>>{};
    } else {
      return std::type_identity<values>{};
    }
  } else if constexpr (is_branch_v<tree>) {
    using members = decltype(members_of(std::declval<tree&>()));
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return first_policy<Mesh, std::tuple_element_t<I, members>...>();
    }
    (std::make_index_sequence<std::tuple_size_v<members>>{});
  } else {
    return std::type_identity<values>{};
  }
}
template <class Mesh, class... Trees>
constexpr auto first_policy() {
  if constexpr (sizeof...(Trees) == 0) {
    return std::type_identity<values>{};
  } else {
    return []<class First, class... Rest>(std::type_identity<std::tuple<First, Rest...>>) {
      using found = decltype(find_policy<Mesh, First>());
      if constexpr (std::is_same_v<typename found::type, values>) {
        return first_policy<Mesh, Rest...>();
      } else {
        return found{};
      }
    }(std::type_identity<std::tuple<std::remove_cvref_t<Trees>...>>{});
  }
}
template <class Mesh, class... Trees>
using leaves_on = typename decltype(first_policy<Mesh, Trees...>())::type;

/// What is said of each leaf of some trees.
struct leaf_words {
  static constexpr int capacity = ir::graph::max_outputs;
  named_spec spec[capacity];
  bool is_said[capacity];      ///< there is a spec
  bool is_declared[capacity];  ///< by the layer: the sizes that it declares are those of the whole
  std::int64_t groups[capacity];  ///< 0, or its blocks are in another order: see grouped_leaf_of
  std::int64_t unit[capacity];
  tensor_type declared[capacity];
  int size;

  constexpr void push(const named_spec& named) {
    spec[size] = named;
    is_said[size++] = true;
  }
};

template <class Tree, auto... Spec>
constexpr void say_each(each_axis<Spec...>, leaf_words& out);

/// What `Spec` says of the leaves of a tree: a P of all, `none` of none, `each<...>` of each
/// member.
template <auto Spec, class Tree>
constexpr void say(leaf_words& out) {
  using type = std::remove_cv_t<decltype(Spec)>;
  if constexpr (std::is_same_v<type, none_tag>) {
    out.size += num_leaves_v<Tree>;
  } else if constexpr (std::is_convertible_v<type, named_spec>) {
    for (int i = 0; i < num_leaves_v<Tree>; ++i) out.push(Spec);
  } else {
    static_assert(num_axes_v<type> == num_members<Tree>(),
                  "atled::jit: each<...> must give a spec to each member of a tree");
    if constexpr (num_axes_v<type> == num_members<Tree>()) say_each<Tree>(Spec, out);
  }
}
template <class Tree, auto... Spec>
constexpr void say_each(each_axis<Spec...>, leaf_words& out) {
  using members = decltype(members_of(std::declval<Tree&>()));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (say<Spec, std::remove_cvref_t<std::tuple_element_t<I, members>>>(out), ...);
  }
  (std::make_index_sequence<sizeof...(Spec)>{});
}

/// What specs and layers say of all leaves of a tree; false where the number of specs is wrong.
template <class Specs, class Tree, auto... Spec>
constexpr bool say_all(each_axis<Spec...> specs, leaf_words& out) {
  if constexpr (sizeof...(Spec) == 0) {
    out.size = num_leaves_v<Tree>;
  } else if constexpr (sizeof...(Spec) == 1) {
    (say<Spec, Tree>(out), ...);
  } else if constexpr (static_cast<int>(sizeof...(Spec)) == num_members<Tree>()) {
    say_each<Tree>(specs, out);
  } else {
    return false;
  }
  using tree = typename declared_tree<Specs, Tree>::type;
  traced_t<tree> leaves{};
  int at = 0;
  for_each_leaf_type<tree>(leaves, [&]<class Leaf>(const auto&) {
    if constexpr (requires { Leaf::spec; }) {
      out.spec[at] = Leaf::spec;
      out.is_said[at] = out.is_declared[at] = true;
      if constexpr (requires { Leaf::groups; }) {
        out.groups[at] = Leaf::groups;
        out.unit[at] = Leaf::unit;
      }
      out.declared[at] = Leaf::type;
    }
    ++at;
  });
  return true;
}

/// `argument 1 leaf hidden.weight` of leaf `index` of the arguments.
template <class... Args>
constexpr text name_of_argument(int index) {
  text out;
  int first = 0;
  int argument_at = 0;
  const auto look = [&]<class Tree>(const Tree& tree) {
    if (out.empty() && index < first + num_leaves_v<Tree>) {
      out << "argument " << argument_at;
      int at = first;
      for_each_named_leaf(
          [&](std::string_view name, const auto&) {
            if (at++ == index && !name.empty()) out << " leaf " << name;
          },
          tree);
    }
    first += num_leaves_v<Tree>;
    ++argument_at;
  };
  (look(traced_t<Args>{}), ...);
  return out;
}

/// How the arguments are split, and their whole types.
template <class Mesh, class In, class... Args>
struct split_arguments {
  passes::shardings ends;
  tensor_type whole[ir::graph::max_outputs];
  text problem;

  static constexpr split_arguments of() {
    split_arguments out{};
    const mesh_shape& mesh = Mesh::shape_value;
    out.ends.mesh = mesh;
    leaf_words words{};
    if (!say_all<declared_specs, std::tuple<Args...>>(In{}, words)) {
      out.problem << "jit: in_specs has " << num_axes_v<In> << " entries, the call "
                  << static_cast<int>(sizeof...(Args))
                  << " arguments: one for each, or one for all";
      return out;
    }
    int at = 0;
    bool is_of_blocks = false;
    const auto resolved = [&](int i) {  // leaves are named only where a sentence needs it
      const resolved_spec found = resolve(words.spec[i], mesh, out.whole[i]);
      return found.problem.empty()
                 ? found
                 : resolve(words.spec[i], mesh, out.whole[i], name_of_argument<Args...>(i));
    };
    const auto read = [&]<class Leaf>(const auto&) {
      const int i = at++;
      const tensor_type given = leaf_type<Leaf>();
      out.whole[i] = given;
      if (!words.is_said[i] || !out.problem.empty()) return;
      resolved_spec found{};
      if (words.is_declared[i]) {
        out.whole[i] = words.declared[i];
        found = resolved(i);
        out.ends.is_whole_parameter[i] =
            given == words.declared[i] && block_of(mesh, found.spec, given.dims) != given.dims;
        if (found.problem.empty() && words.groups[i] > 0 && !is_of_blocks) {
          found.problem = name_of_argument<Args...>(i);
          found.problem << ' ' << given
                        << " is whole: its columns are in another order than those of blocks; "
                           "pass device_put(model, devices)";
        }
      } else {
        found = resolve(words.spec[i], mesh);
        if (found.problem.empty()) out.whole[i].dims = whole_of(mesh, found.spec, given.dims);
        found = resolved(i);
      }
      if (!found.problem.empty()) out.problem << "jit: " << found.problem;
      out.ends.parameters[i] = found.spec;
    };
    (
        [&] {
          traced_t<Args> leaves{};
          is_of_blocks = !std::is_same_v<leaves_on<Mesh, Args>, values>;
          for_each_leaf_type<Args>(leaves, read);
        }(),
        ...);
    return out;
  }
};

template <class... Options>
inline constexpr int num_parts_v = 0;
template <int Parts, class... Options>
inline constexpr int num_parts_v<reproducible_option<Parts>, Options...> = Parts;
template <class Option, class... Options>
inline constexpr int num_parts_v<Option, Options...> = num_parts_v<Options...>;

template <int Parts>
struct jit_option<reproducible_option<Parts>> {
  static_assert(Parts >= 1 && Parts <= 64 && (Parts & (Parts - 1)) == 0,
                "atled::reproducible: the number of parts must be 1, 2, 4 ... up to 64");
};

/// The stages from a function of whole tensors to what one rank runs; each is frozen before the
/// next begins.
template <class F, class Mesh, class In, class Out, int Parts, class... Args>
struct one_rank_stages {
  static constexpr auto arguments = split_arguments<Mesh, In, Args...>::of();

  static constexpr trace_result trace_whole() {
    if (!arguments.problem.empty()) return {{}, arguments.problem};
    ir::builder b;
    b.mesh = Mesh::shape_value;
    std::tuple<traced_t<Args>...> trees{};
    int at = 0;
    std::apply(
        [&](auto&... argument) {
          (for_each_leaf([&](expr& leaf) { leaf = expr(b, b.parameter(arguments.whole[at++])); },
                         argument),
           ...);
        },
        trees);
    ir::trace_on<F>(b, trees);
    passes::refuse_forward_mode(b);
    if (!b.problem.empty()) return {{}, b.problem};
    return {b.g, {}};
  }
  static constexpr trace_result whole = trace_whole();
  static constexpr ir::graph simple =
      passes::prepare(whole.graph.num_regions > 0 ? passes::joined(whole.graph) : whole.graph);

  using result = ir::traced_result_t<F, Args...>;
  using leaves = leaves_on<Mesh, Args...>;
  static constexpr bool has_blocks = !std::is_same_v<leaves, values>;

  static constexpr trace_result split() {
    if (!whole.problem.empty()) return {{}, whole.problem};
    passes::shardings ends = arguments.ends;
    ends.num_parts = Parts;
    leaf_words words{};
    if (!say_all<typename specs_of<leaves>::type, result>(Out{}, words)) {
      text why = "jit: out_specs has ";
      return {{},
              why << num_axes_v<Out> << " entries, the result " << num_members<result>()
                  << " members: one for each, or one for all"};
    }
    for (int i = 0; i < simple.num_outputs; ++i) {
      const tensor_type& type = simple.type(simple.outputs[i]);
      if (!words.is_said[i]) continue;
      text name = "output ";
      name << i;
      const resolved_spec found = resolve(words.spec[i], Mesh::shape_value, type, name);
      if (!found.problem.empty()) {
        text why = "jit: ";
        return {{}, why << found.problem};
      }
      ends.has_output[i] = true;
      ends.outputs[i] = found.spec;
      ends.is_whole_output[i] = words.is_declared[i] && !has_blocks;
    }
    ir::builder b;
    passes::shardings split_ends{};
    passes::shard(simple, ends, b, split_ends);
    if (!b.problem.empty()) return {{}, b.problem};
    return {b.g, {}};
  }
  static constexpr trace_result traced = split();
};

}  // namespace detail

/// What `jit` of a function and a mesh returns; see there.
template <class F, class Mesh, class In, class Out, class... Options>
class sharded_function : public transformed<sharded_function<F, Mesh, In, Out, Options...>>,
                         public detail::jit_options<Options...> {
  static_assert(detail::is_stateless_v<F>,
                "atled::jit: the function captures variables: it must be stateless; pass them as "
                "arguments, or give a constexpr object as a template argument");

 public:
  template <class... Args>
  using one_rank =
      detail::one_rank_stages<F, Mesh, In, Out, detail::num_parts_v<Options...>, Args...>;

  constexpr sharded_function() = default;
  constexpr explicit sharded_function(comm::grid& ranks) : ranks_(&ranks) {}

  /// The ranks that a call runs on.
  [[nodiscard]] constexpr comm::grid* ranks() const { return ranks_; }

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    return F{}(args...);
  }

 private:
  comm::grid* ranks_ = nullptr;
};

/// Compiles a function of whole tensors for the ranks of a mesh; the collectives are derived.
///
///   auto step = jit(train_step, devices, in_specs<none, P<"data">>, out_specs<none, P<>>);
///
///   in_specs   how each argument is split: a P, `none` for a model whose layers say it, or
///              `each<...>` for the members of a tree; one stands for all. Ranks pass blocks.
///   out_specs  the same of the results; without them they stay split as they come
///
/// Inside, sizes are those of whole tensors, but along an axis without a size (`axis<"data">`),
/// where they are those of one rank's block; `mean` counts the elements of all ranks. Leaves of
/// models are whole where the model's policy is `values`, and blocks where it is `on<grid>`.
///
/// Cost: facts of one rank: `program<...>::comm_bytes("data")`, `comm_report()`, `peak_bytes`.
/// Blocks until: all ranks have called it.
/// Ill-formed: a spec names no axis of the mesh, or one twice; an axis is not divisible; operands
/// are split in ways that do not go together; something split would have to be made whole, or
/// moved, without a word: with_sharding_constraint and reshard are such words.
/// Source: Xu et al., GSPMD: General and Scalable Parallelization for ML Computation Graphs, 2021.
template <class F, auto... Axis, class... Options>
[[nodiscard]] constexpr auto jit(F, const mesh<Axis...>& devices, const Options&...) {
  return sharded_function<F, mesh<Axis...>, each_axis<>, each_axis<>, Options...>(devices.ranks());
}
template <class F, auto... Axis, auto... In, class... Options>
[[nodiscard]] constexpr auto jit(F, const mesh<Axis...>& devices, in_specs_option<In...>,
                                 const Options&...) {
  return sharded_function<F, mesh<Axis...>, each_axis<In...>, each_axis<>, Options...>(
      devices.ranks());
}
template <class F, auto... Axis, auto... In, auto... Out, class... Options>
[[nodiscard]] constexpr auto jit(F, const mesh<Axis...>& devices, in_specs_option<In...>,
                                 out_specs_option<Out...>, const Options&...) {
  return sharded_function<F, mesh<Axis...>, each_axis<In...>, each_axis<Out...>, Options...>(
      devices.ranks());
}

}  // namespace atled
