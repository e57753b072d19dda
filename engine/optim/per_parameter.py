"""The base of most optimizers: a step updates each parameter from its gradient and its state.

An algorithm defines the initial state of a parameter (`_start`) and the update of a parameter (`_update`). Some
also have a native step over all parameters (`_fused`), which runs if every parameter is a dense floating tensor in
main memory, unless `fused=False`, `foreach` or `differentiable` selects the Python one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import engine
from engine._native import lib
from engine.dtypes import bfloat16, dtype, float16, float32, float64, get_default_dtype
from engine.optim.optimizer import Optimizer
from engine.tensor import Tensor

_FLOATS = frozenset(d.code for d in (float16, bfloat16, float32, float64))
LATER_OPTIONS: dict[str, Any] = {
    "foreach": None,
    "maximize": False,
    "differentiable": False,
    "capturable": False,
}
"""Options that most optimizers got later than the others, and their defaults."""
State = dict[str, Any]
Group = dict[str, Any]


class PerParameter(Optimizer):
    """An optimizer that updates each parameter independently."""

    # Options that old state dicts lack, and the values to use for them.
    _later: ClassVar[dict[str, Any]] = {}
    _counts_steps: ClassVar[bool] = True
    _has_fused: ClassVar[bool] = False
    _sparse_error: ClassVar[str] = (
        "{} does not support sparse gradients, please consider SparseAdam instead"
    )
    _takes_sparse: ClassVar[bool] = False

    def _start(self, p: Tensor, group: Group) -> State:
        """Return the initial state of a parameter, without the count of steps."""
        return {}

    def _keeps_state(self, group: Group) -> bool:
        """Return True if the group's parameters have any state."""
        return True

    def _update(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        """Update one parameter; a complex one is passed as its real and imaginary parts."""
        raise NotImplementedError

    def _fused(
        self, params: list[Tensor], grads: list[Tensor], states: list[State], group: Group
    ) -> None:
        """Update all these parameters with a native operator."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for option, value in self._later.items():
                group.setdefault(option, value)
            for p in group["params"]:
                known = self.state.get(p)
                if known and self._counts_steps and not isinstance(known["step"], Tensor):
                    known["step"] = count(float(known["step"]), group)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        `closure` recomputes the loss, with gradients; its result is returned.
        """
        with engine.set_grad_enabled(self.defaults.get("differentiable", False)):
            loss = None
            if closure is not None:
                with engine.enable_grad():
                    loss = closure()
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: Group) -> None:
        params, grads, states = [], [], []
        known = self.state if self._keeps_state(group) else _Nothing()
        for p in group["params"]:
            grad = p.grad
            if grad is None:
                continue
            state = known[p]
            if not state and self._counts_steps:
                state["step"] = count(0.0, group)
                state.update(self._start(p, group))
            params.append(p)
            grads.append(grad)
            states.append(state)
        if not params:
            return
        has_sparse = any(grad.is_sparse for grad in grads)
        if has_sparse and not self._takes_sparse:
            raise RuntimeError(self._sparse_error.format(type(self).__name__))
        if self._has_fused and not has_sparse and self._is_fusable(params, group):
            self._fused(params, grads, states, group)
            return
        if group.get("capturable"):
            raise AssertionError(
                "If capturable=True, params and state_steps must be on supported devices: "
                "accelerators; they are on the CPU"
            )
        for p, grad, state in zip(params, grads, states, strict=True):
            if self._counts_steps:
                state["step"] += 1
            self._update_one(p, grad, state, group)

    def _update_one(self, p: Tensor, grad: Tensor, state: State, group: Group) -> None:
        if group.get("maximize"):
            grad = -grad
        if p.is_complex():
            state = {k: _as_real(v) for k, v in state.items()}
            p, grad = engine.view_as_real(p), engine.view_as_real(grad)
        self._update(p, grad, state, group)

    def _is_fusable(self, params: list[Tensor], group: Group) -> bool:
        if group["fused"]:
            for p in params:
                _check_fused(p)
            return True
        if group["fused"] is not None or group["foreach"] is not None or group["differentiable"]:
            return False
        if group.get("capturable"):
            return False
        options = (group["lr"], group["weight_decay"], *group.get("betas", ()))
        if any(isinstance(option, Tensor) for option in options):
            return False
        return all(lib.uh_dtype(p._h) in _FLOATS and _has_fused_kernel(p) for p in params)


