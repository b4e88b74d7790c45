// gpt/options.cpp: the options, one line each; the only file that includes CLI11.
// Reads: gpt/options.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/options.hpp"

#include "atled/io/file.hpp"

#include "gpt/nearest.hpp"
#include <CLI/CLI.hpp>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <system_error>
#include <vector>

namespace gpt {
namespace {

using atled::io::printable;
using atled::io::refuse;

constexpr std::array<std::string_view, 3> verbs = {"train", "sample", "eval"};

/// A value with what a sentence about it needs.
struct argument {
  std::string_view where;  ///< "--lr"
  std::string_view operation;
  std::string_view value;

  [[noreturn]] void fail(std::string_view rule) const {
    refuse(where, operation, value.empty() ? "an empty value" : printable(value), rule);
  }

  /// Throws: not a number to the last letter. Numbers have a point in every locale.
  template <class Number>
  [[nodiscard]] Number number(const std::string& rule) const {
    Number out{};
    const char* end = value.data() + value.size();
    const auto [stop, code] = std::from_chars(value.data(), end, out);
    if (code != std::errc{} || stop != end) fail(rule);
    return out;
  }
  [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const {
    const std::string rule =
        "it must be a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    const auto out = number<std::int64_t>(rule);
    if (out < least || out > most) fail(rule);
    return out;
  }
  [[nodiscard]] double real(std::string_view limits, bool (*is_inside)(double)) const {
    const std::string rule = "it must be a number " + std::string(limits);
    const auto out = number<double>(rule);
    if (!std::isfinite(out) || !is_inside(out)) fail(rule);
    return out;
  }
  [[nodiscard]] std::string text() const {
    if (value.empty()) fail("it must not be empty");
    return std::string(value);
  }
};

/// `data=2,model=2`: each axis once, in any order.
mesh_sizes parse_mesh(const argument& given) {
  constexpr std::array<std::string_view, 2> axes = {"data", "model"};
  mesh_sizes out;
  std::array<std::int64_t*, 2> sizes = {&out.data, &out.model};
  for (std::string_view rest = given.value;;) {
    const std::string_view entry = rest.substr(0, rest.find(','));
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) {
      given.fail("it must be axes with sizes, as data=2,model=2");
    }
    const std::string_view name = entry.substr(0, equals);
    std::size_t at = 0;
    while (at < axes.size() && axes[at] != name) ++at;
    if (at == axes.size()) {
      given.fail("no mesh axis " + printable(name) + "; it has data, model" +
                 did_you_mean(name, axes));
    }
    if (sizes[at] == nullptr) given.fail("axis " + std::string(name) + " is named twice");
    const argument size{given.where, given.operation, entry.substr(equals + 1)};
    *sizes[at] = size.integer(1, 65536);
    sizes[at] = nullptr;
    if (entry.size() == rest.size()) return out;
    rest.remove_prefix(entry.size() + 1);
  }
}

constexpr unsigned on(verb v) {
  return 1U << static_cast<unsigned>(v);
}
constexpr unsigned train_only = on(verb::train);
constexpr unsigned sample_only = on(verb::sample);
constexpr unsigned reads_data = on(verb::train) | on(verb::eval);
constexpr unsigned all = on(verb::train) | on(verb::sample) | on(verb::eval);

/// An option: names as CLI11 takes them, the verbs that have it, and where its value goes.
struct entry {
  const char* names;
  const char* kind;
  unsigned verbs;
  const char* help;
  void (*store)(options&, const argument&);
};

constexpr std::int64_t billion = 1'000'000'000;

constexpr entry entries[] = {
    {"--preset", "NAME", all,
     "size of the model: nano, small, gpt2 (train: nano; else that of the weights)",
     [](options& o, const argument& a) { o.preset = a.text(); }},
    {"--data", "FILE", reads_data, "text in UTF-8 (default: the sources of atled)",
     [](options& o, const argument& a) { o.data = a.text(); }},
    {"--out", "FOLDER", all, "folder of the run: weights, metrics (default: gpt-PRESET)",
     [](options& o, const argument& a) { o.out = a.text(); }},
    {"--steps", "N", train_only, "optimizer steps (default: the preset's)",
     [](options& o, const argument& a) { o.steps = a.integer(0, billion); }},
    {"--lr,--learning-rate", "RATE", train_only,
     "highest learning rate; a cosine takes it to a tenth (default: the preset's)",
     [](options& o, const argument& a) {
       o.rate = a.real("above 0 and at most 100", [](double x) { return x > 0 && x <= 100; });
     }},
    {"--seed", "N", train_only | sample_only, "of weights, batches, samples (default: 1337)",
     [](options& o, const argument& a) {
       o.seed = a.integer(0, std::numeric_limits<std::int64_t>::max());
     }},
    {"--eval-every", "N", train_only, "steps from one validation to the next (default: 250)",
     [](options& o, const argument& a) { o.eval_every = a.integer(1, billion); }},
    {"--peak-gflops", "RATE", train_only,
     "what the machine can do at most, in GFLOP/s; shows MFU (default: not known)",
     [](options& o, const argument& a) {
       o.peak_gflops = a.real("above 0", [](double x) { return x > 0; });
     }},
    {"--pipe", "N", train_only,
     "the layers on N ranks, one after the other (default: on each rank)",
     [](options& o, const argument& a) { o.pipe = a.integer(2, 64); }},
    {"--microbatches", "M", train_only, "of a step with --pipe (default: 8)",
     [](options& o, const argument& a) { o.microbatches = a.integer(1, 1024); }},
    {"--mesh", "AXES", train_only,
     "ranks along each axis, as data=2,model=2 (default: all of mpiexec along data)",
     [](options& o, const argument& a) { o.mesh = parse_mesh(a); }},
    {"--dry-run", "AXES", train_only,
     "print what a step needs on a mesh, as data=512,model=2 (also fsdp, pipe, microbatches)",
     [](options& o, const argument& a) { o.dry_run = a.text(); }},
    {"--gflops", "RATE", train_only, "what a rank computes, in GFLOP/s, for --dry-run",
     [](options& o, const argument& a) {
       o.gflops = a.real("above 0", [](double x) { return x > 0; });
     }},
    {"--link-gbytes", "RATE", train_only, "what a rank sends, in GB/s, for --dry-run",
     [](options& o, const argument& a) {
       o.link_gbytes = a.real("above 0", [](double x) { return x > 0; });
     }},
    {"--threads", "N", all, "threads (default: one a core)",
     [](options& o, const argument& a) { o.threads = a.integer(1, 4096); }},
    {"--prompt", "TEXT", sample_only, "text to go on from (default: a new line)",
     [](options& o, const argument& a) { o.prompt = a.text(); }},
    {"--tokens", "N", sample_only, "tokens to add (default: 500)",
     [](options& o, const argument& a) { o.tokens = a.integer(0, billion); }},
    {"--temperature", "T", sample_only, "0: always the likeliest token (default: 0.8)",
     [](options& o, const argument& a) {
       o.temperature = a.real("of at least 0", [](double x) { return x >= 0; });
     }},
    {"--top-k", "K", sample_only, "choose among the K likeliest tokens (default: all)",
     [](options& o, const argument& a) { o.top_k = a.integer(1, billion); }},
    {"--top-p", "P", sample_only,
     "choose among the fewest tokens of together this probability (default: 1)",
     [](options& o, const argument& a) {
       o.top_p = a.real("above 0 and at most 1", [](double x) { return x > 0 && x <= 1; });
     }},
};

/// The verb that the first argument names.
verb find_verb(int argc, const char* const* argv) {
  constexpr std::string_view rule = "it must be train, sample or eval";
  if (argc < 2) refuse("command line", "gpt", "no verb", rule);
  const std::string_view given(argv[1]);
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    if (given == verbs[i]) return static_cast<verb>(i);
  }
  refuse("command line", "gpt", given.empty() ? "an empty verb" : printable(given),
         std::string(rule) + did_you_mean(given, verbs));
}

/// The sentence about the first argument that nobody asked for.
[[noreturn]] void refuse_unknown(const std::string& operation, const std::string& argument,
                                 verb chosen) {
  const std::string name = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (const entry& item : entries) {
    for (std::string_view rest = item.names; !rest.empty();) {
      const auto comma = std::min(rest.find(','), rest.size());
      const std::string_view known = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      if (known == name) {
        refuse(name, operation, "an option of another verb",
               "gpt " + operation + " has no use for it");
      }
      if ((item.verbs & on(chosen)) != 0) names.emplace_back(known);
    }
  }
  if (chosen == verb::train) names.insert(names.end(), {"--overwrite", "--resume", "--fsdp"});
  if (name.starts_with('-')) {
    refuse(printable(name), operation, "an unknown option",
           "gpt " + operation + " --help lists all" + did_you_mean(name, names));
  }
  refuse("command line", operation, printable(argument), "each argument must belong to an option");
}

/// CLI11 would take the next argument for the missing value.
void refuse_missing_value(const std::string& operation, const std::vector<std::string>& arguments) {
  for (const std::string& item : arguments) {
    if (item.starts_with("--") && item.find('=') == item.size() - 1) {
      refuse(printable(item.substr(0, item.size() - 1)), operation,
             "no value after =", "a value is needed");
    }
  }
}

constexpr const char* overview =
    "gpt: trains a small GPT on text, writes text with it, measures it.\n\n"
    "  gpt train  [--preset nano] [--data FILE] [--steps N] [--out FOLDER] ...\n"
    "  gpt sample [--out FOLDER] [--prompt TEXT] [--tokens N] ...\n"
    "  gpt eval   [--out FOLDER] [--data FILE] ...\n\n"
    "gpt VERB --help lists the options of a verb.\n";

}  // namespace

