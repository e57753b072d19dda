"""`lessons check` finds every fault that a lesson can have, and names it."""

from __future__ import annotations

import pytest

from lessons._runner.check import check_lesson, facts, uncovered
from lessons._runner.loader import load


def test_a_sound_lesson_has_no_problems(sample) -> None:
    assert check_lesson(load("1", sample.write())) == []


FAULTS = (
    # Each group is one lesson with all these faults: (correct line, its replacement, message).
    (
        ('check = "y == 3"', 'check = "True"', "the starter passes already"),
        ('"y = 3"]', '" "]', "has an empty hint"),
        ('code = "y = 4"', 'code = "y = 3"', "wrong answer 1 passes"),
        ("answer = \"'last'\"", 'answer = "word"', "its wrong answer first is right"),
        ('answer = "b"', 'answer = "missing"', "NameError: name 'missing' is not defined"),
    ),
    (
        ('check = "y == 3"', 'check = "y == 5"', "the solution fails: y is 3, not 3."),
        ('code = "y = 3.0"', 'code = "y = 6"', "right answer 2 is refused: y is 6"),
        ('message = "y is 4"', 'message = "far too big"', "which lacks 'far too big'"),
        ('view = "memory"', 'view = "mammoth"', "view 'mammoth' is none of"),
    ),
    (
        ('select = ""', 'select = "x"', "no name 'x' stands for a tensor"),
        ("y is {y}, not 3.", "y is not 3.", "the message of goal 1 shows no value of the program"),
        (
            "Not {a + 1}, less.",
            "Not {a : b}, {if}.",
            "{if} in 'Not {a : b}, {if}.' is not an expression",
        ),
        ('[[step.accepts]]\ncode = "y = 3.0"', "", "lists 1 other right answers"),
        ('[[step.rejects]]\ncode = "z = 3"\nmessage = "no name `y`"', "", "lists 2 wrong answers"),
    ),
)


@pytest.mark.parametrize("faults", FAULTS, ids=("first", "second", "third"))
def test_every_fault_is_named(sample, faults: tuple[tuple[str, str, str], ...]) -> None:
    problems = check_lesson(load("1", sample.write(*((old, new) for old, new, _ in faults))))
    for _, _, message in faults:
        assert message in "\n".join(problems)
    assert len(problems) >= len(faults)


def test_code_that_fails_and_stray_files_are_named(sample) -> None:
    root = sample.write(markdown=[("x = [1, 2, 3]", "x = [1, 2, 3][5]")])
    (root / "01_first" / "notes.txt").write_text("")
    problems = "\n".join(check_lesson(load("1", root)))
    assert "its code fails: line 1: `x = [1, 2, 3][5]`: IndexError" in problems
    assert "notes.txt is a stray file" in problems


def test_facts_that_no_lesson_covers_are_listed(sample) -> None:
    text = uncovered(facts(), [load("1", sample.write())])
    assert text.startswith(f"1 of {len(facts())} facts are taught.")
    assert "  T2 " in text
    assert "  T1 " not in text


def test_a_reply_of_many_lines_is_named(sample) -> None:
    long = ("y is {y}, not 3.", "y is {y}, not 3." + " And so on." * 60)
    problems = "\n".join(check_lesson(load("1", sample.write(long))))
    assert "wrong answer 1 gets 7 lines: 'y is 4, not 3." in problems
