"""The momentum of cyclic schedules: an option "momentum", or the first of "betas"."""

from __future__ import annotations

from typing import Any

from engine.optim.lr_scheduler.base import per_group
from engine.optim.optimizer import Optimizer


def has_betas(optimizer: Optimizer) -> bool:
    """Return True if the momentum is the first of "betas". Raises: ValueError without any momentum."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    return "betas" in optimizer.defaults


def set_momentum(group: dict[str, Any], betas: bool, momentum: Any) -> None:
    """Set the momentum of a group."""
    if betas:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


def start_momentum(optimizer: Optimizer, betas: bool, base: list[Any], largest: list[Any]) -> None:
    """Start every group with its largest momentum, and store both bounds."""
    for group, low, high in zip(optimizer.param_groups, base, largest, strict=True):
        set_momentum(group, betas, high)
        group["max_momentum"] = high
        group["base_momentum"] = low


def bounds(optimizer: Optimizer, base: Any, largest: Any) -> tuple[list[Any], list[Any]]:
    """Return the smallest and the largest momentum of every group."""
    return (
        per_group("base_momentum", optimizer, base),
        per_group("max_momentum", optimizer, largest),
    )
