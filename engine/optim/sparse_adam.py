"""SparseAdam: Adam for embeddings, if each batch uses only a few rows."""

from __future__ import annotations

from typing import Any

from engine.optim.per_parameter import (
    Group,
    PerParameter,
    State,
    check_betas,
    check_lr_size,
    scalar,
    with_values,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["SparseAdam"]


class SparseAdam(PerParameter):
    """Adam's step for the elements that a sparse gradient has; the others are unchanged, as are their moments.

    Gradients are sparse with `nn.Embedding(sparse=True)`: they have the rows that occur in the batch.
    State: "step", "exp_avg", "exp_avg_sq".

    Raises: ValueError for options out of range and complex parameters, RuntimeError for dense gradients and
    sparse parameters.
    """

    _counts_steps = False
    _takes_sparse = True

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
        sparse = [
            [number, at]
            for number, group in enumerate(self.param_groups)
            for at, p in enumerate(group["params"])
            if p.is_sparse
        ]
        if sparse:
            raise ValueError(
                f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors"
            )
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
        if not grad.is_sparse:
            raise RuntimeError(
                "SparseAdam does not support dense gradients, please consider Adam instead"
            )
        if not state:
            state.update(step=0, exp_avg=zeros(p), exp_avg_sq=zeros(p))
        state["step"] += 1
        step, (beta1, beta2) = state["step"], group["betas"]
        grad = grad.coalesce()
        newest = grad._values()
        if not newest.numel():
            return
        mean, square = (
            state[name].sparse_mask(grad)._values() for name in ("exp_avg", "exp_avg_sq")
        )
        towards_mean = (newest - mean) * (1 - beta1)
        towards_square = (newest * newest - square) * (1 - beta2)
        state["exp_avg"].add_(with_values(grad, towards_mean))
        state["exp_avg_sq"].add_(with_values(grad, towards_square))
        rate = scalar(group["lr"]) * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        spread = (square + towards_square).sqrt() + group["eps"]
        p.add_(with_values(grad, (mean + towards_mean) / spread), alpha=-rate)
