"""A selection is typed and printed in one place, and has one item of each sort."""

from __future__ import annotations

import pytest

from engine.inspect.selection import (
    CallSelection,
    CellSelection,
    LineSelection,
    NameSelection,
    NodeSelection,
    Selection,
    StorageSelection,
    TensorSelection,
    ValueSelection,
    parse_selection,
    selection_parts,
)
from tests.inspect.trace_builder import TraceBuilder


def traced() -> TraceBuilder:
    b = TraceBuilder()
    b.tensor((2, 3), values=range(6), name="x")
    return b


@pytest.mark.parametrize(
    "selection",
    [
        Selection(TensorSelection(1)),
        Selection(NameSelection(1, 0, "x")),
        Selection(CellSelection(1, 1, 0)),
        Selection(StorageSelection(1)),
        Selection.of(LineSelection(1, 3), CallSelection(4), NodeSelection(2), ValueSelection(9)),
    ],
)
def test_what_is_printed_can_be_typed(selection: Selection) -> None:
    b = traced()
    history = b.history()
    spec = ",".join(f"{key}={part}" for key, part in selection_parts(selection).items())
    assert Selection.of(*parse_selection(spec, history, b.now)) == selection


def test_the_last_item_of_a_sort_counts_and_the_other_sorts_stay() -> None:
    line = LineSelection(1, 3)
    selection = Selection.of(TensorSelection(1), line, CellSelection(2, 1, 8))
    assert (selection.tensor, selection.storage, selection.line) == (2, 1, line)
    assert selection.updated(Selection(StorageSelection(5))).tensor == 0
    assert selection.updated(Selection(StorageSelection(5))).line == line


def test_two_sorts_with_the_same_number_are_different() -> None:
    assert NodeSelection(3) != CallSelection(3)
    assert NameSelection(3) != TensorSelection(3)
