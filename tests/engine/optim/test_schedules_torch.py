"""Schedules of the learning rate against PyTorch: rates, momentum and state after every step."""

from __future__ import annotations

from typing import Any

import pytest
from optim_cases import leaf, start
from schedule_cases import CASES, METRICS, PLATEAUS, STEPS, groups, settings

import engine

torch = pytest.importorskip("torch")


def state(schedule: Any) -> dict[str, Any]:
    saved = dict(schedule.state_dict())
    saved.pop("_scale_fn_ref", None)
    return saved


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", CASES)
def test_every_step(name: str, kind: str) -> None:
    actual = []
    for library in (engine, torch):
        optimizer = groups(library, [leaf(library, values) for values in start()], kind)
        schedule = CASES[name](library, optimizer)
        seen: list[Any] = [settings(optimizer)]
        for _ in range(STEPS):
            optimizer.step()
            schedule.step()
            seen.append((settings(optimizer), schedule.get_last_lr()))
        actual.append((seen, state(schedule)))
    assert actual[0] == actual[1]


@pytest.mark.parametrize("name", PLATEAUS)
def test_plateaus(name: str) -> None:
    actual = []
    for library in (engine, torch):
        optimizer = groups(library, [leaf(library, values) for values in start()])
        schedule = library.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **PLATEAUS[name])
        seen = []
        for metric in METRICS:
            schedule.step(metric)
            seen.append(settings(optimizer))
        actual.append((seen, state(schedule)))
    assert actual[0] == actual[1]
