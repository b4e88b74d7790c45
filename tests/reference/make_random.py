"""Writes random_numbers.hpp: what jax.random draws, to compare ours with.

    python3 -m venv venv && venv/bin/pip install jax && venv/bin/python make_random.py
"""

import pathlib

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np

key = jax.random.key
lines = []


def literal(value):
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value)) + ("U" if int(value) > 2**31 - 1 else "")
    return float(value).hex()


def table(kind, name, values, what):
    values = np.asarray(values)
    if values.dtype == jnp.bfloat16:
        values = values.astype(np.float32)
    if values.dtype == np.float32:
        values = values.astype(np.float64)  # the hexadecimal digits are then exact
    flat = [literal(v) for v in values.reshape(-1)]
    suffix = "F" if kind == "f32" else ""
    lines.append(f"\n/// {what}")
    lines.append(f"inline constexpr {kind} {name}[] = {{{', '.join(v + suffix for v in flat)}}};")


def words(keys):
    return jax.random.key_data(keys).astype(np.uint32)


r = jax.random
k = key(np.int32(0))
k42 = key(np.int32(42))

table("u32", "key_0", words(k), "key(0)")
table("u32", "key_42", words(k42), "key(42)")
table("u32", "key_negative", words(key(np.int32(-7))), "key(int32(-7))")
table("u32", "key_long", words(key(np.int64(2**40 + 5))), "key(int64(2**40 + 5))")
table("u32", "split_3", words(r.split(k, 3)), "split(key(0), 3)")
table("u32", "split_of_split", words(r.split(r.split(k)[0])[1]), "split(split(key(0))[0])[1]")
table("u32", "fold_in_1", words(r.fold_in(k, 1)), "fold_in(key(0), 1)")
table("u32", "fold_in_large", words(r.fold_in(k42, 123456789)), "fold_in(key(42), 123456789)")

table("u32", "bits_u32", r.bits(k, (4,), np.uint32), "bits(key(0), (4,))")
table("u32", "bits_u8", r.bits(k42, (6,), np.uint8), "bits(key(42), (6,), uint8)")
table("f32", "uniform_f32", r.uniform(k, (4,), np.float32), "uniform(key(0), (4,))")
table("f64", "uniform_f64", r.uniform(k, (4,), np.float64), "uniform(key(0), (4,), float64)")
table("f32", "uniform_bf16", r.uniform(k, (8,), jnp.bfloat16), "uniform(key(0), (8,), bfloat16)")
table("f32", "uniform_f16", r.uniform(k, (8,), np.float16), "uniform(key(0), (8,), float16)")
table("f32", "uniform_between", r.uniform(k42, (2, 3), np.float32, -2.0, 5.5),
      "uniform(key(42), (2, 3), minval=-2, maxval=5.5)")
table("f32", "normal_f32", r.normal(k42, (3,), np.float32), "normal(key(42), (3,))")
table("f32", "normal_scalar", r.normal(k42, (), np.float32), "normal(key(42), ())")
table("f32", "normal_16", r.normal(k, (4, 4), np.float32), "normal(key(0), (4, 4))")
table("f64", "normal_f64", r.normal(k42, (8,), np.float64), "normal(key(42), (8,), float64)")
table("f32", "normal_bf16", r.normal(k, (8,), jnp.bfloat16), "normal(key(0), (8,), bfloat16)")
table("f32", "normal_f16", r.normal(k, (8,), np.float16), "normal(key(0), (8,), float16)")
table("f32", "gumbel_f16", r.gumbel(k, (8,), np.float16), "gumbel(key(0), (8,), float16)")
table("f32", "truncated", r.truncated_normal(k, -2.0, 1.5, (8,), np.float32),
      "truncated_normal(key(0), -2, 1.5, (8,))")
