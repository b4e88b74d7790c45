// atled/ir/custom_rule.hpp: derivatives that a user has written: what an op::custom refers to.
// Reads: nothing of ours. Kept by ir/builder.hpp, called by passes/jvp.hpp and
// passes/transpose.hpp, made by transform/custom_jvp.hpp and transform/custom_vjp.hpp.
// SPDX-License-Identifier: MIT
#pragma once

namespace atled::ir {

class builder;

/// The derivative of one call, run only when that call is differentiated.
///
/// A builder keeps it, and deletes it at the end of the trace: it may hold what a function
/// captures.
class custom_rule {
 public:
  constexpr custom_rule() = default;
  constexpr virtual ~custom_rule() = default;
  custom_rule(const custom_rule&) = delete;
  custom_rule& operator=(const custom_rule&) = delete;

  /// Appends the tangents of all outputs, `no_node` where one is zero, given those of the inputs.
  constexpr virtual void differentiate(builder& b, const int* inputs, const int* tangents,
                                       int* out) const = 0;
  /// The user's name for it, for sentences.
  [[nodiscard]] constexpr virtual const char* name() const = 0;

  int num_outputs = 0;

  /// The last run: an output's tangent is asked for after the other.
  static constexpr int capacity = 64;
  int seen_tangents[capacity]{};
  int seen_out[capacity]{};
  bool has_run = false;

  /// The rule of the same call on the lanes of a vmap, + 1, and what it was made for.
  int lanes_rule = 0;
  int lanes_operands[capacity]{};
};

/// The transpose of an op::custom_linear. What it has kept of the forward pass are operands of that
/// node, so that a loop can store them and lanes can have their own.
class custom_pullback {
 public:
  constexpr custom_pullback() = default;
  constexpr virtual ~custom_pullback() = default;
  custom_pullback(const custom_pullback&) = delete;
  custom_pullback& operator=(const custom_pullback&) = delete;

  /// Appends the cotangents of all inputs; `no_node` is zero, in both lists. `kept` are the nodes
  /// of what has been kept.
  constexpr virtual void pull(builder& b, const int* kept, const int* cotangents,
                              int* out) const = 0;
};

}  // namespace atled::ir
