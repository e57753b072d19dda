"""Helpers of the layers: tuples from single numbers, fast access to weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.creation import empty
from engine.nn.module import Module
from engine.nn.parameter import Parameter


def ntuple(value: Any, count: int) -> tuple[Any, ...]:
    """Return the items of an iterable as a tuple, else the value `count` times."""
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
    """Return `module.weight, module.bias` from the table of parameters: `Module.__getattr__` is five times as
    slow."""
    parameters = module._parameters
    try:
        return parameters["weight"], parameters["bias"]
    except KeyError:  # replaced by a plain tensor or a property
        return module.weight, module.bias


def new_parameter(shape: Any, device: Any, dtype: Any) -> Any:
    """Return an uninitialised Parameter."""
    return Parameter(empty(shape, device=device, dtype=dtype))
