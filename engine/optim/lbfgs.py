"""L-BFGS: a quasi-Newton method with curvature estimated from the last steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import engine
from engine.optim.line_search import Point, strong_wolfe
from engine.optim.optimizer import Optimizer
from engine.optim.per_parameter import check_rate, scalar
from engine.tensor import Tensor

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """Limited-memory BFGS over one group of parameters, as one vector.

    `step(closure)` needs a closure that recomputes the loss: it is called up to `max_eval`
    times for up to `max_iter` directions. `line_search_fn` is None (steps of `lr`) or
    "strong_wolfe". The state of the first parameter has "func_evals", "n_iter", the last direction "d" and
    step "t", "old_dirs", "old_stps" and "ro" of the last `history_size` steps.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Move along up to `max_iter` directions; return the previous loss."""
        if closure is None:
            raise TypeError("LBFGS.step: needs a closure that computes the loss")
        if len(self.param_groups) != 1:
            raise AssertionError(
                f"Expected exactly one param_group, but got {len(self.param_groups)}"
            )
        with engine.no_grad():
            return self._step(engine.enable_grad()(closure))

    def _step(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, grad = float(first_loss), self._gradient()
        state["func_evals"] += 1
        if grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(grad, state, group["history_size"])
            previous = state["prev_loss"] = loss
            slope = grad.dot(direction)
            t = self._first_length(grad, state, scalar(group["lr"]))
            if slope > -group["tolerance_change"]:
                state["t"] = t
                break
            calls = 0
            if group["line_search_fn"] is not None:
                allowed = group["max_eval"] - evaluations
                start = Point(0, loss, grad.clone(), slope)
                loss, grad, t, calls = self._search(closure, direction, t, start, allowed)
                self._move(t, direction)
            else:
                self._move(t, direction)
                if iteration < group["max_iter"]:  # not needed after the last one
                    loss, grad, calls = float(closure()), self._gradient(), 1
            state["t"] = t
            evaluations += calls
            state["func_evals"] += calls
            if (
                iteration == group["max_iter"]
                or evaluations >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or (direction * t).abs().max() <= group["tolerance_change"]
                or abs(loss - previous) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _direction(self, grad: Tensor, state: dict[str, Any], history: int) -> Tensor:
        """Multiply the negative gradient by the inverse curvature of the last steps."""
        if state["n_iter"] == 1:
            state.update(d=-grad, old_dirs=[], old_stps=[], ro=[], H_diag=1)
            state["prev_flat_grad"] = grad.clone()
            return state["d"]
        changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        change, step = grad - state["prev_flat_grad"], state["d"] * state["t"]
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(changes) == history:
                for remembered in (changes, steps, ro):
                    remembered.pop(0)
            changes.append(change)
            steps.append(step)
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        share = state.setdefault("al", [None] * history)
        direction = -grad
        for i in range(len(changes) - 1, -1, -1):
            share[i] = steps[i].dot(direction) * ro[i]
            direction.add_(changes[i], alpha=-share[i])
        direction = direction * state["H_diag"]
        for i in range(len(changes)):
            direction.add_(steps[i], alpha=share[i] - changes[i].dot(direction) * ro[i])
        state["d"] = direction
        state["prev_flat_grad"].copy_(grad)
        return direction

    def _first_length(self, grad: Tensor, state: dict[str, Any], lr: Any) -> Any:
        return min(1.0, 1.0 / grad.abs().sum()) * lr if state["n_iter"] == 1 else lr

    def _search(
        self, closure: Callable[[], Any], direction: Tensor, t: Any, start: Point, allowed: int
    ) -> tuple[float, Tensor, Any, int]:
        if self.param_groups[0]["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        before = [p.clone() for p in self._params]

        def evaluate(length: Any) -> tuple[float, Tensor]:
            self._move(length, direction)
            evaluation = float(closure()), self._gradient()
            for p, original in zip(self._params, before, strict=True):
                p.copy_(original)
            return evaluation

        point, calls = strong_wolfe(evaluate, direction, t, start, max_tries=allowed)
        return point.loss, point.grad, point.t, calls

    def _gradient(self) -> Tensor:
        """Concatenate the gradients of all parameters, with zeros for missing ones."""
        parts = []
        for p in self._params:
            part = engine.zeros_like(p) if p.grad is None else p.grad
            parts.append((engine.view_as_real(part) if part.is_complex() else part).reshape(-1))
        gradient: Tensor = engine.cat(parts, 0)
        return gradient

    def _move(self, t: Any, direction: Tensor) -> None:
        """Move every parameter by `t` times its part of the direction."""
        at = 0
        for p in self._params:
            real = engine.view_as_real(p) if p.is_complex() else p
            count = real.numel()
            real.add_(direction[at : at + count].view(real.shape), alpha=t)
            at += count
