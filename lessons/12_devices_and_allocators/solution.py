"""y is made once; out= and an in-place operation write every iteration into it."""

import engine

x = engine.arange(10_000.0)
y = engine.empty_like(x)

notes = []
for i in range(100):
    engine.mul(x, i, out=y)
    y.add_(1)
    notes.append(y[-1].item())

print(notes[:3], "...", notes[-1])