options parse_options(int argc, const char* const* argv) {
  options out;
  if (argc >= 2 && (argv[1] == std::string_view("--help") || argv[1] == std::string_view("-h"))) {
    out.help = overview;
    return out;
  }
  out.verb = find_verb(argc, argv);
  const std::string operation(verbs[static_cast<std::size_t>(out.verb)]);
  std::vector<std::string> arguments(argv + 2, argv + argc);
  refuse_missing_value(operation, arguments);

  CLI::App app("", "gpt " + operation);
  app.allow_extras();
  std::array<std::vector<std::string>, std::size(entries)> given;
  for (std::size_t i = 0; i < std::size(entries); ++i) {
    if ((entries[i].verbs & on(out.verb)) == 0) continue;
    app.add_option(entries[i].names, given[i], entries[i].help)
        ->type_name(entries[i].kind)
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
  }
  if (out.verb == verb::train) {
    app.add_flag("--overwrite", out.overwrite, "replace the run that is in the folder")
        ->disable_flag_override();
    app.add_flag("--fsdp", out.fsdp, "each rank keeps a part of weights and optimizer")
        ->disable_flag_override();
    app.add_flag("--resume", out.resume, "go on with the run that is in the folder")
        ->disable_flag_override();
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants it
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    out.help = app.help();
    return out;
  } catch (const CLI::ParseError& why) {
    refuse("command line", operation, why.what(), "gpt " + operation + " --help lists the options");
  }
  const std::vector<std::string> unknown = app.remaining();
  if (!unknown.empty()) refuse_unknown(operation, unknown.front(), out.verb);

  if (out.resume && out.overwrite) {
    refuse("--resume", operation, "together with --overwrite", "a run is taken up or replaced");
  }
  for (std::size_t i = 0; i < std::size(entries); ++i) {
    const std::string_view names(entries[i].names);
    const std::string_view name = names.substr(0, names.find(','));
    if (given[i].empty()) continue;
    if (given[i].size() > 1) {
      refuse(name, operation, printable(given[i][0]) + " and " + printable(given[i][1]),
             "an option may be given once");
    }
    entries[i].store(out, {name, operation, given[i].front()});
  }
  return out;
}

}  // namespace gpt
