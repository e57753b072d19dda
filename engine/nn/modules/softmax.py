"""softmax and related functions as layers, and the adaptive softmax for very many classes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine._generated import ops
from engine.nn import functional as F
from engine.nn.containers import ModuleList, Sequential
from engine.nn.module import Module
from engine.nn.modules.linear import Linear
from engine.tensor import Tensor

__all__ = ["AdaptiveLogSoftmaxWithLoss", "LogSoftmax", "Softmax", "Softmax2d", "Softmin"]


class _AlongDimension(Module):
    __constants__ = ("dim",)

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDimension):
    """exp(x) / sum(exp(x)) along `dim`.

    >>> import engine
    >>> Softmax(0)(engine.zeros(2))
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDimension):
    """Softmax of -x."""

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDimension):
    """The logarithm of Softmax, computed in one step."""

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Softmax over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3)


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax of very many classes, sorted by frequency.

    The head has an entry for every frequent class (below `cutoffs[0]`) and for every cluster of rarer ones; each
    cluster has its own, narrower layers. `forward(input, target)` returns the targets' log-probabilities and the
    loss, their negative mean.

    Shape: (N, in_features) and (N), or (in_features) and ().
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        ends = list(cutoffs)
        if not ends:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(low < high for low, high in itertools.pairwise([0, *ends, n_classes]))
        if not rising or any(int(end) != end for end in ends):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an "
                "increasing order, where each value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [*ends, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        options = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **options)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(itertools.pairwise(self.cutoffs), 1):
            width = int(in_features // div_value**number)
            self.tail.append(
                Sequential(
                    Linear(in_features, width, False, **options),
                    Linear(width, high - low, False, **options),
                )
            )

    def reset_parameters(self) -> None:
        """Draw new values for all layers."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        expected = target.dim() + 1
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != expected:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {expected}D input tensors, "
                f"but found inputs with size {input.size()}"
            )
        if target.numel() and not (
            target.min().item() >= 0 and target.max().item() < self.n_classes
        ):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        self._check(input_, target_)
        single = target_.dim() == 0
        input = input_.unsqueeze(0) if single else input_
        target = target_.unsqueeze(0) if single else target_
        entry, output = target.clone(), input.new_zeros([target.size(0)])
        for number, cluster in enumerate(self.tail):
            low, high = self.cutoffs[number], self.cutoffs[number + 1]
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() > 0:
                entry = entry.index_fill(0, rows, self.shortlist_size + number)
                within = F.log_softmax(cluster(input.index_select(0, rows)), dim=1)
                column = (target.index_select(0, rows) - low).unsqueeze(1)
                output = output.index_copy(0, rows, within.gather(1, column).squeeze(1))
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, entry.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Return the log-probabilities of all classes: (N, in_features) gives (N, n_classes)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for number, layers in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + number].unsqueeze(1)
            parts.append(F.log_softmax(layers(input), dim=1) + cluster)
        return ops.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Return the most probable class of each sample: (N, in_features) gives (N)."""
        best = self.head(input).argmax(1)
        rare = best >= self.shortlist_size
        if not rare.any():
            return best
        return self.log_prob(input).argmax(1).where(rare, best)
