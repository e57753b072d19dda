"""Turning samples into tensors of the engine or of PyTorch, and results back into arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from table import COMPLEX, EXACT, TOLERANCE, Array, Row, Sample, numpy_dtype

import engine


def tensor(module: Any, a: Array) -> Any:
    result = module.tensor(a.values)
    return result.to(module.bfloat16) if a.dtype == "bfloat16" else result


def spread(module: Any, a: Array) -> Any:
    """Return the same values in a layout with gaps and dimensions in reverse order."""
    if a.values.ndim == 0:
        return tensor(module, a)
    wide = np.repeat(a.values.T, 2, axis=0)
    view = tensor(module, Array(np.ascontiguousarray(wide), a.dtype))[::2]
    return view.permute(tuple(reversed(range(a.values.ndim))))


def convert(value: Any, make: Callable[[Array], Any]) -> Any:
    if isinstance(value, Array):
        return make(value)
    return [convert(v, make) for v in value] if isinstance(value, list) else value


def run(
    row: Row, sample: Sample, module: Any = engine, make: Callable[[Any, Array], Any] = tensor
) -> Any:
    args = [convert(a, lambda array: make(module, array)) for a in sample.args]
    return row.call(module, *args, **sample.kwargs)


def reference(row: Row, sample: Sample) -> Any:
    args = [convert(a, lambda array: array.reference) for a in sample.args]
    with np.errstate(all="ignore"):
        return row.reference(*args, **sample.kwargs)


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def name_of(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def values(t: Any) -> np.ndarray:
    """Return the elements; bfloat16, which NumPy lacks, as float32."""
    saved = t.float() if name_of(t.dtype) == "bfloat16" else t
    return np.array(saved.tolist(), dtype=numpy_dtype(name_of(saved.dtype))).reshape(tuple(t.shape))


def assert_same(actual: Any, expected: Any, label: str) -> None:
    """Equal shape, and elements within the tolerance of the result's dtype."""
    dtype = name_of(actual.dtype)
    got, want = values(actual), np.asarray(expected)
    assert got.shape == want.shape, f"{label}: shape {got.shape}, expected {want.shape}"
    if dtype in EXACT:
        with np.errstate(all="ignore"):
            want = want.astype(numpy_dtype(dtype))
        assert np.array_equal(got, want), f"{label}: {got} is not {want}"
        return
    far = TOLERANCE[dtype]
    wide = np.complex128 if dtype in COMPLEX else np.float64
    ok = np.isclose(got.astype(wide), want.astype(wide), rtol=far, atol=far, equal_nan=True)
    assert ok.all(), f"{label}: {got[~ok][:5]} is not {want[~ok][:5]}"
