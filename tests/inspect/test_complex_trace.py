"""A recorded program of complex tensors: cells, statistics, samples and arguments are readable."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from engine.inspect.history import History
from engine.inspect.models import VIEWS, project, to_json
from engine.inspect.trace import TraceReader
from tests.inspect.selections import select

PROGRAM = """
import engine
from tests.inspect.selections import select
z = engine.tensor([[3 + 4j, 0.5j], [0, complex(float("nan"), 1)]])
z[0, 0] = 6 + 8j
w = z.to(engine.complex128)
r = w.imag
big = engine.full((400_000,), 3 + 4j)
q = z.masked_fill(engine.tensor([True, False]), -2.5j)
done = True
"""
_RECORD = "import sys; from engine.inspect.recorder import record_program; record_program([sys.argv[2]], sys.argv[1])"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    folder = tmp_path_factory.mktemp("complex")
    program, trace = folder / "program.py", folder / "trace.uht"
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, "-c", _RECORD, str(trace), str(program)], check=True)
    return History(TraceReader.open(trace))


def last_line(history: History) -> int:
    return int(history.previous(history.end - 1, "line"))


def tensor(history: History, name: str) -> int:
    moment = last_line(history)
    labels = {history.label(fact.id, moment): fact.id for fact in history.tensors_at(moment)}
    return int(labels[name])


def test_cells_and_statistics(history: History) -> None:
    moment = last_line(history)
    model = project("values", history, moment, select(tensor=tensor(history, "z")))
    strings = [[cell.text for cell in row] for row in model.cells]
    assert strings == [["6.+8.j", "0.+0.5j"], ["0.+0.j", "nan+1.j"]]
    assert model.cells[0][1].exact == "0.0+0.5j"
    assert model.cells[1][1].kind == "nan"
    actual = model.statistics
    assert (actual.minimum, actual.maximum, actual.nan) == (0.0, 10.0, 1)  # of the absolute values
    wide = project("values", history, moment, select(tensor=tensor(history, "w")))
    assert (wide.dtype, wide.cells[0][0].exact) == ("complex128", "6.0+8.0j")
    part = project("values", history, moment, select(tensor=tensor(history, "r")))
    assert [cell.text for cell in part.cells[0]] == ["8.", "0.5"]


def test_what_a_line_changed(history: History) -> None:
    z = tensor(history, "z")
    lines = [m for m in range(history.end) if history.previous(m + 1, "line") == m]
    models = [project("values", history, m, select(tensor=z)) for m in lines]
    changed = [m.cells[0][0] for m in models if m.tensor == z and m.changed == 1]
    assert changed
    assert (changed[0].changed, changed[0].before, changed[0].exact) == (
        "changed",
        "3.0+4.0j",
        "6.0+8.0j",
    )


def test_a_large_write_is_sampled(history: History) -> None:
    model = project("values", history, last_line(history), select(tensor=tensor(history, "big")))
    saved = model.recorded
    assert saved is not None
    assert (saved.numel, saved.minimum, saved.maximum, saved.nan) == (400_000, 5.0, 5.0, 0)
    assert math.isclose(saved.mean, 5.0)
    assert model.cells[0][0].text == "3.+4.j"


def test_arguments(history: History) -> None:
    calls = {history.call_at_or_before(moment) for moment in range(history.end)} - {None}
    values = [arg.value for call in calls for arg in call.args if arg.kind == "complex"]
    assert 3 + 4j in values
    assert -2.5j in values


@pytest.mark.parametrize("view", sorted(VIEWS))
@pytest.mark.parametrize("name", ["z", "w", "r", "big", "q"])
def test_every_view_takes_them(history: History, view: str, name: str) -> None:
    moment = last_line(history)
    selection = select(tensor=tensor(history, name))
    assert to_json(project(view, history, moment, selection))
