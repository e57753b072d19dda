"""softmax and the normalisations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from table import FLOATS, Bad, Row, Sample, array

WIDE = ("float32", "float64")
LINES: list[tuple[tuple[int, ...], int]] = [
    ((), 0), ((7,), 0), ((3, 4), 0), ((3, 4), 1), ((2, 3, 4), 1), ((5, 200), 1), ((200, 5), 0), ((2, 9000), 1), ((0, 3), 1),
]  # fmt: skip


def _lines(dtype: str) -> Iterator[Sample]:
    for shape, dim in LINES:
        yield Sample((array(dtype, *shape), dim), {}, f"{shape}{dim}")


def _softmax(x: np.ndarray, dim: int) -> Any:
    if x.ndim == 0:
        return np.ones(())
    e = np.exp(x - np.max(x, axis=dim, keepdims=True, initial=-np.inf))
    return e / np.sum(e, axis=dim, keepdims=True)


def _log_softmax(x: np.ndarray, dim: int) -> Any:
    if x.ndim == 0:
        return np.zeros(())
    low = x - np.max(x, axis=dim, keepdims=True, initial=-np.inf)
    return low - np.log(np.sum(np.exp(low), axis=dim, keepdims=True))


def _softmin(x: np.ndarray, dim: int) -> Any:
    return _softmax(-x, dim)


def _rows(dtype: str) -> Iterator[Sample]:
    for shape, last in (((3, 4), (4,)), ((2, 3, 4), (3, 4)), ((5, 300), (300,)), ((0, 4), (4,))):
        x = array(dtype, *shape)
        w, b = array(dtype, *last, seed=1), array(dtype, *last, seed=2)
        yield Sample((x, last), {}, f"{shape}")
        yield Sample((x, last, w), {}, f"{shape}w")
        yield Sample((x, last, w, b), {}, f"{shape}wb")


def _root_rows(dtype: str) -> Iterator[Sample]:
    return (s for s in _rows(dtype) if len(s.args) < 4)


def _measured(x: np.ndarray, axes: Any, eps: float = 1e-5) -> np.ndarray:
    mean, var = np.mean(x, axis=axes, keepdims=True), np.var(x, axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(var + eps)


def _layer(x: np.ndarray, last: Any, w: Any = 1.0, b: Any = 0.0) -> Any:
    return _measured(x, tuple(range(-len(last), 0))) * w + b


def _rms(x: np.ndarray, last: Any, w: Any = 1.0) -> Any:
    eps = 2.220446049250313e-16 if x.dtype == np.float64 else 1e-7
    mean = np.mean(x * x, axis=tuple(range(-len(last), 0)), keepdims=True)
    return x / np.sqrt(mean + eps) * w


def _spread(w: Any, ndim: int) -> Any:
    return w.reshape(1, -1, *[1] * (ndim - 2)) if isinstance(w, np.ndarray) else w


def _group(x: np.ndarray, groups: int, w: Any = 1.0, b: Any = 0.0) -> Any:
    apart = x.reshape(x.shape[0], groups, -1)
    return _measured(apart, 2).reshape(x.shape) * _spread(w, x.ndim) + _spread(b, x.ndim)


def _groups(dtype: str) -> Iterator[Sample]:
    for shape, groups in (((2, 4), 2), ((2, 6, 5), 3), ((3, 4, 2, 7), 1)):
        x, c = array(dtype, *shape), shape[1]
        yield Sample((x, groups), {}, f"{shape}")
        yield Sample(
            (x, groups, array(dtype, c, seed=1), array(dtype, c, seed=2)), {}, f"{shape}wb"
        )


def _batches(dtype: str) -> Iterator[Sample]:
    for shape in ((6, 3), (4, 3, 5), (2, 3, 4, 5)):
        x = array(dtype, *shape)
        w, b = array(dtype, 3, seed=1), array(dtype, 3, seed=2)
        mean, var = array(dtype, 3, seed=3), array(dtype, 3, seed=4, low=1, high=4)
        yield Sample((x, None, None, w, b, True), {}, f"{shape} train")
        yield Sample((x, mean, var, w, b, False), {}, f"{shape} eval")


def _batch(x: np.ndarray, mean: Any, var: Any, w: Any, b: Any, training: bool) -> Any:
    n = x.ndim
    axes = (0, *range(2, n))
    result = (
        _measured(x, axes) if training else (x - _spread(mean, n)) / np.sqrt(_spread(var, n) + 1e-5)
    )
    return result * _spread(w, n) + _spread(b, n)


def _instances(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 2, 3, 5),), {}, "3d")
    yield Sample((array(dtype, 2, 3, 4, 5),), {}, "4d")


def _instance(x: np.ndarray) -> Any:
    return _measured(x, tuple(range(2, x.ndim)))


def _neighbours(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 2, 5, 3), 2), {}, "2")
    yield Sample((array(dtype, 2, 5, 3, 2), 3, 0.5), {}, "3")


def _local(x: np.ndarray, size: int, alpha: float = 1e-4) -> Any:
    widths = [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (x.ndim - 2)]
    padded = np.pad(x * x, widths)
    windows = np.lib.stride_tricks.sliding_window_view(padded, size, 1)
    return x / (windows.mean(-1) * alpha + 1) ** 0.75


def _vectors(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4),), {}, "rows")
    yield Sample((array(dtype, 3, 4), 1, 0), {}, "columns")


def _unit(x: np.ndarray, p: float = 2, dim: int = 1) -> Any:
    size = np.sum(np.abs(x) ** p, axis=dim, keepdims=True) ** (1 / p)
    return x / np.maximum(size, 1e-12)


INTS = Bad(lambda m: m.softmax(m.ones(2, dtype=m.int64), 0), NotImplementedError, "'Long'")
ENDS = Bad(lambda m: m.layer_norm(m.ones(2, 3), (2,)), RuntimeError, "normalized_shape")
NO_GROUPS = Bad(lambda m: m.group_norm(m.ones(2, 3), 2), RuntimeError, "divisible by num_groups")
ALONE = Bad(
    lambda m: m.nn.functional.batch_norm(m.ones(1, 3), None, None, training=True),
    ValueError,
    "more than 1 value per channel",
)
NO_STATISTICS = Bad(
    lambda m: m.nn.functional.batch_norm(m.ones(2, 3), None, None), RuntimeError, "running_mean"
)
FLAT = Bad(lambda m: m.nn.functional.local_response_norm(m.ones(2, 3), 2), ValueError, "3")

F = "nn.functional."
ROWS = [
    Row("softmax", _softmax, _lines, FLOATS, out=True, bad=(INTS,)),
    Row("log_softmax", _log_softmax, _lines, FLOATS, out=True),
    Row("special.softmax", _softmax, _lines, WIDE),
    Row("special.log_softmax", _log_softmax, _lines, WIDE),
    Row(F + "softmax", _softmax, _lines, WIDE),
    Row(F + "log_softmax", _log_softmax, _lines, WIDE),
    Row(F + "softmin", _softmin, _lines, WIDE),
    Row("layer_norm", _layer, _rows, FLOATS, bad=(ENDS,)),
    Row(F + "layer_norm", _layer, _rows, WIDE),
    Row("rms_norm", _rms, _root_rows, WIDE),
    Row(F + "rms_norm", _rms, _root_rows, WIDE),
    Row("group_norm", _group, _groups, FLOATS, bad=(NO_GROUPS,)),
    Row(F + "group_norm", _group, _groups, WIDE),
    Row(F + "batch_norm", _batch, _batches, WIDE, bad=(ALONE, NO_STATISTICS)),
    Row(F + "instance_norm", _instance, _instances, WIDE),
    Row(F + "local_response_norm", _local, _neighbours, WIDE, bad=(FLAT,)),
    Row(F + "normalize", _unit, _vectors, WIDE),
    Row("batch_norm", lambda x, w, b, m, v, t, mo, eps, c: _batch(x, m, v, w, b, t),
        lambda dtype: (Sample((x.args[0], *x.args[3:5], *x.args[1:3], x.args[5], 0.1, 1e-5, False), {}, x.name)
                       for x in _batches(dtype)), WIDE),
    Row("instance_norm", lambda x, *_: _instance(x),
        lambda dtype: (Sample((x.args[0], None, None, None, None, True, 0.1, 1e-5, False), {}, x.name)
                       for x in _instances(dtype)), WIDE),
    Row("native_layer_norm",
        lambda x, last, w, b, eps: (_layer(x, last), np.mean(x, -1, keepdims=True),
                                    1 / np.sqrt(np.var(x, -1, keepdims=True) + eps)),
        lambda dtype: iter([Sample((array(dtype, 3, 8), (8,), None, None, 1e-5), {}, "rows")]), WIDE),
    Row("native_group_norm",
        lambda x, w, b, n, c, hw, g, eps: (_group(x, g), np.mean(x.reshape(n, g, -1), 2),
                                           1 / np.sqrt(np.var(x.reshape(n, g, -1), 2) + eps)),
        lambda dtype: iter([Sample((array(dtype, 2, 4, 3), None, None, 2, 4, 3, 2, 1e-5), {}, "groups")]), WIDE),
    Row("native_batch_norm",
        lambda x, w, b, m, v, t, mo, eps: (_measured(x, 0), np.mean(x, 0), 1 / np.sqrt(np.var(x, 0) + eps)),
        lambda dtype: iter([Sample((array(dtype, 9, 4), None, None, None, None, True, 0.1, 1e-5), {}, "batch")]), WIDE),
]  # fmt: skip
