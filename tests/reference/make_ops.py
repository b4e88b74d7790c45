"""Writes op_numbers.hpp: what JAX computes, in f64, for functions and small programs of ops/.

    python3 -m venv venv && venv/bin/pip install jax && venv/bin/python make_ops.py

All inputs are numbers of f32 too, so that one table serves both types. The functions stand in the
order of ops_test.cpp, which checks their names.
"""

import pathlib

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np

nn = jax.nn
f32 = lambda values: [float(np.float32(v)) for v in values]

# --- one operand: name, function, eight inputs ---------------------------------------------------

wide = f32([-3.25, -1.5, -0.4, -0.001, 0.003, 0.7, 1.625, 4.75])
positive = f32([1e-6, 0.02, 0.3, 0.9, 1.1, 2.5, 17.0, 3e4])
unit = f32([-0.99, -0.7, -0.31, -1e-4, 0.002, 0.45, 0.8, 0.998])
inside = f32([1e-5, 0.03, 0.2, 0.45, 0.55, 0.8, 0.93, 0.9999])
far = f32([-90.0, -40.0, -12.5, -6.0, 6.25, 15.0, 37.0, 86.0])
off_steps = f32([-7.3, -2.6, -1.2, -0.4, 0.3, 1.7, 3.2, 9.6])

