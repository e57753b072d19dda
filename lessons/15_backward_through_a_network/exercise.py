"""A network fitted to a parabola by gradient descent, written by hand."""

import engine
from engine import nn

engine.manual_seed(0)
x = engine.linspace(-1, 1, 32).unsqueeze(1)
target = x**2
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
parameters = list(model.parameters())
losses = []

for _ in range(200):
    loss = ((model(x) - target) ** 2).mean()
    loss.backward()
    losses.append(loss.item())
    # TODO: this changes what the name p stands for, and nothing else.
    for p in model.parameters():
        p = p - 0.2 * p.grad

print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}")
