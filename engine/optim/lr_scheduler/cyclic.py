"""CyclicLR: a rate that rises and falls between two bounds."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from functools import partial
from typing import Any

from engine.optim.lr_scheduler.base import LRScheduler, check_optimizer, per_group, set_option
from engine.optim.lr_scheduler.momentum import bounds, has_betas, set_momentum, start_momentum
from engine.optim.optimizer import Optimizer

__all__ = ["CyclicLR"]


class CyclicLR(LRScheduler):
    """Cycles between `base_lr` and `max_lr`: up in `step_size_up` steps, down in `step_size_down`.

    The height of a cycle is constant ("triangular"), halves ("triangular2"), is gamma ** step
    ("exp_range"), or `scale_fn` of the cycle or the step (`scale_mode`). With `cycle_momentum` the momentum
    changes in the opposite direction.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_option(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_ref: Callable[[float], float]
        self._scale_fn_custom: Any = scale_fn
        self.scale_mode = scale_mode
        self._init_scale_fn()
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = has_betas(optimizer)
            both = bounds(optimizer, base_momentum, max_momentum)
            self.base_momentums, self.max_momentums = both
            if last_epoch == -1:
                start_momentum(optimizer, self.use_beta1, *both)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _init_scale_fn(self) -> None:
        if self._scale_fn_custom is not None:
            return
        if self.mode == "exp_range":
            self._scale_fn_ref = partial(pow, self.gamma)
            self.scale_mode = "iterations"
        else:
            self._scale_fn_ref = _always_one if self.mode == "triangular" else _halved
            self.scale_mode = "cycle"

    def scale_fn(self, x: float) -> float:
        """Return the height of a cycle, by the number of the cycle or of the step."""
        custom = self._scale_fn_custom
        return float((self._scale_fn_ref if custom is None else custom)(x))

    def get_lr(self) -> list[Any]:
        """Return the rate of every group; sets the momentum, too."""
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        rising = x <= self.step_ratio
        way = x / self.step_ratio if rising else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            bounds_of = zip(groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in bounds_of:
                set_momentum(group, self.use_beta1, high - (high - low) * way * scale)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [low + (high - low) * way * scale for low, high in pairs]

    def state_dict(self) -> dict[str, Any]:
        """Return the state without functions; of a callable object, its attributes."""
        saved = super().state_dict()
        saved.pop("_scale_fn_ref", None)
        function = saved.pop("_scale_fn_custom")
        plain = function is None or isinstance(function, types.FunctionType)
        saved["_scale_fn_custom"] = None if plain else function.__dict__.copy()
        return saved

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = {key: value for key, value in state_dict.items() if key != "_scale_fn_custom"}
        super().load_state_dict(state)
        attributes = state_dict["_scale_fn_custom"]
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self._init_scale_fn()


def _always_one(_: float) -> float:
    return 1.0


def _halved(x: float) -> float:
    return 1 / (2.0 ** (x - 1))
