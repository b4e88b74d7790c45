// gpt/run_folder.cpp: presets by name; weights to a file and back.
// Reads: gpt/run_folder.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/run_folder.hpp"

#include "atled/io/json.hpp"
#include "atled/io/json_writer.hpp"
#include "atled/io/safetensors.hpp"

#include "gpt/nearest.hpp"
#include "gpt/ranks.hpp"
#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace gpt {
namespace {

using atled::io::printable;
using atled::io::refuse;
using atled::io::shown_path;

constexpr std::string_view format_name = "atled gpt 1";

std::vector<preset>& registry() {
  static std::vector<preset> all;
  return all;
}

/// "gpt2, nano, small"
std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> out;
  for (const preset& item : presets()) {
    if (out.empty() || out.back() != item.name) out.push_back(item.name);
  }
  return out;
}
std::string listed(const std::vector<std::string_view>& names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

/// The members of a configuration by name.
template <class Config, class Fn>
void for_each_size(Config& sizes, Fn fn) {
  fn("layers", sizes.layers);
  fn("heads", sizes.heads);
  fn("width", sizes.width);
  fn("context", sizes.context);
  fn("batch", sizes.batch);
  fn("vocabulary", sizes.vocabulary);
}

std::string to_json(const preset& of, const provenance& from) {
  atled::io::json_writer out;
  out.begin_object().key("preset").value(of.name).key("sizes").begin_object();
  for_each_size(of.sizes, [&](const char* name, std::int64_t size) { out.key(name).value(size); });
  out.end().key("steps").value(from.steps).key("seed").value(from.seed);
  out.key("data").value(from.data).key("data_bytes").value(from.fingerprint.size);
  return out.key("data_hash").value(from.fingerprint.hash).end().finish();
}

std::string described(const config& sizes) {
  std::string out;
  for_each_size(sizes, [&](const char* name, std::int64_t size) {
    out += (out.empty() ? "" : ", ") + std::string(name) + ' ' + std::to_string(size);
  });
  return out;
}

/// "model=2", "--fsdp on 2 ranks"
std::string described(const sharing& shared) {
  const std::string model = "model=" + std::to_string(shared.model);
  if (shared.stored == 1) return model;
  const std::string stored = "--fsdp on " + std::to_string(shared.stored) + " ranks";
  return shared.model == 1 ? stored : stored + " with " + model;
}

/// The preset that a file's configuration names, and where its weights come from.
std::pair<const preset*, provenance> parse_run(std::string json, const std::string& path) {
  const auto document = atled::io::parse_json(std::move(json), shown_path(path) + " run", "load");
  const auto root = document.root();
  config sizes{};
  for_each_size(sizes, [&](const char* name, std::int64_t& size) {
    size = root.at("sizes").at(name).integer();
  });
  provenance from{
      root.at("steps").integer(),
      root.at("seed").integer(),
      std::string(root.at("data").string()),
      {root.at("data_bytes").unsigned_integer(), root.at("data_hash").unsigned_integer()}};
  const auto name = root.at("preset");
  for (const preset& item : presets()) {
    const bool is_whole = item.shared == sharing{};
    if (is_whole && item.name == name.string() && item.sizes == sizes) {
      return {&item, std::move(from)};
    }
  }
  name.refuse("preset " + printable(name.string()) + " with " + described(sizes),
              "this program must have been built with that preset");
}

/// Takes away the lines of a log from a step on: those of a run that ended after its last save.
void cut_log(const std::string& path, std::int64_t steps) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return;
  const std::string text = atled::io::read_file(path);
  std::size_t end = 0;
  while (true) {
    const std::size_t newline = text.find('\n', end);
    if (newline == text.npos) break;
    const auto line =
        atled::io::parse_json(text.substr(end, newline - end), shown_path(path), "resume", end);
    if (line.root().at("step").integer() >= steps) break;
    end = newline + 1;
  }
  if (end < text.size()) atled::io::write_file(path, text.substr(0, end));
}

