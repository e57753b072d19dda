"""Dropout layers: set random elements or channels to zero, in training mode only."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.nn import functional as F
from engine.nn.module import Module
from engine.tensor import Tensor

__all__ = [
    "AlphaDropout",
    "Dropout",
    "Dropout1d",
    "Dropout2d",
    "Dropout3d",
    "FeatureAlphaDropout",
]


class _DropoutNd(Module):
    __constants__ = ("p", "inplace")

    drop: ClassVar[Any]

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        result: Tensor = self.drop(input, self.p, self.training, self.inplace)
        return result

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Sets elements to 0 with probability `p` and scales the others by 1 / (1 - p), in training.

    >>> import engine
    >>> Dropout(0.2).eval()(engine.ones(2))
    tensor([1., 1.])
    """

    drop = staticmethod(F.dropout)


class Dropout1d(_DropoutNd):
    """Dropout of entire channels of (N, C, L) or (C, L)."""

    drop = staticmethod(F.dropout1d)


class Dropout2d(_DropoutNd):
    """Dropout of entire channels of (N, C, H, W)."""

    drop = staticmethod(F.dropout2d)


class Dropout3d(_DropoutNd):
    """Dropout of entire channels of (N, C, D, H, W) or (C, D, H, W)."""

    drop = staticmethod(F.dropout3d)


class AlphaDropout(_DropoutNd):
    """Dropout that preserves the mean and variance of SELU's output."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd):
    """AlphaDropout of entire channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
