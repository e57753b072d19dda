"""Attributes and methods of tensors whose names no operator of the engine has, or several share.

Each case: (function, several lists of arguments).
"""

# ruff: noqa
import engine

REAL = engine.arange(6.0).reshape(2, 3)
COMPLEX = engine.complex(REAL, REAL + 1)
BATCH = engine.arange(24.0).reshape(2, 3, 4)
IMAGE = engine.arange(120.0).reshape(2, 3, 4, 5)
LINE = engine.arange(3.0)


def real_part(x):
    return x.real * 2


def imaginary_part(x):
    return x.imag + x.real


def real_is_a_view(x):
    y = x + 0
    y.real.fill_(7.0)
    return y


def transposed_matrices(x):
    return x.mT, x.mH


def hermitian(x):
    return x.H


def where_it_is(x):
    if x.is_cpu:
        return x + 1
    return x - 1


def broadcast_to_sizes(x):
    return x.broadcast_to([2, 2, 3]), engine.broadcast_to(x, x.shape), x.broadcast_to((2, -1, 3))


def broadcast_together(x, y):
    a, b = engine.broadcast_tensors(x, y)
    return a + b


def broadcast_spread(x, y):
    both = (x, y)
    return engine.broadcast_tensors(*both)[1]


def grid(x, y):
    a, b = engine.meshgrid(x, y)
    return a * b


def grid_of_list(x, y):
    a, b = engine.meshgrid([x, y], indexing="xy")
    return a * b


def chain(x):
    return engine.chain_matmul(x, x.t(), x), engine.chain_matmul(x)


def at_least(x):
    a, b = engine.atleast_2d(x, x.sum())
    c = engine.atleast_1d([x.sum(), x])
    d = engine.atleast_3d(x, x[0])
    return a, b, c[0], c[1], d[0], d[1], engine.atleast_3d(x)


def as_type(x):
    return x.type(engine.float64), x.type(dtype=engine.int32)


def distinct(x):
    values, counts = engine.unique(x, return_counts=True)
    runs, inverse, many = engine.unique_consecutive(x, True, True)
    rows = engine.unique(x, dim=0)
    return engine.unique(x), values, counts, runs, inverse, many, rows


def formats(x):
    y = x.contiguous(memory_format=engine.channels_last)
    z = x.to(memory_format=engine.channels_last)
    e = engine.empty_like(y, memory_format=engine.preserve_format)
    w = engine.zeros_like(x, memory_format=engine.channels_last, layout=engine.strided)
    return y, y.stride(), z.stride(), e.stride(), w.stride(), z.clone().stride()


def asked_for_formats(x):
    y = x.to(engine.float64, memory_format=engine.channels_last)
    first = y.is_contiguous(memory_format=engine.channels_last)
    second = x.is_contiguous(memory_format=engine.channels_last)
    third = x.is_contiguous(memory_format=engine.contiguous_format)
    return first, second, third, x[0].is_contiguous(memory_format=engine.channels_last)


def asked_for_layout(x):
    return x.layout == engine.strided


def copied_numbers(x, n: int, y: float):
    z = x.clone()
    z[0].copy_(n)
    z[1].copy_(y)
    return z.copy_(z + 1)


CASES = [
    (real_part, [[REAL], [COMPLEX]]),
    (imaginary_part, [[COMPLEX]]),
    (real_is_a_view, [[REAL], [COMPLEX]]),
    (transposed_matrices, [[REAL], [COMPLEX], [BATCH]]),
    (hermitian, [[REAL], [COMPLEX]]),
    (where_it_is, [[REAL]]),
    (broadcast_to_sizes, [[REAL]]),
    (broadcast_together, [[REAL, LINE], [LINE, BATCH[:, :, :1]]]),
    (broadcast_spread, [[REAL, LINE]]),
    (grid_of_list, [[LINE, REAL[1]]]),
    (chain, [[REAL]]),
    (at_least, [[REAL], [LINE.view(1, 3)]]),
    (as_type, [[REAL]]),
    (distinct, [[engine.tensor([[3, 1], [3, 1], [1, 2]])]]),
    (formats, [[IMAGE]]),
    (asked_for_formats, [[IMAGE]]),
    (asked_for_layout, [[REAL]]),
    (copied_numbers, [[REAL, 3, 0.5]]),
]
