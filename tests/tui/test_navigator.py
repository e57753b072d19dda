"""Moving through a trace: every key's meaning, without a terminal."""

from __future__ import annotations

import pytest

from engine.inspect.events import HOLDERS
from engine.inspect.selection import (
    CallSelection,
    CellSelection,
    LineSelection,
    NameSelection,
    Selection,
    TensorSelection,
)
from tests.inspect.trace_builder import TraceBuilder
from tests.tui.program import program
from tui.actions.queries import copy_python, copy_text, who_owns, who_wrote
from tui.navigator import Navigator
from tui.render import UNICODE, Target
from tui.views import views
from tui.views._cells import cell_target


@pytest.fixture
def nav() -> Navigator:
    return Navigator(program().history())


def line_of(nav: Navigator) -> int:
    line = nav.line()
    return line.line if line else 0


def test_it_begins_where_the_programs_names_still_live(nav: Navigator) -> None:
    names = {name.name for name in nav.history.names_at(nav.moment)}
    assert {"x", "y", "z", "w"} <= names
    assert nav.moment < nav.last


def test_lines_forwards_are_lines_backwards(nav: Navigator) -> None:
    nav.go("start")
    forwards = []
    while not nav.step(1):
        forwards.append(nav.moment)
    backwards = [forwards[-1]]
    while not nav.step(-1):
        backwards.append(nav.moment)
    assert backwards[::-1][1:] == forwards
    assert [nav.go(str(m)) or line_of(nav) for m in forwards[:-1]] == [
        1,
        3,
        7,
        8,
        9,
        10,
        11,
        4,
        5,
    ]


@pytest.mark.parametrize("grain", ["event", "op", "line"])
def test_the_ends_are_said_and_nothing_moves(nav: Navigator, grain: str) -> None:
    nav.set_grain(grain)
    nav.go("last")
    assert nav.step(1) == f"no later {grain}"
    assert nav.moment == nav.last
    nav.go("start")
    assert nav.step(-1) == f"no earlier {grain}"
    assert nav.moment == 0


def test_a_stride_from_lines_goes_over_calls(nav: Navigator) -> None:
    nav.go("line:11")
    assert nav.stride(1) == ""
    assert nav.moment == nav.last  # not line 4, inside shift()
    nav.go("line:9")
    nav.stride(1)
    assert line_of(nav) == 10


def test_a_long_pattern_does_not_hide_that_it_was_not_found(nav: Navigator) -> None:
    sentence = nav.search("pasted " * 1000)
    assert len(sentence) < 110
    assert "does not occur after event" in sentence


def test_a_stride_from_events_goes_by_operators(nav: Navigator) -> None:
    nav.set_grain("event")
    nav.go("line:8")
    nav.stride(1)
    assert nav.history.event(nav.moment).kind == "OP_EXIT"


@pytest.mark.parametrize(
    ("location", "description"),
    [
        ("12x", "not a location"),
        ("9999", "there is no event 9999"),
        ("line:77", "line 77 never ran"),
        ("line:x", "not a line number"),
    ],
)
def test_a_wrong_location_is_explained_and_nothing_moves(
    nav: Navigator, location: str, description: str
) -> None:
    before = nav.moment
    assert description in nav.go(location)
    assert nav.moment == before


def test_places(nav: Navigator) -> None:
    nav.go("10")
    assert nav.go("+5") == ""
    assert nav.moment == 15
    assert nav.go("-15") == ""
    assert nav.moment == 0
    assert nav.go("last") == ""
    assert nav.moment == nav.last
    assert nav.go("line:9") == ""
    assert line_of(nav) == 9


def test_selecting_a_line_keeps_the_tensor_and_the_other_way(nav: Navigator) -> None:
    nav.select(Target(TensorSelection(1)))
    nav.select(Target(LineSelection(1, 8)))
    selected = nav.selection
    assert (selected.tensor, selected.storage, selected.line) == (1, 1, LineSelection(1, 8))
    nav.select(cell_target(3, 1, 4, (1,)))
    assert nav.selection == Selection.of(CellSelection(3, 1, 4, (1,)), LineSelection(1, 8))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x", ""),
        ("tensor=2", ""),
        ("storage=1,byte=8", ""),
        ("line=9", ""),
        ("nothing", "no name 'nothing'"),
        ("tensor=99", "tensor 99 does not exist"),
        ("size=3", "cannot be selected"),
        ("byte=x", "must be a number"),
        ("", "nothing to select"),
    ],
)
def test_selecting_by_text(nav: Navigator, text: str, problem: str) -> None:
    output = nav.select_text(text)
    assert problem in output if problem else output == ""
    assert bool(nav.selection) is not bool(problem)


