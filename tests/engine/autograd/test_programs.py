"""Random programs, told by the engine, go as they went with PyTorch."""

import json

import pytest
from random_programs import RECORDED, program, told_by
from scenario_tools import difference

import engine

LOGS = json.loads(RECORDED.read_text())


@pytest.mark.parametrize("seed", range(len(LOGS)))
def test_goes_as_with_torch(seed: int) -> None:
    ours, theirs = json.loads(json.dumps(told_by(engine, seed))), LOGS[seed]
    if theirs is None:  # PyTorch's process ended
        assert len(ours) > 0
        return
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        found = difference(mine, other)
        assert found is None, f"step {number} ({program(seed)[number]['kind']}): {found}"
