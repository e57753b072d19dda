"""make_tensor: a tensor of random values in a range."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.tensor import Tensor


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return a tensor of uniform random values in [low, high).

    Defaults: [-9, 9) for floating-point and complex dtypes, [-9, 10) for signed integers, [0, 10) for uint8,
    [0, 2) for bool. `exclude_zero` replaces zeros by the smallest step; `noncontiguous` returns every second element.
    Raises: ValueError if low >= high, RuntimeError if an integer tensor is to require a gradient.

    >>> make_tensor(2, 3, dtype=engine.float32).shape
    engine.Size([2, 3])
    """
    if len(shape) == 1 and isinstance(shape[0], (tuple, list, engine.Size)):
        shape = tuple(shape[0])
    is_real = dtype.is_floating_point or dtype.is_complex
    if requires_grad and not is_real:
        raise ValueError(
            f"`requires_grad` must be False for non floating-point and complex dtypes, got {dtype}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive"
        )
    default_low, default_high = _range(dtype)
    low = default_low if low is None else low
    high = default_high if high is None else high
    if math.isnan(low) or math.isnan(high) or low >= high:
        raise ValueError(f"`low` must be less than `high`, got {low} >= {high}")
    sizes = list(shape)
    if noncontiguous and sizes and math.prod(sizes) >= 2:
        sizes[-1] *= 2
    if is_real:
        result = engine.empty(sizes, dtype=dtype, device=device)
        (engine.view_as_real(result) if dtype.is_complex else result).uniform_(low, high)
    else:
        drawn = engine.randint(math.floor(low), math.ceil(high), sizes, device=device)
        result = drawn.to(dtype)
    if len(sizes) and sizes[-1] != shape[-1]:
        result = result[..., ::2]
    if exclude_zero:
        step = engine.finfo(dtype).tiny if is_real else 1
        result[result == 0] = step
    if memory_format is not None:
        result = result.clone(memory_format=memory_format)
    return result.requires_grad_(requires_grad)


def _range(dtype: Any) -> tuple[float, float]:
    if dtype.is_floating_point or dtype.is_complex:
        return -9, 9
    if dtype == engine.bool_:
        return 0, 2
    return (0, 10) if dtype == engine.uint8 else (-9, 10)
