// gpt/ranks.hpp: the processes that train together: those that mpiexec started, or this one alone.
// Next: gpt/ranks.cpp. The training step on them: gpt/presets/network_of.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"
#include "atled/core/mesh.hpp"

#include "gpt/options.hpp"

namespace gpt {

using ranks = atled::mesh<atled::axis<"data">>;

/// All ranks of this run.
[[nodiscard]] const ranks& devices();
/// The number of this rank, and of all.
[[nodiscard]] int rank();
[[nodiscard]] int num_ranks();

/// The mesh of all ranks: what `--mesh` says, or all along data.
///
/// Throws: there are not so many ranks, or more.
[[nodiscard]] mesh_sizes mesh_of_all(const options& given);

/// A mistake that all ranks make alike: the first of them says it.
class common_error : public atled::error {
 public:
  using error::error;
};
/// What `work` gives, which depends on nothing that ranks have of their own.
template <class Work>
auto alike(Work work) {
  try {
    return work();
  } catch (const atled::error& why) {
    throw common_error(why.what());
  }
}

/// The largest of a number that each rank has.
[[nodiscard]] int largest_of_ranks(int mine);

/// While it lives, `devices` are the ranks that mpiexec started, if it did.
class session {
 public:
  session(int& argc, char**& argv);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  /// Ends all ranks where there are others: they would wait for this one.
  void fail(int status) const noexcept;

 private:
  bool is_joined_ = false;
};

}  // namespace gpt
