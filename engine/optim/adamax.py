"""Adamax: Adam with the largest gradient instead of the mean square."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.optim.per_parameter import (
    LATER_OPTIONS,
    Group,
    PerParameter,
    State,
    check_betas,
    check_not_negative,
    check_rate,
    decayed,
    descend_ratio,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["Adamax"]


class Adamax(PerParameter):
    """p = p - lr / (1 - beta1^step) * m / u with u = max(beta2 * u, |g| + eps).

    m = beta1 * m + (1 - beta1) * g. State: "step", "exp_avg" (m), "exp_inf" (u).
    """

    _later: ClassVar = LATER_OPTIONS

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, p: Tensor, group: Group) -> State:
        return {"exp_avg": zeros(p), "exp_inf": zeros(p)}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        beta1, beta2 = group["betas"]
        mean, largest = state["exp_avg"], state["exp_inf"]
        grad = decayed(grad, p, group["weight_decay"])
        mean.lerp_(grad, 1 - beta1)
        largest.copy_(engine.maximum(largest * beta2, grad.abs() + group["eps"]))
        rate = scalar(group["lr"]) / (1 - beta1 ** state["step"].item())
        if group["differentiable"]:
            mean, largest = mean.clone(), largest.clone()
        descend_ratio(p, mean, largest, rate)
