"""Schedules with options; each makes one from a library (engine or torch) and an optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

STEPS = 25


def simple(kind: str, *args: Any, **options: Any) -> Callable[[Any, Any], Any]:
    return lambda library, optimizer: getattr(library.optim.lr_scheduler, kind)(
        optimizer, *args, **options
    )


def sequential(library: Any, optimizer: Any) -> Any:
    result = library.optim.lr_scheduler
    first = result.ConstantLR(optimizer, factor=0.1, total_iters=2)
    second = result.ExponentialLR(optimizer, gamma=0.9)
    third = result.CosineAnnealingLR(optimizer, T_max=4)
    return result.SequentialLR(optimizer, [first, second, third], milestones=[3, 9])


def chained(library: Any, optimizer: Any) -> Any:
    result = library.optim.lr_scheduler
    return result.ChainedScheduler(
        [
            result.ConstantLR(optimizer, factor=0.1, total_iters=2),
            result.ExponentialLR(optimizer, 0.9),
        ]
    )


CASES: dict[str, Callable[[Any, Any], Any]] = {
    "lambda": simple("LambdaLR", lambda epoch: 0.95**epoch),
    "lambda of each group": simple("LambdaLR", [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    "multiplicative": simple("MultiplicativeLR", lambda epoch: 0.95),
    "step": simple("StepLR", step_size=4, gamma=0.5),
    "multi step": simple("MultiStepLR", milestones=[3, 7, 7, 12], gamma=0.3),
    "constant": simple("ConstantLR", factor=0.5, total_iters=4),
    "linear": simple("LinearLR", start_factor=0.5, total_iters=4),
    "linear down": simple("LinearLR", start_factor=1.0, end_factor=0.1, total_iters=7),
    "exponential": simple("ExponentialLR", gamma=0.8),
    "polynomial": simple("PolynomialLR", total_iters=6, power=2.0),
    "cosine": simple("CosineAnnealingLR", T_max=6, eta_min=0.001),
    "warm restarts": simple("CosineAnnealingWarmRestarts", T_0=3, T_mult=2, eta_min=0.001),
    "warm restarts of one length": simple("CosineAnnealingWarmRestarts", T_0=4),
    "cyclic": simple("CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=3, step_size_down=5),
    "cyclic halves": simple(
        "CyclicLR", base_lr=0.01, max_lr=[0.1, 0.2], step_size_up=3, mode="triangular2"
    ),
    "cyclic exponential": simple(
        "CyclicLR", base_lr=0.01, max_lr=0.1, step_size_up=3, mode="exp_range", gamma=0.9
    ),
    "cyclic by a function": simple(
        "CyclicLR",
        base_lr=0.01,
        max_lr=0.1,
        step_size_up=3,
        scale_fn=lambda x: 1 / x,
        cycle_momentum=False,
    ),
    "one cycle": simple("OneCycleLR", max_lr=0.1, total_steps=STEPS + 1),
    "one cycle linear": simple(
        "OneCycleLR", max_lr=[0.1, 0.3], epochs=5, steps_per_epoch=6, anneal_strategy="linear"
    ),
    "one cycle of three": simple(
        "OneCycleLR", max_lr=0.1, total_steps=30, three_phase=True, pct_start=0.4
    ),
    "sequential": sequential,
    "chained": chained,
}

PLATEAUS: dict[str, dict[str, Any]] = {
    "min": {"patience": 2, "factor": 0.5},
    "max": {"mode": "max", "patience": 1, "threshold": 0.1},
    "absolute": {"threshold_mode": "abs", "threshold": 0.05, "patience": 0, "cooldown": 2},
    "absolute max": {"mode": "max", "threshold_mode": "abs", "patience": 1, "min_lr": [0.01, 0.02]},
}
METRICS = [1.0, 0.9, 0.9, 0.9, 0.91, 0.8, 0.85, 0.84, 0.9, 1.1, 1.2, 0.7, 0.71, 0.72, 0.73, 0.74]


def groups(library: Any, leaves: list[Any], kind: str = "SGD") -> Any:
    """Return an optimizer of two groups with different rates."""
    options = {"momentum": 0.9} if kind == "SGD" else {}
    both = [{"params": leaves[:1]}, {"params": leaves[1:], "lr": 0.2}]
    return getattr(library.optim, kind)(both, lr=0.05, **options)


def settings(optimizer: Any) -> list[Any]:
    """Return what schedules set: rate and momentum of each group."""
    return [
        (float(group["lr"]), group.get("momentum"), group.get("betas"))
        for group in optimizer.param_groups
    ]