unary = [
    ("exp", jnp.exp, far),
    ("expm1", jnp.expm1, wide),
    ("log", jnp.log, positive),
    ("log1p", jnp.log1p, f32([-0.98, -0.5, -0.01, 1e-7, 0.04, 0.9, 12.0, 5e3])),
    ("log2", jnp.log2, positive),
    ("log10", jnp.log10, positive),
    ("exp2", jnp.exp2, f32([-40.5, -7.25, -1.0, -0.01, 0.3, 3.0, 10.75, 60.5])),
    ("sqrt", jnp.sqrt, positive),
    ("rsqrt", jax.lax.rsqrt, positive),
    ("cbrt", jnp.cbrt, f32([-1e6, -3.0, -0.2, -1e-6, 1e-3, 0.5, 27.0, 4e9])),
    ("reciprocal", jnp.reciprocal, f32([-50.0, -2.5, -0.3, -1e-3, 1e-4, 0.7, 3.0, 1e5])),
    ("square", jnp.square, wide),
    ("abs", jnp.abs, wide),
    ("sign", jnp.sign, wide),
    ("floor", jnp.floor, off_steps),
    ("ceil", jnp.ceil, off_steps),
    ("round", jnp.round, f32([-2.5, -1.5, -0.5, -0.3, 0.5, 1.5, 2.5, 3.7])),
    ("trunc", jnp.trunc, off_steps),
    ("sin", jnp.sin, f32([-30.0, -3.0, -0.5, -1e-4, 0.01, 0.785, 2.0, 500.0])),
    ("cos", jnp.cos, f32([-30.0, -3.0, -0.5, -1e-4, 0.01, 0.785, 2.0, 500.0])),
    ("tan", jnp.tan, f32([-30.0, -3.0, -0.5, -1e-4, 0.01, 0.785, 2.0, 500.0])),
    ("asin", jnp.arcsin, unit),
    ("acos", jnp.arccos, unit),
    ("atan", jnp.arctan, f32([-1e6, -3.0, -0.9, -1e-4, 1e-3, 0.4, 1.0, 50.0])),
    ("sinh", jnp.sinh, f32([-20.0, -3.0, -0.5, -1e-4, 0.01, 0.785, 2.0, 80.0])),
    ("cosh", jnp.cosh, f32([-20.0, -3.0, -0.5, -1e-4, 0.01, 0.785, 2.0, 80.0])),
    ("tanh", jnp.tanh, f32([-2.5, -1.25, -0.5, -1e-4, 0.01, 0.785, 2.0, 2.75])),
    ("asinh", jnp.arcsinh, f32([-1e6, -3.0, -0.5, -0.01, 0.02, 0.785, 2.0, 4e9])),
    ("acosh", jnp.arccosh, f32([1.01, 1.2, 1.5, 2.0, 3.75, 10.0, 1e4, 4e9])),
    ("atanh", jnp.arctanh, unit),
    ("sinc", jnp.sinc, f32([-3.3, -1.5, -0.25, -0.001, 0.01, 0.6, 1.2, 2.7])),
    ("deg2rad", jnp.deg2rad, wide),
    ("rad2deg", jnp.rad2deg, wide),
    ("erf", special.erf, f32([-2.5, -1.0, -0.4, -1e-5, 1e-3, 0.5, 1.5, 3.0])),
    ("erfc", special.erfc, f32([-3.0, -1.0, -0.4, 0.0, 0.3, 1.5, 4.0, 9.0])),
    ("erf_inv", special.erfinv, f32([-0.98, -0.7, -0.31, -1e-4, 0.002, 0.45, 0.8, 0.96])),
    ("lgamma", special.gammaln, f32([0.01, 0.3, 0.75, 1.3, 1.7, 3.5, 30.0, 1e4])),
    ("digamma", special.digamma, f32([0.01, 0.3, 0.75, 1.125, 1.875, 3.5, 30.0, 1e4])),
    ("trigamma", lambda x: special.polygamma(1, x), f32([0.05, 0.3, 0.75, 1.3, 2.5, 5.0, 30.0, 500.0])),
    ("sigmoid", nn.sigmoid, f32([-90.0, -40.0, -12.5, -6.0, -0.5, 0.25, 1.5, 3.0])),
    ("softplus", nn.softplus, far),
    ("log_sigmoid", nn.log_sigmoid, far),
    ("logit", special.logit, f32([1e-5, 0.03, 0.2, 0.375, 0.625, 0.8, 0.93, 0.9999])),
    ("relu", nn.relu, wide),
    ("relu6", nn.relu6, f32([-3.0, -0.5, 0.25, 2.0, 5.5, 6.5, 9.0, 40.0])),
    ("leaky_relu", nn.leaky_relu, wide),
    ("elu", nn.elu, wide),
    ("selu", nn.selu, wide),
    ("celu", lambda x: nn.celu(x, 0.5), wide),
    ("silu", nn.silu, f32([-30.0, -3.0, -0.5, -1e-4, 0.01, 0.785, 2.0, 40.0])),
    ("mish", lambda x: x * jnp.tanh(nn.softplus(x)), f32([-8.0, -3.0, -0.5, -1e-4, 0.01, 0.785, 2.0, 6.0])),
    ("softsign", nn.soft_sign, wide),
    ("hard_tanh", nn.hard_tanh, wide),
    ("hard_sigmoid", nn.hard_sigmoid, f32([-5.0, -2.5, -0.5, 0.0, 0.5, 1.5, 2.75, 4.0])),
    ("hard_silu", nn.hard_silu, f32([-5.0, -2.5, -0.5, 0.0, 0.5, 1.5, 2.75, 4.0])),
    ("gelu", lambda x: nn.gelu(x, approximate=True), f32([-3.0, -1.5, -0.5, -1e-3, 0.01, 0.75, 2.0, 5.0])),
    ("gelu_exact", lambda x: nn.gelu(x, approximate=False), f32([-3.0, -1.5, -0.5, -1e-3, 0.01, 0.75, 2.0, 5.0])),
    ("power_3", lambda x: x**3, wide),
    ("power_minus_2", lambda x: x**-2, wide),
    ("power_half", lambda x: x**0.5, positive),
    ("power_2_5", lambda x: x**2.5, f32([1e-3, 0.02, 0.3, 0.9, 1.1, 2.5, 17.0, 300.0])),
    ("nan_to_num", jnp.nan_to_num, wide),
]

# --- two operands: name, function, six pairs ------------------------------------------------------

