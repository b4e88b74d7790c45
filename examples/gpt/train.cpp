// gpt/train.cpp: the training loop.
// Reads: gpt/verbs.hpp, gpt/run_folder.hpp, gpt/dataset.hpp, gpt/evaluate.hpp, gpt/progress.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/event_log.hpp"
#include "atled/optim/schedules.hpp"

#include "gpt/dataset.hpp"
#include "gpt/dry_run.hpp"
#include "gpt/evaluate.hpp"
#include "gpt/pipeline.hpp"
#include "gpt/progress.hpp"
#include "gpt/ranks.hpp"
#include "gpt/run_folder.hpp"
#include "gpt/verbs.hpp"
#include <array>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace gpt {
namespace {

constexpr std::int64_t warmup_steps = 100;
constexpr std::int64_t validation_batches = 20;

volatile std::sig_atomic_t stop_signal = 0;

/// The first signal lets the step end and saves; the second ends the program at once.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { stop_signal = signal; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1}) {
    (void)::sigaction(signal, &action, nullptr);
  }
}

double seconds_since(clock::time_point from) {
  return std::chrono::duration<double>(clock::now() - from).count();
}

/// The mesh of all ranks, where the options go together.
mesh_sizes checked_mesh(const options& given) {
  if (given.microbatches && given.pipe == 0) {
    atled::io::refuse("--microbatches", "train", std::to_string(*given.microbatches),
                      "it must come with --pipe");
  }
  if ((given.mesh || given.fsdp) && given.pipe > 0) {
    atled::io::refuse(given.mesh ? "--mesh" : "--fsdp", "train", "together with --pipe",
                      "only one of them may be given");
  }
  return mesh_of_all(given);
}

/// One run: what is made before its first step.
class trainer {
 public:
  explicit trainer(const options& given)
      : given_(given), folder_(folder_of(given.out, given.preset)) {
    mesh_ = alike([&] { return checked_mesh(given); });
    const source_text source = read_source(given.data);
    tokenizer_ = atled::io::character_tokenizer::from_text(source.bytes);
    preset_ = alike([&] {
      return &find_preset(given.preset.value_or("nano"), tokenizer_->vocabulary_size(), source.name,
                          {mesh_.model, given.fsdp ? mesh_.data : 1});
    });
    data_.emplace(source, *tokenizer_);
    data_->require_enough(preset_->sizes);
    from_ = {0, given.seed, source.name, source.fingerprint};
    if (rank() == 0) folder_.prepare(given.overwrite, given.resume);
    steps_ = given.steps.value_or(preset_->recipe.steps);
    const double rate = given.rate.value_or(preset_->recipe.rate);
    schedule_ = {.peak = rate, .floor = rate / 10, .warmup = warmup_steps, .decay = steps_};
    model_ = given.pipe > 0 ? make_pipeline(*preset_, given.pipe, given.microbatches.value_or(8))
                            : preset_->make();
    model_->initialize(given.seed);
    if (given.resume) notes_ = folder_.resume(*preset_, *model_, from_);
    using mode = atled::io::log_mode;
    if (rank() == 0) {
      log_.emplace(folder_.metrics_path(), given.resume      ? mode::append
                                           : given.overwrite ? mode::replace
                                                             : mode::create);
    }
  }

  void describe(double seconds) const {
    if (rank() != 0) return;
    const config& c = preset_->sizes;
    std::fprintf(stderr,
                 "preset %s: %lld layers, %lld heads, width %lld, context %lld, batch %lld, "
                 "vocabulary %lld; %lld parameters\n",
                 std::string(preset_->name).c_str(), integer(c.layers), integer(c.heads),
                 integer(c.width), integer(c.context), integer(c.batch), integer(c.vocabulary),
                 integer(model_->num_parameters()));
    std::fprintf(stderr, "data %s: %zu tokens to learn from, %zu for validation, %zu characters\n",
                 from_.data.c_str(), data_->train().size(), data_->validation().size(),
                 tokenizer_->vocabulary_size());
    if (num_ranks() > 1) {
      std::string shared;
      if (mesh_.model > 1) shared = ", " + std::to_string(mesh_.model) + " share a model";
      if (given_.fsdp) shared += ", each keeps a part of the state";
      std::fprintf(stderr, "%d ranks%s: %lld rows in each step, the gradient is that of all\n",
                   num_ranks(), shared.c_str(), integer(c.batch * mesh_.data));
    }
    if (given_.peak_gflops) {
      std::fprintf(stderr, "MFU: %s, peak %g GFLOP/s\n", mfu_formula, *given_.peak_gflops);
    }
    for (const std::string& note : notes_) std::fprintf(stderr, "%s\n", note.c_str());
    if (given_.resume) std::fprintf(stderr, "goes on after step %lld\n", integer(from_.steps));
    std::fprintf(stderr, "%lld steps into %s; ready after %.2f s\n", integer(steps_),
                 folder_.weights_path().c_str(), seconds);
  }

