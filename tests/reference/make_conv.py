"""Writes conv_numbers.hpp: convolutions and pools of jax.lax, and their gradients.

    python3 -m venv venv && venv/bin/pip install jax && venv/bin/python make_conv.py
"""

import pathlib

import jax

jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
import numpy as np
from jax import lax

lines = []
rng = np.random.default_rng(3)


def table(name, values, what):
    flat = ", ".join(repr(float(v)) for v in np.asarray(values, np.float64).reshape(-1))
    lines.append(f"\n/// {what}")
    lines.append(f"inline constexpr f64 {name}[] = {{{flat}}};")


def some(*dims):  # all different, and exact in binary
    return (rng.permutation(int(np.prod(dims))).reshape(dims) - int(np.prod(dims)) // 2) / 8.0


FIRST, LAST = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")


def case(name, f, *operands):
    """The value, and the gradients of its weighted sum by each operand."""
    y = f(*operands)
    weights = np.asarray((np.arange(y.size) % 5) - 2.0).reshape(y.shape)
    for label, operand in zip("xw", operands):
        table(f"{name}_{label}", operand, f"{name}: operand, f64{list(operand.shape)}")
    table(f"{name}_y", y, f"its result, f64{list(y.shape)}")
    gradients = jax.grad(lambda *z: jnp.sum(f(*z) * weights), tuple(range(len(operands))))(*operands)
    for label, gradient in zip("xw", gradients):
        table(f"{name}_d{label}", gradient, f"gradient by {label} of sum(y (i % 5 - 2))")


conv = lax.conv_general_dilated
case("same", lambda x, w: conv(x, w, (2, 1), "SAME", rhs_dilation=(1, 2), dimension_numbers=FIRST),
     some(2, 3, 5, 6), some(4, 3, 3, 2))
case("groups", lambda x, w: conv(x, w, (1, 1), ((1, 2), (0, 1)), feature_group_count=2,
                                 dimension_numbers=LAST), some(1, 5, 5, 4), some(3, 3, 2, 6))
case("each", lambda x, w: conv(x, w, (2,), "VALID", feature_group_count=4,
                               dimension_numbers=("NCH", "OIH", "NCH")), some(1, 4, 8), some(4, 1, 3))
case("spread", lambda x, w: conv(x, w, (1, 1), ((1, 1), (2, 2)), lhs_dilation=(2, 3),
                                 dimension_numbers=FIRST), some(1, 2, 3, 3), some(2, 2, 2, 3))
for padding in ("SAME", "VALID"):
    case(f"transposed_{padding.lower()}",
         lambda x, w: lax.conv_transpose(x, w, (2, 2), padding, dimension_numbers=LAST),
         some(1, 3, 4, 2), some(3, 3, 2, 3))


def pool(x, kind, size, strides, padding):
    neutral, combine = {"max": (-jnp.inf, lax.max), "add": (0.0, lax.add)}[kind]
    return lax.reduce_window(x, neutral, combine, size, strides, padding)


case("max_apart", lambda x: pool(x, "max", (1, 1, 2, 2), (1, 1, 2, 2), "VALID"), some(2, 2, 5, 4))
case("max_over", lambda x: pool(x, "max", (1, 3, 2, 1), (1, 2, 1, 1), "SAME"), some(1, 5, 4, 2))
case("mean_over", lambda x: pool(x, "add", (1, 1, 2, 3), (1, 1, 2, 1), "SAME") / 6, some(1, 2, 5, 4))

head = f"""// reference/conv_numbers.hpp: numbers of jax.lax {jax.__version__}, written by make_conv.py.
// Reads: atled/core/dtype.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

// clang-format off
namespace atled::reference {{
"""
path = pathlib.Path(__file__).with_name("conv_numbers.hpp")
path.write_text(head + "\n".join(lines) + "\n\n}  // namespace atled::reference\n")
