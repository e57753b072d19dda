"""Random programs do with the engine what they did with PyTorch."""

import json

import pytest
from random_programs import RECORDED, log_of, program
from scenario_tools import difference

import engine

LOGS = json.loads(RECORDED.read_text())


def first_difference(seed: int) -> str | None:
    """Return the first difference between the engine's run of a program and PyTorch's, or None."""
    ours, result = json.loads(json.dumps(log_of(engine, seed))), LOGS[seed]
    for number, (own, other) in enumerate(zip(ours, result, strict=True)):
        actual = difference(own, other)
        if actual is not None:
            return f"step {number} ({program(seed)[number]['kind']}): {actual}"
    return None


@pytest.mark.parametrize("seed", range(len(LOGS)))
def test_goes_as_with_torch(seed: int) -> None:
    if LOGS[seed] is None:  # PyTorch's process ended
        assert len(log_of(engine, seed)) > 0
    else:
        assert first_difference(seed) is None, first_difference(seed)