left = f32([-3.5, -0.75, 0.25, 1.5, 2.75, 40.0])
right = f32([1.25, -2.5, 3.0, -0.625, 2.0, 7.5])
above = f32([0.01, 0.3, 0.8, 1.6, 3.25, 20.0])

binary = [
    ("add", jnp.add, left, right),
    ("subtract", jnp.subtract, left, right),
    ("multiply", jnp.multiply, left, right),
    ("divide", jnp.divide, left, right),
    ("power", jnp.power, above, right),
    ("atan2", jnp.arctan2, left, right),
    ("hypot", jnp.hypot, left, right),
    ("logaddexp", jnp.logaddexp, f32([-90.0, -3.0, 0.5, 2.0, 50.0, 80.0]), f32([-80.0, 4.0, 0.25, 2.5, 45.0, 75.0])),
    ("logaddexp2", jnp.logaddexp2, left, right),
    ("xlogy", special.xlogy, right, above),
    ("xlog1py", special.xlog1py, right, above),
    ("maximum", jnp.maximum, left, right),
    ("minimum", jnp.minimum, left, right),
    ("remainder", jnp.remainder, f32([-7.3, -2.2, 3.7, 9.1, -0.4, 40.6]), f32([2.0, -0.75, -1.5, 2.25, 3.0, 7.0])),
    ("fmod", jnp.fmod, f32([-7.3, -2.2, 3.7, 9.1, -0.4, 40.6]), f32([2.0, -0.75, -1.5, 2.25, 3.0, 7.0])),
    ("copysign", jnp.copysign, left, right),
    ("betaln", special.betaln, f32([0.01, 0.3, 0.8, 1.6, 3.25, 6.0]), f32([2.5, 0.4, 1.1, 6.0, 0.07, 3.0])),
    ("floor_divide", jnp.floor_divide, f32([-7.3, -2.2, 3.7, 9.1, -0.4, 40.6]), f32([2.0, -0.75, -1.5, 2.25, 3.0, 7.0])),
    ("where", lambda x, y: jnp.where(x > y, x * y, y - x), left, right),
    ("clip", lambda x, y: jnp.clip(x, -1.0, y), left, above),
]

# --- small programs of x [2, 3] and y [3] ---------------------------------------------------------