def _has_fused_kernel(p: Tensor) -> bool:
    return not lib.uh_device(p._h) or p.device.type == "opencl"


class _Nothing(dict[Any, State]):
    """A mapping for parameters without state."""

    def __missing__(self, p: Tensor) -> State:
        return {}


def count(value: float, group: Group) -> Tensor:
    """Return a count of steps as a tensor."""
    return engine.tensor(value, dtype=count_dtype(group))


def count_dtype(group: Group) -> dtype:
    """Return the dtype of counts: the default dtype, but float32 for fused steps."""
    if group.get("fused"):
        return float32
    return float64 if get_default_dtype() is float64 else float32


def zeros(p: Tensor) -> Tensor:
    """Return zeros in the layout of a parameter."""
    result: Tensor = engine.zeros_like(p, memory_format=engine.preserve_format)
    return result


def _as_real(value: Any) -> Any:
    if isinstance(value, Tensor) and value.is_complex():
        return engine.view_as_real(value)
    return value


def _check_fused(p: Tensor) -> None:
    if p.device.type != "cpu" or not p.is_floating_point():
        raise RuntimeError(
            "`fused=True` requires all the params to be floating point Tensors of supported "
            f"devices: ['cpu'] but {p.dtype} and {p.device.type}"
        )


def with_values(grad: Tensor, values: Tensor) -> Tensor:
    """Return a COO tensor with other values at the places of a coalesced gradient."""
    result: Tensor = engine.sparse_coo_tensor(
        grad._indices(), values, grad.shape, is_coalesced=True
    )
    return result


# ---- options: numbers, or tensors of one element


def scalar(value: Any) -> Any:
    """Convert an option to a number, or to a 0-d tensor if it requires a gradient."""
    if not isinstance(value, Tensor):
        return value
    if value.requires_grad and engine.is_grad_enabled():
        return value.squeeze() if value.dim() else value
    return value.item()


def check_rate(lr: Any) -> None:
    """Raise ValueError for a negative learning rate, or a tensor of several elements."""
    check_lr_size(lr)
    check_not_negative("learning rate", lr)


def check_lr_size(lr: Any) -> None:
    """Raise ValueError for a learning rate that is a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")


def check_not_negative(name: str, value: Any) -> None:
    """Raise ValueError for a negative option."""
    if not value >= 0.0:
        raise ValueError(f"Invalid {name}: {value}")


def check_betas(betas: Any) -> None:
    """Raise ValueError unless both are in [0, 1)."""
    for i in (0, 1):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_fused(options: dict[str, Any]) -> None:
    """Raise RuntimeError for `fused` together with an option that excludes it."""
    if options["fused"]:
        if options["differentiable"]:
            raise RuntimeError("`fused` does not support `differentiable`")
        if options["foreach"]:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


# ---- update formulas, for rates that are numbers or tensors


def decayed(grad: Tensor, p: Tensor, weight_decay: Any) -> Tensor:
    """Add the gradient of the L2 penalty to a gradient."""
    if isinstance(weight_decay, Tensor):
        return grad + p * weight_decay
    result: Tensor = grad.add(p, alpha=weight_decay) if weight_decay != 0 else grad
    return result


def descend(p: Tensor, direction: Tensor, rate: Any) -> None:
    """Compute p = p - rate * direction in place."""
    if isinstance(rate, Tensor):
        p.addcmul_(direction, rate, value=-1)
    else:
        p.add_(direction, alpha=-rate)


def descend_ratio(p: Tensor, above: Tensor, below: Tensor, rate: Any) -> None:
    """Compute p = p - rate * above / below in place."""
    if isinstance(rate, Tensor):
        p.sub_(above / below * rate)
    else:
        p.addcdiv_(above, below, value=-rate)
