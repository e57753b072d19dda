"""2 * log(1 + exp(x)), in place where that is allowed."""

import engine

x = engine.linspace(-2, 2, 9, requires_grad=True)

h = x.exp()  # saves its result
h = h + 1
y = h.log()  # saves its input, so the result may be overwritten
y.mul_(2)

y.sum().backward()
print("y     ", y)
print("x.grad", x.grad)
