// atled/transform/checkpoint.hpp: checkpoint: a function whose inner values are not kept for its
// derivative, but computed again. Reads: transform/transformed.hpp. Next: passes/remat.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/transformed.hpp"
#include "atled/transform/variables.hpp"

#include <concepts>

namespace atled {

/// What a checkpointed function keeps for its derivative besides its arguments and results.
namespace policy {

struct nothing_saved_policy {};
struct everything_saved_policy {};
struct dots_saved_policy {};
template <fixed_string... Name>
struct names_saved_policy {};
template <std::int64_t Bytes>
struct budget_policy {
  static_assert(Bytes >= 0, "policy::budget: it must not be negative: budget<1 << 20>");
};

/// Nothing: each call costs its forward pass once more. The default.
inline constexpr nothing_saved_policy nothing_saved{};
/// All: the function is as if it were not checkpointed.
inline constexpr everything_saved_policy everything_saved{};
/// The results of products.
inline constexpr dots_saved_policy dots_saved{};
/// What the function has named: `checkpoint_name(x, "a")` and `names_saved<"a", "b">`.
template <fixed_string... Name>
inline constexpr names_saved_policy<Name...> names_saved{};
/// In each call so many bytes of values, those first that take the most operations a byte to
/// compute again.
template <std::int64_t Bytes>
inline constexpr budget_policy<Bytes> budget{};

}  // namespace policy

namespace detail {

template <class Policy>
inline constexpr std::int64_t budget_of = 0;
template <std::int64_t Bytes>
inline constexpr std::int64_t budget_of<policy::budget_policy<Bytes>> = Bytes;

/// Does the policy save a node that was made in the call?
template <class Policy>
constexpr bool saves(Policy, const ir::graph& g, int id) {
  return std::is_same_v<Policy, policy::dots_saved_policy> && g[id].code == op::dot;
}
template <fixed_string... Name>
constexpr bool saves(policy::names_saved_policy<Name...>, const ir::graph& g, int id) {
  return g[id].code == op::checkpoint_name &&
         (false || ... || (g.attribute(id) == ir::name_hash(Name.view())));
}

/// Ends a call: its results, and what the policy saves, are at hand outside.
template <class Policy, class Result>
constexpr void end_scope(ir::builder& b, Policy policy, int begin, const Result& result) {
  const int scope = b.scope;
  b.close_scope();
  for (int id = begin; id < b.g.num_nodes; ++id) {
    if constexpr (std::is_same_v<Policy, policy::everything_saved_policy>) {
      b.move_home(id, scope, b.scope);
      if (b.g[id].scope == scope) b.g.nodes[id].scope = b.scope;
    } else if (b.g[id].home == scope && saves(policy, b.g, id)) {
      b.move_home(id, scope, b.scope);
      if (b.g[id].code == op::checkpoint_name) b.move_home(b.g.operand(id, 0), scope, b.scope);
    }
  }
  for_each_leaf(
      [&](const auto& leaf) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
          b.move_home(leaf.id(), scope, b.scope);
        }
      },
      result);
}

}  // namespace detail

/// What `checkpoint` returns; see there.
template <class F, class Policy>
class checkpoint_function : public transformed<checkpoint_function<F, Policy>> {
 public:
  constexpr checkpoint_function() requires std::default_initializable<F>
  = default;
  constexpr explicit checkpoint_function(const F& function) : f_(function) {}

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    ir::builder& b = *detail::builder_of_tree(std::tie(args...));
    const int begin = b.g.num_nodes;
    b.open_scope(detail::budget_of<Policy>);
    auto out = f_(args...);
    detail::end_scope(b, Policy{}, begin, out);
    return out;
  }

 private:
  [[no_unique_address]] F f_;
};

/// The same function, whose derivative computes it again from its arguments instead of keeping the
/// values on its way; `remat` is another name for it.
///
///   checkpoint(f)    checkpoint(f, policy::dots_saved)    checkpoint(f, policy::names_saved<"a">)
///
/// - Results and gradients have the same bits with and without. It may hold other checkpoints, and
///   be called in a `vmap`, a `scan` or another derivative.
/// - What a layer computes is computed just before the derivative of that layer needs it, so that a
///   chain of L layers keeps L arguments and the inner values of one layer.
/// Cost: in reverse mode the forward pass of f once more, less what the policy saves; else nothing.
template <class F, class Policy = policy::nothing_saved_policy>
[[nodiscard]] constexpr auto checkpoint(const F& f, Policy = {}) {
  return checkpoint_function<F, Policy>(f);
}
template <class F, class Policy = policy::nothing_saved_policy>
[[nodiscard]] constexpr auto remat(const F& f, Policy = {}) {
  return checkpoint_function<F, Policy>(f);
}

/// `x` under a name that `policy::names_saved` may list.
[[nodiscard]] constexpr expr checkpoint_name(const expr& x, std::string_view name,
                                             call_site at = call_site::here()) {
  return ir::append(op::checkpoint_name, at.in("checkpoint_name"), x,
                    ir::attribute_list::of(ir::name_hash(name)));
}

}  // namespace atled
