"""Initialisation of parameters: each function fills its tensor, without autograd, and returns it."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import engine
from engine.random import Generator
from engine.tensor import Tensor

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_CONVOLUTIONS = (f"conv{kind}{d}d" for kind in ("", "_transpose") for d in (1, 2, 3))
_LINEAR = frozenset(("linear", "sigmoid", *_CONVOLUTIONS))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor for initial values that preserves the variance through a nonlinearity.

    1 for linear ones and sigmoid, 5/3 for tanh, sqrt(2) for relu, sqrt(2 / (1 + slope²)) for
    leaky_relu (`param` is the slope), 3/4 for selu. Raises: ValueError for others.

    >>> calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4  # an empirical value
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform draws from [a, b)."""
    with engine.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with draws from the normal distribution."""
    with engine.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with draws from the normal distribution, each repeated until it is in [a, b]."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    inside = _below((b - mean) / std) - _below((a - mean) / std)
    with engine.no_grad():
        if inside > 0.3:
            return _redrawn(tensor, mean, std, a, b, generator)
        return _accepted(tensor, mean, std, a, b, generator)


def _below(x: float) -> float:
    """Return the probability of the normal distribution below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _redrawn(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Redraw the elements outside of the bounds."""
    # The bounds are rounded to the dtype: a draw that rounds to a bound is inside.
    low, high = (engine.tensor(x, dtype=tensor.dtype).item() for x in (a, b))
    tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (tensor < low) | (tensor > high)
        if not outside.any():
            return tensor
        again = engine.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(engine.where(outside, again, tensor))


def _accepted(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Generator | None
) -> Tensor:
    """Draw uniformly from [a, b] and accept each with a probability proportional to the density."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    pending = engine.ones_like(tensor, dtype=engine.bool_)
    while pending.any():
        drawn = engine.empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(engine.where(pending, drawn, tensor))
        density = ((drawn - mean) / std) ** 2 * -0.5 - peak
        chance = engine.empty_like(tensor).uniform_(0, 1, generator=generator).log()
        pending = pending & (chance > density)
    return tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with a number."""
    with engine.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    with engine.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix. Raises: ValueError unless there are 2 dimensions."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with engine.no_grad():
        return tensor.copy_(engine.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill convolution weights so that they preserve as many channels as possible.

    Raises: ValueError unless there are 3 to 5 dimensions, or if `groups` does not divide the channels.
    """
    if tensor.dim() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.shape
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    each = sizes[0] // groups
    middle = tuple(size // 2 for size in sizes[2:])
    with engine.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(each, sizes[1])):
                tensor[(group * each + channel, channel, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """Return the number of inputs per output of a layer with this weight, and of outputs per input."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    modes = ["fan_in", "fan_out"]
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform draws from [-a, a), a = gain * sqrt(6 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill with draws from the normal distribution with std = gain * sqrt(2 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with uniform draws from [-b, b), b = gain * sqrt(3 / fan); `a` is the slope of leaky_relu."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    return uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with draws from the normal distribution with std = gain / sqrt(fan)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """Return the standard deviation; None for a tensor without elements."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with a matrix with orthogonal rows or columns, whichever are fewer; extra dimensions count as columns.

    Raises: ValueError for fewer than 2 dimensions.
    """
    if tensor.dim() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with engine.no_grad():
        drawn = engine.empty((rows, columns), dtype=tensor.dtype)
        drawn.normal_(0, 1, generator=generator)
        q, r = engine.linalg.qr(drawn.t() if rows < columns else drawn)
        q = q * engine.diagonal(r).sign()  # choose the decomposition with a positive diagonal
        tensor.copy_((q.t() if rows < columns else q).reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill with draws from the normal distribution, then set a fraction `sparsity` of every column to zero.

    Raises: ValueError unless there are 2 dimensions.
    """
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with engine.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[engine.randperm(rows)[:zeros], column] = 0
    return tensor


def _old_name(function: Callable[..., Any]) -> Callable[..., Any]:
    """Create the deprecated function without an underscore in its name."""
    new = function.__name__
    old = new[:-1]

    @functools.wraps(function)
    def renamed(*args: Any, **options: Any) -> Any:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new}`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **options)

    renamed.__name__ = renamed.__qualname__ = old
    return renamed


uniform = _old_name(uniform_)
normal = _old_name(normal_)
constant = _old_name(constant_)
eye = _old_name(eye_)
dirac = _old_name(dirac_)
xavier_uniform = _old_name(xavier_uniform_)
xavier_normal = _old_name(xavier_normal_)
kaiming_uniform = _old_name(kaiming_uniform_)
kaiming_normal = _old_name(kaiming_normal_)
orthogonal = _old_name(orthogonal_)
sparse = _old_name(sparse_)
