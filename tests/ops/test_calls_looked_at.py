"""Every operator of the table can be looked at: its calls are recorded, and both views of calls drawn."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from table import Row, rows
from tools import run

from engine.inspect import History, Selection, TraceReader, record
from engine.inspect.models import project
from tests.inspect.selections import select
from tui.views import DrawContext, view

MAX_CALLS = (
    10  # of one operator: its rows have many similar samples, other ones are drawn in each run
)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    """Two samples of each row, recorded."""
    path: Path = tmp_path_factory.mktemp("looking") / "rows.uht"
    with record(path):
        for row in rows():
            for sample in islice(row.samples(_dtype(row)), 2):
                with suppress(Exception):  # whether it works is what the other tests are about
                    run(row, sample)
    return History(TraceReader.open(path))


def _dtype(row: Row) -> str:
    return "float32" if "float32" in row.dtypes else row.dtypes[0]


def calls(history: History) -> Iterator[Any]:
    """Yield calls of every operator, up to MAX_CALLS of each."""
    by_operator: dict[int, list[int]] = {}
    for number, operator in zip(history.tables.calls.id, history.tables.calls.op, strict=True):
        by_operator.setdefault(int(operator), []).append(int(number))
    for numbers in by_operator.values():
        for number in random.sample(numbers, min(MAX_CALLS, len(numbers))):
            yield history.call(number)


def test_every_call_has_a_dispatch_view(history: History) -> None:
    for call in calls(history):
        selection = select(call=call.id)
        model = project("dispatch", history, history.end - 1, selection)
        assert model.call == call.id
        assert model.error or model.hops, f"{call.schema}, call {call.id}: no hop was recorded"
        assert model.origin.path, f"{call.schema}: where it comes from is not known"
        _fits("dispatch", model, selection)


def test_every_call_can_be_put_under_the_microscope(history: History) -> None:
    for call in calls(history):
        for last in (False, True):
            first = project("microscope", history, history.end - 1, select(call=call.id))
            index = tuple(n - 1 for n in first.out.sizes) if last and first.out else None
            tensor = first.outs[0] if first.outs else 0
            selection = select(call=call.id, tensor=tensor, index=index)
            model = project("microscope", history, history.end - 1, selection)
            sizes = {table.argument: table.sizes for table in model.inputs}
            for feed in model.feeds:
                inside = all(
                    0 <= i < n for i, n in zip(feed.index, sizes[feed.argument], strict=True)
                )
                assert inside, f"{model.text} ({call.id}): {feed.argument}{feed.index} of {sizes}"
            _fits("microscope", model, selection)


def _fits(name: str, model: Any, selection: Selection) -> None:
    picture = view(name).draw(model, DrawContext(80, 24, selection=selection))
    for y in range(picture.height):
        assert sum(span.width for span in picture.line(y)) <= 80, picture.line(y)