def test_who_wrote_a_cell_through_another_view(nav: Navigator) -> None:
    nav.select_text("y")  # y[0, 0] is x[0, 0] is z[0]; z.fill_ wrote it
    nav.select(cell_target(2, 1, 0))
    start = nav.moment
    assert "operator fill_ on line 10" in who_wrote(nav)
    assert nav.history.event(nav.moment).kind == "WRITE"
    assert "operator zeros on line 7" in who_wrote(nav)
    assert "nothing wrote to this part of storage 1" in who_wrote(nav)
    nav.back()
    nav.back()
    assert nav.moment == start


def test_who_wrote_looks_only_at_the_selected_bytes(nav: Navigator) -> None:
    nav.select(cell_target(1, 1, 20))  # x[1, 2]: fill_ did not touch it
    assert "operator zeros on line 7" in who_wrote(nav)


def test_owners_add_up_in_the_sentence(nav: Navigator) -> None:
    nav.select_text("storage=1")
    output = who_owns(nav)
    assert output.startswith("storage 1 is held 3 times")
    assert nav.view == "object"
    assert nav.back()
    assert nav.view == "memory"


def test_questions_without_a_selection_say_what_to_do(nav: Navigator) -> None:
    assert "select" in who_wrote(nav)
    assert "select" in who_owns(nav)
    assert nav.back() == "jump list is empty"


def test_search_finds_and_returns(nav: Navigator) -> None:
    nav.go("start")
    assert nav.search("fill_") == ""
    actual = nav.moment
    assert "fill_" in nav.sentence()
    assert nav.search("") == ""
    assert nav.moment > actual
    assert nav.search("", -1) == ""
    assert nav.moment == actual
    assert "does not occur" in nav.search("no such thing")


def test_following(nav: Navigator) -> None:
    nav.follow(Target(event=5))
    assert nav.moment == 5
    nav.follow(Target(LineSelection(1, 9)))
    assert line_of(nav) == 9
    nav.go("end")
    nav.follow(Target(CallSelection(4)))
    assert nav.history.event(nav.moment).kind == "OP_ENTER"
    nav.go("end")
    nav.follow(Target(NameSelection(2, 1, "y")))
    assert nav.view == "object"
    assert isinstance(nav.selection.data, NameSelection)
    assert nav.selection.data.name == "y"


def test_every_view_draws_at_every_moment_and_size(nav: Navigator) -> None:
    for name in views():
        for moment in range(0, nav.last + 1, 7):
            nav.move(moment)
            for width, height in ((60, 10), (80, 18), (160, 50)):
                assert nav.picture(name, width, height, UNICODE).text() is not None


def test_looking_changes_nothing_in_the_history(nav: Navigator) -> None:
    before = nav.history.tables.events.tobytes()
    for name in views():
        nav.picture(name, 80, 24, UNICODE)
    assert nav.history.tables.events.tobytes() == before


def test_copying(nav: Navigator) -> None:
    nav.select_text("y")
    assert "strides (1, 3)" in copy_text(nav)
    assert copy_python(nav) == "y"
    nav.select(cell_target(nav.selection.tensor, 0, -1, (2, 1)))
    assert copy_python(nav) == "y[2, 1]"


def test_activity_is_one_number_a_column(nav: Navigator) -> None:
    levels = nav.activity(40)
    assert len(levels) == 40
    assert max(levels) == 1.0
    assert min(levels) >= 0.0


def test_it_goes_on_with_what_was_recorded_since(nav: Navigator) -> None:
    nav.go("last")
    grown = program()
    grown.mark("more")
    nav.take(grown.history())
    assert nav.moment == nav.last == grown.now
    nav.go("start")
    nav.take(grown.history())
    assert nav.moment == 0


def test_stepping_lets_a_selected_line_go_so_that_the_source_follows_the_program(
    nav: Navigator,
) -> None:
    nav.select(Target(LineSelection(1, 2)))
    nav.step(-1)
    assert nav.selection.line is None


def test_between_two_lines_of_the_playground_its_names_are_still_there() -> None:
    b = TraceBuilder()
    b.file("<input 1>", "x = torch.ones(2)\n")
    frame = b.frame()
    b.line(1)
    x = b.tensor((2,), values=[1, 1])
    b.bind("x", x)
    b.pop_frame()
    b.emit("NAME_BIND", frame, b.string("x"), HOLDERS.index("NAME"), x)  # as the recorder does
    nav = Navigator(b.history())
    nav.go("last")
    model = nav.model("source")
    assert (model.path, model.current) == ("<input 1>", 0)
    assert [(name.name, name.tensor) for name in model.names] == [("x", x)]