  void run() {
    progress_line line;
    batch rows(preset_->sizes);
    const auto model = static_cast<int>(mesh_.model);
    const int part_of_rows = rank() / model;  // the last axis counts fastest
    for (std::int64_t step = from_.steps; step < steps_ && !is_stopped(); ++step) {
      const auto begin = clock::now();
      rows.draw(data_->train(), draws(given_.seed, step), part_of_rows);
      const double rate = schedule_(step);
      const step_result result = model_->train(rows.text(), rows.next(), static_cast<float>(rate));
      const double seconds = seconds_since(begin);
      from_.steps = step + 1;
      if (!std::isfinite(result.loss) || !std::isfinite(result.gradient_norm)) {
        line.end_line();
        atled::io::refuse("step " + std::to_string(step), "train",
                          "loss " + std::to_string(result.loss) + ", norm of the gradient " +
                              std::to_string(result.gradient_norm),
                          "both must be finite; the weights saved last are kept; lower --lr");
      }
      report(line, step, result, rate, seconds);
    }
    const bool stopped = is_stopped();  // a signal may have reached some ranks after the last step
    if (steps_ == 0 || stopped) {
      model_->settle();
      save();
    }
    line.end_line();
    if (stopped && rank() == 0) {
      std::fprintf(stderr, "stopped by signal %d after step %lld; the weights are saved\n",
                   static_cast<int>(stop_signal), integer(from_.steps));
    }
  }

 private:
  static long long integer(std::int64_t value) { return value; }

  /// The ranks stop together, whichever of them was told to.
  static bool is_stopped() {
    stop_signal = largest_of_ranks(stop_signal);
    return stop_signal != 0;
  }

  void save() { folder_.save_all(*preset_, *model_, *tokenizer_, from_); }

  /// Measures now and then, and after the last step on the whole validation text; saves then, after
  /// the line of the log: so a run that ends in between has no step without a line.
  void report(progress_line& line, std::int64_t step, const step_result& result, double rate,
              double seconds) {
    const bool is_last = step + 1 == steps_;
    const bool is_milestone = is_last || (step + 1) % given_.eval_every == 0;
    const auto tokens = static_cast<double>(rows_tokens());
    std::vector<atled::io::metric> metrics = {{"step", step}, {"train_loss", result.loss}};
    if (is_milestone) {
      model_->settle();
      const auto validation = data_->validation();
      validation_loss_ = is_last
                             ? whole_loss(*model_, validation)
                             : sampled_loss(*model_, validation, validation_batches, given_.seed);
      metrics.emplace_back("val_loss", *validation_loss_);
    }
    metrics.emplace_back("lr", rate);
    metrics.emplace_back("tokens_per_s", tokens / seconds);
    metrics.emplace_back("step_ms", seconds * 1e3);
    metrics.emplace_back("gradient_norm", result.gradient_norm);
    // All ranks hold the same weights: the first reports.
    if (rank() == 0) show(line, step, metrics, seconds, static_cast<double>(result.loss));
    if (is_milestone) save();
  }

  void show(progress_line& line, std::int64_t step, const std::vector<atled::io::metric>& metrics,
            double seconds, double loss) {
    const bool is_last = step + 1 == steps_;
    const bool is_milestone = is_last || (step + 1) % given_.eval_every == 0;
    log_->write(metrics);
    smoothed_seconds_ = smoothed_seconds_ == 0 ? seconds : 0.9 * smoothed_seconds_ + 0.1 * seconds;
    const double mfu = given_.peak_gflops ? step_flops(preset_->sizes) / smoothed_seconds_ /
                                                (*given_.peak_gflops * 1e9)
                                          : -1;
    const auto tokens = static_cast<double>(rows_tokens());
    line.show({step + 1, steps_, loss, tokens / smoothed_seconds_, mfu, validation_loss_},
              is_milestone);
    if (is_last) {
      std::fprintf(stderr, "validation loss %.4f nats a token, over all %zu tokens\n",
                   *validation_loss_, data_->validation().size() - 1);
    }
  }

  [[nodiscard]] std::int64_t rows_tokens() const {
    return preset_->sizes.batch * preset_->sizes.context * mesh_.data;
  }

  const options& given_;
  run_folder folder_;
  std::optional<atled::io::character_tokenizer> tokenizer_;
  const preset* preset_ = nullptr;
  mesh_sizes mesh_;
  std::optional<dataset> data_;
  provenance from_;
  std::vector<std::string> notes_;
  std::optional<atled::io::metrics_log> log_;
  std::int64_t steps_ = 0;
  atled::optim::warmup_cosine schedule_;
  std::unique_ptr<network> model_;
  std::optional<double> validation_loss_;
  double smoothed_seconds_ = 0;
};

}  // namespace

namespace {

/// Prints the plan of a step on a mesh that need not be here.
void print_plan(const options& given) {
  if (rank() != 0) return;
  const planned_mesh mesh = parse_planned_mesh(*given.dry_run);
  const std::string name = given.preset.value_or("nano");
  const preset* chosen = &find_preset(name, 1, "--dry-run");
  for (const preset& item : presets()) {  // the first whose symbols divide
    const bool divides = item.sizes.vocabulary % mesh.model == 0;
    if (item.name != name || item.shared != sharing{} || !divides) continue;
    if (chosen->sizes.vocabulary % mesh.model != 0) chosen = &item;
  }
  const std::unique_ptr<network> model = chosen->make();
  const step_plan plan = plan_step(chosen->sizes, mesh, static_cast<double>(model->peak_bytes()));
  const std::string text = to_text(
      plan, chosen->sizes, mesh,
      {.flops = given.gflops.value_or(0) * 1e9, .link = given.link_gbytes.value_or(0) * 1e9});
  std::fputs(text.c_str(), stdout);
}

}  // namespace

void train(const options& given, clock::time_point start) {
  if (given.dry_run) return print_plan(given);
  stop_on_signals();
  trainer run(given);
  run.describe(seconds_since(start));
  run.run();
}

}  // namespace gpt