/// The rows of all ranks in a step.
std::string rows_of_step(const preset& of) {
  return std::to_string(of.sizes.batch * (num_ranks() / of.shared.model));
}

}  // namespace

std::span<const preset> presets() {
  return registry();
}

bool add_preset(const preset& added) {
  const auto order = [](const preset& x) {
    return std::tuple(x.name, x.sizes.vocabulary, x.shared);
  };
  const auto at = std::find_if(registry().begin(), registry().end(),
                               [&](const preset& x) { return order(added) < order(x); });
  registry().insert(at, added);
  return true;
}

const preset& find_preset(std::string_view name, std::size_t characters, std::string_view text_name,
                          const sharing& shared) {
  const preset* largest = nullptr;
  const preset* other = nullptr;
  std::vector<std::string> known;
  for (const preset& item : presets()) {
    if (item.name != name) continue;
    if (item.shared != shared) {
      other = &item;
      const std::string way = described(item.shared);
      if (std::find(known.begin(), known.end(), way) == known.end()) known.push_back(way);
      continue;
    }
    if (characters <= static_cast<std::size_t>(item.sizes.vocabulary)) return item;
    largest = &item;
  }
  if (largest == nullptr && other == nullptr) {
    const auto names = preset_names();
    refuse("--preset", "train", printable(name),
           "it must be one of " + listed(names) + did_you_mean(name, names));
  }
  if (largest == nullptr) {
    const std::string given = described(shared) + " for preset " + std::string(name);
    const char* where = shared.stored > 1 ? "--fsdp" : "--mesh";
    const std::int64_t heads = other->sizes.heads;
    if (heads % shared.model != 0) {
      refuse(where, "train", given,
             "its heads (" + std::to_string(heads) + ") must be divisible by model (" +
                 std::to_string(shared.model) + ")");
    }
    refuse(where, "train", given,
           "this program was built with it for " +
               listed(std::vector<std::string_view>(known.begin(), known.end())));
  }
  refuse(text_name, "train", std::to_string(characters) + " different characters",
         "preset " + std::string(name) + " takes at most " +
             std::to_string(largest->sizes.vocabulary) + "; choose a preset of more");
}

void run_folder::prepare(bool overwrite, bool resume) const {
  std::error_code code;
  std::filesystem::create_directories(path_, code);
  if (code || !std::filesystem::is_directory(path_, code)) {
    refuse(shown_path(path_), "make the folder", code ? code.message() : "not a folder",
           "the run needs a folder for its files; choose another --out");
  }
  if (resume) return;
  const atled::io::checkpoint_folder checkpoints(path_);
  if (overwrite) return checkpoints.clear();
  for (const std::string& file : {weights_path(), metrics_path()}) {
    if (std::filesystem::exists(file, code)) {
      refuse(shown_path(path_), "train", "a folder that holds a run",
             "it is not replaced unasked; choose another --out, or add --resume or --overwrite");
    }
  }
}

void run_folder::save(const preset& of, network& model,
                      const atled::io::character_tokenizer& tokenizer,
                      const provenance& from) const {
  const std::vector<weight> weights = model.weights();
  std::vector<atled::io::tensor_source> sources;
  for (const weight& w : weights) {
    sources.push_back(atled::io::source_of(w.name, w.dims, w.values));
  }
  const std::vector<atled::io::metadata_entry> metadata = {{"format", std::string(format_name)},
                                                           {"run", to_json(of, from)},
                                                           {"tokenizer", tokenizer.to_json()}};
  atled::io::write_safetensors(weights_path(), sources, metadata);
}

void run_folder::save_all(const preset& of, network& model,
                          const atled::io::character_tokenizer& tokenizer,
                          const provenance& from) const {
  if (rank() == 0) save(of, model, tokenizer, from);
  const std::vector<atled::io::metadata_entry> metadata = {
      {"format", std::string(format_name)}, {"run", to_json(of, from)}, {"rows", rows_of_step(of)}};
  model.save(path_, from.steps, metadata);
}

