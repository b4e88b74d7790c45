// gpt/dry_run.cpp: the formulae of a step on any mesh.
// Reads: gpt/dry_run.hpp. Sources: docs/ranks.md.
// SPDX-License-Identifier: MIT
#include "gpt/dry_run.hpp"

#include "atled/io/file.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <system_error>
#include <utility>

namespace gpt {
namespace {

using atled::io::printable;
using atled::io::refuse;

constexpr double element = 4;  // f32

/// What each of `ranks` sends to add up `bytes`, half of it to scatter the sum, half to gather it.
constexpr double all_reduce(double bytes, std::int64_t ranks) {
  return 2 * bytes * static_cast<double>(ranks - 1) / static_cast<double>(ranks);
}

void require_divisible(std::string_view what, std::int64_t size, std::string_view axis,
                       std::int64_t ranks) {
  if (size % ranks == 0) return;
  refuse("--dry-run", "train", std::string(axis) + '=' + std::to_string(ranks),
         std::string(what) + " (" + std::to_string(size) + ") must be divisible by " +
             std::string(axis) + " (" + std::to_string(ranks) + ")");
}

/// `12.3 MB`: decimal units.
std::string shown(double bytes) {
  constexpr std::array<const char*, 5> units = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < units.size(); ++unit) bytes /= 1000;
  std::array<char, 40> out{};
  std::snprintf(out.data(), out.size(), unit == 0 ? "%.0f %s" : "%.2f %s", bytes, units[unit]);
  return out.data();
}

std::string line(std::string_view name, const std::string& value, std::string_view note = {}) {
  std::string out(name);
  out.resize(34, ' ');
  out += value;
  if (!note.empty()) out += std::string(2, ' ') + std::string(note);
  return out + '\n';
}

}  // namespace

planned_mesh parse_planned_mesh(std::string_view text) {
  planned_mesh out;
  std::array<std::pair<std::string_view, std::int64_t*>, 5> axes = {
      {{"data", &out.data},
       {"fsdp", &out.fsdp},
       {"model", &out.model},
       {"pipe", &out.pipe},
       {"microbatches", &out.microbatches}}};
  constexpr std::string_view rule =
      "it must be axes with sizes, as data=512,model=2; they are data, fsdp, model, pipe, "
      "microbatches, each once";
  for (std::string_view rest = text;;) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    const auto equals = entry.find('=');
    std::int64_t* size = nullptr;
    for (auto& [name, to] : axes) {
      if (equals != entry.npos && name == entry.substr(0, equals))
        size = std::exchange(to, nullptr);
    }
    const char* end = entry.data() + entry.size();
    if (size == nullptr) refuse("--dry-run", "train", printable(text), rule);
    const auto [stop, code] = std::from_chars(entry.data() + equals + 1, end, *size);
    if (code != std::errc{} || stop != end || *size < 1 || *size > 1'000'000) {
      refuse("--dry-run", "train", printable(entry), "a size must be from 1 to 1000000");
    }
    if (entry.size() == rest.size()) return out;
    rest.remove_prefix(entry.size() + 1);
  }
}

