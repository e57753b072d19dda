"""Every scenario, told by the engine, is what PyTorch told: recorded in recorded.json, or asked again."""

from __future__ import annotations

import json

import pytest
from scenario_tools import RECORDED, all_scenarios, difference, told

import engine

NAMES = list(all_scenarios())
LOGS = json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_tells_what_torch_told(name: str) -> None:
    found = difference(told(engine, name), LOGS[name])
    assert found is None, f"{name}: {found}"


@pytest.mark.parametrize("name", NAMES)
def test_the_recording_is_what_torch_tells(name: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.utils.checkpoint")
    found = difference(told(torch, name), LOGS[name])
    assert found is None, f"{name}: {found}: run record_scenarios.py"


def test_the_recording_has_no_other_scenarios() -> None:
    assert sorted(LOGS) == sorted(NAMES)
