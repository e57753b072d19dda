"""Arithmetic beyond the operators of Python: three operands, limits, closeness, logarithms of sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rows_pointwise import as_float, unary
from table import ALL, FLOATS, INTS, NUMBERS, Array, Bad, Row, Sample, array, numpy_dtype


def tensors(
    low: float = -4, high: float = 4, right: tuple[float, float] | None = None
) -> Callable[[str], Iterator[Sample]]:
    """Two tensors: equal shapes, broadcasting both ways, none."""
    lo, hi = right or (low, high)

    def samples(dtype: str) -> Iterator[Sample]:
        for a, b in (
            ((3, 4), (3, 4)),
            ((3, 1), (1, 4)),
            ((2, 3, 4), ()),
            ((0, 3), (1, 3)),
            ((300,), (300,)),
        ):
            x = array(dtype, *a, seed=1, low=low, high=high)
            yield Sample((x, array(dtype, *b, seed=2, low=lo, high=hi)), {}, f"{a}{b}")

    return samples  # fmt: skip


def three(nonzero: bool = False, **options: Any) -> Callable[[str], Iterator[Sample]]:
    def samples(dtype: str) -> Iterator[Sample]:
        for shapes in (((3, 4),) * 3, ((3, 1), (4,), (3, 4)), ((), (2,), (2,)), ((70, 50),) * 3):
            x, y, z = (array(dtype, *s, seed=i, nonzero=nonzero) for i, s in enumerate(shapes))
            yield Sample((x, y, z), {}, str(shapes))
            yield Sample((x, y, z), options, str(options))

    return samples


def special_values(dtype: str) -> Iterator[Sample]:
    """NaN and the infinities among plain numbers."""
    result = np.array([np.nan, np.inf, -np.inf, 1.5, -0.0, 0.0], numpy_dtype(dtype))
    yield Sample((Array(result, dtype),), {}, "special")


def _nan_to_num(dtype: str) -> Iterator[Sample]:
    yield from unary()(dtype)
    if dtype in FLOATS:
        for sample in special_values(dtype):
            yield Sample(sample.args, {"nan": 1.0, "posinf": 2.0, "neginf": -3.0}, "numbers")


def _nan_to_num_reference(
    x: np.ndarray, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def _lerp(dtype: str) -> Iterator[Sample]:
    x, y = array(dtype, 3, 4, seed=1), array(dtype, 3, 4, seed=2)
    yield Sample((x, y, 0.25), {}, "number")
    yield Sample((x, y, 0.75), {}, "far number")
    yield Sample(
        (x, array(dtype, 4, seed=2), array(dtype, 3, 1, seed=3, low=0, high=1)), {}, "tensor"
    )


def _close(dtype: str) -> Iterator[Sample]:
    yield from tensors()(dtype)
    x = array(dtype, 5)
    yield Sample((x, x), {"rtol": 0.0, "atol": 0.0}, "exact")
    if dtype in FLOATS:
        (odd,) = next(special_values(dtype)).args
        yield Sample((odd, odd), {"equal_nan": True}, "special")


def _clamped(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 4, 5), 1), {}, "number")
    yield Sample((array(dtype, 4, 5), array(dtype, 5, seed=3)), {}, "tensor")


def _exponents(dtype: str) -> Iterator[Sample]:
    x, n = array(dtype, 3, 4), array("int64", 4, low=-2, high=3)
    yield Sample((x, n), {}, "int exponents")


def _powers(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4, low=1), array(dtype, 4, low=0, high=3)), {}, "tensors")
    yield Sample((array(dtype, 5, low=1), -1), {}, "number")


def _rsub(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4, low=0), array(dtype, 4, seed=2, low=4, high=9)), {}, "tensors")
    yield Sample((array(dtype, 5, low=0), 9), {"alpha": 2}, "alpha")


def _fraction(x: np.ndarray, end: np.ndarray, weight: Any) -> np.ndarray:
    return x + weight * (end - x)


def _heaviside(x: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.heaviside(np.asarray(x, np.float64), np.asarray(value, np.float64))


def _xlogy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.where(x == 0, 0.0, x * np.log(np.where(x == 0, 1, y)))


def _logit(dtype: str) -> Iterator[Sample]:
    x = array(dtype, 4, 5, low=0, high=1)
    yield Sample((x,), {"eps": 0.125}, "eps")


def _logit_reference(x: np.ndarray, eps: float) -> np.ndarray:
    inside = np.clip(np.asarray(x, np.float64), eps, 1 - eps)
    return np.log(inside / (1 - inside))


QUOTIENT = Bad(
    lambda m: m.addcdiv(m.ones(2), m.ones(2).long(), m.ones(2).long()), RuntimeError, "(?i)integer"
)
LERP = Bad(lambda m: m.lerp(m.ones(2), m.ones(2).double(), 0.5), RuntimeError, "expected dtype")
TOLERANCE = Bad(lambda m: m.isclose(m.ones(2), m.ones(2), rtol=-1.0), RuntimeError, "rtol must be")
DTYPES = Bad(lambda m: m.allclose(m.ones(2), m.ones(2).double()), RuntimeError, "(?i)float")
BOOL_PLUS = Bad(lambda m: m.positive(m.tensor([True])), RuntimeError, "bool tensor")
BASE = Bad(lambda m: m.ones(2).float_power_(2), RuntimeError, "dtype")
NUMBERS_ONLY = Bad(lambda m: m.eq(1, 2), TypeError, "eq")
ALPHA = Bad(lambda m: m.add(m.tensor([1]), 1, alpha=1.5), RuntimeError, "alpha")
MODE = Bad(lambda m: m.div(m.ones(2), 2, rounding_mode="up"), RuntimeError, "rounding_mode")

ROWS = [
    Row("addcmul", lambda x, y, z, value=1: x + value * y * z, three(value=2), NUMBERS, inplace=True, out=True),
    Row("addcdiv", lambda x, y, z, value=1: x + value * y / z, three(True, value=2), FLOATS, inplace=True, out=True, bad=(QUOTIENT,)),
    Row("lerp", _fraction, _lerp, FLOATS, inplace=True, out=True, bad=(LERP,)),
    Row("rsub", lambda x, y, alpha=1: y - alpha * x, _rsub, FLOATS, bad=(ALPHA, MODE)),
    Row("positive", lambda x: x, unary(), NUMBERS, bad=(BOOL_PLUS,)),
    Row("float_power", lambda x, n: np.asarray(x, np.float64) ** n, _powers, NUMBERS, "float64", out=True, bad=(BASE,)),
    Row("nextafter", np.nextafter, tensors(), ("float64",), inplace=True, out=True),
    Row("ldexp", lambda x, n: x * 2.0**n, _exponents, ("float32", "float64"), inplace=True, out=True),
    Row("gcd", np.gcd, tensors(), INTS, inplace=True, out=True),
    Row("lcm", np.lcm, tensors(), INTS, inplace=True, out=True),
    Row("isposinf", np.isposinf, special_values, FLOATS, "bool", out=True),
    Row("isneginf", np.isneginf, special_values, FLOATS, "bool", out=True),
    Row("heaviside", _heaviside, tensors(), NUMBERS, inplace=True, out=True),
    Row("nan_to_num", _nan_to_num_reference, _nan_to_num, ALL, inplace=True, out=True),
    Row("clamp_min", np.maximum, _clamped, NUMBERS, inplace=True, out=True),
    Row("clamp_max", np.minimum, _clamped, NUMBERS, inplace=True, out=True),
    Row("isclose", np.isclose, _close, ALL, "bool", bad=(TOLERANCE, NUMBERS_ONLY)),
    Row("logaddexp", np.logaddexp, tensors(), FLOATS, out=True),
    Row("logaddexp2", np.logaddexp2, tensors(), FLOATS, out=True),
    Row("xlogy", as_float(_xlogy), tensors(0, 4, (1, 4)), NUMBERS, "float", inplace=True, out=True),
    Row("special.xlogy", as_float(_xlogy), tensors(0, 4, (1, 4)), NUMBERS, "float", out=True),
    Row("logit", _logit_reference, _logit, FLOATS, inplace=True, out=True),
    Row("special.logit", _logit_reference, _logit, FLOATS, out=True),
    Row("sinc", as_float(np.sinc), unary(), ALL, "float", inplace=True, out=True),
    Row("deg2rad", as_float(np.deg2rad), unary(), NUMBERS, "float", inplace=True, out=True),
    Row("rad2deg", as_float(np.rad2deg), unary(), NUMBERS, "float", inplace=True, out=True),
    Row("fix", np.trunc, unary(), NUMBERS, inplace=True, out=True),
] + [
    Row(f"special.{name}", as_float(f), unary(low, 4), ALL if low < 0 else NUMBERS, "float", out=True)
    for name, f, low in (("exp2", np.exp2, -4), ("expm1", np.expm1, -4), ("log1p", np.log1p, 0), ("sinc", np.sinc, -4))
]  # fmt: skip