lse = special.logsumexp
composed = [
    ("mean of squares", lambda x, y: jnp.mean(jnp.square(x - y))),
    ("log of a sum of exponentials", lambda x, y: jnp.sum(jnp.log(jnp.sum(jnp.exp(x * 3), 1)) * y[:2])),
    ("softmax", lambda x, y: jnp.sum(nn.softmax(x * 2, 1) * y)),
    ("softmax of columns", lambda x, y: jnp.sum(nn.softmax(x, 0) * y)),
    ("log_softmax", lambda x, y: jnp.sum(nn.log_softmax(x * y, 1)[:, 1])),
    ("layer norm", lambda x, y: jnp.sum((x - x.mean(1, keepdims=True)) / jnp.sqrt(x.var(1, keepdims=True) + 1e-5) * y)),
    ("rms norm", lambda x, y: jnp.sum(x * jax.lax.rsqrt(jnp.mean(x * x, 1, keepdims=True) + 1e-6) * y**2)),
    ("norm of a difference", lambda x, y: jnp.linalg.norm(x - y)),
    ("norms of rows", lambda x, y: jnp.sum(jnp.linalg.norm(x, axis=1) * y[:2])),
    ("product of all", lambda x, y: jnp.prod(x) * jnp.prod(y)),
    ("cumulative sums", lambda x, y: jnp.sum(jnp.cumsum(x, 1) * jnp.cumsum(y))),
    ("cumulative products", lambda x, y: jnp.sum(jnp.cumprod(x, 1) * y)),
    ("a matrix and a vector", lambda x, y: jnp.sum(jnp.tanh(x @ y))),
    ("a quadratic form", lambda x, y: y @ (x.T @ x) @ y),
    ("outer product", lambda x, y: jnp.sum(jnp.sin(jnp.outer(x[0], y)))),
    ("einsum", lambda x, y: jnp.einsum("ij,kj,k->", x, x * y, y[:2])),
    ("two layers", lambda x, y: jnp.sum(nn.silu(nn.gelu(x * y, approximate=True) @ x.T))),
    ("largest of each row", lambda x, y: jnp.sum(jnp.max(x * y, 1))),
    ("smallest of each column", lambda x, y: jnp.sum(jnp.min(x, 0) * y)),
    ("variance", lambda x, y: jnp.var(x + y, ddof=1)),
    ("standard deviation", lambda x, y: jnp.sum(jnp.std(x, 0) * y)),
    ("weighted average", lambda x, y: jnp.sum(jnp.average(x, axis=1, weights=jnp.exp(y)))),
    ("differences", lambda x, y: jnp.sum(jnp.diff(x * y) ** 2)),
    ("roll and flip", lambda x, y: jnp.sum(jnp.roll(x, 1, 1) * jnp.flip(x, 0) * y)),
    ("pad with its edge", lambda x, y: jnp.sum(jnp.pad(x, ((1, 0), (0, 2)), "edge") ** 2) + y[0]),
    ("pad by reflection", lambda x, y: jnp.sum(jnp.pad(x * y, ((0, 0), (2, 1)), "reflect")[:, 1:4] ** 3)),
    ("take", lambda x, y: jnp.sum(x[:, jnp.array([2, 0, 2])] * y)),
    ("index pairs", lambda x, y: jnp.sum(x[jnp.array([0, 1, 1]), jnp.array([2, 0, 2])] * jnp.exp(y))),
    ("set a window", lambda x, y: jnp.sum(jnp.square(x.at[0, 1:].set(y[:2] * y[1])))),
    ("add at indices", lambda x, y: jnp.sum(jnp.square(x[0].at[jnp.array([1, 1, 2])].add(y * y)))),
    ("segments", lambda x, y: jnp.sum(jax.ops.segment_sum(x.reshape(-1), jnp.array([0, 1, 0, 2, 2, 2]), 3) ** 2 * y)),
    ("triangle", lambda x, y: jnp.sum(jnp.tril(jnp.outer(y, y)) @ x.T)),
    ("trace and diagonal", lambda x, y: jnp.trace(x) * jnp.prod(jnp.diagonal(x)) + jnp.sum(jnp.diag(y) @ x.T)),
    ("kron", lambda x, y: jnp.sum(jnp.sin(jnp.kron(x, y[None])))),
    ("cross", lambda x, y: jnp.sum(jnp.cross(x, y) ** 2)),
    ("binary cross-entropy", lambda x, y: jnp.mean(nn.softplus(x) - x * nn.sigmoid(y))),
    ("cross-entropy of labels", lambda x, y: jnp.mean(lse(x * y, 1) - jnp.take_along_axis(x * y, jnp.array([[2], [0]]), 1)[:, 0])),
    ("Huber", lambda x, y: jnp.sum(jnp.where(jnp.abs(x - y) < 1, 0.5 * (x - y) ** 2, jnp.abs(x - y) - 0.5))),
    ("a normal density", lambda x, y: jnp.sum(-0.5 * ((x - y) / jnp.exp(y)) ** 2 - y)),
    ("Student's t", lambda x, y: jnp.sum(special.gammaln((y**2 + 1) / 2) - special.gammaln(y**2 / 2)) + jnp.sum(jnp.log1p(x * x))),
    ("Black and Scholes", lambda x, y: jnp.sum(jnp.exp(x) * 0.5 * special.erfc(-(x + 0.5 * y**2) / (y**2 + 0.1)))),
    ("Kepler, three steps", lambda x, y: jnp.sum(kepler(x, 0.3 * nn.sigmoid(y)))),
    ("a meshgrid", lambda x, y: jnp.sum(jnp.hypot(*jnp.meshgrid(x[0], y)))),
    ("where is safe", lambda x, y: jnp.sum(jnp.where(x > 0, jnp.log(jnp.where(x > 0, x, 1)) * y, y * x))),
]


