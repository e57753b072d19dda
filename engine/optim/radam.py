"""RAdam: Adam that scales by the variance of gradients only once its estimate is reliable."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.optim.per_parameter import (
    LATER_OPTIONS,
    Group,
    PerParameter,
    State,
    check_betas,
    check_not_negative,
    check_rate,
    decayed,
    descend,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["RAdam"]


class RAdam(PerParameter):
    """p = p - lr * m, times r * l if the variance is tractable (rho > 5).

    m is Adam's corrected mean, l = sqrt(1 - beta2^step) / (sqrt(v) + eps),
    rho = rho_inf - 2 * step * beta2^step / (1 - beta2^step) with rho_inf = 2 / (1 - beta2) - 1, and
    r² = (rho - 4)(rho - 2) rho_inf / ((rho_inf - 4)(rho_inf - 2) rho). State: "step", "exp_avg",
    "exp_avg_sq".
    """

    _later: ClassVar = {**LATER_OPTIONS, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _start(self, p: Tensor, group: Group) -> State:
        return {"exp_avg": zeros(p), "exp_avg_sq": zeros(p)}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, weight_decay = scalar(group["lr"]), group["weight_decay"]
        beta1, beta2 = group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        step = state["step"].item()
        if group["decoupled_weight_decay"] and weight_decay != 0:
            p.mul_(1 - lr * weight_decay)
        else:
            grad = decayed(grad, p, weight_decay)
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        known = 1 - beta2**step
        limit = 2 / (1 - beta2) - 1
        rho = limit - 2 * step * beta2**step / known
        direction = mean / (1 - beta1**step) * lr
        if rho > 5.0:
            above, below = (rho - 4) * (rho - 2) * limit, (limit - 4) * (limit - 2) * rho
            spread = (square.clone() if group["differentiable"] else square).sqrt() + group["eps"]
            direction = direction * (known**0.5 / spread) * (above / below) ** 0.5
        descend(p, direction, 1.0)
