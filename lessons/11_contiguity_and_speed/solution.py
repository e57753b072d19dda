"""The transpose in rows, seen through another transpose, has its columns in a row."""

import engine

x = engine.arange(64000.0).view(1000, 64)

y = x.t().contiguous().t()

print("x", tuple(x.shape), x.stride())
print("y", tuple(y.shape), y.stride())