def kepler(mean_anomaly, eccentricity):
    e = mean_anomaly
    for _ in range(3):
        e = e - (e - eccentricity * jnp.sin(e) - mean_anomaly) / (1 - eccentricity * jnp.cos(e))
    return e


x = np.array(f32([0.5, -1.25, 2.0, 0.75, 1.5, -0.375])).reshape(2, 3)
y = np.array(f32([1.5, -0.5, 0.625]))

# --- the header -----------------------------------------------------------------------------------

lines = [
    "// reference/op_numbers.hpp: functions and small programs as JAX computes them, in f64.",
    "// Written by make_ops.py. The inputs are numbers of f32 as well.",
    "// SPDX-License-Identifier: MIT",
    "// clang-format off",
    "#pragma once",
    "",
    '#include "atled/core/dtype.hpp"',
    "",
    "namespace atled::reference {",
]


def literal(value):
    value = float(value)
    assert np.isfinite(value), "the table holds numbers only"
    return value.hex()


def row(values):
    return "{" + ", ".join(literal(v) for v in np.asarray(values, np.float64).reshape(-1)) + "}"


def table(name, what, rows, kind="f64"):
    rows = list(rows)
    width = "" if kind != "f64" or not rows[0].startswith("{") else f"[{rows[0].count(',') + 1}]"
    lines.append(f"\n/// {what}")
    lines.append(f"inline constexpr {kind} {name}[{len(rows)}]{width} = {{")
    lines.extend(f"    {r}," for r in rows)
    lines.append("};")


def names(functions):
    return [f'"{f[0]}"' for f in functions]


def slopes(f, *at):
    total = lambda *args: jnp.sum(f(*args))
    return jax.grad(total, tuple(range(len(at))))(*(jnp.array(a) for a in at))


table("unary_names", "functions of one operand", names(unary), "const char*")
table("unary_inputs", "where they were taken", (row(f[2]) for f in unary))
table("unary_values", "what they are there", (row(f[1](jnp.array(f[2]))) for f in unary))
table("unary_slopes", "their derivatives", (row(slopes(f[1], f[2])[0]) for f in unary))

table("binary_names", "functions of two operands", names(binary), "const char*")
table("binary_left", "the first operands", (row(f[2]) for f in binary))
table("binary_right", "the second operands", (row(f[3]) for f in binary))
table("binary_values", "what they are there", (row(f[1](jnp.array(f[2]), jnp.array(f[3]))) for f in binary))
table("binary_slopes_left", "derivatives by the first operand", (row(slopes(f[1], f[2], f[3])[0]) for f in binary))
table("binary_slopes_right", "derivatives by the second operand", (row(slopes(f[1], f[2], f[3])[1]) for f in binary))

lines.append("\n/// x [2, 3] and y [3] of the programs")
lines.append(f"inline constexpr f64 composed_x[6] = {row(x)};")
lines.append(f"inline constexpr f64 composed_y[3] = {row(y)};")
table("composed_names", "small programs", names(composed), "const char*")
table("composed_values", "their values", (literal(f[1](jnp.array(x), jnp.array(y))) for f in composed))
table("composed_slopes_x", "their gradients by x", (row(slopes(f[1], x, y)[0]) for f in composed))
table("composed_slopes_y", "their gradients by y", (row(slopes(f[1], x, y)[1]) for f in composed))

lines.append("\n}  // namespace atled::reference")
path = pathlib.Path(__file__).with_name("op_numbers.hpp")
path.write_text("\n".join(lines) + "\n")
print(len(unary) * 8 + len(binary) * 6, "pairs,", len(composed), "programs")
