"""Squaring three times: the program has three operations, and so has its graph."""

import engine

x = engine.tensor(2.0, requires_grad=True)

y = x
for _ in range(3):
    y = y * y

y.backward()
print("y", y.item(), " x.grad", x.grad.item())