table("f32", "gumbel_f32", r.gumbel(k, (8,), np.float32), "gumbel(key(0), (8,))")
table("i32", "randint_i32", r.randint(k, (8,), np.int32(-5), np.int32(100), np.int32),
      "randint(key(0), (8,), -5, 100)")
table("i32", "randint_wide", r.randint(k42, (8,), np.int32(-2**31), np.int32(2**31 - 1), np.int32),
      "randint(key(42), (8,), -2**31, 2**31 - 1)")
table("i32", "randint_u8", r.randint(k, (8,), 0, 200, np.uint8), "randint(key(0), (8,), 0, 200, uint8)")
table("boolean", "bernoulli_10", r.bernoulli(k, np.float32(0.3), (10,)), "bernoulli(key(0), 0.3, (10,))")
logits = np.array([[0.1, 0.7, -1.0, 2.0], [3.0, 1.0, 0.5, 0.25], [0.0, 0.0, 0.0, 0.0]], np.float32)
table("f32", "logits", logits, "logits f32[3,4] of the next two")
table("i32", "categorical_last", r.categorical(k42, logits), "categorical(key(42), logits)")
table("i32", "categorical_first", r.categorical(k42, logits, axis=0), "categorical(key(42), logits, 0)")
table("f32", "vmapped", jax.vmap(lambda q: r.uniform(q, (2,), np.float32))(r.split(k, 3)),
      "vmap(uniform)(split(key(0), 3)), each (2,)")

f32, i32 = np.float32, np.int32
shapes = np.array([0.05, 0.5, 1.0, 2.5, 10.0, 300.0], f32)
rates = np.array([0.0, 0.5, 3.0, 9.5, 10.0, 50.0, 1000.0], f32)
chances = np.array([0.1, 0.4, 0.2, 0.3], f32)
covariance = np.array([[2.0, 0.5], [0.5, 1.0]], f32)
table("f32", "exponential", r.exponential(k, (6,), f32), "exponential(key(0), (6,))")
table("f32", "laplace", r.laplace(k, (6,), f32), "laplace(key(0), (6,))")
table("f32", "cauchy", r.cauchy(k, (6,), f32), "cauchy(key(0), (6,))")
table("f32", "logistic", r.logistic(k, (6,), f32), "logistic(key(0), (6,))")
table("f32", "pareto", r.pareto(k, f32(2.5), (6,), f32), "pareto(key(0), 2.5, (6,))")
table("f32", "rayleigh", r.rayleigh(k, f32(2.5), (6,), f32), "rayleigh(key(0), 2.5, (6,))")
table("f32", "weibull_min", r.weibull_min(k, f32(2), f32(1.5), (6,), f32), "weibull_min(key(0), 2, 1.5, (6,))")
table("f32", "triangular", r.triangular(k, f32(0), f32(1), f32(3), (6,), f32), "triangular(key(0), 0, 1, 3, (6,))")
with jax.enable_x64(False):  # what follows from defaults of 32 bits
    signs = r.rademacher(key(0), (8,), i32)
    plain = r.choice(key(42), chances, (8,))
    few = r.choice(key(42), chances, (3,), False)
    likely = r.choice(key(42), chances, (3,), False, chances)
