"""A look is placed on the recording: at a line or at the end, on a name, on a cell."""

from __future__ import annotations

import pytest

from engine.inspect import History, TraceReader
from lessons._runner.lesson import LessonError, Look
from lessons._runner.look_target import resolve_look
from lessons._runner.process import run_program

PROGRAM = """\
import engine

x = engine.arange(12).view(3, 4)
y = x[1:, ::2]
x = engine.zeros(5)
"""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    folder = tmp_path_factory.mktemp("looking")
    (folder / "program.py").write_text(PROGRAM)
    outcome = run_program(folder / "program.py", trace=folder / "program.uht")
    assert outcome.error == ""
    return History(TraceReader.open(folder / "program.uht"))


def test_at_the_end_a_name_is_what_it_was_bound_to_last(history: History) -> None:
    moment, selection = resolve_look(Look("memory", select="x"), history)
    tensor = history.tensor(selection.tensor, moment)
    assert tensor is not None
    assert tensor.sizes == (5,)
    assert selection.storage == tensor.storage


def test_after_a_line_its_effects_are_there_and_later_ones_are_not(history: History) -> None:
    moment, selection = resolve_look(Look("memory", select="x", line=3), history)
    tensor = history.tensor(selection.tensor, moment)
    assert tensor is not None
    assert tensor.sizes == (3, 4)
    assert "y" not in [name.name for name in history.names_at(moment)]


def test_an_index_is_the_address_of_its_cell(history: History) -> None:
    _, selection = resolve_look(Look("strides", select="y", index=(1, 1)), history)
    assert selection.cell is not None
    assert selection.cell.index == (1, 1)
    assert selection.cell.byte == (4 + 1 * 4 + 1 * 2) * 8


def test_what_is_not_there_is_said(history: History) -> None:
    with pytest.raises(LessonError, match="no name 'z' stands for a tensor"):
        resolve_look(Look("memory", select="z"), history)
    with pytest.raises(LessonError, match="line 99 of the program never ran"):
        resolve_look(Look("memory", line=99), history)


def test_without_a_name_only_the_moment_is_chosen(history: History) -> None:
    moment, selection = resolve_look(Look("timeline"), history)
    assert not selection
    assert 0 < moment < history.end