std::vector<std::string> run_folder::resume(const preset& of, network& model,
                                            provenance& from) const {
  const std::string where = shown_path(path_);
  const auto found = model.load(path_);
  if (!found) {
    refuse(where, "resume", "no checkpoint", "gpt train must have left one there; see --out");
  }
  const auto required = [&](std::string_view key) {
    const auto value = found->find_metadata(key);
    if (!value)
      refuse(where, "resume", "no metadata " + std::string(key), "gpt must have saved it");
    return std::string(*value);
  };
  if (const std::string format = required("format"); format != format_name) {
    refuse(where, "resume", "format " + printable(format),
           "it must be " + std::string(format_name));
  }
  const auto [saved_of, saved] = parse_run(required("run"), path_);
  const auto require_same = [&](const std::string& now, const std::string& then,
                                std::string_view what) {
    if (now == then) return;
    refuse(where, "resume", std::string(what) + ' ' + now,
           "the run began with " + then + "; give the same, or begin another run with --out");
  };
  require_same(std::string(of.name) + " of " + described(of.sizes),
               std::string(saved_of->name) + " of " + described(saved_of->sizes), "preset");
  require_same(std::to_string(from.seed), std::to_string(saved.seed), "seed");
  const auto named = [](const provenance& p) {
    return p.data + " of " + std::to_string(p.fingerprint.size) + " bytes, hash " +
           std::to_string(p.fingerprint.hash);
  };
  if (from.fingerprint != saved.fingerprint) require_same(named(from), named(saved), "text");
  from.steps = found->step;

  std::vector<std::string> notes;
  for (const std::string& why : found->skipped) notes.push_back(why + "; an older one is used");
  if (const std::string rows = rows_of_step(of); rows != required("rows")) {
    notes.push_back(where + ": resume: " + rows + " rows in each step: the run began with " +
                    required("rows"));
  }
  if (rank() == 0) cut_log(metrics_path(), from.steps);
  return notes;
}

loaded_model run_folder::load(const std::optional<std::string>& wanted) const {
  const std::string path = weights_path();
  const std::string where = shown_path(path);
  if (std::error_code code; !std::filesystem::exists(path, code)) {
    refuse(where, "load", "no such file", "gpt train must have left weights there; see --out");
  }
  const atled::io::safetensors_file file(path);
  const auto required = [&](std::string_view key) {
    const auto found = file.find_metadata(key);
    if (!found) {
      refuse(where, "load", "no metadata " + std::string(key), "gpt train must have written it");
    }
    return std::string(*found);
  };
  if (const std::string format = required("format"); format != format_name) {
    refuse(where, "load", "format " + printable(format), "it must be " + std::string(format_name));
  }
  auto [of, from] = parse_run(required("run"), path);
  if (wanted && *wanted != of->name) {
    refuse(where, "load", "weights of preset " + std::string(of->name),
           "--preset says " + printable(*wanted) + "; leave it out, or choose another --out");
  }
  loaded_model out{
      of, of->make(),
      atled::io::character_tokenizer::from_json(required("tokenizer"), where + " tokenizer"),
      std::move(from)};
  if (out.tokenizer.vocabulary_size() > static_cast<std::size_t>(of->sizes.vocabulary)) {
    refuse(where, "load",
           "a tokenizer of " + std::to_string(out.tokenizer.vocabulary_size()) + " characters",
           "the model takes at most " + std::to_string(of->sizes.vocabulary));
  }
  const std::vector<weight> weights = out.model->weights();
  std::vector<atled::io::tensor_target> targets;
  for (const weight& w : weights) {
    targets.push_back(atled::io::target_of(w.name, w.dims, w.values));
  }
  file.read(targets);
  return out;
}

run_folder folder_of(const std::optional<std::string>& out,
                     const std::optional<std::string>& preset) {
  return run_folder(out ? *out : "gpt-" + preset.value_or("nano"));
}

}  // namespace gpt
