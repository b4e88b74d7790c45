"""Writes linalg_numbers.hpp: values, gradients and second derivatives of jax.numpy.linalg in f64.

    python3 -m venv venv && venv/bin/pip install jax && venv/bin/python make_linalg.py
"""

import pathlib

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np

lines = []


def table(name, values, what):
    flat = ", ".join(float(v).hex() for v in np.asarray(values, np.float64).reshape(-1))
    lines.append(f"\n/// {what}")
    lines.append(f"inline constexpr f64 {name}[] = {{{flat}}};")


rng = np.random.default_rng(5)
square = np.round(rng.uniform(-1, 1, (3, 3)), 2) + np.diag([2.0, 3.0, -4.0])
positive = square @ square.T + np.eye(3)
tall = np.round(rng.uniform(-1, 1, (4, 2)), 2)
right = np.round(rng.uniform(-1, 1, (3, 2)), 2)
observed = np.round(rng.uniform(-1, 1, (4,)), 2)
along_square = np.round(rng.uniform(-1, 1, (3, 3)), 2)
along_tall = np.round(rng.uniform(-1, 1, (4, 2)), 2)
for name in ("square", "positive", "tall", "right", "observed", "along_square", "along_tall"):
    table(name, globals()[name], f"an operand, {name}")


def eigh(a):
    w, v = jnp.linalg.eigh(a)
    return jnp.sum(jnp.sin(w)) + jnp.sum(jnp.square(v * v) * a)


def lu(a):
    _, l, u = jsl.lu(a)
    return jnp.sum(jnp.sin(l)) + jnp.sum(jnp.cos(u))


def qr(a):
    q, r = jnp.linalg.qr(a)
    return jnp.sum(jnp.sin(q)) + jnp.sum(jnp.cos(r))


def svd(a):
    u, s, vt = jnp.linalg.svd(a, full_matrices=False)
    return jnp.sum(jnp.sin(s)) + jnp.sum(jnp.square(u * u) * a) + jnp.sum(jnp.square(vt * vt))


def chained(f):
    return lambda a: jnp.sum(jnp.sin(f(a)))


functions = {
    "cholesky": (chained(jnp.linalg.cholesky), positive, along_square),
    "triangle": (chained(lambda a: jsl.solve_triangular(a, right, lower=True)), square, along_square),
    "solve": (chained(lambda a: jnp.linalg.solve(a, right)), square, along_square),
    "lu": (lu, square, along_square),
    "qr": (qr, tall, along_tall),
    "eigh": (eigh, positive, along_square),
    "svd": (svd, tall, along_tall),
    "inv": (chained(jnp.linalg.inv), square, along_square),
    "det": (jnp.linalg.det, square, along_square),
    "log_det": (lambda a: jnp.linalg.slogdet(a)[1], square, along_square),
    "pinv": (chained(jnp.linalg.pinv), tall, along_tall),
    "nuclear": (lambda a: jnp.linalg.norm(a, "nuc"), tall, along_tall),
    "cond": (jnp.linalg.cond, tall, along_tall),
    "power": (chained(lambda a: jnp.linalg.matrix_power(a, -3)), square, along_square),
    "expm": (chained(jsl.expm), square, along_square),
}
for name, (f, a, along) in functions.items():
    table(f"{name}_value", f(a), f"{name} and what is made of it, see make_linalg.py")
    table(f"{name}_gradient", jax.grad(f)(a), "its gradient")
    table(f"{name}_second", jax.jvp(jax.grad(f), (a,), (along,))[1], "the change of that along")

x, residuals, rank, s = jnp.linalg.lstsq(tall, observed)
table("least_squares_x", x, "lstsq(tall, observed)")
table("least_squares_s", s, "its singular values")

head = f"""// reference/linalg_numbers.hpp: numbers of jax.numpy.linalg {jax.__version__}, written by make_linalg.py.
// Reads: atled/core/dtype.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

// clang-format off
namespace atled::reference {{
"""
path = pathlib.Path(__file__).with_name("linalg_numbers.hpp")
path.write_text(head + "\n".join(lines) + "\n\n}  // namespace atled::reference\n")
