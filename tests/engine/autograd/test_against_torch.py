"""Every scenario's log is PyTorch's: that in recorded.json, or a new one where torch is installed."""

from __future__ import annotations

import json

import pytest
from scenario_tools import RECORDED, all_scenarios, difference, log_of

import engine

NAMES = list(all_scenarios())
LOGS = json.loads(RECORDED.read_text())


# Scenarios whose logs differ, and why. One that agrees again must leave this list.
KNOWN = {
    "constants_have_no_node": "a number is an operand: its edge is there, and leads nowhere",
    "node_of[rsub]": "as above",
    "node_of[pow]": "as above",
    "node_of[rpow]": "as above",
    "saved_attributes[pow]": "a power has one node for all its forms: the result belongs to one",
    "saved_attributes[mean]": "a mean has one node for all its forms: dim belongs to one",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_logs_what_torch_logged(name: str) -> None:
    actual = difference(log_of(engine, name), LOGS[name])
    if name in KNOWN:
        assert actual is not None, f"{name}: agrees with PyTorch now: take it off KNOWN"
    else:
        assert actual is None, f"{name}: {actual}"


@pytest.mark.parametrize("name", NAMES)
def test_the_recording_is_what_torch_logs(name: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.utils.checkpoint")
    actual = difference(log_of(torch, name), LOGS[name])
    assert actual is None, f"{name}: {actual}: run record_scenarios.py"


def test_the_recording_has_no_other_scenarios() -> None:
    assert sorted(LOGS) == sorted(NAMES)
