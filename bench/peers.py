# bench/peers.py: what the peers share: the model's sizes, the batches, and the words of compare.py.
# Next: peers_jax.py, peers_torch.py.
# SPDX-License-Identifier: MIT
import argparse
import json
import resource
import sys
import time

import numpy

# Sizes as in run_time/gpt_step/, optimizer as in examples/gpt/model.hpp.
PRESETS = {
    "nano": dict(layers=4, heads=4, width=128, context=64, batch=12, vocabulary=65),
    "small": dict(layers=6, heads=6, width=384, context=256, batch=8, vocabulary=65),
    "gpt2": dict(layers=12, heads=12, width=768, context=64, batch=4, vocabulary=50304),
}
RATE, BETA1, BETA2, EPS, DECAY, CLIP = 1e-3, 0.9, 0.99, 1e-8, 0.1, 1.0
DEVIATION, NORM_EPS = 0.02, 1e-5


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", choices=PRESETS, default="nano")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action="store_true", help="PyTorch: torch.compile")
    return parser.parse_args()


class Batches:
    """Tokens that look random, the same as in run_time/gpt_step.cpp: (text, next), int32[B, T]."""

    def __init__(self, sizes):
        self.rows, self.context, self.vocabulary = (
            sizes[k] for k in ("batch", "context", "vocabulary"))
        self.count = 0

    def next(self):
        size = self.rows * (self.context + 1)
        x = (numpy.arange(self.count, self.count + size, dtype=numpy.uint64) % 2**32).astype(numpy.uint32)
        self.count += size
        x *= numpy.uint32(2654435761)
        x ^= x >> numpy.uint32(15)
        x *= numpy.uint32(2246822519)
        x ^= x >> numpy.uint32(13)
        tokens = (x % numpy.uint32(self.vocabulary)).astype(numpy.int32)
        tokens = tokens.reshape(self.rows, self.context + 1)
        return numpy.ascontiguousarray(tokens[:, :-1]), numpy.ascontiguousarray(tokens[:, 1:])


def say(**words):
    print(json.dumps(words), flush=True)


def serve(sizes, step, **facts):
    """`step(text, next)` gives the loss as a float, once the weights are updated.

    Does one step, then, for each line N on the input, steps for N seconds. A step is timed from a
    NumPy batch to the loss.
    """
    batches = Batches(sizes)
    say(event="ready", **facts)
    say(event="first_step", loss=step(*batches.next()))
    for line in sys.stdin:
        end = time.perf_counter() + float(line)
        times = []
        while not times or time.perf_counter() < end:
            text, following = batches.next()
            begin = time.perf_counter()
            loss = step(text, following)
            times.append((time.perf_counter() - begin) * 1e3)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        say(event="steps", step_ms=times, loss=loss, peak_mb=peak)
