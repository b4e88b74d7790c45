// atled/transform/pipeline_messages.hpp: what the ranks of a pipeline send each other: activations
// on their way forward, cotangents on their way back.
// Reads: comm/communicator.hpp, passes/pipeline.hpp. Used by transform/pipeline.hpp.
//
// Messages carry no names. Between two ranks they arrive in the order in which they are sent, and
// that order stands in the table, so the receiver knows what each one is; one that comes before it
// is wanted waits in a letter box.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/communicator.hpp"
#include "atled/core/tree.hpp"
#include "atled/passes/pipeline.hpp"

#include <array>
#include <cstddef>
#include <list>
#include <utility>
#include <vector>

namespace atled::detail {

/// Sends that are under way, with what they send.
template <class Activation>
class pipeline_outbox {
 public:
  explicit pipeline_outbox(comm::communicator& ranks) : ranks_(ranks) {}

  void send(Activation&& x, int target, const call_site& at) {
    under_way_.remove_if([&](message& m) { return ranks_.test(m.request); });
    under_way_.push_back({{}, std::move(x)});
    message& m = under_way_.back();
    constexpr tensor_type type = leaf_type<Activation>();
    m.request = ranks_.start({.what = comm::collective::send,
                              .element = type.element,
                              .target = target,
                              .count = type.dims.size(),
                              .in = std::as_const(m.value).data(),
                              .where = {at, type}});
  }
  void wait() {
    for (message& m : under_way_) ranks_.wait(m.request);
    under_way_.clear();
  }

 private:
  struct message {
    comm::request request;
    Activation value;
  };
  comm::communicator& ranks_;
  std::list<message> under_way_;  // a small tensor lies in its object, which must not move
};

/// What the stages of this rank receive, from other ranks or from each other.
template <class Activation>
class pipeline_inbox {
 public:
  pipeline_inbox(comm::communicator& ranks, const passes::pipeline_table& table)
      : ranks_(ranks), table_(table) {}

  /// What action `source` has made.
  ///
  /// Blocks until: its rank has sent it.
  [[nodiscard]] Activation take(const passes::pipeline_action& source, const call_site& at) {
    for (std::size_t i = 0; i < letters_.size(); ++i) {
      if (!(letters_[i].from == source)) continue;
      Activation out = std::move(letters_[i].value);
      letters_.erase(letters_.begin() + static_cast<std::ptrdiff_t>(i));
      return out;
    }
    const int from = table_.rank_of(source.stage);
    int& next = next_[static_cast<std::size_t>(from)];
    while (true) {
      next = passes::next_message(table_, from, ranks_.rank(), next);
      const passes::pipeline_action& arrived = table_.actions[from][next++];
      constexpr tensor_type type = leaf_type<Activation>();
      auto x = Activation::uninitialized();
      ranks_.receive(x.data(), type.dims.size(), type.element, from, {at, type});
      if (arrived == source) return x;
      put(arrived, std::move(x));
    }
  }
  /// Keeps what one stage of this rank has made for another.
  void put(const passes::pipeline_action& from, Activation&& x) {
    letters_.push_back({from, std::move(x)});
  }

 private:
  struct letter {
    passes::pipeline_action from;
    Activation value;
  };
  comm::communicator& ranks_;
  const passes::pipeline_table& table_;
  std::vector<letter> letters_;
  std::array<int, passes::pipeline_table::max_ranks> next_{};
};

}  // namespace atled::detail
