"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import engine
from engine.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """The elements of all parameters, one after the other. Raises: RuntimeError for none.

    >>> parameters_to_vector([engine.zeros(2), engine.ones(1, 2)])
    tensor([0., 0., 1., 1.])
    """
    found: Tensor = engine.cat([p.view(-1) for p in parameters])
    return found


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Gives every parameter its part of a vector; the parameters become views of it.

    Raises: TypeError for what is not a tensor, RuntimeError where the vector is too short.
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected engine.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        count = p.numel()
        p.data = vec[at : at + count].view(p.shape).data
        at += count
