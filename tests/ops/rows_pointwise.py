"""Pointwise operators: the same expression for every element."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from table import ALL, EXACT, FLOATS, INTS, NUMBERS, Bad, Row, Sample, array

SHAPES = ((), (5,), (3, 4), (2, 1, 3), (0, 3), (257,))


def unary(
    low: float = -4, high: float = 4, nonzero: bool = False
) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for shape in SHAPES:
            yield Sample(
                (array(dtype, *shape, low=low, high=high, nonzero=nonzero),), {}, str(shape)
            )

    return samples


def binary(
    nonzero: bool = False,
    low: float = -4,
    high: float = 4,
    right: tuple[float, float] | None = None,
) -> Callable[[str], Iterator[Sample]]:
    """Equal shapes, broadcasting both ways, a 0-d tensor and a number on the right."""
    lo, hi = right or (low, high)

    def samples(dtype: str) -> Iterator[Sample]:
        pairs = (
            ((3, 4), (3, 4)),
            ((3, 4), (4,)),
            ((3, 1), (1, 4)),
            ((2, 3, 4), ()),
            ((0, 3), (1, 3)),
            ((300,), (300,)),
        )
        for a, b in pairs:
            x = array(dtype, *a, seed=1, low=low, high=high)
            y = array(dtype, *b, seed=2, low=lo, high=hi, nonzero=nonzero)
            yield Sample((x, y), {}, f"{a}{b}")
        number: Any = True if dtype == "bool" else 2
        yield Sample((array(dtype, 5, low=low, high=high), number), {}, "number")

    return samples


def no_number(samples: Callable[[str], Iterator[Sample]]) -> Callable[[str], Iterator[Sample]]:
    """Return the same without the number on the right, for operators that take tensors only."""
    return lambda dtype: (s for s in samples(dtype) if s.name != "number")


def each(f: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a scalar function of the math module over an array."""
    return lambda x: np.vectorize(f, otypes=[np.float64])(np.asarray(x, np.float64)).reshape(
        np.shape(x)
    )


def as_float(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *xs: f(*(np.asarray(x, np.float64) for x in xs))


def fraction(x: np.ndarray) -> np.ndarray:
    return x - np.trunc(x)


MISMATCH = Bad(
    lambda m: m.ones(3) + m.ones(4),
    RuntimeError,
    r"size of tensor a \(3\) must match the size of tensor b \(4\)",
)
OVERLAP = Bad(
    lambda m: m.ones(1).expand(3).add_(1),
    RuntimeError,
    "more than one element of the written-to tensor",
)
PARTIAL = Bad(
    lambda m: (lambda x: x[1:].add_(x[:-1]))(m.ones(4)),
    RuntimeError,
    "some elements of the input tensor",
)
CAST = Bad(
    lambda m: m.ones(3, dtype=m.int64).mul_(1.5),
    RuntimeError,
    "can't be cast to the desired output type",
)
BOOL_SUB = Bad(lambda m: m.tensor([True]) - m.tensor([True]), RuntimeError, "bool")
INT_POWER = Bad(lambda m: m.tensor([2]).pow(-1), RuntimeError, "negative integer powers")
ZERO_DIVISION = Bad(lambda m: m.tensor([1]) // 0, (RuntimeError, ZeroDivisionError), "(?i)zero")  # type: ignore[arg-type]

# name, reference, smallest and largest sample; all are float functions: integers become float32
FLOAT_UNARY: list[tuple[str, Any, float, float]] = [
    ("exp", np.exp, -4, 4), ("exp2", np.exp2, -4, 4), ("expm1", np.expm1, -4, 4),
    ("log", np.log, 1, 9), ("log2", np.log2, 1, 9), ("log10", np.log10, 1, 9), ("log1p", np.log1p, 0, 9),
    ("sqrt", np.sqrt, 0, 9), ("rsqrt", lambda x: 1 / np.sqrt(x), 1, 9), ("reciprocal", lambda x: 1 / x, 1, 9),
    ("sin", np.sin, -4, 4), ("cos", np.cos, -4, 4), ("tan", np.tan, -1, 1),
    ("asin", np.arcsin, -1, 1), ("acos", np.arccos, -1, 1), ("atan", np.arctan, -4, 4),
    ("sinh", np.sinh, -4, 4), ("cosh", np.cosh, -4, 4), ("tanh", np.tanh, -4, 4),
    ("asinh", np.arcsinh, -4, 4), ("acosh", np.arccosh, 1, 9), ("atanh", np.arctanh, 0, 0.75),
    ("erf", each(math.erf), -4, 4), ("erfc", each(math.erfc), -4, 4),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), -4, 4),
]  # fmt: skip

