"""Distances of vectors: PairwiseDistance, CosineSimilarity."""

from __future__ import annotations

from engine.nn import functional as F
from engine.nn.module import Module
from engine.tensor import Tensor

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of the differences of rows, with `eps` added to each difference.

    >>> import engine
    >>> PairwiseDistance(eps=0.)(engine.tensor([[0., 0.]]), engine.tensor([[3., 4.]]))
    tensor([5.])
    """

    __constants__ = ("norm", "eps", "keepdim")

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along `dim`.

    >>> import engine
    >>> CosineSimilarity(0)(engine.tensor([1., 0.]), engine.tensor([3., 4.]))
    tensor(0.6000)
    """

    __constants__ = ("dim", "eps")

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
