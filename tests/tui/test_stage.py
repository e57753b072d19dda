"""Moving through a trace: every key's meaning, without a terminal."""

from __future__ import annotations

import pytest

from engine.inspect.events import HOLDERS
from engine.inspect.selection import Selection
from tests.inspect.trace_builder import TraceBuilder
from tests.tui.program import program
from tui.questions import copy_python, copy_text, who_owns, who_wrote
from tui.render import UNICODE, Target
from tui.stage import Stage
from tui.views import views


@pytest.fixture
def stage() -> Stage:
    return Stage(program().history())


def line_of(stage: Stage) -> int:
    line = stage.line()
    return line.line if line else 0


def test_it_begins_where_the_programs_names_still_live(stage: Stage) -> None:
    names = {name.name for name in stage.history.names_at(stage.moment)}
    assert {"x", "y", "z", "w"} <= names
    assert stage.moment < stage.last


def test_lines_forwards_are_lines_backwards(stage: Stage) -> None:
    stage.go("start")
    forwards = []
    while not stage.step(1):
        forwards.append(stage.moment)
    backwards = [forwards[-1]]
    while not stage.step(-1):
        backwards.append(stage.moment)
    assert backwards[::-1][1:] == forwards
    assert [stage.go(str(m)) or line_of(stage) for m in forwards[:-1]] == [
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
def test_the_ends_are_said_and_nothing_moves(stage: Stage, grain: str) -> None:
    stage.set_grain(grain)
    stage.go("last")
    assert stage.step(1) == f"no later {grain}"
    assert stage.moment == stage.last
    stage.go("start")
    assert stage.step(-1) == f"no earlier {grain}"
    assert stage.moment == 0


def test_a_stride_from_lines_goes_over_calls(stage: Stage) -> None:
    stage.go("line:11")
    assert stage.stride(1) == ""
    assert stage.moment == stage.last  # not line 4, inside shift()
    stage.go("line:9")
    stage.stride(1)
    assert line_of(stage) == 10


def test_a_stride_from_events_goes_by_operators(stage: Stage) -> None:
    stage.set_grain("event")
    stage.go("line:8")
    stage.stride(1)
    assert stage.history.event(stage.moment).kind == "OP_EXIT"


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("12x", "no place"),
        ("9999", "there is no event 9999"),
        ("line:77", "line 77 never ran"),
        ("line:x", "no line number"),
    ],
)
def test_a_wrong_place_is_explained_and_nothing_moves(stage: Stage, where: str, says: str) -> None:
    before = stage.moment
    assert says in stage.go(where)
    assert stage.moment == before


def test_places(stage: Stage) -> None:
    stage.go("10")
    assert stage.go("+5") == ""
    assert stage.moment == 15
    assert stage.go("-15") == ""
    assert stage.moment == 0
    assert stage.go("last") == ""
    assert stage.moment == stage.last
    assert stage.go("line:9") == ""
    assert line_of(stage) == 9


def test_selecting_a_line_keeps_the_tensor_and_the_other_way(stage: Stage) -> None:
    stage.select(Target("tensor", tensor=1))
    stage.select(Target("line", file=1, line=8))
    chosen = stage.selection
    assert (chosen.tensor, chosen.storage, chosen.line) == (1, 1, 8)
    stage.select(Target("byte", tensor=3, storage=1, byte=4, index=(1,)))
    assert stage.selection == Selection(tensor=3, storage=1, byte=4, index=(1,), file=1, line=8)


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
def test_selecting_by_text(stage: Stage, text: str, problem: str) -> None:
    said = stage.select_text(text)
    assert problem in said if problem else said == ""
    assert bool(stage.selection) is not bool(problem)


def test_who_wrote_a_cell_through_another_view(stage: Stage) -> None:
    stage.select_text("y")  # y[0, 0] is x[0, 0] is z[0]; z.fill_ wrote it
    stage.select(Target("byte", tensor=2, storage=1, byte=0))
    start = stage.moment
    assert "operator fill_ on line 10" in who_wrote(stage)
    assert stage.history.event(stage.moment).kind == "WRITE"
    assert "operator zeros on line 7" in who_wrote(stage)
    assert "nothing wrote to this part of storage 1" in who_wrote(stage)
    stage.back()
    stage.back()
    assert stage.moment == start


