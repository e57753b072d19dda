"""Activation functions with an `inplace` argument or random numbers.

They call the operators of csrc/ops/activation.yaml; as in PyTorch's `nn.functional`, `inplace` chooses between
a new tensor and `input` itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from engine._generated import ops
from engine.overloads import Function
from engine.tensor import Tensor


def _documented(operator: Callable[..., Any]) -> Callable[[Function], Function]:
    """Copy the operator's documentation to a function, and add a sentence on `inplace`."""

    def document(function: Function) -> Function:
        inplace = "With `inplace` the result is written into ``input``, which is returned.\n\n"
        sentence, _, details = (operator.__doc__ or "").partition("\n\n")
        function.__doc__ = f"{sentence}\n\n{inplace}{details.lstrip()}"
        return function

    return document


@_documented(ops.relu)
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.relu_(input) if inplace else ops.relu(input)


@_documented(ops.relu6)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.relu6_(input) if inplace else ops.relu6(input)


@_documented(ops.hardtanh)
def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val {min_val} must not be larger than max_val {max_val}")
    return (ops.hardtanh_ if inplace else ops.hardtanh)(input, min_val, max_val)


@_documented(ops.elu)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return (ops.elu_ if inplace else ops.elu)(input, alpha)


@_documented(ops.selu)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.selu_(input) if inplace else ops.selu(input)


@_documented(ops.celu)
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return (ops.celu_ if inplace else ops.celu)(input, alpha)


@_documented(ops.leaky_relu)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return (ops.leaky_relu_ if inplace else ops.leaky_relu)(input, negative_slope)


@_documented(ops.silu)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.silu_(input) if inplace else ops.silu(input)


@_documented(ops.mish)
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.mish_(input) if inplace else ops.mish(input)


@_documented(ops.hardswish)
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.hardswish_(input) if inplace else ops.hardswish(input)


@_documented(ops.hardsigmoid)
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return ops.hardsigmoid_(input) if inplace else ops.hardsigmoid(input)


@_documented(ops.threshold)
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return (ops.threshold_ if inplace else ops.threshold)(input, threshold, value)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Apply `leaky_relu` with a slope that is drawn uniformly from [lower, upper] for each element in training.

    Without `training` the slope is the middle of the range.

    Formula: out = input > 0 ? input : slope * input
    Shape: that of ``input``. Dtype: floating. Memory: a new tensor, or ``input`` with `inplace`.
    Raises: RuntimeError when lower > upper, or one is not finite.

    >>> rrelu(engine.tensor([-16., 2.]), 0.25, 0.75)
    tensor([-8.,  2.])
    """
    # isfinite rejects other types, in compiled programs too
    if not (math.isfinite(lower) and math.isfinite(upper) and lower <= upper):
        raise RuntimeError(
            f"rrelu: lower {lower} should be less than or equal to upper {upper}, and both finite"
        )
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slopes = ops.add(ops.mul(ops.rand_like(input), upper - lower), lower)
    result = ops.where(ops.gt(input, 0), input, ops.mul(input, slopes))
    return ops.copy_(input, result) if inplace else result


def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    return ops.log_sigmoid(input) if out is None else ops.log_sigmoid_out(input, out=out)


logsigmoid.__doc__ = getattr(ops.log_sigmoid, "__doc__", None)


def softsign(input: Tensor) -> Tensor:
    """Divide each element by one plus its absolute value: the result is between -1 and 1.

    Formula: out = input / (1 + abs(input))
    Shape: that of ``input``. Dtype: integers become the default float. Memory: a new tensor.

    >>> softsign(engine.tensor([-1., 3.]))
    tensor([-0.5000,  0.7500])
    """
    return ops.div(input, ops.add(ops.abs(input), 1))


def tanhshrink(input: Tensor) -> Tensor:
    """Subtract from each element its hyperbolic tangent.

    Formula: out = input - tanh(input)
    Shape: that of ``input``. Dtype: integers become the default float. Memory: a new tensor.

    >>> tanhshrink(engine.tensor([0., 1.]))
    tensor([0.0000, 0.2384])
    """
    return ops.sub(input, ops.tanh(input))


def sigmoid(input: Tensor) -> Tensor:
    return ops.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    return ops.tanh(input)


sigmoid.__doc__, tanh.__doc__ = (getattr(f, "__doc__", None) for f in (ops.sigmoid, ops.tanh))

relu_, selu_, threshold_ = ops.relu_, ops.selu_, ops.threshold_


def elu_(input: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Tensor:
    """Apply `elu` in place."""
    return ops.elu_(input, alpha, scale, input_scale)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Apply `celu` in place."""
    return ops.celu_(input, alpha)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Apply `leaky_relu` in place."""
    return ops.leaky_relu_(input, negative_slope)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Apply `hardtanh` in place."""
    return ops.hardtanh_(input, min_val, max_val)


def rrelu_(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False
) -> Tensor:
    """Apply `rrelu` in place."""
    return rrelu(input, lower, upper, training, inplace=True)
