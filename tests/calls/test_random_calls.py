"""A few thousand random calls, always the same: none crashes, hangs or ends in an error from inside.

`call_search.py` makes as many as one has time for, and compares them with PyTorch's.
"""

from __future__ import annotations

from typing import Any

import pytest
from call_arguments import Call, call_text
from call_compare import difference
from call_faults import wrong_in_two_ways
from call_search import search
from call_signatures import targets


def test_none_crashes_hangs_or_ends_in_an_error_from_inside() -> None:
    actual: list[Any] = []
    counts, _ = search(seed=1, numbers=range(6000), torch=False, terms=[], say=actual.append)
    assert counts["calls"] + counts["unbuilt"] == 6000
    assert counts["unbuilt"] < 60
    assert not actual


def test_a_call_follows_from_its_seed_and_number() -> None:
    selected = targets()
    first, again, other = (call_text(Call(selected, 1, n)) for n in (7, 7, 8))
    assert first == again != other


def test_every_public_name_can_be_called() -> None:
    names = {target.path for target in targets()}
    assert {"add", "Tensor.add_", "Tensor.__add__", "linalg.svd", "nn.functional.elu"} <= names
    assert len(names) > 1200


def test_a_call_that_ends_the_process_is_found_and_the_search_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CALL_RUN_ABORTS_AT", "30")
    actual: list[Any] = []
    counts, _ = search(seed=1, numbers=range(60), torch=False, terms=["abs"], say=actual.append)
    assert counts["ended"] == 1
    assert [(item.number, item.difference) for item in actual] == [
        (30, "ends the process: signal 6")
    ]


TENSOR = ("tensor", "float32", (2,), (1,), False, None, None, [1.0, 2.0], "cpu")


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (TENSOR, None),
        ((*TENSOR[:7], [1.0, 2.5], "cpu"), "values: 2.5 at 1 of 2, PyTorch's is 2.0"),
        (("tensor", "float64", *TENSOR[2:]), "dtype float64, PyTorch's is float32"),
        ((*TENSOR[:4], True, *TENSOR[5:]), "requires_grad True, PyTorch's is False"),
        ((*TENSOR[:3], (2,), *TENSOR[4:]), "strides (2,), PyTorch's are (1,)"),
        (("value", "int", 3), "structure value, PyTorch's is tensor"),
    ],
)
def test_a_difference_between_results_is_told(ours: Any, expected: str | None) -> None:
    assert (
        difference("abs", ("returned", TENSOR, [], None), ("returned", ours, [], None)) == expected
    )


def test_a_difference_between_errors_is_told() -> None:
    other = ("raised", "TypeError", "no", False, "")
    assert difference("abs", other, ("raised", "TypeError", "other words", False, "")) is None
    actual = difference("abs", other, ("raised", "ValueError", "no", False, ""))
    assert actual == "class ValueError, PyTorch's is TypeError"


def test_pytorch_agrees_on_a_few_hundred_calls() -> None:
    pytest.importorskip("torch")
    actual: list[Any] = []
    terms = ["atan2", "addcmul", "lerp", "Tensor.sub", "maximum"]
    counts, _ = search(seed=1, numbers=range(400), torch=True, terms=terms, say=actual.append)
    assert counts["PyTorch returned"] > 100
    assert not [
        item for item in actual if "values" in item.difference or "gradient" in item.difference
    ]


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        # An index and a dtype; a dtype and sizes; an argument and the graph.
        (("IndexError", "x: dimension out of range"), ("NotImplementedError", "not implemented for 'Half'"), True),
        (("NotImplementedError", "\"f\" not implemented for 'Half'"), ("RuntimeError", "A must have batches"), False),
        (("NotImplementedError", "\"f\" not implemented for 'Half'"), ("RuntimeError", "shapes differ"), True),
        (("TypeError", "f: argument 'x' must be int, got str"), ("RuntimeError", "a leaf Variable"), True),
        # One fault under two classes; a fault under a class that PyTorch does not give it; an unknown one.
        (("RuntimeError", "x: dimension out of range"), ("IndexError", "Dimension out of range"), False),
        (("ValueError", "\"f\" not implemented for 'Half'"), ("RuntimeError", "sizes differ"), False),
        (("ValueError", "step must be positive, got 0"), ("RuntimeError", "slice step must be positive"), False),
        (("RuntimeError", "oh"), ("IndexError", "Dimension out of range"), False),
    ],
)  # fmt: skip
def test_a_call_that_is_wrong_in_two_ways_is_recognised(
    ours: tuple[str, str], theirs: tuple[str, str], expected: bool
) -> None:
    assert wrong_in_two_ways(ours, theirs) is expected


def test_gradients_of_equal_elements_may_change_places() -> None:
    def described(*numbers: float) -> tuple[object, ...]:
        return ("tensor", "float32", (len(numbers),), (1,), False, None, None, [*numbers], "cpu")

    def outcome(*gradient: float) -> tuple[object, ...]:
        x = described(2.0, 1.0, 2.0)
        return ("returned", described(2.0), [x], [described(*gradient)])

    assert difference("median", outcome(0.5, 0.0, 0.0), outcome(0.0, 0.0, 0.5)) is None
    wrong = difference("median", outcome(0.5, 0.0, 0.0), outcome(0.0, 0.5, 0.0))
    assert wrong == "gradient 0: values: 0.0 at 0 of 3, PyTorch's is 0.5"
    assert difference("sum", outcome(0.5, 0.0, 0.0), outcome(0.0, 0.0, 0.5)) is not None