def test_who_wrote_looks_only_at_the_selected_bytes(stage: Stage) -> None:
    stage.select(Target("byte", tensor=1, storage=1, byte=20))  # x[1, 2]: fill_ did not touch it
    assert "operator zeros on line 7" in who_wrote(stage)


def test_owners_add_up_in_the_sentence(stage: Stage) -> None:
    stage.select_text("storage=1")
    said = who_owns(stage)
    assert said.startswith("storage 1 is held 3 times")
    assert stage.view == "object"
    assert stage.back()
    assert stage.view == "memory"


def test_questions_without_a_selection_say_what_to_do(stage: Stage) -> None:
    assert "select" in who_wrote(stage)
    assert "select" in who_owns(stage)
    assert stage.back() == "no jump to return from"


def test_search_finds_and_returns(stage: Stage) -> None:
    stage.go("start")
    assert stage.search("fill_") == ""
    found = stage.moment
    assert "fill_" in stage.sentence()
    assert stage.search("") == ""
    assert stage.moment > found
    assert stage.search("", -1) == ""
    assert stage.moment == found
    assert "does not occur" in stage.search("no such thing")


def test_following(stage: Stage) -> None:
    stage.follow(Target("event", event=5))
    assert stage.moment == 5
    stage.follow(Target("line", file=1, line=9))
    assert line_of(stage) == 9
    stage.go("end")
    stage.follow(Target("call", call=4))
    assert stage.history.event(stage.moment).kind == "OP_ENTER"
    stage.go("end")
    stage.follow(Target("name", tensor=2, storage=1, name="y"))
    assert stage.view == "object"
    assert stage.selection.name == "y"


def test_every_view_draws_at_every_moment_and_size(stage: Stage) -> None:
    for name in views():
        for moment in range(0, stage.last + 1, 7):
            stage.move(moment)
            for width, height in ((60, 10), (80, 18), (160, 50)):
                assert stage.picture(name, width, height, UNICODE).text() is not None


def test_looking_changes_nothing_in_the_history(stage: Stage) -> None:
    before = stage.history.tables.events.tobytes()
    for name in views():
        stage.picture(name, 80, 24, UNICODE)
    assert stage.history.tables.events.tobytes() == before


def test_copying(stage: Stage) -> None:
    stage.select_text("y")
    assert "strides (1, 3)" in copy_text(stage)
    assert copy_python(stage) == "y"
    stage.selection = stage.selection.select(index=(2, 1))
    assert copy_python(stage) == "y[2, 1]"


def test_activity_is_one_number_a_column(stage: Stage) -> None:
    levels = stage.activity(40)
    assert len(levels) == 40
    assert max(levels) == 1.0
    assert min(levels) >= 0.0


def test_it_goes_on_with_what_was_recorded_since(stage: Stage) -> None:
    stage.go("last")
    grown = program()
    grown.mark("more")
    stage.take(grown.history())
    assert stage.moment == stage.last == grown.now
    stage.go("start")
    stage.take(grown.history())
    assert stage.moment == 0


def test_stepping_lets_a_selected_line_go_so_that_the_source_follows_the_program(
    stage: Stage,
) -> None:
    stage.select(Target("line", file=1, line=2))
    stage.step(-1)
    assert (stage.selection.file, stage.selection.line) == (0, 0)


def test_between_two_lines_of_the_playground_its_names_are_still_there() -> None:
    b = TraceBuilder()
    b.file("<input 1>", "x = torch.ones(2)\n")
    frame = b.frame()
    b.line(1)
    x = b.tensor((2,), values=[1, 1])
    b.bind("x", x)
    b.pop_frame()
    b.emit("NAME_BIND", frame, b.string("x"), HOLDERS.index("NAME"), x)  # as the recorder does
    stage = Stage(b.history())
    stage.go("last")
    model = stage.model("source")
    assert (model.path, model.current) == ("<input 1>", 0)
    assert [(name.name, name.tensor) for name in model.names] == [("x", x)]
