// atled/comm/single.hpp: one process as a group of one rank: every collective is a copy.
// Reads: comm/grid.hpp. So callers need not know whether there is an engine.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/communicator.hpp"
#include "atled/comm/grid.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace atled::comm {

/// What a mesh of one process is built from.
struct single {};

/// A group of one rank.
///
/// Messages to itself: `send` keeps a copy until `receive` takes it, in order.
class single_communicator final : public communicator {
 public:
  explicit single_communicator(std::string_view axis) : axis_(axis) {}

  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 1; }
  [[nodiscard]] std::string_view axis() const noexcept override { return axis_; }

 protected:
  [[nodiscard]] request begin(const call& c) override {
    const auto bytes = static_cast<std::size_t>(c.count * size_of(c.element));
    if (c.what == collective::send) {
      const auto* first = static_cast<const std::byte*>(c.in);
      messages_.emplace_back(first, first + bytes);
    } else if (c.what == collective::receive) {
      take(c, bytes);
    } else if (c.what == collective::permute && c.source < 0) {
      if (bytes > 0) std::memset(c.out, 0, bytes);
    } else if (bytes > 0 && c.in != c.out) {
      std::memcpy(c.out, c.in, bytes);
    }
    return {};
  }
  [[nodiscard]] bool advance(std::int64_t) override { return true; }
  void finish(std::int64_t) override {}

 private:
  void take(const call& c, std::size_t bytes) {
    if (messages_.empty() || messages_.front().size() != bytes) {
      text out = sentence_start({c.where.at.file, c.where.at.line, ""}, "receive");
      out.size -= 2;
      out << " over " << axis_ << ": " << c.where.type << " from rank 0 on rank 0: ";
      throw error(out << "it must have been sent before, with the same size");
    }
    if (bytes > 0) std::memcpy(c.out, messages_.front().data(), bytes);
    messages_.erase(messages_.begin());
  }

  std::string axis_;
  std::vector<std::vector<std::byte>> messages_;
};

/// A mesh of one process: every axis has one rank.
class single_grid final : public grid {
 public:
  explicit single_grid(std::span<const axis_size> axes) : all_("all") {
    (void)resolve_sizes(axes, 1);
    for (const axis_size& a : axes) {
      along_.push_back(std::make_unique<single_communicator>(a.name));
    }
  }

  [[nodiscard]] communicator& all() noexcept override { return all_; }
  [[nodiscard]] int num_axes() const noexcept override { return static_cast<int>(along_.size()); }
  [[nodiscard]] communicator& along(int axis) override {
    return *along_.at(static_cast<std::size_t>(axis));
  }
  [[nodiscard]] communicator& over(unsigned axes) override {
    for (std::size_t i = 0; i < along_.size(); ++i) {
      if (axes == 1U << i) return *along_[i];
    }
    return all_;
  }
  void note_step(std::int64_t) override {}
  void set_time_limit(double) override {}
  [[nodiscard]] void* shared_buffer(std::int64_t) override { return nullptr; }

 private:
  single_communicator all_;
  std::vector<std::unique_ptr<single_communicator>> along_;
};

template <>
struct grid_from<single> {
  [[nodiscard]] static std::shared_ptr<grid> make(const single&, std::span<const axis_size> axes) {
    return std::make_shared<single_grid>(axes);
  }
};

}  // namespace atled::comm
