"""Adam and AdamW: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

from typing import Any, ClassVar

import engine
from engine._generated import ops
from engine.optim.per_parameter import (
    LATER_OPTIONS,
    Group,
    PerParameter,
    State,
    check_betas,
    check_fused,
    check_not_negative,
    check_rate,
    decayed,
    descend_ratio,
    scalar,
    zeros,
)
from engine.tensor import Tensor

__all__ = ["Adam", "AdamW"]


class Adam(PerParameter):
    """p = p - lr * m / (sqrt(v) + eps), with m and v the corrected means of the gradient and its square.

    m = beta1 * m + (1 - beta1) * g and v = beta2 * v + (1 - beta2) * g², divided by 1 - beta^step as
    they start at zero. g is the gradient plus `weight_decay` * p; with `decoupled_weight_decay`,
    lr * weight_decay * p is subtracted from p instead. `amsgrad` uses the largest v so far.
    State: "step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq".

    >>> w = engine.tensor([1.0, 2.0]).requires_grad_()
    >>> w.grad = engine.tensor([0.5, -1.0])
    >>> engine.optim.Adam([w], lr=0.1).step()
    >>> w
    tensor([0.9000, 2.1000], requires_grad=True)
    """

    _later: ClassVar = {
        **LATER_OPTIONS,
        "amsgrad": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }
    _has_fused = True

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        check_rate(lr)
        check_not_negative("epsilon value", eps)
        check_betas(betas)
        check_not_negative("weight_decay value", weight_decay)
        _check_tensor_betas(betas, foreach, capturable)
        defaults = {
            "lr": lr,
            "betas": tuple(_flat(beta) for beta in betas),
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(defaults)

    def _start(self, p: Tensor, group: Group) -> State:
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
        return {name: zeros(p) for name in names[: 3 if group["amsgrad"] else 2]}

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, weight_decay = scalar(group["lr"]), scalar(group["weight_decay"])
        beta1, beta2 = map(scalar, group["betas"])
        differentiable = group["differentiable"]
        step = state["step"].clone() if differentiable else state["step"].item()
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        if group["decoupled_weight_decay"] and weight_decay != 0:
            p.mul_(1 - lr * weight_decay)
        elif weight_decay != 0:
            grad = decayed(grad, p, weight_decay)
        mean.lerp_(grad, 1 - beta1)
        if isinstance(beta2, Tensor):
            square.lerp_(grad * grad, 1 - beta2)
        else:
            square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        rate = lr / (1 - beta1**step)
        root = (1 - beta2**step) ** 0.5
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            largest.copy_(engine.maximum(largest.clone() if differentiable else largest, square))
            square = largest
        # A differentiable step needs copies: the next step overwrites the state.
        spread = (square.clone() if differentiable else square).sqrt() / root + group["eps"]
        descend_ratio(p, mean.clone() if differentiable else mean, spread, rate)

    def _fused(
        self, params: list[Tensor], grads: list[Tensor], states: list[State], group: Group
    ) -> None:
        beta1, beta2 = group["betas"]
        steps = [state["step"] for state in states]
        ops._foreach_add__Scalar(steps, 1)
        found_inf = getattr(self, "found_inf", None)
        if found_inf is not None:  # a step that is not taken is not counted
            for count in steps:
                count.sub_(found_inf)
        call = ops._fused_adamw_ if group["decoupled_weight_decay"] else ops._fused_adam_
        call(
            params,
            grads,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [state["max_exp_avg_sq"] for state in states] if group["amsgrad"] else [],
            steps,
            lr=float(group["lr"]),
            beta1=float(beta1),
            beta2=float(beta2),
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=group["amsgrad"],
            maximize=group["maximize"],
            grad_scale=getattr(self, "grad_scale", None),
            found_inf=found_inf,
        )


class AdamW(Adam):
    """Adam with the weight decay applied to the parameter itself, not to the gradient.

    p = p - lr * weight_decay * p, then Adam's step without weight decay.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


def _check_tensor_betas(betas: Any, foreach: bool | None, capturable: bool) -> None:
    tensors = [isinstance(beta, Tensor) for beta in betas]
    if not all(tensors) and not all(isinstance(beta, float) for beta in betas):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, is_tensor in enumerate(tensors):
        if is_tensor and foreach and not capturable:
            raise ValueError(
                f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
            )
        if is_tensor and betas[i].numel() != 1:
            raise ValueError(f"Tensor betas[{i}] must be 1-element")


def _flat(beta: Any) -> Any:
    return beta.squeeze() if isinstance(beta, Tensor) and beta.dim() else beta
