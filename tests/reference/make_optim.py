"""Writes optim_numbers.hpp: parameters after steps of Optax's optimizers, to compare ours with.

    python3 -m venv venv && venv/bin/pip install jax optax && venv/bin/python make_optim.py
"""

import pathlib

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
import optax
from optax.contrib._muon import orthogonalize_via_newton_schulz

STEPS = 5
start = (np.array([[0.5, -1.0, 2.0], [0.25, 1.5, -0.75]]), np.array([1.0, -0.5, 0.125]))
t = np.arange(STEPS)[:, None]
gradients = np.sin(1.0 + 2.3 * np.arange(9) + 1.7 * t) * np.linspace(0.2, 3, 9)
lines = []


def tree_of(flat):
    return (jnp.asarray(flat[:6]).reshape(2, 3), jnp.asarray(flat[6:]))


def table(name, values, what):
    flat = [float(v).hex() for v in np.asarray(values, np.float64).reshape(-1)]
    lines.append(f"\n/// {what}")
    lines.append(f"inline constexpr f64 {name}[] = {{{', '.join(flat)}}};")


def run(name, optimizer, what, given=gradients):
    params = tree_of(np.concatenate([start[0].reshape(-1), start[1]]))
    state = optimizer.init(params)
    seen = []
    for g in given:
        updates, state = optimizer.update(tree_of(g), state, params)
        params = optax.apply_updates(params, updates)
        seen.append(np.concatenate([np.reshape(p, -1) for p in params]))
    table(name, seen, what)


matrices = lambda tree: jax.tree.map(lambda x: x.ndim >= 2, tree)
table("start", np.concatenate([start[0].reshape(-1), start[1]]), "(f64[2,3], f64[3])")
table("gradients", gradients, "of five steps")
run("sgd", optax.sgd(0.1), "sgd(0.1)")
run("momentum", optax.sgd(0.1, 0.9), "sgd(0.1, 0.9)")
run("nesterov", optax.sgd(0.1, 0.9, True), "sgd(0.1, 0.9, nesterov=True)")
run("adam", optax.adam(0.1), "adam(0.1)")
run("adamw", optax.adamw(0.1, weight_decay=0.3, mask=matrices), "adamw(0.1, weight_decay=0.3), matrices")
run("adagrad", optax.adagrad(0.1), "adagrad(0.1)")
run("rmsprop", optax.rmsprop(0.1), "rmsprop(0.1)")
run("lion", optax.lion(0.1, weight_decay=0.3, mask=matrices), "lion(0.1, weight_decay=0.3), matrices")
run("lamb", optax.lamb(0.1, weight_decay=0.3, mask=matrices), "lamb(0.1, weight_decay=0.3), matrices")
run("adafactor", optax.adafactor(0.1, min_dim_size_to_factor=1), "adafactor(0.1, 1)")
run("clipped", optax.chain(optax.clip_by_global_norm(0.5), optax.adam(0.1)),
    "chain(clip_by_global_norm(0.5), adam(0.1))")
run("by_value", optax.chain(optax.clip(0.5), optax.sgd(0.1)), "chain(clip(0.5), sgd(0.1))")
broken = gradients.copy()
broken[1, 4] = np.nan
broken[2, 0] = np.inf
run("finite", optax.apply_if_finite(optax.adam(0.1), 3), "apply_if_finite(adam(0.1), 3)", broken)



def fit(params):
    matrix, vector = params
    return jnp.sum((matrix @ vector - 1) ** 2) + 0.1 * jnp.sum(matrix**4) + 0.05 * jnp.sum(vector**2)


def run_lbfgs(name, optimizer, steps, what):
    params = tree_of(np.concatenate([start[0].reshape(-1), start[1]]))
    state = optimizer.init(params)
    seen = []
    for _ in range(steps):
        updates, state = optimizer.update(jax.grad(fit)(params), state, params)
        params = optax.apply_updates(params, updates)
        seen.append(np.concatenate([np.reshape(p, -1) for p in params]))
    table(name, seen, what)


