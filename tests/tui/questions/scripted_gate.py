"""A gate, scripted: an unused product, a repeated one, and a loop."""

import torch


@torch.jit.script
def gate(x, hidden, steps: int):
    scale = x * 2.0
    unused = scale + 7.0  # noqa: F841
    again = x * 2.0
    for _ in range(steps):
        hidden = torch.sigmoid(hidden + again) * torch.tanh(scale)
    return hidden


x = torch.linspace(-1, 1, 6).reshape(2, 3)
hidden = torch.zeros(2, 3)
for _ in range(3):
    hidden = gate(x, hidden, 2)
print(hidden.sum().item())
