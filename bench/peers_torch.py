# bench/peers_torch.py: the GPT of examples/gpt/model.hpp in PyTorch, eager or compiled.
# Reads: peers.py. Started by compare.py, which also says how it allocates.
# SPDX-License-Identifier: MIT
import peers

chosen = peers.arguments()
sizes = peers.PRESETS[chosen.preset]

import torch
from torch import nn
from torch.nn import functional

torch.set_num_threads(chosen.threads)
torch.manual_seed(1337)
L, H, C, T, V = (sizes[k] for k in ("layers", "heads", "width", "context", "vocabulary"))


def linear(inputs, outputs, deviation=peers.DEVIATION):
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, 0.0, deviation)
    nn.init.zeros_(layer.bias)
    return layer


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        residual = peers.DEVIATION / (2 * L) ** 0.5
        self.norm1, self.norm2 = (nn.LayerNorm(C, eps=peers.NORM_EPS) for _ in range(2))
        self.qkv, self.joined = linear(C, 3 * C), linear(C, C, residual)
        self.up, self.down = linear(C, 4 * C), linear(4 * C, C, residual)

    def forward(self, x):  # [B, T, C]
        def heads(part):
            return part.unflatten(-1, (H, C // H)).transpose(1, 2)

        q, k, v = map(heads, self.qkv(self.norm1(x)).chunk(3, dim=-1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Parameter(peers.DEVIATION * torch.randn(V, C))
        self.positions = nn.Parameter(peers.DEVIATION * torch.randn(T, C))
        self.blocks = nn.ModuleList(Block() for _ in range(L))
        self.norm = nn.LayerNorm(C, eps=peers.NORM_EPS)

    def forward(self, text, following):
        x = functional.embedding(text, self.tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        logits = functional.linear(self.norm(x), self.tokens)
        return functional.cross_entropy(logits.flatten(0, 1), following.flatten())


model = Model()
parameters = list(model.parameters())
optimizer = torch.optim.AdamW(
    [{"params": [p for p in parameters if p.dim() >= 2], "weight_decay": peers.DECAY},
     {"params": [p for p in parameters if p.dim() < 2], "weight_decay": 0.0}],
    lr=peers.RATE, betas=(peers.BETA1, peers.BETA2), eps=peers.EPS, fused=True)
forward = torch.compile(model) if chosen.compile else model


def step(text, following):
    optimizer.zero_grad(set_to_none=True)
    loss = forward(torch.from_numpy(text).long(), torch.from_numpy(following).long())
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, peers.CLIP)
    optimizer.step()
    return loss.item()


peers.serve(sizes, step, version=torch.__version__)