run_lbfgs("lbfgs", optax.lbfgs(0.5, memory_size=3, linesearch=None), 8,
          "lbfgs(0.5, memory_size=3, linesearch=None), eight steps of `fit` above")

# Muon as its authors wrote it: optax mixes the momentum with corrections for the first steps.
params = tree_of(np.concatenate([start[0].reshape(-1), start[1]]))
matrix, vector = params
buffer = np.zeros((2, 3))
adam = optax.adam(0.1 * 0.05, 0.9, 0.95)
state = adam.init(vector)
seen = []
for g in gradients:
    d_matrix, d_vector = tree_of(g)
    buffer = 0.95 * buffer + 0.05 * d_matrix
    u = orthogonalize_via_newton_schulz(
        0.05 * d_matrix + 0.95 * buffer, jnp.array([3.4445, -4.7750, 2.0315]))
    matrix = matrix - 0.1 * np.sqrt(3 / 2) * u
    updates, state = adam.update(d_vector, state)
    vector = vector + updates
    seen.append(np.concatenate([np.reshape(matrix, -1), vector]))
table("muon", seen, "muon: momentum 0.95 by lerp, orthogonalize_via_newton_schulz; adam(0.005, b2=0.95)")

# lookahead: sgd(0.1), period 2, slow step 0.5
fast_start = tree_of(np.concatenate([start[0].reshape(-1), start[1]]))
params = optax.LookaheadParams(fast_start, fast_start)
optimizer = optax.lookahead(optax.sgd(0.1, 0.9), 2, 0.5)
state = optimizer.init(params)
seen = []
for g in gradients:
    updates, state = optimizer.update(tree_of(g), state, params)
    params = optax.apply_updates(params, updates)
    seen.append(np.concatenate([np.reshape(p, -1) for p in params.fast]))
table("lookahead", seen, "lookahead(sgd(0.1, 0.9), 2, 0.5), the fast parameters")

average = optax.ema(0.9)
state = average.init(fast_start)
seen = []
for g in gradients:
    out, state = average.update(tree_of(g), state)
    seen.append(np.concatenate([np.reshape(p, -1) for p in out]))
table("ema", seen, "ema(0.9) of the gradients")

steps = [0, 1, 4, 5, 9, 10, 11, 25, 49, 50, 99, 100, 150]


def schedule(name, function, what):
    table(name, [float(function(jnp.asarray(s))) for s in steps], what)


lines.append("\n/// where schedules were taken")
lines.append(f"inline constexpr int schedule_steps[] = {{{', '.join(map(str, steps))}}};")
schedule("linear", optax.linear_schedule(1.0, 0.1, 40, 5), "linear_schedule(1, 0.1, 40, 5)")
schedule("cosine", optax.cosine_decay_schedule(1.0, 50, 0.1), "cosine_decay_schedule(1, 50, 0.1)")
schedule("decayed", optax.exponential_decay(1.0, 10, 0.5), "exponential_decay(1, 10, 0.5)")
schedule("polynomial", optax.polynomial_schedule(1.0, 0.1, 2, 40, 5),
         "polynomial_schedule(1, 0.1, 2, 40, 5)")
schedule("one_cycle", optax.cosine_onecycle_schedule(100, 1.0), "cosine_onecycle_schedule(100, 1)")
schedule("joined", optax.join_schedules(
    [optax.linear_schedule(0.0, 1.0, 10), optax.constant_schedule(1.0),
     optax.cosine_decay_schedule(1.0, 50)], [10, 49]),
    "join_schedules([linear_schedule(0, 1, 10), 1, cosine_decay_schedule(1, 50)], [10, 49])")

head = f"""// reference/optim_numbers.hpp: steps of Optax {optax.__version__}, written by make_optim.py.
// Reads: atled/core/dtype.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

// clang-format off
namespace atled::reference {{
"""
path = pathlib.Path(__file__).with_name("optim_numbers.hpp")
path.write_text(head + "\n".join(lines) + "\n\n}  // namespace atled::reference\n")
