"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

from engine.optim.per_parameter import (
    LATER_OPTIONS,
    Group,
    PerParameter,
    State,
    check_not_negative,
    check_rate,
    count,
    decayed,
    descend,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["ASGD"]


class ASGD(PerParameter):
    """Gradient descent with a decaying rate that also averages the parameters.

    p = (1 - lambd * eta) * p - eta * g with eta = lr / (1 + lambd * lr * step)^alpha;
    ax = ax + (p - ax) * mu with mu = 1 / max(1, step - t0). State: "step", "eta", "mu", "ax".
    """

    _later: ClassVar = LATER_OPTIONS

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_rate(lr)
        check_not_negative("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for p in group["params"]:
                known = self.state.get(p, {})
                for name in ("eta", "mu"):
                    if name in known and not isinstance(known[name], Tensor):
                        known[name] = count(float(known[name]), group)

    def _start(self, p: Tensor, group: Group) -> State:
        eta = count(float(group["lr"]), group)
        return {"eta": eta, "mu": count(1.0, group), "ax": zeros(p)}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, lambd = scalar(group["lr"]), group["lambd"]
        average, eta, mu = state["ax"], state["eta"].item(), state["mu"].item()
        step = state["step"].item()
        grad = decayed(grad, p, group["weight_decay"])
        p.mul_(1 - lambd * eta)
        descend(p, grad, eta)
        if mu == 1:
            average.copy_(p)
        else:
            average.add_((p - average) * mu)
        state["eta"].fill_(lr / (1 + lambd * lr * step) ** group["alpha"])
        state["mu"].fill_(1 / max(1, step - group["t0"]))
