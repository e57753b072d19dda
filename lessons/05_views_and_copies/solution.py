"""Copy first, then write through a slice: every other column is a stride of 2."""

import engine

x = engine.arange(12).view(3, 4)

before = x.clone()
x[:, ::2].zero_()

print(x, "version", x._version)
print(before)