ROWS = [
    Row(name, as_float(f), unary(low, high), ALL if low <= 0 else NUMBERS, "float", inplace=True, out=True)
    for name, f, low, high in FLOAT_UNARY
] + [
    Row("neg", np.negative, unary(), NUMBERS, inplace=True, out=True),
    Row("abs", np.abs, unary(), NUMBERS, inplace=True, out=True),
    Row("sign", np.sign, unary(), NUMBERS, inplace=True, out=True),
    Row("square", lambda x: x * x, unary(), NUMBERS, inplace=True),
    Row("relu", lambda x: np.maximum(x, 0), unary(), NUMBERS, inplace=True),
    Row("floor", np.floor, unary(), NUMBERS, inplace=True, out=True),
    Row("ceil", np.ceil, unary(), NUMBERS, inplace=True, out=True),
    Row("round", np.rint, unary(), NUMBERS, inplace=True, out=True),
    Row("trunc", np.trunc, unary(), NUMBERS, inplace=True, out=True),
    Row("frac", fraction, unary(), FLOATS, inplace=True, out=True),
    Row("bitwise_not", np.invert, unary(), EXACT, inplace=True, out=True),
    Row("logical_not", np.logical_not, unary(), ALL, "bool", out=True),
    Row("isnan", np.isnan, unary(), ALL, "bool"),
    Row("isinf", np.isinf, unary(), ALL, "bool"),
    Row("isfinite", np.isfinite, unary(), ALL, "bool"),
    Row("signbit", lambda x: np.asarray(x) < 0, unary(nonzero=True), NUMBERS, "bool", out=True),
    Row("add", np.add, binary(), ALL, inplace=True, out=True, bad=(MISMATCH, OVERLAP, PARTIAL)),
    Row("sub", np.subtract, binary(), NUMBERS, inplace=True, out=True, bad=(BOOL_SUB,)),
    Row("mul", np.multiply, binary(), ALL, inplace=True, out=True, bad=(CAST,)),
    Row("div", as_float(np.divide), binary(nonzero=True, right=(1, 4)), NUMBERS, "float", inplace=True, out=True),
    Row("floor_divide", np.floor_divide, binary(nonzero=True), NUMBERS, inplace=True, out=True, bad=(ZERO_DIVISION,)),
    Row("remainder", np.remainder, binary(nonzero=True), NUMBERS, inplace=True, out=True),
    Row("fmod", np.fmod, binary(nonzero=True), NUMBERS, inplace=True, out=True),
    Row("pow", np.power, binary(low=1, right=(0, 3)), NUMBERS, inplace=True, out=True, bad=(INT_POWER,)),
    Row("atan2", as_float(np.arctan2), no_number(binary(nonzero=True, right=(1, 4))), NUMBERS, "float", inplace=True, out=True),
    Row("hypot", np.hypot, no_number(binary()), FLOATS, inplace=True, out=True),
    Row("copysign", as_float(np.copysign), binary(nonzero=True), NUMBERS, "float", inplace=True, out=True),
    Row("bitwise_and", np.bitwise_and, binary(), EXACT, inplace=True, out=True),
    Row("bitwise_or", np.bitwise_or, binary(), EXACT, inplace=True, out=True),
    Row("bitwise_xor", np.bitwise_xor, binary(), EXACT, inplace=True, out=True),
    Row("bitwise_left_shift", np.left_shift, binary(low=0, high=5, right=(0, 2)), INTS, inplace=True, out=True),
    Row("bitwise_right_shift", np.right_shift, binary(low=0, high=50, right=(0, 2)), INTS, inplace=True, out=True),
] + [
    Row(name, f, binary(), ALL, "bool", out=True)
    for name, f in (("eq", np.equal), ("ne", np.not_equal), ("lt", np.less), ("le", np.less_equal),
                    ("gt", np.greater), ("ge", np.greater_equal))
] + [
    Row(name, f, no_number(binary()), dtypes, result, out=True)
    for name, f, dtypes, result in (
        ("maximum", np.maximum, ALL, "same"), ("minimum", np.minimum, ALL, "same"),
        ("fmax", np.fmax, ALL, "same"), ("fmin", np.fmin, ALL, "same"),
        ("logical_and", np.logical_and, ALL, "bool"), ("logical_or", np.logical_or, ALL, "bool"),
        ("logical_xor", np.logical_xor, ALL, "bool"),
    )
]  # fmt: skip


def _clamp(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 4, 5)
    yield Sample((x, 1, 3), {}, "both")
    yield Sample((x,), {"min": 2}, "min")
    yield Sample((x,), {"max": 2}, "max")


def _where_samples(dtype: str) -> Iterator[Sample]:
    for shapes in (((3, 4),) * 3, ((3, 1), (4,), (3, 4)), ((), (2,), (2,)), ((0,), (0,), (0,))):
        c, x, y = (array("bool" if i == 0 else dtype, *s, seed=i) for i, s in enumerate(shapes))
        yield Sample((c, x, y), {}, str(shapes))


def _clamp_reference(x: np.ndarray, min: Any = None, max: Any = None) -> np.ndarray:
    return np.clip(x, min, max)


NO_LIMIT = Bad(lambda m: m.ones(2).clamp(), RuntimeError, "At least one|at least one")
NOT_BOOL = Bad(lambda m: m.where(m.ones(2), 1, 2), RuntimeError, "condition to be a boolean tensor")

ROWS += [
    Row("clamp", _clamp_reference, _clamp, NUMBERS, inplace=True, out=True, bad=(NO_LIMIT,)),
    Row("where", np.where, _where_samples, ALL, out=True, bad=(NOT_BOOL,)),
]
