# bench/peers_jax.py: the GPT of examples/gpt/model.hpp in JAX and Optax: one jitted, donated step.
# Reads: peers.py. Started by compare.py, which also says how it allocates.
# SPDX-License-Identifier: MIT
import peers

chosen = peers.arguments()
sizes = peers.PRESETS[chosen.preset]

import jax
import jax.numpy as jnp
import optax

L, H, C, T, V = (sizes[k] for k in ("layers", "heads", "width", "context", "vocabulary"))


def linear(key, inputs, outputs, deviation=peers.DEVIATION):
    return {"w": deviation * jax.random.normal(key, (inputs, outputs)), "b": jnp.zeros(outputs)}


def new_norm():
    return {"scale": jnp.ones(C), "b": jnp.zeros(C)}


def new_model(key):
    keys = jax.random.split(key, 2 + L)
    residual = peers.DEVIATION / (2 * L) ** 0.5

    def new_block(key):
        k = jax.random.split(key, 4)
        return {"norm1": new_norm(), "qkv": linear(k[0], C, 3 * C), "joined": linear(k[1], C, C, residual),
                "norm2": new_norm(), "up": linear(k[2], C, 4 * C), "down": linear(k[3], 4 * C, C, residual)}

    return {"tokens": peers.DEVIATION * jax.random.normal(keys[0], (V, C)),
            "positions": peers.DEVIATION * jax.random.normal(keys[1], (T, C)),
            "blocks": [new_block(k) for k in keys[2:]], "norm": new_norm()}


def apply(layer, x):
    return x @ layer["w"] + layer["b"]


def norm(layer, x):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + peers.NORM_EPS) * layer["scale"] + layer["b"]


def attention(block, x):
    def heads(part):  # [B*T, C] -> [B, H, T, D]
        return part.reshape(-1, T, H, C // H).transpose(0, 2, 1, 3)

    q, k, v = map(heads, jnp.split(apply(block["qkv"], x), 3, axis=-1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / (C // H) ** 0.5
    scores = jnp.where(jnp.tri(T, dtype=bool), scores, -jnp.inf)
    mixed = jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores), v)
    return apply(block["joined"], mixed.transpose(0, 2, 1, 3).reshape(-1, C))


def loss_of(model, text, following):
    # Activations are [B*T, C]: XLA's products on CPUs are slower with three axes.
    x = (model["tokens"][text] + model["positions"]).reshape(-1, C)
    for block in model["blocks"]:
        x = x + attention(block, norm(block["norm1"], x))
        x = x + apply(block["down"], jax.nn.gelu(apply(block["up"], norm(block["norm2"], x)), approximate=True))
    logits = norm(model["norm"], x) @ model["tokens"].T
    return optax.softmax_cross_entropy_with_integer_labels(logits, following.reshape(-1)).mean()


optimizer = optax.chain(
    optax.clip_by_global_norm(peers.CLIP),
    optax.adamw(peers.RATE, peers.BETA1, peers.BETA2, peers.EPS, weight_decay=peers.DECAY,
                mask=lambda model: jax.tree.map(lambda leaf: leaf.ndim >= 2, model)))


def train_step(model, state, text, following):
    loss, gradient = jax.value_and_grad(loss_of)(model, text, following)
    updates, state = optimizer.update(gradient, state, model)
    return optax.apply_updates(model, updates), state, loss


model = jax.jit(new_model)(jax.random.key(1337))
state = jax.jit(optimizer.init)(model)
batch = jax.ShapeDtypeStruct((sizes["batch"], T), jnp.int32)
compiled = jax.jit(train_step, donate_argnums=(0, 1)).lower(model, state, batch, batch).compile()


def step(text, following):
    global model, state
    model, state, loss = compiled(model, state, text, following)
    jax.block_until_ready((model, state))
    return float(loss)


peers.serve(sizes, step, version=jax.__version__)
