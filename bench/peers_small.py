#!/usr/bin/env python3
# bench/peers_small.py: the programs of run_time/small_programs.cpp and the Rosenbrock calls of
# run_time/call.cpp in JAX and PyTorch, as they come and compiled: medians in microseconds. Usage: peers_small.py [--threads N] [jax] [torch] [compile]
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

random = numpy.random.default_rng(7)
WEIGHTS = [random.standard_normal(s).astype(numpy.float32) / s[0] ** 0.5 if len(s) == 2 else
           numpy.zeros(s, numpy.float32) for s in ((784, 128), (128,), (128, 10), (10,))]


def batch(size):
    return (random.random((size, 784), dtype=numpy.float32),
            (numpy.arange(size) * 7 % 10).astype(numpy.int32))


def report(name, call, seconds=2.0):
    """`call` returns once its result is there."""
    for _ in range(10):
        call()
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    print(f"{name:32} median {statistics.median(times):8.1f} us   best {min(times):8.1f} us", flush=True)


def rosenbrock(v):
    rest = v[1:] - v[:-1] * v[:-1]
    return (100.0 * rest * rest + (1.0 - v[:-1]) ** 2).sum()


TWO = numpy.array([-1.2, 1.0], numpy.float32)
MANY = (numpy.arange(32) % 5 * 0.3).astype(numpy.float32)


def run_jax():
    import jax
    import jax.numpy as jnp

    def loss(model, x, label):
        w1, b1, w2, b2 = model
        logits = jax.nn.relu(x @ w1 + b1) @ w2 + b2
        picked = jnp.take_along_axis(logits, label[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - picked).mean()

    def norm(model, x, label):
        return jnp.sqrt(sum(jnp.sum(g * g) for g in jax.grad(loss)(model, x, label)))

    def sgd(model, x, label):
        value, gradient = jax.value_and_grad(loss)(model, x, label)
        return jax.tree.map(lambda p, g: p - 0.01 * g, model, gradient), value

    model = [jnp.asarray(w) for w in WEIGHTS]
    x, label = (jnp.asarray(a) for a in batch(64))
    for name, function in (("gradient/64", jax.grad(loss)),
                           ("each_gradient/64", jax.vmap(jax.grad(loss), (None, 0, 0))),
                           ("each_norm/64", jax.vmap(norm, (None, 0, 0)))):
        compiled = jax.jit(function)
        report(f"jax {name}", lambda: jax.block_until_ready(compiled(model, x, label)))
    x, label = (jnp.asarray(a) for a in batch(32))
    step = jax.jit(sgd, donate_argnums=0)
    state = [model]

    def one():
        state[0], value = step(state[0], x, label)
        jax.block_until_ready(state[0])

    report("jax sgd_step/32", one)
    for name, function, point in (("rosenbrock/2 value_and_grad", jax.value_and_grad, TWO),
                                  ("rosenbrock/32 hessian", jax.hessian, MANY)):
        call, v = jax.jit(function(rosenbrock)), jnp.asarray(point)
        report(f"jax {name}", lambda: jax.block_until_ready(call(v)))


def run_torch(compiles):
    import torch
    from torch.func import grad, grad_and_value, hessian, vmap
    torch.set_num_threads(chosen.threads)
    wrap = torch.compile if compiles else (lambda f: f)
    kind = "torch.compile" if compiles else "torch"

    def loss(model, x, label):
        w1, b1, w2, b2 = model
        logits = torch.relu(x @ w1 + b1) @ w2 + b2
        return torch.nn.functional.cross_entropy(logits, label)

    def norm(model, x, label):
        return torch.sqrt(sum((g * g).sum() for g in grad(loss)(model, x, label)))

    def sgd(model, x, label):
        gradient, value = grad_and_value(loss)(model, x, label)
        return tuple(p - 0.01 * g for p, g in zip(model, gradient)), value

    def tensors(size):
        x, label = batch(size)
        return torch.from_numpy(x), torch.from_numpy(label).long()

    model = tuple(torch.from_numpy(w) for w in WEIGHTS)
    with torch.no_grad():
        x, label = tensors(64)
        for name, function in (("gradient/64", grad(loss)),
                               ("each_gradient/64", vmap(grad(loss), (None, 0, 0))),
                               ("each_norm/64", vmap(norm, (None, 0, 0)))):
            call = wrap(function)
            report(f"{kind} {name}", lambda: call(model, x, label))
        x, label = tensors(32)
        step = wrap(sgd)
        state = [model]

        def one():
            state[0], value = step(state[0], x, label)

        report(f"{kind} sgd_step/32", one)
        for name, function, point in (("rosenbrock/2 value_and_grad", grad_and_value, TWO),
                                      ("rosenbrock/32 hessian", hessian, MANY)):
            call, v = wrap(function(rosenbrock)), torch.from_numpy(point)
            report(f"{kind} {name}", lambda: call(v))


if "jax" in chosen.contenders:
    run_jax()
if "torch" in chosen.contenders:
    run_torch(False)
if "compile" in chosen.contenders:
    run_torch(True)
