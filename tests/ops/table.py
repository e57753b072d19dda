"""The table of operators: one row each, with samples, a NumPy reference and its dtypes.

The rows are in rows_*.py, the tests that run over all of them in test_ops.py. A new operator needs one
row and no new test.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

BOOL = ("bool",)
INTS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
ALL = BOOL + INTS + FLOATS
NUMBERS = INTS + FLOATS
EXACT = BOOL + INTS

# How far a result of that dtype may be from the reference, which is computed in float64.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-11}
TOLERANCE |= {"complex64": 2e-5, "complex128": 1e-11}


def numpy_dtype(name: str) -> np.dtype:
    """NumPy has no bfloat16: its values are held as float32."""
    return np.dtype("float32" if name == "bfloat16" else name)


@dataclass(frozen=True)
class Array:
    """A tensor argument: its values, and the engine's dtype."""

    values: np.ndarray
    dtype: str

    @property
    def reference(self) -> np.ndarray:
        """The argument of the NumPy reference: floats and complex in double precision, others as they are."""
        if self.dtype in COMPLEX:
            return self.values.astype(np.complex128)
        return self.values.astype(np.float64) if self.dtype in FLOATS else self.values


@dataclass(frozen=True)
class Sample:
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class Bad:
    """A call that must fail: `match` is searched in the message."""

    call: Callable[[Any], Any]  # gets the module: engine or torch
    error: type[Exception]
    match: str


@dataclass(frozen=True)
class Row:
    """One operator. `samples(dtype)` yields calls; `reference` takes NumPy arrays in their place."""

    name: str  # dotted where it lives in a namespace: "linalg.det", "nn.functional.gelu"
    reference: Callable[..., Any]
    samples: Callable[[str], Iterator[Sample]]
    dtypes: Sequence[str] = ALL
    result: str = (
        "same"  # same | float | bool | int64 | sum | real | to complex: the dtype that comes out
    )
    method: bool = False  # called as a method: engine.<name> does not exist
    inplace: bool = False  # there is a method <name>_
    out: bool = False  # there is an out= form
    view: bool = False  # the result shares memory with the first argument
    torch: bool = True  # compared with PyTorch too, where it is installed
    bad: tuple[Bad, ...] = ()

    def call(self, module: Any, *args: Any, **kwargs: Any) -> Any:
        if self.method:
            return getattr(args[0], self.name)(*args[1:], **kwargs)
        return attrgetter(self.name)(module)(*args, **kwargs)

    def result_dtype(self, dtype: str) -> str:
        if self.result == "same":
            return dtype
        if self.result == "real":
            return {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
        if self.result == "to complex":
            return "complex128" if dtype in ("float64", "complex128") else "complex64"
        if self.result == "float":
            return dtype if dtype in FLOATS + COMPLEX else "float32"
        if self.result == "sum":
            return dtype if dtype in FLOATS + COMPLEX else "int64"
        return self.result


def array(
    dtype: str, *shape: int, seed: int = 0, low: float = -4, high: float = 4, nonzero: bool = False
) -> Array:
    """Values that every dtype can hold exactly: small integers, for floats also eighths."""
    rng = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return Array(rng.integers(0, 2, shape).astype(bool), dtype)
    if dtype in COMPLEX:
        parts = rng.integers(int(low * 8), int(high * 8) + 1, (2, *shape)) / 8
        values = np.asarray(parts[0] + 1j * parts[1])
        if nonzero:
            values[values == 0] = 0.5j
    elif dtype in FLOATS:
        values = np.asarray(rng.integers(int(low * 8), int(high * 8) + 1, shape) / 8)
        if nonzero:
            values[values == 0] = 0.5
    else:
        values = np.asarray(
            rng.integers(max(low, 0 if dtype == "uint8" else -100), high + 1, shape)
        )
        if nonzero:
            values[values == 0] = 1
    return Array(values.astype(numpy_dtype(dtype)), dtype)


def rows() -> list[Row]:
    """Return every row of every rows_*.py in this folder."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("rows_*.py"))
    return [row for name in names for row in importlib.import_module(name).ROWS]
