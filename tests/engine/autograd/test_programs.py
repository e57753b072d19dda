"""Random programs, told by the engine, go as they went with PyTorch."""

import json

import pytest
from random_programs import RECORDED, program, told_by
from scenario_tools import difference

import engine

LOGS = json.loads(RECORDED.read_text())


# Programs that go another way, and why.
KNOWN = {
    57: "writing a number into expanded memory through an index is allowed",
    159: "masked_fill_ of expanded memory is refused",
    209: "x[0] = x[:, 0][0] is refused as overlapping",
}


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(s, marks=pytest.mark.xfail(reason=KNOWN[s], strict=True)) if s in KNOWN else s
        for s in range(len(LOGS))
    ],
)
def test_goes_as_with_torch(seed: int) -> None:
    ours, theirs = json.loads(json.dumps(told_by(engine, seed))), LOGS[seed]
    if theirs is None:  # PyTorch's process ended
        assert len(ours) > 0
        return
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        found = difference(mine, other)
        assert found is None, f"step {number} ({program(seed)[number]['kind']}): {found}"
