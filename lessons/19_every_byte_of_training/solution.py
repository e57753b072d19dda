"""The gradient of a loss over 1024 examples, within nine megabytes."""

import engine
from engine import nn
from engine.inspect import live

engine.manual_seed(0)
layers = [layer for _ in range(16) for layer in (nn.Linear(128, 128), nn.Tanh())]
model = nn.Sequential(*layers)
x = engine.randn(1024, 128)

# Eight batches; each gives its share of the mean, and backward releases it.
for part in x.split(128):
    loss = model(part).pow(2).mean() * (len(part) / len(x))
    loss.backward()

print("peak", live.allocator_stats().peak_bytes)
print("gradient of the first weight", model[0].weight.grad.norm().item())
