"""Adagrad: steps scaled by the root of the sum of all squared gradients."""

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
    count,
    decayed,
    descend_ratio,
    scalar,
    with_values,
)
from engine.tensor import Tensor

__all__ = ["Adagrad"]


class Adagrad(PerParameter):
    """p = p - rate * g / (sqrt(s) + eps) with s = s + g² and rate = lr / (1 + (step - 1) * lr_decay).

    State: "step", "sum", both present before the first step.
    """

    _later: ClassVar = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}
    _has_fused = True
    _takes_sparse = True

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_rate(lr)
        check_not_negative("lr_decay value", lr_decay)
        check_not_negative("weight_decay value", weight_decay)
        check_not_negative("initial_accumulator_value value", initial_accumulator_value)
        check_not_negative("epsilon value", eps)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        check_fused(defaults)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(step=count(0.0, group), **self._start(p, group))

    def _start(self, p: Tensor, group: Group) -> State:
        value = self.defaults["initial_accumulator_value"]
        start = complex(value, value) if p.is_complex() else value
        return {"sum": engine.full_like(p, start, memory_format=engine.preserve_format)}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        step = state["step"].item()
        rate = scalar(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        total = state["sum"]
        if grad.is_sparse:
            if group["weight_decay"] != 0:
                raise RuntimeError("weight_decay option is not compatible with sparse gradients")
            grad = grad.coalesce()
            values = grad._values()
            total.add_(with_values(grad, values.pow(2)))
            spread = total.sparse_mask(grad)._values().sqrt() + group["eps"]
            p.add_(with_values(grad, values / spread), alpha=-rate)
            return
        grad = decayed(grad, p, group["weight_decay"])
        total.addcmul_(grad, grad, value=1)
        spread = (total.clone() if group["differentiable"] else total).sqrt() + group["eps"]
        descend_ratio(p, grad, spread, rate)

    def _fused(
        self, params: list[Tensor], grads: list[Tensor], states: list[State], group: Group
    ) -> None:
        steps = [state["step"] for state in states]
        ops._foreach_add__Scalar(steps, 1)
        found_inf = getattr(self, "found_inf", None)
        if found_inf is not None:  # a step that is not taken is not counted
            for step in steps:
                step.sub_(found_inf)
        ops._fused_adagrad_(
            params,
            grads,
            [state["sum"] for state in states],
            steps,
            lr=float(group["lr"]),
            lr_decay=group["lr_decay"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=found_inf,
        )
