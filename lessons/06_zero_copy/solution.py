"""from_numpy shares; add_ and += both write into what is there."""

import numpy as np

import engine

np_array = np.ones((2, 2))

t = engine.from_numpy(np_array)
t.add_(1.0)
np_array += 1.0

print(t, "version", t._version)
print(np_array)
