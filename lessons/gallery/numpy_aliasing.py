"""A bug that happens to everyone once: a function that changes its caller's NumPy array."""

import numpy as np

import engine


def normalise_in_place(array):
    """Meant to return a normalised tensor. from_numpy shares, and the operations end in _."""
    t = engine.from_numpy(array)
    t.sub_(t.mean())
    t.div_(t.abs().max())
    return t


def normalise(array):
    """The same numbers, and the caller keeps his: each step makes a new tensor."""
    t = engine.from_numpy(array)
    t = t - t.mean()
    return t / t.abs().max()


def report(title, array, result):
    shared = array.ctypes.data == result.data_ptr()
    print(f"{title:22} input is now {array.round(2).tolist()}  shared: {shared}")


heights = np.array([150.0, 160.0, 170.0, 200.0])
report("before", heights, engine.tensor(heights))
report("normalise", heights, normalise(heights))
report("normalise_in_place", heights, normalise_in_place(heights))
print("A second call finds other numbers than the first one did.\n")

# The talk's two lines, side by side.
array = np.ones(3)
tensor = engine.from_numpy(array)
array = array + 1.0
print("array = array + 1.0   array", array.tolist(), " tensor", tensor.tolist())

array = np.ones(3)
tensor = engine.from_numpy(array)
array += 1.0
print("array += 1.0          array", array.tolist(), " tensor", tensor.tolist())

# A buffer that is filled again and again: every "saved" tensor is the same memory.
buffer = np.zeros(3)
saved, safe = [], []
for step in range(3):
    buffer[:] = step
    saved.append(engine.from_numpy(buffer))
    safe.append(engine.tensor(buffer))
print("\nsaved by from_numpy:", [t.tolist() for t in saved])
print("saved by tensor:    ", [t.tolist() for t in safe])
