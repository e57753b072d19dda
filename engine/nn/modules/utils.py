"""What several layers need: one number for all dimensions, weights without detours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.creation import empty
from engine.nn.module import Module
from engine.nn.parameter import Parameter


def ntuple(value: Any, count: int) -> tuple[Any, ...]:
    """The items of what has some, else the value `count` times."""
    if isinstance(value, Iterable):
        return tuple(value)
    return (value,) * count


def _single(value: Any) -> tuple[Any, ...]:
    return ntuple(value, 1)


def _pair(value: Any) -> tuple[Any, ...]:
    return ntuple(value, 2)


def _triple(value: Any) -> tuple[Any, ...]:
    return ntuple(value, 3)


def _quadruple(value: Any) -> tuple[Any, ...]:
    return ntuple(value, 4)


def weight_and_bias(module: Module) -> tuple[Any, Any]:
    """`module.weight, module.bias`, read from where they usually are: an attribute that only
    `Module.__getattr__` finds costs five times as much."""
    held = module._parameters
    try:
        return held["weight"], held["bias"]
    except KeyError:  # somebody put a plain tensor or a property in its place
        return module.weight, module.bias


def new_parameter(shape: Any, device: Any, dtype: Any) -> Any:
    """A Parameter whose elements nobody has written yet."""
    return Parameter(empty(shape, device=device, dtype=dtype))
