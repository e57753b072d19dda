"""Conversion of parameters to one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import engine
from engine.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Concatenate the elements of all parameters. Raises: RuntimeError without parameters.

    >>> parameters_to_vector([engine.zeros(2), engine.ones(1, 2)])
    tensor([0., 0., 1., 1.])
    """
    vector: Tensor = engine.cat([p.view(-1) for p in parameters])
    return vector


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Set every parameter to its part of a vector; the parameters become views of it.

    Raises: TypeError unless `vec` is a tensor, RuntimeError if it is too short.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected engine.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        count = p.numel()
        p.data = vec[at : at + count].view(p.shape).data
        at += count
