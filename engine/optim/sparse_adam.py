"""SparseAdam: Adam for embeddings, of which a batch uses only a few rows."""

from __future__ import annotations

from typing import Any

from engine.optim.per_parameter import (
    Group,
    PerParameter,
    State,
    check_betas,
    check_lr_size,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["SparseAdam"]


class SparseAdam(PerParameter):
    """Adam's step for the rows that have a gradient; the others are unchanged, as are their moments.

    The engine has no sparse gradients (`nn.Embedding(sparse=True)` returns a dense one), so a row is updated if
    any element of its gradient is not zero. PyTorch updates the rows that occur in the batch, and rejects dense
    gradients.
    State: "step", "exp_avg", "exp_avg_sq".

    Raises: ValueError for options out of range and complex parameters.
    """

    _counts_steps = False

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr_size(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}
        super().__init__(params, defaults)
        indices = [
            [number, at]
            for number, group in enumerate(self.param_groups)
            for at, p in enumerate(group["params"])
            if p.is_complex()
        ]
        if indices:
            raise ValueError(
                f"Complex params at indices {indices}: SparseAdam does not support complex parameters"
            )

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        if not state:
            state.update(step=0, exp_avg=zeros(p), exp_avg_sq=zeros(p))
        state["step"] += 1
        step, (beta1, beta2) = state["step"], group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        rows = grad.reshape(grad.size(0), -1).ne(0).any(1).nonzero().squeeze(1) if p.dim() else ...
        newest = grad[rows]
        mean[rows] = mean[rows].lerp(newest, 1 - beta1)
        square[rows] = square[rows].lerp(newest * newest, 1 - beta2)
        rate = scalar(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        p[rows] = p[rows].addcdiv(mean[rows], square[rows].sqrt() + group["eps"], value=-rate)
