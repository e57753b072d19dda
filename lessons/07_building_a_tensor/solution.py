"""The four jobs: sizes and dtype as tensor() finds them, one block, and the recursive store."""

import engine


def store(x, data):
    if x.dim() == 0:
        x.fill_(data)
        return
    for i in range(len(data)):
        store(x[i], data[i])


def build(data):
    result = engine.tensor(data)
    strides = [1]
    for size in result.shape[:-1]:
        strides.append(strides[-1] * size)
    x = engine.empty_strided(result.shape, strides, dtype=result.dtype)
    store(x, data)
    return x


x = build([[1, 2, 3], [4, 5, 6]])
print(x)
print("strides", x.stride())
