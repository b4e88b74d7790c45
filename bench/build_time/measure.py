#!/usr/bin/env python3
# bench/build_time/measure.py: seconds and memory that the compiler takes.
# Reads: nothing; it writes the sources that it compiles.
# SPDX-License-Identifier: MIT
"""Compiles growing programs, one at a time, and prints the compiler's seconds and peak memory.

cases (a list after the options; all where none is named):
  eigen, umbrella      <Eigen/Core> alone, and atled/atled.hpp alone; they take turns
  layers_1 _4 _12 _48  the training step of a GPT of examples/gpt, of so many layers
  sharded_4            the same, split over a mesh of 2 x 2 ranks
  chain_100 _1000 _10000        a traced loop of mul, add, tanh of so many nodes
  gradient_100 _1000 _10000     the same, and its gradient
  transformations_30 _300       ten transformations of a function of so many nodes in one file
"""
import argparse
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

LAYERS = """#include "gpt/model.hpp"
constexpr gpt::config sizes{{
    .layers = {size}, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = 65}};
using state = gpt::state<atled::values, sizes>;
using tokens = atled::tensor_view<const std::int32_t, sizes.batch, sizes.context>;
float train(state& weights, const tokens& text, const tokens& next, float rate) {{
  gpt::metrics<atled::values> metrics;
  std::tie(weights, metrics) =
      atled::jit(gpt::train_step)(std::move(weights), text, next, rate);
  return metrics.loss.item();
}}
"""

SHARDED = """#include "atled/transform/device_put.hpp"
#include "atled/transform/sharded.hpp"
#include "gpt/model.hpp"
using namespace atled;
constexpr gpt::config model_of{{
    .layers = {size}, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = 66}};
using grid = mesh<axis<"data", 2>, axis<"model", 2>>;
using state = gpt::state<on<grid>, model_of>;
using tokens = tensor_view<const std::int32_t, model_of.batch, model_of.context>;
float train(const grid& devices, state& weights, const tokens& text, const tokens& next, float rate) {{
  gpt::metrics<on<grid>> metrics;
  const auto step = jit(gpt::train_step, devices, in_specs<none, P<"data">, P<"data">, P<>>, out_specs<none, P<>>);
  std::tie(weights, metrics) = step(std::move(weights), text, next, rate);
  return metrics.loss.item();
}}
"""

CHAIN = """#include "atled/atled.hpp"
using namespace atled;
constexpr auto chain = [](auto x, auto scale, auto shift) {{
  for (int i = 0; i < {size} / 3; ++i) x = tanh(x * scale + shift);
  return x;
}};
using line = tensor<f32, 1024>;
line run(const line& x, const line& scale, const line& shift) {{ return jit(chain)(x, scale, shift); }}
"""

GRADIENT = """#include "atled/atled.hpp"
using namespace atled;
constexpr auto chain = [](auto x, auto scale, auto shift) {{
  for (int i = 0; i < {size} / 3; ++i) x = tanh(x * scale + shift);
  return sum(x);
}};
using line = tensor<f32, 1024>;
auto run(const line& x, const line& scale, const line& shift) {{
  return value_and_grad(chain, argnums<0, 1, 2>)(x, scale, shift);
}}
"""

TRANSFORMATIONS = """#include "atled/atled.hpp"
using namespace atled;
using line = tensor<f32, 16>;
using lines = tensor<f32, 8, 16>;
constexpr auto chain = [](auto x, auto scale, auto shift) {{
  for (int i = 0; i < {size} / 3; ++i) x = tanh(x * scale + shift);
  return x;
}};
constexpr auto total = [](auto x, auto scale, auto shift) {{ return sum(chain(x, scale, shift)); }};
constexpr auto lean = checkpoint(total);
auto value(const line& x, const line& s, const line& t) {{ return jit(chain)(x, s, t); }}
auto gradient(const line& x, const line& s, const line& t) {{ return grad(total)(x, s, t); }}
auto both(const line& x, const line& s, const line& t) {{ return value_and_grad(total, argnums<0, 1, 2>)(x, s, t); }}
auto forward(const line& x, const line& s, const line& t) {{ return jvp(chain, std::tuple(x, s, t), std::tuple(s, t, x)); }}
auto reverse(const line& x, const line& s, const line& t) {{ return vjp(chain, x, s, t).second(x); }}
auto rows(const line& x, const line& s, const line& t) {{ return jacfwd(chain)(x, s, t); }}
auto columns(const line& x, const line& s, const line& t) {{ return jacrev(chain)(x, s, t); }}
auto curvature(const line& x, const line& s, const line& t) {{ return hessian(total)(x, s, t); }}
auto many(const lines& x, const line& s, const line& t) {{ return vmap(grad(total), in_axes<0, none, none>)(x, s, t); }}
auto again(const line& x, const line& s, const line& t) {{ return grad(lean)(x, s, t); }}
"""

