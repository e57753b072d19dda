"""2 * log(1 + exp(x)), in place where that is allowed."""

import engine

x = engine.linspace(-2, 2, 9, requires_grad=True)

# TODO: which of the two writes destroys a number that a node has saved?
h = x.exp()
h.add_(1)
y = h.log()
y.mul_(2)

y.sum().backward()
print("y     ", y)
print("x.grad", x.grad)
