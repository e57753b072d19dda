"""One memory, two writers: the engine adds once, NumPy once, and every number is 3."""

import numpy as np

import engine

np_array = np.ones((2, 2))

# TODO: share instead of copying, and make sure that both writes reach the memory.
t = engine.tensor(np_array)
t.add_(1.0)
np_array = np_array + 1.0

print(t, "version", t._version)
print(np_array)
