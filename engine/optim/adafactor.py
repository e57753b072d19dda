"""Adafactor: steps scaled by a second moment that is stored as a row and a column only."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.dtypes import finfo
from engine.optim.per_parameter import Group, PerParameter, State, check_lr_size, scalar, zeros
from engine.tensor import Tensor

__all__ = ["Adafactor"]


class Adafactor(PerParameter):
    """Divide the gradient by the root of its mean square, estimated from row and column means.

    For a matrix of m x n elements the state has m + n numbers instead of m * n: their outer product,
    over the mean of the rows, estimates the squares. The step is relative to the size of the
    parameter: alpha = max(eps[1], rms(p)) * min(lr, 1 / sqrt(t)), clipped so that the rms of the update
    is at most `d`. The moving means weigh the newest gradient by t^beta2_decay.
    State: "step", and "row_var" (..., m, 1) with "col_var" (..., 1, n), or "variance" of a vector.

    Raises: ValueError for options out of range; RuntimeError for complex parameters.
    Source: Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018.
    """

    _later: ClassVar = {"foreach": None}

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr_size(lr)
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _start(self, p: Tensor, group: Group) -> State:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        grad = p.grad
        assert grad is not None
        if grad.dim() < 2:
            return {"variance": zeros(grad)}
        rows, columns = list(grad.shape), list(grad.shape)
        rows[-1] = columns[-2] = 1
        return {"row_var": grad.new_zeros(rows), "col_var": grad.new_zeros(columns)}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, (eps1, eps2) = scalar(group["lr"]), group["eps"]
        if eps1 is None:
            eps1 = finfo(p.dtype).eps
        step = state["step"].item()
        newest = step ** group["beta2_decay"]
        rate = max(eps2, rms(p)) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        update = self._mean_square(grad, state, newest, eps1).clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        p.add_(update, alpha=-rate / max(1.0, rms(update) / group["d"]))

    def _mean_square(self, grad: Tensor, state: State, newest: float, eps1: float) -> Tensor:
        """Update the moving means with the gradient; return the mean square of each element."""
        if grad.dim() < 2:
            variance: Tensor = state["variance"].lerp_(grad * grad, newest)
            return variance.clone()
        row_var, col_var = state["row_var"], state["col_var"]
        row_var.lerp_(_mean_of_squares(grad, -1), newest)
        col_var.lerp_(_mean_of_squares(grad, -2), newest)
        product: Tensor = row_var @ col_var
        return product.div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))


def rms(x: Tensor) -> float:
    """Return the root mean square of all elements."""
    return float(x.norm(2).item()) / x.numel() ** 0.5


def _mean_of_squares(x: Tensor, dim: int) -> Tensor:
    squares: Tensor = x.norm(dim=dim, keepdim=True).square_()
    return squares.div_(x.size(dim))
