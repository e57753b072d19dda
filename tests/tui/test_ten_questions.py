"""Test that ten questions on six programs are answered within five keys of opening.

The programs in `questions/` are ordinary scripts. They are recorded as users record them, opened in the
explorer, and the answer is read from its screen.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.recordings import once
from tests.tui.waiting import exploring, until_shown

PROGRAMS = Path(__file__).parent / "questions"
MAX_KEYS = 5
QUESTIONS = [
    ("who wrote it?", "rnn_state", "a w", ("written by operator _fused_sgd_ on line 22",)),
    (
        "who keeps it?",
        "cached_loader",
        "a a a W",
        ("kept by item images.cache[0] → name images → the module",),
    ),
    (
        "why is .grad None?",
        "rnn_state",
        "left_square_bracket left_square_bracket W",
        ("state is not a leaf", "call retain_grad() before backward"),
    ),
    ("where is the peak?", "leaky_training", "P", ("the peak:", "in line 30 of leaky_training.py")),
    (
        "which node runs next, and why?",
        "rnn_state",
        "0 left_square_bracket left_square_bracket W",
        ("AccumulateGrad of cell.weight_hh) runs now", "leaves run before all others"),
    ),
    (
        "what removed this line?",
        "scripted_gate",
        "J W",
        ("Line 9 of gate", "removed in pass dce", "%again.1 is %scale.1 again"),
    ),
    (
        "which register is it in?",
        "scripted_gate",
        "I x",
        ("4 scale #", "6 trip count 2", "FUSED 1"),
    ),
    (
        "what failed?",
        "shape_error",
        "",
        (
            "shapes cannot be multiplied (3x288 and 200x10)",
            "10 × 200",
            "ended with RuntimeError on line 19",
        ),
    ),
    (
        "what failed?",
        "in_place_error",
        "W",
        ("written by sub_ on line 10", "node 11 (SigmoidBackward0)"),
    ),
    (
        "which tensor grew?",
        "cached_loader",
        "T",
        ("leak: 6 of 8 iterations of line 28", "created in line 19, held by images.cache[…]"),
    ),
    (
        "which tensor grew?",
        "leaky_training",
        "T",
        ("iterations of line 32", "held by the graph of history[…]"),
    ),
    (
        "where did this value come from?",
        "cached_loader",
        "a a 9",
        ("mean[0] = mean[0] / 6", "div_(mean, 6) call", "line 30"),
    ),
    (
        "where did this value come from?",
        "rnn_state",
        "a a 9",
        ("cell.weight_hh[0,0] - 0.1 * cell.weight_hh.grad[0,0]", "line 22"),
    ),
    (
        "where did this compiled value come from?",
        "scripted_gate",
        "ctrl+up 9",
        ("hidden = sigmoid(%hidden.2 + %scale.1) * %5, computed by FusionGroup_1",),
    ),
]


def recorded(program: str) -> Path:
    """Return the trace of a program."""

    def record(folder: Path) -> None:
        command = [sys.executable, "-P", "-m", "tui", "record", "--as", "torch"]
        subprocess.run(
            [*command, "-o", str(folder / "program.uht"), str(PROGRAMS / f"{program}.py")],
            env={**os.environ, "UNDERHOOD_HOME": str(folder / "home")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,  # two of them fail
        )

    return once(f"questions-{program}", record) / "program.uht"


@pytest.mark.parametrize(
    ("question", "program", "keys", "answers"),
    QUESTIONS,
    ids=[f"{question} {program}" for question, program, *_ in QUESTIONS],
)
async def test_it_is_answered_within_five_keys(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    program: str,
    keys: str,
    answers: tuple[str, ...],
) -> None:
    assert len(keys.split()) <= MAX_KEYS, question
    monkeypatch.setenv("UNDERHOOD_HOME", str(tmp_path))  # nothing is remembered of another question
    async with exploring(recorded(program), (120, 40)) as pilot:
        for key in keys.split():
            await pilot.press(key)
        for answer in answers:
            await until_shown(pilot, answer)
