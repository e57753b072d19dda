"""Activation functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rows_pointwise import each, unary
from table import FLOATS, NUMBERS, Bad, Row, Sample, array


def with_options(*options: dict[str, Any]) -> Callable[[str], Iterator[Sample]]:
    """Yield the plain call on every shape, then one call with each set of options."""

    def samples(dtype: str) -> Iterator[Sample]:
        yield from unary()(dtype)
        for inputs in options:
            yield Sample((array(dtype, 3, 5),), inputs, str(inputs))

    return samples


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def elu(x: np.ndarray, alpha: float = 1.0, inplace: bool = False) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(x))


def selu(x: np.ndarray, inplace: bool = False) -> np.ndarray:
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def celu(x: np.ndarray, alpha: float = 1.0, inplace: bool = False) -> np.ndarray:
    return np.where(x > 0, x, alpha * np.expm1(x / alpha))


def leaky_relu(x: np.ndarray, negative_slope: float = 0.01, inplace: bool = False) -> np.ndarray:
    return np.where(x > 0, x, negative_slope * x)


def hardtanh(x: np.ndarray, min_val: float = -1, max_val: float = 1, inplace: bool = False) -> Any:
    return np.clip(x, min_val, max_val)


def gelu(x: np.ndarray, approximate: str = "none") -> np.ndarray:
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + each(math.erf)(x / math.sqrt(2)))


def softplus(x: np.ndarray, beta: float = 1, threshold: float = 20) -> np.ndarray:
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def hardshrink(x: np.ndarray, lambd: float = 0.5) -> np.ndarray:
    return np.where(np.abs(x) <= lambd, 0, x)


def softshrink(x: np.ndarray, lambd: float = 0.5) -> np.ndarray:
    return np.sign(x) * np.maximum(np.abs(x) - lambd, 0)


def glu(x: np.ndarray, dim: int = -1) -> np.ndarray:
    a, b = np.split(x, 2, axis=dim)
    return a * sigmoid(b)


def prelu(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    slope = weight.reshape(-1, *[1] * (x.ndim - 2)) if weight.size > 1 else weight.reshape(())
    return np.where(x > 0, x, slope * x)


def rrelu(x: np.ndarray, lower: float = 1 / 8, upper: float = 1 / 3) -> np.ndarray:
    return leaky_relu(x, (lower + upper) / 2)


def _glu(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 8),), {}, "last")
    yield Sample((array(dtype, 4, 3),), {"dim": 0}, "first")


def _prelu(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 2, 3, 4), array(dtype, 3, seed=2)), {}, "channels")
    yield Sample((array(dtype, 5), array(dtype, 1, seed=2)), {}, "one")


def _threshold(dtype: str) -> Iterator[Sample]:
    yield Sample((array(dtype, 3, 4), 1, 2), {}, "whole")


APPROXIMATE = Bad(
    lambda m: m.nn.functional.gelu(m.ones(2), approximate="sin"), RuntimeError, "approximate"
)
ODD = Bad(lambda m: m.nn.functional.glu(m.ones(3)), RuntimeError, "must be even")
CHANNELS = Bad(lambda m: m.prelu(m.ones(2, 3), m.ones(2)), RuntimeError, "channel")
WIDTH = Bad(lambda m: m.nn.functional.softshrink(m.ones(2), -1.0), RuntimeError, "lambd")
DIVIDED = Bad(lambda m: m.celu(m.ones(2), 0), RuntimeError, "alpha")
UNSIGNED = Bad(
    lambda m: m.nn.functional.hardtanh(m.ones(2).to(m.uint8)), RuntimeError, "unsigned type"
)
RANGE = Bad(lambda m: m.nn.functional.rrelu(m.ones(2), 2.0, 1.0), RuntimeError, "(?i)lower")
F = "nn.functional."

ROWS = [
    Row(F + "relu", lambda x: np.maximum(x, 0), unary(), NUMBERS),
    Row(F + "relu6", lambda x: np.clip(x, 0, 6), unary(low=-4, high=9), NUMBERS),
    Row(F + "elu", elu, with_options({"alpha": 2.0}, {"inplace": True}), FLOATS),
    Row(F + "selu", selu, with_options({"inplace": True}), FLOATS),
    Row("selu", selu, unary(), FLOATS),
    Row(F + "celu", celu, with_options({"alpha": 2.0}), FLOATS),
    Row("celu", celu, with_options({"alpha": 0.5}), FLOATS, bad=(DIVIDED,)),
    Row(F + "leaky_relu", leaky_relu, with_options({"negative_slope": 0.5}), FLOATS),
    Row(F + "hardtanh", hardtanh, with_options({"min_val": -2, "max_val": 3}), FLOATS, bad=(UNSIGNED,)),
    Row(F + "silu", lambda x: x * sigmoid(x), unary(), FLOATS),
    Row(F + "mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), unary(), FLOATS),
    Row(F + "hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6, unary(), FLOATS),
    Row(F + "hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, unary(), FLOATS),
    Row(F + "softplus", softplus, with_options({"beta": 2.0, "threshold": 3.0}), FLOATS),
    Row(F + "logsigmoid", lambda x: -np.log1p(np.exp(-x)), unary(), FLOATS),
    Row(F + "softsign", lambda x: x / (1 + np.abs(x)), unary(), FLOATS),
    Row(F + "tanhshrink", lambda x: x - np.tanh(x), unary(), FLOATS),
    Row(F + "hardshrink", hardshrink, with_options({"lambd": 2.0}), FLOATS),
    Row("hardshrink", hardshrink, with_options({"lambd": 2.0}), FLOATS),
    Row(F + "softshrink", softshrink, with_options({"lambd": 2.0}), FLOATS, bad=(WIDTH,)),
    Row("threshold", lambda x, t, v: np.where(x > t, x, v), _threshold, NUMBERS),
    Row(F + "threshold", lambda x, t, v: np.where(x > t, x, v), _threshold, NUMBERS),
    Row("prelu", prelu, _prelu, FLOATS, bad=(CHANNELS,)),
    Row(F + "prelu", prelu, _prelu, FLOATS),
    Row(F + "rrelu", rrelu, with_options({"lower": 0.25, "upper": 0.75}), FLOATS, bad=(RANGE,)),
    Row(F + "gelu", gelu, with_options({"approximate": "tanh"}), FLOATS, bad=(APPROXIMATE,)),
    Row(F + "glu", glu, _glu, FLOATS, bad=(ODD,)),
    Row(F + "sigmoid", sigmoid, unary(), FLOATS),
    Row(F + "tanh", np.tanh, unary(), FLOATS),
]  # fmt: skip
