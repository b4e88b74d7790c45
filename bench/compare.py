#!/usr/bin/env python3
# bench/compare.py: the training step of a GPT beside JAX and PyTorch, in one run on this machine.
# Reads: run_time/gpt_step.cpp (atled's side), peers_jax.py, peers_torch.py.
# SPDX-License-Identifier: MIT
"""Compares one training step of a GPT: atled, JAX, PyTorch eager and compiled.

All contenders are started first. Then they take turns of a few seconds each, so that whatever else
happens on the machine happens to all of them; the one whose turn it is runs alone. The table shows
medians over all steps, and how many times the fastest peer's time atled needs.
"""
import argparse
import json
import os
import pathlib
import select
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BINARY = HERE.parent / "build" / "release" / "bench" / "bench.gpt_step"
PEERS = {
    "jax": ["peers_jax.py"],
    "torch": ["peers_torch.py"],
    "torch-compile": ["peers_torch.py", "--compile"],
}
# glibc gives large blocks back to the system, and their next user pays for each page again. JAX and
# PyTorch allocate in each step and lose more by this than by anything else: told so, glibc keeps.
KEEP_MEMORY = "glibc.malloc.mmap_max=0:glibc.malloc.arena_max=1:glibc.malloc.trim_threshold=17179869184"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", choices=["nano", "small", "gpt2"], default="nano")
    parser.add_argument("--threads", default="1,2", help="a list; each is a table (default 1,2)")
    parser.add_argument("--seconds", type=float, default=20, help="for each contender (default 20)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contender (default 5)")
    parser.add_argument("--python", default=sys.executable, help="a Python that has jax, optax, torch")
    parser.add_argument("--binary", default=BINARY, type=pathlib.Path, help="bench.gpt_step")
    parser.add_argument("--peers", default=",".join(PEERS), help="a list of " + " ".join(PEERS))
    parser.add_argument("--malloc", default="keep",
                        help="of the peers: keep (glibc keeps memory; default), stock, or a library to preload")
    parser.add_argument("--start-limit", type=float, default=600, help="seconds until a first step (default 600)")
    parser.add_argument("--json", type=pathlib.Path, help="append a line for each contender to this file")
    return parser.parse_args()


class Contender:
    """A process that does one step when it starts, and more when it is asked to."""

    def __init__(self, name, command, environment, cpus, limit):
        self.name, self.times, self.facts = name, [], {}
        begin = time.monotonic()
        self.errors = open(os.devnull, "w") if not os.environ.get("COMPARE_VERBOSE") else None
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env=environment, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        try:
            self.facts.update(self.answer("ready", limit))
            self.ready_s = time.monotonic() - begin
            self.first_loss = self.answer("first_step", limit)["loss"]
            self.first_step_s = time.monotonic() - begin
        except BaseException:
            self.end()
            raise
        self.pause()

    def answer(self, event, limit):
        if not select.select([self.process.stdout], [], [], limit)[0]:
            raise RuntimeError(f"{self.name}: no answer in {limit:.0f} s")
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name}: ended; COMPARE_VERBOSE=1 shows why")
        words = json.loads(line)
        if words.pop("event") != event:
            raise RuntimeError(f"{self.name}: said {line.strip()[:80]}, expected {event}")
        return words

    # A stopped process cannot disturb the others by threads that still wait for work.
    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def run(self, seconds):
        self.process.send_signal(signal.SIGCONT)
        self.ask(0.01)  # caches and clock
        result = self.ask(seconds)
        self.times += result["step_ms"]
        self.facts.update(loss=result["loss"], peak_mb=result["peak_mb"])
        self.pause()

    def ask(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return self.answer("steps", 60 + 20 * seconds)

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def environment(threads, malloc):
    out = dict(os.environ)
    # Settings of other programs' BLAS would choose the wrong kernels here.
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "GLIBC_TUNABLES"):
        out.pop(name, None)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        out[name] = str(threads)
    out["JAX_PLATFORMS"] = "cpu"
    out["PYTHONDONTWRITEBYTECODE"] = "1"
    if malloc == "keep":
        out["GLIBC_TUNABLES"] = KEEP_MEMORY
    elif malloc != "stock":
        out["LD_PRELOAD"] = malloc
        out["MALLOC_CONF"] = "dirty_decay_ms:-1,muzzy_decay_ms:-1"
    return out


