"""y: the numbers of x, laid out so that each column is contiguous."""

import engine

x = engine.arange(64000.0).view(1000, 64)

# TODO: a copy in another order.
y = x.clone()

print("x", tuple(x.shape), x.stride())
print("y", tuple(y.shape), y.stride())
