"""The grading of answers, and the messages about those that cannot be graded."""

from __future__ import annotations

from typing import Any

import pytest

from lessons._runner.child import encode
from lessons._runner.grading import matches, read_value, understood


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("12", 12),
        (" 12. ", 12),
        ("4*3", 12),
        ("9/3", 3),
        ("5 / 2", 2.5),
        ("-56", -56),
        ("0.5", 0.5),
        ("(3, 1)", (3, 1)),
        ("3, 1", (3, 1)),
        ("[3,1]", (3, 1)),
        ("3 1", (3, 1)),
        ("(3 1)", (3, 1)),
        ("torch.Size([3, 1])", (3, 1)),
        ("5", (5,)),
        ("(5,)", (5,)),
        ("()", ()),
        ("[[1, 2], [3, 4]]", [[1, 2], [3, 4]]),
        ("False True True", [False, True, True]),
        ("no, yes, yes", [False, True, True]),
        ("yes", True),
        ("True", True),
        ("n", False),
        ("FLOAT32", "float32"),
        ("torch.float32", "float32"),
        ("'valueerror'", "ValueError"),
        ("a  tensor", "a tensor"),
        ("LOAD, move", "LOAD MOVE"),
    ],
)
def test_the_same_answer_in_other_words_is_right(typed: str, value: Any) -> None:
    assert matches(typed, encode(value))


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("13", 12),
        ("", 12),
        ("True", 1),
        ("(1, 3)", (3, 1)),
        ("3", (3, 1)),
        ("(3, 1, 1)", (3, 1)),
        ("maybe", True),
        ("no", True),
        ("float64", "float32"),
        ("MOVE, LOAD", "LOAD MOVE"),
        ("__import__('os')", 12),
        ("1 / 0", 12),
        ("9**9**9", 12),
        ("(" * 5000, (1, 2)),
        ("True, 1, 1", [True, True, True]),
    ],
)
def test_another_answer_is_wrong(typed: str, value: Any) -> None:
    assert not matches(typed, encode(value))


def test_a_tolerance_counts_for_numbers_inside_tuples() -> None:
    assert matches("(0.33, 1)", encode((1 / 3, 1.0)), 0.01)
    assert not matches("(0.33, 1)", encode((1 / 3, 1.0)))


def test_typed_text_is_parsed_and_never_run() -> None:
    assert read_value("__import__('os').getcwd()") is None
    assert read_value("[x for x in (1, 2)]") is None


@pytest.mark.parametrize(
    ("typed", "value", "message"),
    [
        ("", 1, "Type an answer"),
        ("many", 1, "single number"),
        ("(1, 2)", 1, "single number"),
        ("maybe", True, "yes or a no"),
        ("a b !", (1, 2), "row of values"),
        ("2", 1, ""),
    ],
)
def test_an_answer_of_the_wrong_kind_is_explained(typed: str, value: Any, message: str) -> None:
    output = understood(typed, encode(value))
    assert output == "" if message == "" else message in output
