"""Every scenario, told by the engine, is what PyTorch told: recorded in recorded.json, or asked again."""

from __future__ import annotations

import json

import pytest
from scenario_tools import RECORDED, all_scenarios, difference, told

import engine

NAMES = list(all_scenarios())
LOGS = json.loads(RECORDED.read_text())


# What is told otherwise, and why. A name that is told alike again must leave this list.
KNOWN = {
    "constants_have_no_node": "a number is an operand: its edge is there, and leads nowhere",
    "node_of[rsub]": "as above",
    "node_of[pow]": "as above",
    "node_of[rpow]": "as above",
    "write_then_new_view": "x[0] = 5.0 fills; PyTorch copies a tensor made of the number",
    "function_in_place[square]": "what is made of others is copied into self",
    "saved_attributes[pow]": "a power has one node for all its forms: the result belongs to one",
    "saved_attributes[mean]": "a mean has one node for all its forms: dim belongs to one",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_tells_what_torch_told(name: str) -> None:
    actual = difference(told(engine, name), LOGS[name])
    if name in KNOWN:
        assert actual is not None, f"{name}: told alike by now: take it off KNOWN"
    else:
        assert actual is None, f"{name}: {actual}"


@pytest.mark.parametrize("name", NAMES)
def test_the_recording_is_what_torch_tells(name: str) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.utils.checkpoint")
    actual = difference(told(torch, name), LOGS[name])
    assert actual is None, f"{name}: {actual}: run record_scenarios.py"


def test_the_recording_has_no_other_scenarios() -> None:
    assert sorted(LOGS) == sorted(NAMES)
