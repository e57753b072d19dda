"""OneCycleLR: a rate that rises once, and falls far below its initial value."""

from __future__ import annotations

import math
from typing import Any

from engine.optim.lr_scheduler.base import LRScheduler, check_optimizer, per_group
from engine.optim.lr_scheduler.momentum import bounds, has_betas, set_momentum, start_momentum
from engine.optim.optimizer import Optimizer

__all__ = ["OneCycleLR"]


class OneCycleLR(LRScheduler):
    """Rises from max_lr / div_factor to `max_lr` in the fraction `pct_start` of the steps, then falls to the
    initial rate / final_div_factor; with `three_phase` it first falls to the initial rate.

    The number of steps is `total_steps`, or `epochs` * `steps_per_epoch`. With `cycle_momentum` the momentum
    changes in the opposite direction.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        self._schedule_phases = _phases(self.total_steps, pct_start, three_phase)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        largest = per_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, largest, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = has_betas(optimizer)
            both = bounds(optimizer, base_momentum, max_momentum)
            if last_epoch == -1:
                start_momentum(optimizer, self.use_beta1, *both)
        super().__init__(optimizer, last_epoch)

    def _between(self, start: Any, end: Any, part: float) -> Any:
        if self._anneal_func_type == "linear":
            return (end - start) * part + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)

    def get_lr(self) -> list[Any]:
        """Return the rate of every group; sets the momentum, too. Raises: ValueError after the last step."""
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. "
                f"The specified number of total steps is {self.total_steps}"
            )
        begin: Any = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            begin = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        part = (step - begin) / (phase["end_step"] - begin)
        groups = self.optimizer.param_groups
        if self.cycle_momentum:
            for group in groups:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self.use_beta1, self._between(*ends, part))
        first, last = phase["start_lr"], phase["end_lr"]
        return [self._between(group[first], group[last], part) for group in groups]


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    if total_steps is None and (epochs is None or steps_per_epoch is None):
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    parts = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    if total_steps is not None:
        parts = {"total_steps": total_steps}
    for name, value in parts.items():
        if value <= 0 or not isinstance(value, int):
            raise ValueError(f"Expected positive integer {name}, but got {value}")
    return math.prod(parts.values())


def _phases(total: int, part: float, three: bool) -> list[dict[str, Any]]:
    """Return the end of each phase, and the group's options between which it interpolates."""

    def phase(end: float, start_lr: str, end_lr: str, start: str, stop: str) -> dict[str, Any]:
        return {
            "end_step": end,
            "start_lr": start_lr,
            "end_lr": end_lr,
            "start_momentum": start,
            "end_momentum": stop,
        }

    high, low = "max_momentum", "base_momentum"
    rise = phase(float(part * total) - 1, "initial_lr", "max_lr", high, low)
    if not three:
        return [rise, phase(total - 1, "max_lr", "min_lr", low, high)]
    return [
        rise,
        phase(float(2 * part * total) - 2, "max_lr", "initial_lr", low, high),
        phase(total - 1, "initial_lr", "min_lr", high, high),
    ]
