"""Sizes on which results depend: a trace follows those read here; sizes read elsewhere are its constants."""

from __future__ import annotations

from engine.tensor import Tensor


def followed_size(input: Tensor, dim: int) -> int:
    """Return one size; during a trace a tensor, so that the graph computes it for other inputs."""
    return input.size(dim)