def compare(chosen, threads):
    """All contenders with so many threads; XLA takes its number from the CPUs it may use."""
    cpus = sorted(os.sched_getaffinity(0))[:threads]
    if len(cpus) < threads:
        raise RuntimeError(f"compare: {threads} threads: this process may use {len(cpus)} CPUs only")
    options = ["--preset", chosen.preset, "--threads", str(threads)]
    commands = {"atled": [str(chosen.binary), *options, "--serve"]}
    for name in filter(None, chosen.peers.split(",")):
        script, *more = PEERS[name]
        commands[name] = [chosen.python, str(HERE / script), *options, *more]
    contenders = []
    try:
        for name, command in commands.items():
            malloc = "stock" if name == "atled" else chosen.malloc
            print(f"starting {name} ...", file=sys.stderr, flush=True)
            try:
                contenders.append(Contender(name, command, environment(threads, malloc), cpus, chosen.start_limit))
            except RuntimeError as error:
                print(error, file=sys.stderr)
        for turn in range(chosen.rounds):
            print(f"round {turn + 1} of {chosen.rounds}", file=sys.stderr, flush=True)
            # every second round in reverse, so that nobody always follows the same neighbour
            for contender in contenders if turn % 2 == 0 else reversed(contenders):
                contender.run(chosen.seconds / chosen.rounds)
    finally:
        for contender in contenders:
            contender.end()
    return contenders


def show(chosen, threads, contenders):
    medians = {c.name: statistics.median(c.times) for c in contenders}
    peers = {name: ms for name, ms in medians.items() if name != "atled"}
    best = min(peers, key=peers.get) if peers else None
    print(f"\n{chosen.preset}, {threads} thread{'s' if threads > 1 else ''}, f32, malloc of the peers: {chosen.malloc}")
    print(f"{'':14} {'median ms':>10} {'min ms':>9} {'steps':>6} {'x best peer':>12} {'ready s':>8} "
          f"{'1st step s':>10} {'peak MB':>8} {'loss':>15}")
    for c in contenders:
        ratio = f"{medians[c.name] / peers[best]:.3f}" if best else "-"
        print(f"{c.name:14} {medians[c.name]:10.2f} {min(c.times):9.2f} {len(c.times):6} {ratio:>12} {c.ready_s:8.2f} "
              f"{c.first_step_s:10.2f} {c.facts['peak_mb']:8.0f} {c.first_loss:7.3f} {c.facts['loss']:7.3f}")
        if chosen.json:
            row = dict(contender=c.name, preset=chosen.preset, threads=threads, malloc=chosen.malloc,
                       median_ms=medians[c.name], min_ms=min(c.times), steps=len(c.times), ready_s=c.ready_s,
                       first_step_s=c.first_step_s, **c.facts)
            with chosen.json.open("a") as file:
                print(json.dumps(row), file=file)
    if best and "atled" in medians:
        print(f"atled is {peers[best] / medians['atled']:.2f} times as fast as the fastest peer, {best}")
    sys.stdout.flush()


def main():
    chosen = arguments()
    if not chosen.binary.exists():
        sys.exit(f"compare: {chosen.binary}: no such program; build it by: cmake --preset release "
                 "-D ATLED_BENCH_LARGE=ON && cmake --build --preset release --target bench.gpt_step")
    unknown = set(filter(None, chosen.peers.split(","))) - set(PEERS)
    if unknown:
        sys.exit(f"compare: --peers {' '.join(unknown)}: it must be a list of {' '.join(PEERS)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the contenders are ended too
    for threads in map(int, chosen.threads.split(",")):
        try:
            show(chosen, threads, compare(chosen, threads))
        except RuntimeError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
