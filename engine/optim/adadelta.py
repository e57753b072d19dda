"""Adadelta: steps scaled by the ratio of the sizes of past steps and past gradients."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.optim.per_parameter import (
    LATER_OPTIONS,
    Group,
    PerParameter,
    State,
    check_not_negative,
    check_rate,
    decayed,
    descend,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["Adadelta"]


class Adadelta(PerParameter):
    """p = p - lr * d with d = sqrt(u + eps) / sqrt(v + eps) * g.

    v = rho * v + (1 - rho) * g² and u = rho * u + (1 - rho) * d². State: "step", "square_avg" (v),
    "acc_delta" (u).
    """

    _later: ClassVar = LATER_OPTIONS

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_not_negative("epsilon value", eps)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, p: Tensor, group: Group) -> State:
        return {"square_avg": zeros(p), "acc_delta": zeros(p)}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        rho, eps = group["rho"], group["eps"]
        square, deltas = state["square_avg"], state["acc_delta"]
        grad = decayed(grad, p, group["weight_decay"])
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = (deltas + eps).sqrt() / (square + eps).sqrt() * grad
        deltas.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        descend(p, delta, scalar(group["lr"]))
