"""New tensors of random numbers, from the process's generator or from one of the caller's.

The numbers come from the operators of csrc/ops/random.yaml; generators are in random.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine._generated import ops
from engine.creation import Device, finish, like_factory
from engine.dtypes import dtype
from engine.random import Generator, default_generator
from engine.tensor import Tensor

__all__ = [
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
]


def rand(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Numbers drawn evenly from [0, 1).

    >>> import engine
    >>> bool((engine.rand(100) < 1).all())
    True
    """
    with (generator or default_generator).drawing():
        made = ops.rand(*size, dtype=dtype, device=device)
    return finish(made, out, requires_grad, "rand")


def randn(
    *size: Any,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Numbers drawn from the normal distribution with mean 0 and standard deviation 1."""
    with (generator or default_generator).drawing():
        made = ops.randn(*size, dtype=dtype, device=device)
    return finish(made, out, requires_grad, "randn")


def randint(
    low: int,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] | None = None,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """Whole numbers drawn evenly from [low, high): `randint(high, size)` or `randint(low, high, size)`.

    Dtype: int64 unless given. Raises: RuntimeError when there is no number to draw.

    >>> import engine
    >>> engine.randint(3, 4, (2,))
    tensor([3, 3])
    """
    if high is None or isinstance(high, (tuple, list)):  # randint(high, size)
        size = size if high is None else high
        low, high = 0, low
    if size is None:
        raise TypeError("randint: missing the argument 'size', a tuple of ints")
    with (generator or default_generator).drawing():
        made = ops.randint(low, high, size, dtype=dtype, device=device)
    return finish(made, out, requires_grad, "randint")


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: Any = None,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """The numbers 0 to n - 1 in random order."""
    with (generator or default_generator).drawing():
        made = ops.randperm(n, dtype=dtype, device=device)
    return finish(made, out, requires_grad, "randperm")


rand_like = like_factory(ops.rand_like, "rand_like", "Even draws from [0, 1) with")
randn_like = like_factory(ops.randn_like, "randn_like", "Normal draws with")
_randint_like = like_factory(ops.randint_like, "randint_like", "Whole numbers with")


def randint_like(input: Tensor, low: int, high: int | None = None, **options: Any) -> Tensor:
    """Whole numbers drawn evenly from [low, high), or [0, low), like `input`."""
    if high is None:
        low, high = 0, low
    made: Tensor = _randint_like(input, low, high, **options)
    return made
