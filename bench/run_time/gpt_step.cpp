// bench/run_time/gpt_step.cpp: a GPT's forward pass, its gradient, and its whole training step.
// Reads: gpt_step/preset.hpp. One JSON object a line: for a reader, or with --serve for compare.py.
// SPDX-License-Identifier: MIT
#include "atled/core/diagnostic.hpp"
#include "atled/io/json_writer.hpp"
#include "atled/runtime/threads.hpp"

#include "run_time/gpt_step/preset.hpp"
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

std::vector<bench::preset_entry>& bench::presets() {
  static std::vector<preset_entry> all;
  return all;
}

namespace {

using atled::io::json_writer;
using bench::all_parts;
using bench::part;
using bench::preset;

constexpr const char* help =
    "bench.gpt_step [--preset NAME] [--threads N] [--seconds S] [--serve]\n"
    "  times forward, forward_backward and step for S seconds in all (default: nano, 1, 10)\n"
    "  --serve: does one step, then, for each line N on the input, steps for N seconds";

struct options {
  std::string_view preset = "nano";
  int threads = 1;
  double seconds = 10;
  bool is_server = false;
};

template <class Number>
Number number(std::string_view name, std::string_view text) {
  Number out{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
  ATLED_REQUIRE(
      code == std::errc{} && end == text.data() + text.size() && out > 0,
      "gpt_step: " + std::string(name) + " " + std::string(text) + ": it must be a number above 0");
  return out;
}

options parse(const std::vector<std::string_view>& words) {
  options out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--serve") {
      out.is_server = true;
      continue;
    }
    ATLED_REQUIRE(i + 1 < words.size(), "gpt_step: " + std::string(words[i]) +
                                            ": it must be an option with its value; see --help");
    const std::string_view name = words[i], value = words[++i];
    if (name == "--preset") {
      out.preset = value;
    } else if (name == "--threads") {
      out.threads = number<int>(name, value);
    } else if (name == "--seconds") {
      out.seconds = number<double>(name, value);
    } else {
      ATLED_REQUIRE(false, "gpt_step: " + std::string(name) + ": no such option; see --help");
    }
  }
  return out;
}

std::unique_ptr<preset> make(std::string_view name) {
  std::string names;
  for (const bench::preset_entry& entry : bench::presets()) {
    if (entry.name == name) return entry.make();
    names += " " + std::string(entry.name);
  }
  ATLED_REQUIRE(false, "gpt_step: preset " + std::string(name) + ": this program has" + names +
                           "; configure with -D ATLED_BENCH_LARGE=ON for more");
  __builtin_unreachable();
}

/// Batches of tokens that look random: the numbers of `Batches` in peers.py.
class batches {
 public:
  explicit batches(const gpt::config& c) : sizes_(c) {}

  void next() {
    text.clear();
    continuation.clear();
    for (std::int64_t row = 0; row < sizes_.batch; ++row) {
      for (std::int64_t t = 0; t <= sizes_.context; ++t) {
        const std::int32_t token = draw();
        if (t < sizes_.context) text.push_back(token);
        if (t > 0) continuation.push_back(token);
      }
    }
  }

  std::vector<std::int32_t> text, continuation;

 private:
  std::int32_t draw() {
    std::uint32_t x = count_++ * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return static_cast<std::int32_t>(x % static_cast<std::uint32_t>(sizes_.vocabulary));
  }

  gpt::config sizes_;
  std::uint32_t count_ = 0;
};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Units: MiB.
double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void print(json_writer& json) {
  std::puts(json.finish().c_str());
  std::fflush(stdout);
}

/// Runs a part on a fresh batch. Units: milliseconds.
double timed(preset& model, part p, batches& data, float& loss) {
  data.next();
  const double begin = seconds_now();
  loss = model.run(p, data.text, data.continuation);
  return (seconds_now() - begin) * 1e3;
}

void serve(preset& model) {
  batches data(model.sizes());
  float loss = 0;
  print(json_writer().begin_object().key("event").value("ready").end());
  timed(model, part::step, data, loss);
  print(
      json_writer().begin_object().key("event").value("first_step").key("loss").value(loss).end());
  for (std::string line; std::getline(std::cin, line);) {
    const double end = seconds_now() + number<double>("seconds", line);
    json_writer json(atled::io::non_finite::as_null);
    json.begin_object().key("event").value("steps").key("step_ms").begin_array();
    do {
      json.value(timed(model, part::step, data, loss));
    } while (seconds_now() < end);
    json.end().key("loss").value(loss).key("peak_mb").value(peak_memory()).end();
    print(json);
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The parts take turns, so that what disturbs the machine disturbs all of them.
void report(preset& model, const options& chosen) {
  batches data(model.sizes());
  std::array<std::vector<double>, std::size(all_parts)> times;
  std::array<float, std::size(all_parts)> losses{};
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < std::size(all_parts); ++i) {
      timed(model, all_parts[i], data, losses[i]);  // the other parts have emptied the caches
      const double end = seconds_now() + chosen.seconds / (rounds * std::size(all_parts));
      do {
        times[i].push_back(timed(model, all_parts[i], data, losses[i]));
      } while (seconds_now() < end);
    }
  }
  const double forward_ms = median(times[0]);
  for (std::size_t i = 0; i < std::size(all_parts); ++i) {
    const part p = all_parts[i];
    const bench::program_facts facts = model.facts(p);
    const double ms = median(times[i]);
    const double flops = gpt::step_flops(model.sizes()) / (p == part::forward ? 3 : 1);
    json_writer json(atled::io::non_finite::as_null);
    json.begin_object().key("preset").value(chosen.preset).key("part").value(name_of(p));
    json.key("threads").value(atled::num_threads());
    json.key("ms_median").value(ms);
    json.key("ms_min").value(*std::min_element(times[i].begin(), times[i].end()));
    json.key("runs").value(times[i].size());
    json.key("gflops_per_s").value(flops / ms * 1e-6);
    json.key("of_forward").value(ms / forward_ms);
    json.key("loss").value(losses[i]);
    json.key("steps").value(facts.steps).key("kernels").value(facts.kernels);
    json.key("arena_bytes").value(facts.arena_bytes).key("peak_bytes").value(facts.peak_bytes);
    json.key("flops").value(facts.flops).key("bytes_moved").value(facts.bytes_moved);
    json.key("process_peak_mb").value(peak_memory()).end();
    print(json);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    if (std::find(words.begin(), words.end(), "--help") != words.end()) {
      std::puts(help);
      return 0;
    }
    const options chosen = parse(words);
    atled::set_num_threads(chosen.threads);
    const auto model = make(chosen.preset);
    chosen.is_server ? serve(*model) : report(*model, chosen);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  }
}
