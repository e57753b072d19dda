"""Schedules of the learning rate against closed forms."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from optim_cases import leaf, start
from schedule_cases import CASES, METRICS, STEPS, groups, settings

import engine
from engine.optim import SGD
from engine.optim import lr_scheduler as lr


def one_group(rate: float = 0.1) -> SGD:
    return SGD([leaf(engine, values) for values in start()], lr=rate, momentum=0.5)


def rates(make: Callable[[SGD], Any], steps: int, optimizer: SGD | None = None) -> list[float]:
    optimizer = optimizer or one_group()
    schedule = make(optimizer)
    seen = [optimizer.param_groups[0]["lr"]]
    for _ in range(steps):
        optimizer.step()
        schedule.step()
        seen.append(optimizer.param_groups[0]["lr"])
        assert schedule.get_last_lr() == [seen[-1]]
    return seen


def cosine(t: float, period: float, low: float = 0.0) -> float:
    return low + (0.1 - low) * (1 + math.cos(math.pi * t / period)) / 2


CLOSED: dict[str, tuple[Callable[[Any], Any], Callable[[int], float]]] = {
    "lambda": (lambda o: lr.LambdaLR(o, lambda t: 0.95**t), lambda t: 0.1 * 0.95**t),
    "multiplicative": (lambda o: lr.MultiplicativeLR(o, lambda t: 0.9), lambda t: 0.1 * 0.9**t),
    "step": (lambda o: lr.StepLR(o, 4, 0.5), lambda t: 0.1 * 0.5 ** (t // 4)),
    "multi step": (
        lambda o: lr.MultiStepLR(o, [3, 7, 7], 0.3),
        lambda t: 0.1 * 0.3 ** sum(t >= m for m in (3, 7, 7)),
    ),
    "constant": (lambda o: lr.ConstantLR(o, 0.5, 4), lambda t: 0.1 * (0.5 if t < 4 else 1)),
    "linear": (
        lambda o: lr.LinearLR(o, 0.5, 1.0, 4),
        lambda t: 0.1 * (0.5 + 0.5 * min(t, 4) / 4),
    ),
    "exponential": (lambda o: lr.ExponentialLR(o, 0.8), lambda t: 0.1 * 0.8**t),
    "polynomial": (
        lambda o: lr.PolynomialLR(o, 6, 2.0),
        lambda t: 0.1 * (1 - min(t, 6) / 6) ** 2,
    ),
    "cosine": (lambda o: lr.CosineAnnealingLR(o, 6, 0.01), lambda t: cosine(t, 6, 0.01)),
    "warm restarts": (lambda o: lr.CosineAnnealingWarmRestarts(o, 4), lambda t: cosine(t % 4, 4)),
    "cyclic": (
        lambda o: lr.CyclicLR(o, 0.02, 0.1, step_size_up=4),
        lambda t: 0.02 + 0.08 * (1 - abs(t % 8 - 4) / 4),
    ),
    "chained": (
        lambda o: lr.ChainedScheduler([lr.ConstantLR(o, 0.5, 4), lr.ExponentialLR(o, 0.9)]),
        lambda t: 0.1 * (0.5 if t < 4 else 1) * 0.9**t,
    ),
    "sequential": (
        lambda o: lr.SequentialLR(o, [lr.ConstantLR(o, 0.1, 9), lr.ExponentialLR(o, 0.9)], [3]),
        lambda t: 0.01 if t < 3 else 0.1 * 0.9 ** (t - 3),
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name: str) -> None:
    make, expected = CLOSED[name]
    actual = rates(make, 20)
    assert actual == pytest.approx([expected(t) for t in range(21)], abs=1e-12)


def test_one_cycle_rises_once_and_ends_far_below() -> None:
    optimizer = one_group()
    actual = rates(lambda o: lr.OneCycleLR(o, 0.5, total_steps=21), 20, optimizer)
    assert actual[0] == pytest.approx(0.5 / 25)
    assert max(actual) == pytest.approx(0.5, rel=0.02)
    assert actual[-1] == pytest.approx(0.5 / 25 / 1e4)
    rising = [a < b for a, b in itertools.pairwise(actual)]
    assert rising == sorted(rising, reverse=True)
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95)
    schedule = lr.OneCycleLR(one_group(), 0.5, total_steps=2, cycle_momentum=False)
    schedule.optimizer.step()
    schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        schedule.step()


def test_a_plateau_lets_the_rate_fall() -> None:
    optimizer = one_group(1.0)
    schedule = lr.ReduceLROnPlateau(optimizer, patience=2, factor=0.1, cooldown=1, min_lr=0.005)
    seen = []
    for metric in [5, 4, 4, 4, 4, 4, 4, 4, 4, 3, 4, 4, 4, 4, 4, 4, 4]:
        schedule.step(metric)
        seen.append(schedule.get_last_lr()[0])
    falls = [i for i in range(1, len(seen)) if seen[i] < seen[i - 1]]
    assert falls == [4, 8, 12]
    assert seen[-1] == pytest.approx(0.005)
    assert schedule.best == 3


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", CASES)
def test_a_loaded_state_goes_on(name: str, kind: str) -> None:
    def start_schedule() -> tuple[Any, Any]:
        optimizer = groups(engine, [leaf(engine, values) for values in start()], kind)
        return optimizer, CASES[name](engine, optimizer)

    optimizer, schedule = start_schedule()
    for _ in range(5):
        optimizer.step()
        schedule.step()
    other, fresh = start_schedule()
    fresh.load_state_dict(schedule.state_dict())
    other.load_state_dict(optimizer.state_dict())
    for item, its in ((optimizer, schedule), (other, fresh)):
        for _ in range(STEPS - 6):
            item.step()
            its.step()
    assert settings(other) == settings(optimizer)
    assert len(METRICS) > 0


def test_the_order_of_steps_is_watched() -> None:
    schedule = lr.StepLR(one_group(), 2)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        schedule.step()
    with pytest.warns(UserWarning, match=r"please use `get_last_lr\(\)`"):
        schedule.get_lr()
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer = one_group()
        fine = lr.StepLR(optimizer, 2)
        optimizer.step()
        fine.step()


def test_a_rate_in_a_tensor_is_filled() -> None:
    rate = engine.tensor(0.1)
    optimizer = SGD([leaf(engine, start()[0])], lr=rate)
    schedule = lr.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.05)


def test_what_is_refused() -> None:
    optimizer = one_group()
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        lr.StepLR(3, 2)
    with pytest.raises(KeyError, match="initial_lr"):
        lr.StepLR(optimizer, 2, last_epoch=5)
    with pytest.raises(ValueError, match="Expected 1 lr_lambdas, but got 2"):
        lr.LambdaLR(optimizer, [abs, abs])
    with pytest.raises(ValueError, match=r"Factor should be < 1.0"):
        lr.ReduceLROnPlateau(optimizer, factor=1.0)
    with pytest.raises(ValueError, match="mode least is unknown"):
        lr.ReduceLROnPlateau(optimizer, "least")
    with pytest.raises(ValueError, match="You must define either total_steps"):
        lr.OneCycleLR(optimizer, 0.1)
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        lr.CyclicLR(engine.optim.Adagrad([leaf(engine, start()[0])]), 0.1, 0.2)
    with pytest.raises(ValueError, match="belong to the same optimizer"):
        lr.ChainedScheduler([lr.StepLR(optimizer, 2), lr.StepLR(one_group(), 2)])
    with pytest.raises(ValueError, match="Expected positive integer T_0"):
        lr.CosineAnnealingWarmRestarts(optimizer, 0)
