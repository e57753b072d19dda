"""x ** 8 with a graph of three MulBackward0 nodes."""

import engine

x = engine.tensor(2.0, requires_grad=True)

# TODO: the same number, with fewer operations.
y = x
for _ in range(7):
    y = y * x

y.backward()
print("y", y.item(), " x.grad", x.grad.item())
