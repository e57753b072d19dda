"""Muon: steps along the momentum, orthogonalised as a matrix."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine.optim.per_parameter import Group, PerParameter, State, check_lr_size, scalar, zeros
from engine.tensor import Tensor

__all__ = ["Muon"]

_RATES = (None, "original", "match_rms_adamw")
_MAX_STEPS = 100


class Muon(PerParameter):
    """Steps along the orthogonalised momentum: about U V^T for the momentum U S V^T.

    Newton-Schulz iterations with the polynomial a x + b x^3 + c x^5, in bfloat16, bring the singular
    values near 1; `adjust_lr_fn` scales the rate by the shape (m, n) of the parameter:
    "original" (also None) by sqrt(max(1, m / n)), "match_rms_adamw" by 0.2 * sqrt(max(m, n)).
    Use it for the matrices of hidden layers, and another optimizer for other parameters.
    State: "momentum_buffer".

    Raises: ValueError for options out of range and for parameters that are not matrices;
    RuntimeError for complex ones. Source: Keller Jordan, "Muon", 2024.
    """

    _counts_steps = False

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr_size(lr)
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in _RATES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for p in group["params"]:
                if p.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{p.size()}"
                    )

    def _update_one(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        if p.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if not state:
            state["momentum_buffer"] = zeros(grad)
        self._update(p, grad, state, group)

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        lr, momentum, average = scalar(group["lr"]), group["momentum"], state["momentum_buffer"]
        average.lerp_(grad, 1 - momentum)
        ahead = grad.lerp(average, momentum) if group["nesterov"] else average
        update = orthogonalised(ahead, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = p.shape
        scale = math.sqrt(max(1, rows / columns))
        if group["adjust_lr_fn"] == "match_rms_adamw":
            scale = 0.2 * math.sqrt(max(rows, columns))
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(update, alpha=-lr * scale)


def orthogonalised(
    matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Tensor:
    """Return `matrix` (m, n) in bfloat16 with its singular values brought near 1.

    Raises: ValueError for 100 steps or more, or not three coefficients.
    """
    if steps >= _MAX_STEPS:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    is_tall = matrix.size(0) > matrix.size(1)
    x = matrix.bfloat16()
    if is_tall:
        x = x.T  # the smaller Gram matrix of the two
    x.div_(x.norm().clamp(min=eps))  # no singular value above 1
    for _ in range(steps):
        gram = x @ x.T
        x = engine.addmm(x, engine.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x
