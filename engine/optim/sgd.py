"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine._generated import ops
from engine.optim.per_parameter import (
    Group,
    PerParameter,
    State,
    check_fused,
    check_not_negative,
    check_rate,
    decayed,
    descend,
    scalar,
)
from engine.tensor import Tensor

__all__ = ["SGD"]


class SGD(PerParameter):
    """Stochastic gradient descent: p = p - lr * b with the momentum b = momentum * b + g.

    g is the gradient plus `weight_decay` * p; `dampening` scales it by 1 - dampening, `nesterov` looks
    one step ahead. State: "momentum_buffer".

    >>> w = engine.tensor([1.0, 2.0]).requires_grad_()
    >>> w.grad = engine.tensor([0.5, -1.0])
    >>> engine.optim.SGD([w], lr=0.1).step()
    >>> w
    tensor([0.9500, 2.1000], requires_grad=True)
    """

    _later: ClassVar = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }
    _counts_steps = False
    _has_fused = True
    _takes_sparse = True

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative("momentum value", momentum)
        check_not_negative("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(defaults)

    def _keeps_state(self, group: Group) -> bool:
        return bool(group["momentum"] != 0)

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        momentum = group["momentum"]
        grad = decayed(grad, p, scalar(group["weight_decay"]))
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        descend(p, grad, scalar(group["lr"]))

    def _update_one(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        # The update is linear: complex numbers need not be split, and `state` stores the first step's buffer.
        self._update(p, -grad if group["maximize"] else grad, state, group)

    def _fused(
        self, params: list[Tensor], grads: list[Tensor], states: list[State], group: Group
    ) -> None:
        options = {
            "weight_decay": float(group["weight_decay"]),
            "momentum": group["momentum"],
            "lr": float(group["lr"]),
            "dampening": group["dampening"],
            "nesterov": group["nesterov"],
            "maximize": group["maximize"],
            "grad_scale": getattr(self, "grad_scale", None),
            "found_inf": getattr(self, "found_inf", None),
        }
        if not group["momentum"]:
            ops._fused_sgd_(params, grads, [], is_first_step=False, **options)
            return
        fresh = [i for i, state in enumerate(states) if state.get("momentum_buffer") is None]
        for i in fresh:
            states[i]["momentum_buffer"] = engine.empty_like(params[i])
        first = set(fresh)
        later = [i for i in range(len(params)) if i not in first] if first else range(len(params))
        for indices, is_first in ((fresh, True), (later, False)):
            if indices:
                ops._fused_sgd_(
                    [params[i] for i in indices],
                    [grads[i] for i in indices],
                    [states[i]["momentum_buffer"] for i in indices],
                    is_first_step=is_first,
                    **options,
                )