table("i32", "rademacher", signs, "rademacher(key(0), (8,))")
table("i32", "geometric", r.geometric(k, f32(0.3), (8,), i32), "geometric(key(0), 0.3, (8,))")
table("f32", "rates", rates, "means of the next")
table("i32", "poisson", r.poisson(k, rates, (7,), i32), "poisson(key(0), rates)")
table("i32", "permutation_10", r.permutation(k, 10), "permutation(key(0), 10)")
table("i32", "permutation_2000", r.permutation(k42, 2000)[:20], "permutation(key(42), 2000)[:20]")
table("f32", "chances", chances, "chances of the next")
table("f32", "choice_weighted", r.choice(k42, chances, (8,), True, chances), "choice(key(42), chances, (8,), p=chances)")
table("f32", "choice_plain", plain, "choice(key(42), chances, (8,))")
table("f32", "choice_without", few, "choice(key(42), chances, (3,), False)")
table("f32", "choice_without_weighted", likely, "choice(key(42), chances, (3,), False, chances)")
table("f32", "shapes", shapes, "shapes of the next")
table("f32", "loggamma", r.loggamma(k, shapes, (6,), f32), "loggamma(key(0), shapes)")
table("f32", "gamma", r.gamma(k, shapes, (6,), f32), "gamma(key(0), shapes)")
table("f64", "gamma_f64", r.gamma(k42, shapes.astype(np.float64), (6,), np.float64), "gamma(key(42), shapes) in f64")
# how a gamma number moves with its shape
slope_shapes = np.float64([1e-3, 0.05, 0.3, 0.9, 1.0, 1.7, 4.0, 30.0, 2000.0, 0.4, 2.5, 8.0])
slope_numbers = np.float64([1e-30, 0.02, 1.4, 0.5, 3.0, 0.2, 4.0, 41.0, 1990.0, 1e-4, 9.0, 1.5])
table("f64", "gamma_slope_shapes", slope_shapes, "shapes")
table("f64", "gamma_slope_numbers", slope_numbers, "numbers")
table("f64", "gamma_slopes", jax.lax.random_gamma_grad(slope_shapes, slope_numbers),
      "random_gamma_grad(shapes, numbers)")
table("f32", "gamma_gradient", jax.grad(lambda a: jnp.sum(r.gamma(k, a, (6,), f32)))(shapes),
      "grad(sum(gamma(key(0), shapes)))")
table("f32", "loggamma_gradient", jax.grad(lambda a: jnp.sum(r.loggamma(k, a, (6,), f32)))(shapes),
      "grad(sum(loggamma(key(0), shapes)))")
table("f32", "beta_gradient",
      jax.grad(lambda a, b: jnp.sum(r.beta(k, a, b, (6,), f32)), (0, 1))(f32(2), f32(3)),
      "grad(sum(beta(key(0), 2, 3, (6,))))")
weights = f32(np.arange(6))
table("f32", "dirichlet_gradient",
      jax.grad(lambda a: jnp.sum(r.dirichlet(k, a, (2,), f32) * weights))(shapes),
      "grad(sum(dirichlet(key(0), shapes, (2,)) * arange(6)))")
table("f32", "beta", r.beta(k, f32(2), f32(3), (6,), f32), "beta(key(0), 2, 3, (6,))")
table("f32", "dirichlet", r.dirichlet(k, shapes, (2,), f32), "dirichlet(key(0), shapes, (2,))")
table("f32", "vectors", r.multivariate_normal(k, chances[:2], covariance, (4,), f32),
      "multivariate_normal(key(0), chances[:2], [[2, .5], [.5, 1]], (4,))")

points32 = np.float32([-0.9999999, -0.999, -0.9, -0.5, -1e-3, 0, 1e-6, 0.25, 0.75, 0.99, 0.99999])
points64 = np.float64([-1 + 2**-52, -0.999999999, -0.9, -1e-12, 0, 0.3, 0.8, 0.99999, 1 - 2**-53])
table("f32", "erf_inv_at_f32", points32, "where erf_inv was taken")
table("f32", "erf_inv_f32", jax.lax.erf_inv(points32), "erf_inv there")
table("f64", "erf_inv_at_f64", points64, "where erf_inv was taken")
table("f64", "erf_inv_f64", jax.lax.erf_inv(points64), "erf_inv there")

head = f"""// reference/random_numbers.hpp: numbers drawn by jax.random {jax.__version__}, written by make_random.py.
// Reads: atled/core/dtype.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

// clang-format off
namespace atled::reference {{
"""
path = pathlib.Path(__file__).with_name("random_numbers.hpp")
path.write_text(head + "\n".join(lines) + "\n\n}  // namespace atled::reference\n")
