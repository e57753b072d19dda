"""RMSprop: steps scaled by the root of a running mean of the squared gradient."""

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
    descend_ratio,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["RMSprop"]


class RMSprop(PerParameter):
    """p = p - lr * g / (sqrt(v) + eps) with v = alpha * v + (1 - alpha) * g².

    `centered` uses the variance instead of v; `momentum` accumulates steps. State: "step",
    "square_avg", "momentum_buffer", "grad_avg".
    """

    _later: ClassVar = {**LATER_OPTIONS, "momentum": 0, "centered": False}

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative("epsilon value", eps)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, p: Tensor, group: Group) -> State:
        state = {"square_avg": zeros(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(p)
        if group["centered"]:
            state["grad_avg"] = zeros(p)
        return state

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, alpha, momentum = scalar(group["lr"]), group["alpha"], group["momentum"]
        square = state["square_avg"]
        grad = decayed(grad, p, group["weight_decay"])
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        spread = square.clone() if group["differentiable"] else square
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            spread = spread.addcmul(mean, mean, value=-1)
        spread = spread.sqrt() + group["eps"]
        if momentum > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(momentum).addcdiv_(grad, spread)
            descend(p, buffer, lr)
        else:
            descend_ratio(p, grad, spread, lr)
