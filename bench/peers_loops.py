#!/usr/bin/env python3
# bench/peers_loops.py: softmax, layer norm and AdamW of run_time/loops.cpp in JAX and PyTorch: medians
# and best in milliseconds. Usage: peers_loops.py [--threads N] [jax] [torch] [compile]
# SPDX-License-Identifier: MIT
import argparse
import os
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("contenders", nargs="*", default=["jax", "torch", "compile"])
chosen = parser.parse_args()
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:chosen.threads])

import numpy

PARAMETERS = 124_000_000
random = numpy.random.default_rng(7)


def numbers(*shape):
    return random.standard_normal(shape, dtype=numpy.float32)


def report(name, call, seconds=3.0):
    """`call` returns once its result is there."""
    for _ in range(3):
        call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    print(f"{name:32} median {statistics.median(times):8.2f} ms   best {min(times):8.2f} ms", flush=True)


def run_jax():
    import jax
    import jax.numpy as jnp
    import optax

    def norm(x, scale, shift):
        centred = x - x.mean(-1, keepdims=True)
        unit = centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)
        return unit * scale + shift

    def both(function):
        def value_and_pullback(d_y, *operands):
            y, pullback = jax.vjp(function, *operands)
            return y, pullback(d_y)

        return jax.jit(value_and_pullback)

    x, d_y = jnp.asarray(numbers(1024, 4096)), jnp.asarray(numbers(1024, 4096))
    softmax = both(jax.nn.softmax)
    report("jax softmax 1024x4096", lambda: jax.block_until_ready(softmax(d_y, x)))
    x, d_y = jnp.asarray(numbers(4096, 768)), jnp.asarray(numbers(4096, 768))
    scale, shift, norms = jnp.ones(768), jnp.zeros(768), both(norm)
    report("jax layer_norm 4096x768", lambda: jax.block_until_ready(norms(d_y, x, scale, shift)))

    optimizer = optax.adamw(1e-3, b2=0.99, weight_decay=0.1)

    def update(weights, state, gradient):
        change, state = optimizer.update(gradient, state, weights)
        return optax.apply_updates(weights, change), state

    step = jax.jit(update, donate_argnums=(0, 1))
    gradient = jnp.full(PARAMETERS, 1e-3)
    held = [jnp.zeros(PARAMETERS)]
    held.append(optimizer.init(held[0]))

    def one():
        held[:] = step(*held, gradient)
        jax.block_until_ready(held)

    report("jax adamw 124M", one)


def run_torch(compiles):
    import torch
    torch.set_num_threads(chosen.threads)
    wrap = torch.compile if compiles else (lambda f: f)
    kind = "torch.compile" if compiles else "torch"

    def both(function, d_y, *operands):
        compiled = wrap(function)
        return lambda: torch.autograd.grad(compiled(*operands), operands, d_y)

    def tensor(*shape):
        return torch.from_numpy(numbers(*shape)).requires_grad_()

    report(f"{kind} softmax 1024x4096",
           both(lambda x: torch.softmax(x, -1), tensor(1024, 4096).detach(), tensor(1024, 4096)))
    scale, shift = torch.ones(768, requires_grad=True), torch.zeros(768, requires_grad=True)
    report(f"{kind} layer_norm 4096x768",
           both(lambda x, a, b: torch.nn.functional.layer_norm(x, (768,), a, b),
                tensor(4096, 768).detach(), tensor(4096, 768), scale, shift))
    if not compiles:
        weights = torch.zeros(PARAMETERS, requires_grad=True)
        weights.grad = torch.full((PARAMETERS,), 1e-3)
        optimizer = torch.optim.AdamW([weights], lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
        report("torch fused adamw 124M", optimizer.step)


if "jax" in chosen.contenders:
    run_jax()
if "torch" in chosen.contenders:
    run_torch(False)
if "compile" in chosen.contenders:
    run_torch(True)
