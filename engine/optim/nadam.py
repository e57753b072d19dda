"""NAdam: Adam with Nesterov's momentum."""

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
    count,
    decayed,
    descend_ratio,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["NAdam"]


class NAdam(PerParameter):
    """Adam's step with the momentum of the next step: along mu' * m + (1 - mu) * g.

    mu = beta1 * (1 - 0.96^(step * momentum_decay) / 2), mu' that of the next step, each corrected by
    the product of all mu so far. State: "step", "mu_product", "exp_avg", "exp_avg_sq".
    """

    _later: ClassVar = {**LATER_OPTIONS, "decoupled_weight_decay": False}

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_not_negative("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for p in group["params"]:
                known = self.state.get(p)
                if known and not isinstance(known["mu_product"], Tensor):
                    known["mu_product"] = count(float(known["mu_product"]), group)

    def _start(self, p: Tensor, group: Group) -> State:
        return {"mu_product": count(1.0, group), "exp_avg": zeros(p), "exp_avg_sq": zeros(p)}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, weight_decay = scalar(group["lr"]), group["weight_decay"]
        beta1, beta2 = group["betas"]
        mean, square, product = state["exp_avg"], state["exp_avg_sq"], state["mu_product"]
        step = state["step"].item()
        if group["decoupled_weight_decay"] and weight_decay != 0:
            p.mul_(1 - lr * weight_decay)
        else:
            grad = decayed(grad, p, weight_decay)
        decay = group["momentum_decay"]
        mu = beta1 * (1.0 - 0.5 * 0.96 ** (step * decay))
        mu_next = beta1 * (1.0 - 0.5 * 0.96 ** ((step + 1) * decay))
        product *= mu
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        spread = (square / (1 - beta2**step)).sqrt() + group["eps"]
        so_far = product.item()
        descend_ratio(p, grad, spread, lr * (1.0 - mu) / (1.0 - so_far))
        ahead = mean.clone() if group["differentiable"] else mean
        descend_ratio(p, ahead, spread, lr * mu_next / (1.0 - so_far * mu_next))
