"""Normalised activations, overwritten in place before backward needs them."""

import torch
import torch.nn.functional as F

torch.manual_seed(1)


def normalise(h):
    h -= h.mean(1, keepdim=True)
    return h / (h.std(1, keepdim=True) + 1e-5)


def forward(x, weights):
    h = x
    for w in weights:
        h = torch.sigmoid(h @ w)
        h = normalise(h)
    return h


x = torch.randn(8, 5)
weights = [torch.randn(5, 5, requires_grad=True) for _ in range(2)]
target = torch.zeros(8, 5)
output = forward(x, weights)
loss = F.mse_loss(output, target)
loss.backward()
