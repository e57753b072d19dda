"""The interpreter's view: at every size; its source; running on to calls, branches and bail-outs."""

from __future__ import annotations

import pytest

from engine.inspect.selection import ValueSelection
from tests.inspect.jit_traces import FAILS, LOOP, recorded
from tui.navigator import Navigator
from tui.render import ASCII, UNICODE, Target
from tui.render.theme import STYLES
from tui.views import help_of

BAILS = """
import engine

@engine.jit.script
def grows(x, n: int):
    seen = [0]
    for i in range(n):
        seen.append(i)
        if i > 1:
            x = x + 1
    return x, seen

for _ in range(4):
    grows(engine.ones(2), 600)
grows(engine.ones(2, 2).double(), 3)
"""
"""Long loops, a list that grows where it lies, and a call for which guards do not hold."""


def navigator_of(program: str) -> Navigator:
    nav = Navigator(recorded(program), view="interpreter")
    nav.move(0)
    return nav


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_it_fits_and_every_sign_and_style_is_known(glyphs):
    explained = "".join(help_of("interpreter", glyphs))
    for program in (LOOP, FAILS, BAILS):
        nav = navigator_of(program)
        for moment in range(0, nav.last, max(1, nav.last // 15)):
            nav.move(moment)
            for width, height in ((80, 18), (80, 24), (118, 34)):
                drawn = nav.picture("interpreter", width, height, glyphs)
                assert (drawn.width, drawn.height) == (width, height)
                text = drawn.text()
                assert not {s for s in text if not s.isascii() and s not in explained}
                assert glyphs is UNICODE or text.isascii()
                for y in range(height):
                    assert sum(span.width for span in drawn.line(y)) <= width
                    for span in drawn.line(y):
                        assert all(style in STYLES for style in span.style.split())


def test_running_on_stops_where_it_says_and_goes_back_the_same_way():
    nav = navigator_of(BAILS)
    ops = {"cx": ("OP", "CALL", "FUSED", "SCALAR"), "bv": ("JUMP", "JUMP_IF_FALSE", "LOOP")}
    for (forwards, backwards), expected in ops.items():
        nav.move(0)
        seen = []
        for _ in range(6):
            assert nav.press(forwards) == ""
            row = next(r for r in nav.model("interpreter").instructions if r.current)
            assert row.op in expected
            seen.append(nav.moment)
        for moment in seen[-2::-1]:
            nav.press(backwards)
            assert nav.moment == moment
        assert "no earlier" in nav.press(backwards)
    assert nav.view == "interpreter"


def test_running_on_finds_the_guard_that_does_not_hold_and_the_bail_out():
    nav = navigator_of(BAILS)
    assert nav.press("right_parenthesis") == ""
    first = nav.moment
    assert any(not note.good for note in nav.model("interpreter").notes)
    while nav.press("right_parenthesis") == "":
        pass
    assert nav.moment > first
    assert "no later bail-out" in nav.press("right_parenthesis")


def test_registers_of_a_long_frame_are_those_of_a_replay():
    history = recorded(BAILS)
    table = history.jit.tables.steps
    frame = int(history.jit.tables.frames.id[-2])
    rows = table.where("frame", frame)
    assert len(rows) > 1000
    retained = {}
    for index, row in enumerate(rows.tolist()):
        for register, value in history.jit.json(int(table.since[row]))["registers"].items():
            retained[int(register)] = value
        if index % 397 == 0 or index == len(rows) - 1:
            actual = history.jit.registers.after(frame, rows[: index + 1])
            saved = {number: value for number, value in retained.items() if value is not None}
            assert {element.register for element in actual} == set(saved)
            for item in actual:
                if item.value.get("type") != "list":  # recorded as it was at its last load
                    assert item.value == saved[item.register]


def test_a_list_is_told_as_it_was_when_it_was_last_loaded():
    history = recorded(BAILS)
    nav = Navigator(history, view="interpreter")
    frames = history.jit.tables.frames
    nav.move((int(frames.since[0]) + int(frames.until[0])) // 2)
    lists = [slot.text for slot in nav.model("interpreter").registers if slot.kind == "list"]
    assert any("0, 0, 1" in text for text in lists)


def test_the_source_shows_the_line_that_runs():
    nav = navigator_of(BAILS)
    nav.press("c")
    model = nav.model("interpreter")
    current = [line for line in model.source if line.current]
    assert [line.line for line in current] == [model.source_range.line]
    assert "def grows" in "".join(line.text for line in model.source)
    assert "def grows" in nav.picture("interpreter", 118, 34, UNICODE).text()


def test_every_instruction_can_be_selected_and_lights_what_it_belongs_to():
    nav = navigator_of(LOOP)
    nav.move(nav.last)
    rows = nav.model("interpreter").instructions
    item = next(row for row in rows if row.op == "FUSED" and row.value)
    nav.select(Target(ValueSelection(item.value)))
    model = nav.model("interpreter")
    assert any(row.highlighted for row in model.instructions)
    assert any(line.highlighted for line in model.source)


def test_a_step_is_an_instruction_here_until_another_grain_is_chosen():
    nav = Navigator(recorded(LOOP))
    nav.move(0)
    assert nav.grain == "line"
    nav.show_view("interpreter")
    assert nav.grain == "instruction"
    nav.press("c")
    pc = nav.model("interpreter").pc
    nav.step(1)
    assert nav.model("interpreter").pc != pc
    nav.step(-1)
    assert nav.model("interpreter").pc == pc
    nav.show_view("jit")
    assert nav.grain == "rewrite"
    nav.show_view("memory")
    assert nav.grain == "line"
    nav.show_view("interpreter")
    nav.set_grain("op")
    nav.show_view("memory")
    assert nav.grain == "op"


GATE = """
import engine

@engine.jit.script
def gate(x, hidden, steps: int):
    scale = x * 2.0
    for _ in range(steps):
        hidden = engine.sigmoid(hidden) * engine.tanh(scale)
    return hidden

for _ in range(2):
    gate(engine.ones(2), engine.zeros(2), 2)
"""


def test_registers_carry_the_names_of_the_program():
    nav = navigator_of(GATE)
    seen, text = {}, ""
    while not nav.step(1, "instruction"):
        for slot in nav.model("interpreter").registers:
            seen[slot.variable or slot.name] = slot.name
        text += nav.picture("interpreter", 118, 34, UNICODE).text()
    assert {"x": "x.1", "steps": "steps.1", "scale": "scale.1"}.items() <= seen.items()
    assert {"hidden", "iteration", "trip count"} <= set(seen)
    assert "scale #" in text  # the variable, the tensor, the Value
    assert "%scale.1" in text.partition("registers")[2]


def test_columns_take_the_room_that_they_need():
    nav = navigator_of(GATE)
    nav.press("b")
    text = nav.picture("interpreter", 160, 34, UNICODE).text()
    assert "hidden = engine.sigmoid(hidden) * engine.tanh(scale)" in text
    assert "STORE 3 (%scale.1)" in text
