"""Sizes that results depend on: a trace follows those that this module reads, other functions' are constants of it."""

from __future__ import annotations

from engine.tensor import Tensor


def followed_size(input: Tensor, dim: int) -> int:
    """Return one size; during a trace a tensor, so that the graph computes it for other inputs."""
    return input.size(dim)