step_plan plan_step(const config& sizes, const planned_mesh& mesh, double peak) {
  require_divisible("its heads", sizes.heads, "model", mesh.model);
  require_divisible("its vocabulary", sizes.vocabulary, "model", mesh.model);
  const std::int64_t rows = sizes.batch * mesh.pipe;  // of the ranks of one pipeline together
  if (mesh.pipe > 1) {
    require_divisible("the rows of a pipeline", rows, "microbatches", mesh.microbatches);
  }
  const auto n = [](std::int64_t size) { return static_cast<double>(size); };
  const double C = n(sizes.width);
  // The ranks of "model" share matrices and the wide biases, all of them norms and narrow biases.
  const double layer = (12 * C * C + 7 * C) / n(mesh.model) + 6 * C;
  const double layers = n((sizes.layers + mesh.pipe - 1) / mesh.pipe);  // of the fullest rank
  const double ends = n(sizes.vocabulary) * C / n(mesh.model) + n(sizes.context) * C + 2 * C;
  const double used = element * (layers * layer + ends);

  step_plan out;
  out.parameters = out.gradients = used / n(mesh.fsdp);
  out.optimizer = 2 * out.parameters;
  const double activation = element * n(sizes.batch * sizes.context) * C;
  const double scores = 5 * n(sizes.heads * sizes.context) / C;
  out.activations = peak * (10 + (24 + scores) / n(mesh.model)) / (34 + scores);
  if (mesh.pipe > 1) {  // 1F1B keeps what enters a stage, and computes the stage again
    const double part = n(rows) / n(mesh.microbatches) / n(sizes.batch);
    out.activations =
        out.activations * part * layers / n(sizes.layers) + n(mesh.pipe) * part * activation;
    const double share = n(mesh.pipe - 1) / n(mesh.pipe);
    out.pipe = 2 * n(rows) / n(sizes.batch) * activation + 2 * share * element * ends;
    out.bubble = n(mesh.pipe - 1) / n(mesh.microbatches + mesh.pipe - 1);
  }
  out.data = all_reduce(out.gradients, mesh.data);
  out.fsdp = 1.5 * all_reduce(used, mesh.fsdp);  // gathered twice, scattered once
  const double sums = mesh.pipe > 1 ? 6 * layers * n(mesh.pipe) + 2 : 4 * layers + 2;
  out.model = sums * all_reduce(activation, mesh.model);
  out.flops = step_flops(sizes) / n(mesh.model) * layers * n(mesh.pipe) / n(sizes.layers) *
              (mesh.pipe > 1 ? 4.0 / 3 : 1);  // a stage is computed again
  return out;
}

std::string to_text(const step_plan& plan, const config& sizes, const planned_mesh& mesh,
                    const planned_speeds& speeds) {
  std::string out;
  out += line("ranks", std::to_string(mesh.ranks()),
              "data=" + std::to_string(mesh.data) + " fsdp=" + std::to_string(mesh.fsdp) +
                  " model=" + std::to_string(mesh.model) + " pipe=" + std::to_string(mesh.pipe));
  out += line("rows of a step", std::to_string(sizes.batch * mesh.data * mesh.fsdp * mesh.pipe));
  out += "\nbytes of a rank\n";
  out += line("  parameters", shown(plan.parameters));
  out += line("  gradients", shown(plan.gradients));
  out += line("  optimizer", shown(plan.optimizer));
  out += line("  activations", shown(plan.activations));
  out += line("  together",
              shown(plan.parameters + plan.gradients + plan.optimizer + plan.activations));
  out += "\nsent by a rank in a step\n";
  const std::pair<const char*, std::pair<std::int64_t, double>> axes[] = {
      {"  along data", {mesh.data, plan.data}},
      {"  along fsdp", {mesh.fsdp, plan.fsdp}},
      {"  along model", {mesh.model, plan.model}},
      {"  along pipe", {mesh.pipe, plan.pipe}}};
  for (const auto& [name, axis] : axes) {
    if (axis.first > 1) out += line(name, shown(axis.second));
  }
  out += line("  together", shown(plan.sent()));
  std::array<char, 80> number{};
  if (mesh.pipe > 1) {
    std::snprintf(number.data(), number.size(), "%.4f", plan.bubble);
    out +=
        '\n' + line("bubble", number.data(), std::to_string(mesh.microbatches) + " microbatches");
  }
  std::snprintf(number.data(), number.size(), "%.4g GFLOP", plan.flops / 1e9);
  out += '\n' + line("operations of a rank in a step", number.data());
  if (speeds.flops > 0 && speeds.link > 0) {
    std::snprintf(number.data(), number.size(), "%.4g to %.4g s", plan.least_seconds(speeds),
                  plan.most_seconds(speeds));
    out += line("time of a step", number.data(), "all sent behind the computation, or nothing");
  } else {
    out += line("time of a step", "n/a", "give --gflops and --link-gbytes");
  }
  return out;
}

}  // namespace gpt
