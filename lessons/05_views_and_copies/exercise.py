"""Zero the columns 0 and 2 of x with one in-place operation; keep the old numbers in before."""

import engine

x = engine.arange(12).view(3, 4)

# TODO: a copy with its own memory, then one write through a view.
before = x

print(x, "version", x._version)
print(before)
