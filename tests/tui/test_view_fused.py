"""The view of a fused kernel: at every size, in ASCII, without colour; how one gets there, its keys."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from engine.inspect.selection import ValueSelection
from tests.inspect.jit_traces import LOOP, recorded
from tests.inspect.models.test_fused import FUSES, with_step
from tests.inspect.trace_builder import TraceBuilder
from tui.navigator import Navigator
from tui.render import ASCII, UNICODE, Target
from tui.render.theme import STYLES
from tui.views import help_of
from tui.views.fused import PANES, FusedOptions

SIZES = ((80, 18), (80, 24), (118, 34), (160, 50))


def navigator_at(program: str, moment: int) -> Navigator:
    nav = Navigator(recorded(program), view="fused")
    nav.move(moment)
    return nav


def launches(program: str) -> list[int]:
    return [int(m) for m in recorded(program).jit.tables.launches.since]


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_it_fits_and_every_sign_and_style_is_known(glyphs):
    explained = "".join(help_of("fused", glyphs))
    for program in (FUSES, LOOP):
        for moment in (0, *launches(program)):
            nav = navigator_at(program, moment)
            loop = nav.model("fused").loop
            for at, pane in enumerate(PANES):
                nav.options["fused"] = FusedOptions(pane=pane)
                selected = loop[len(loop) // 2].value if loop and at % 2 else 0
                item = ValueSelection(selected) if selected else None
                nav.selection = replace(nav.selection, value=item)
                for width, height in SIZES:
                    drawn = nav.picture("fused", width, height, glyphs)
                    assert (drawn.width, drawn.height) == (width, height)
                    text = drawn.text()
                    strange = {s for s in text if not s.isascii() and s not in explained}
                    assert not strange
                    assert glyphs is UNICODE or text.isascii()
                    for y in range(height):
                        assert sum(span.width for span in drawn.line(y)) <= width
                        for span in drawn.line(y):
                            assert all(style in STYLES for style in span.style.split())


def test_tree_loop_graph_and_bytes_are_on_the_screen():
    text = navigator_at(FUSES, launches(FUSES)[0]).picture("fused", 118, 34, UNICODE).text()
    for terms in ("tree", "tile loop", "graph", "source", "launches", "for each of", "next tile"):
        assert terms in text
    assert "unfused, the operators would move" in " ".join(text.split())
    assert "× as much" in text


def test_what_is_selected_shows_without_colour():
    model, step = with_step(recorded(FUSES), "tanh")
    nav = navigator_at(FUSES, model.moment)
    plain = nav.picture("fused", 118, 34, UNICODE).text()
    nav.select(Target(ValueSelection(step.value)))
    highlighted = nav.picture("fused", 118, 34, UNICODE).text()
    assert highlighted.count("◆") - plain.count("◆") >= 3  # tree, loop and graph
    assert "each element: " in highlighted


def test_enter_on_the_group_leads_into_its_kernel_and_backspace_returns():
    nav = Navigator(recorded(FUSES), view="jit")
    assert "fusion" in nav.press("F")
    start = nav.moment
    row = next(r for r in nav.model("jit").rows if " = prim::FusionGroup" in r.text)
    output = nav.follow(Target(row.item))
    assert "kernel" in output
    assert nav.view == "fused"
    assert nav.moment in launches(FUSES)
    assert nav.selection.value == row.item
    nav.back()
    assert (nav.view, nav.moment) == ("jit", start)


def test_enter_on_the_instruction_leads_into_its_kernel():
    moment = launches(FUSES)[0]
    nav = Navigator(recorded(FUSES), view="interpreter")
    nav.move(moment)
    nav.step(1, "instruction")
    row = next(r for r in nav.model("interpreter").instructions if r.current)
    assert row.op == "FUSED"
    nav.follow(Target(ValueSelection(row.value)))
    assert (nav.view, nav.moment) == ("fused", moment)


def test_enter_in_the_kernel_leads_to_the_jit_view_or_to_a_launch():
    nav = navigator_at(FUSES, launches(FUSES)[0])
    row = nav.model("fused").launches[-1]
    nav.follow(Target(event=row.at))
    assert nav.moment == row.at
    assert nav.view == "fused"
    nav.follow(Target(ValueSelection(nav.model("fused").loop[3].value)))
    assert nav.view == "jit"


def test_launches_and_groups_one_after_the_other():
    nav = navigator_at(FUSES, launches(FUSES)[0])
    for moment in launches(FUSES)[1:]:
        assert nav.press("full_stop") == ""
        assert nav.moment == moment
        assert nav.view == "fused"
    assert nav.press("full_stop") == "no later launch"
    nav.press("comma")
    assert nav.moment == launches(FUSES)[-2]
    nav.move(launches(FUSES)[0])
    groups = nav.model("fused").groups
    assert groups[1].name in nav.press("m")
    assert nav.moment == groups[1].at
    nav.press("M")
    assert "no earlier group" in nav.press("M")


def test_t_goes_round_the_panes():
    nav = navigator_at(FUSES, launches(FUSES)[0])
    seen = [nav.press("t").rpartition(" ")[2] for _ in PANES]
    assert set(seen) == set(PANES)
    assert "unknown pane 'x'" in nav.command("pane", "x")
    nav.show_view("jit")  # which has its own panes
    assert "next to the graph" in nav.press("t")


def odd(text: bytes) -> Navigator:
    """Return a kernel whose graph was never recorded, with this description."""
    builder = TraceBuilder()
    builder.line(1)
    builder.emit("FUSED_NEW", 7, 7, 2, 512, blob=text)
    builder.emit("FUSED_RUN", 7, 0, 1000, 2, 1)
    nav = Navigator(builder.history(), view="fused")
    nav.move(nav.last)
    return nav


def test_a_kernel_whose_graph_was_not_told_is_drawn_by_its_program():
    leaf = {"leaf": "in0", "dtype": "float32"}
    tree = {"step": 0, "op": "aten::exp", "dtype": "float32", "operands": [leaf]}
    tree = {"step": 1, "op": "aten::mul.Tensor", "dtype": "float32", "operands": [tree, leaf]}
    step = {"unit": 0, "computes": "float32", "dtype": "float32", "parameters": [], "expr": "e"}
    program = {
        "inputs": [{"dtype": "float32", "zero_dim": False, "used": True}],
        "outputs": [{"dtype": "float32", "tree": tree}],
        "steps": [
            step | {"op": "aten::exp", "operands": ["in0"], "to": "v0"},
            step | {"op": "aten::mul.Tensor", "operands": ["v0", "in0"], "to": "out0"},
        ],
        "units": [{"kind": "block", "reads": ["in0"], "writes": ["out0"], "code_bytes": 99}],
        "read_bytes": 4,
        "written_bytes": 4,
        "eager_bytes": 20,
    }
    nav = odd(json.dumps(program).encode())
    model = nav.model("fused")
    assert [row.text for row in model.tree] == ["out0", "mul(·, in0)", "exp(in0)"]
    row = model.launches[0]
    assert (row.read_bytes, row.written_bytes, row.eager_bytes) == (4000, 4000, 20000)
    assert not row.exact
    assert row.last == 488
    text = nav.picture("fused", 118, 34, UNICODE).text()
    assert "The graph of this group was" in text
    assert "about" in text


def test_a_description_that_was_cut_off_is_no_reason_to_fail():
    nav = odd(b'{"inputs":[{"dtype":"flo')
    assert nav.model("fused").launches[0].elements == 1000
    for width, height in SIZES:
        assert nav.picture("fused", width, height, UNICODE).height == height
