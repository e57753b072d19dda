"""Rprop: every element has its own step size, which grows while its gradient keeps its sign."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine.optim.per_parameter import (
    LATER_OPTIONS,
    Group,
    PerParameter,
    State,
    check_rate,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["Rprop"]


class Rprop(PerParameter):
    """p = p - sign(g) * s; s is multiplied by etas[1] while g keeps its sign; when g changes its sign, s is
    multiplied by etas[0] and the element is not updated.

    `step_sizes` bound s, which starts at `lr`. State: "step", "prev" (the previous gradient), "step_size" (s).
    """

    _later: ClassVar = LATER_OPTIONS

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, p: Tensor, group: Group) -> State:
        lr = scalar(group["lr"])
        first = complex(lr, lr) if p.is_complex() else lr
        step_size = engine.full_like(p, first, memory_format=engine.preserve_format)
        return {"prev": zeros(p), "step_size": step_size}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        prev, size = state["prev"], state["step_size"]
        agreement = grad * (prev.clone() if group["differentiable"] else prev)
        turned = agreement < 0
        factor = engine.where(agreement > 0, grow, engine.ones_like(size))
        size.mul_(engine.where(turned, shrink, factor)).clamp_(smallest, largest)
        grad = engine.where(turned, 0, grad)
        step = size.clone() if group["differentiable"] else size
        p.addcmul_(grad.sign(), step, value=-1)
        prev.copy_(grad)