CASES = {"eigen": "#include <Eigen/Core>\n", "umbrella": '#include "atled/atled.hpp"\n'}
CASES |= {f"layers_{n}": LAYERS.format(size=n) for n in (1, 4, 12, 48)}
CASES |= {"sharded_4": SHARDED.format(size=4)}
CASES |= {f"chain_{n}": CHAIN.format(size=n) for n in (100, 1000, 10000)}
CASES |= {f"gradient_{n}": GRADIENT.format(size=n) for n in (100, 1000, 10000)}
CASES |= {f"transformations_{n}": TRANSFORMATIONS.format(size=n) for n in (30, 300)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="case", help="see above")
    parser.add_argument("--compiler", default="g++", help="a list: g++,clang++ (default g++)")
    parser.add_argument("--flags", default="-O3 -march=native -fopenmp", help="--flags=\"-O1\" (default: -O3 -march=native -fopenmp)")
    parser.add_argument("--front", action="store_true",
                        help="also the front end alone (-fsyntax-only): tracing, passes, instantiation")
    parser.add_argument("--default-limits", action="store_true",
                        help="leave the compiler's limits of constant evaluation, as with plain -I include")
    parser.add_argument("--repeat", type=int, default=1, help="the median of so many (default 1)")
    parser.add_argument("--eigen", default="/usr/include/eigen3", help="folder of Eigen")
    parser.add_argument("--limit", type=float, default=1800, help="seconds for one compilation (default 1800)")
    parser.add_argument("--keep", type=pathlib.Path, help="write the sources to this folder and leave them there")
    return parser.parse_args()


def command(compiler, chosen):
    words = [compiler, "-std=c++20", "-ffp-contract=off", *shlex.split(chosen.flags),
             f"-I{ROOT / 'include'}", f"-I{ROOT / 'examples'}", "-isystem", chosen.eigen]
    if not chosen.default_limits:
        # as CMakeLists.txt has them
        words += (["-fconstexpr-steps=2000000000"] if "clang" in compiler else
                  ["-fconstexpr-ops-limit=2000000000", "-fconstexpr-loop-limit=100000000"])
    return words


def compile_once(words, limit):
    """(seconds, processor seconds, peak MB) of the compiler and all that it started, or a reason."""
    begin = time.monotonic()
    process = subprocess.Popen(["timeout", str(limit), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    if process.returncode == 124:
        return f"more than {limit:.0f} s"
    if process.returncode != 0:
        told = [line for line in errors.splitlines() if "error" in line] or errors.splitlines() or ["failed"]
        return told[0][:150]
    # Linux: the largest of the process and of those that it waited for
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    chosen = arguments()
    names = chosen.cases or list(CASES)
    unknown = [name for name in names if name not in CASES]
    if unknown:
        sys.exit(f"measure: {' '.join(unknown)}: it must be one of {' '.join(CASES)}")
    compilers = chosen.compiler.split(",")
    for compiler in compilers:
        version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
        print(f"# {compiler}: {version.splitlines()[0]}; {chosen.flags}")
    print(f"{'case':19} {'compiler':9} {'phase':8} {'seconds':>8} {'cpu s':>8} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        home = chosen.keep or pathlib.Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        rows = {}
        # repetitions outermost, so that cases to be compared take turns
        for _ in range(chosen.repeat):
            for name in names:
                source = home / f"{name}.cpp"
                source.write_text(CASES[name])
                for compiler in compilers:
                    for phase in ("front", "object") if chosen.front else ("object",):
                        what = ["-fsyntax-only"] if phase == "front" else ["-c", "-o", os.devnull]
                        rows.setdefault((name, compiler, phase), []).append(
                            compile_once([*command(compiler, chosen), *what, str(source)], chosen.limit))
                        if chosen.repeat == 1:
                            show((name, compiler, phase), rows[name, compiler, phase])
        if chosen.repeat > 1:
            for key, results in rows.items():
                show(key, results)


def show(key, results):
    name, compiler, phase = key
    failed = [r for r in results if isinstance(r, str)]
    if failed:
        print(f"{name:19} {compiler:9} {phase:8} {failed[0]}", flush=True)
        return
    seconds, processor, peak = (statistics.median(column) for column in zip(*results))
    print(f"{name:19} {compiler:9} {phase:8} {seconds:8.2f} {processor:8.2f} {peak:8.0f}", flush=True)


if __name__ == "__main__":
    main()
