"""A running average of the loss that holds no graph."""

import engine

engine.manual_seed(0)
w = engine.ones(1000, requires_grad=True)
seen = []
average = 0.0

for step in range(300):
    x = engine.randn(1000)
    loss = ((w * x).exp() * 0.001).sum()
    seen.append(loss.item())
    average = 0.9 * average + 0.1 * loss.item()

print("average", float(average), "of", len(seen), "losses")
