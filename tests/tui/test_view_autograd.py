"""The autograd view on hand-written streams: positions of the boxes, and that nothing moves."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from engine.inspect.models import project, to_json
from engine.inspect.models.autograd.formula import formula
from engine.inspect.selection import NodeSelection
from tests.inspect.autograd_builder import GradBuilder
from tests.inspect.models.test_autograd import diamond, moment_of
from tests.inspect.selections import select
from tests.tui.autograd_scenes import (
    FORMS,
    SIZES,
    deep,
    drawn,
    stale,
    stops,
    trained,
)
from tests.tui.test_json_twin import in_text, numbers_in
from tui.navigator import Navigator
from tui.render import SETS, UNICODE
from tui.render.theme import STYLES
from tui.views import DrawContext, help_of, view
from tui.views.autograd.node import Pane, _formula
from tui.views.autograd.scene import AutogradOptions


def test_every_state_has_its_own_sign():
    history, n = trained()
    enter = moment_of(history, "NODE_ENTER", n["n_b"])
    text = drawn(history, enter).text()
    assert "✓1  AddBackward0" in text, "has run, as the first"
    assert "▶2  ExpBackward0" in text, "runs"
    assert "◎1  MulBackward0" in text, "ready, first in the queue"
    assert "○3  AccumulateGrad x" in text, "waits for three gradients"
    later = moment_of(history, "NODE_ENTER", n["n_a"])
    assert "◐2  AccumulateGrad x" in drawn(history, later).text(), "one of three has come"
    plain = drawn(history, enter, glyphs="ascii").text()
    assert all(sign in plain for sign in ("v1  Add", ">2  Exp", "=1  Mul", "o3  Acc"))


def test_not_yet_none_zero_one_and_a_sum_are_five_different_signs():
    b, n = diamond(none=["n_a"])
    history = b.history()
    before = drawn(history, moment_of(history, "NODE_ENTER", n["n_y"])).text()
    assert "· 0/3" in before
    arrivals = [
        moment
        for moment in map(int, history.tables.numbers("ARRIVE"))
        if history.event(moment)["node"] == n["leaf"]
    ]
    strings = [drawn(history, moment).text() for moment in arrivals]
    assert "■ 1/3" in strings[0]
    b, n = diamond(none=["n_b", "n_a"])
    history = b.history()
    end = drawn(history, b.now, node=n["leaf"]).text()
    assert "∅ 3/3" in end
    assert "x.grad" in end
    assert "not computed yet" in end
    history, n = trained()
    assert "Σ 3/3" in drawn(history, history.end - 1).text()
    g = GradBuilder()
    x = g.leaf(name="x")
    y = g.result("MulBackward0", (x,), bind="y")
    g.made_by[y] = (g.made_by[y][0], 0)
    zero = g.tensor((2,), values=[0.0, 0.0], wrap=False)
    g._gradient = lambda like: zero  # type: ignore[method-assign]
    g.backward(y, keep_graph=True)
    history = g.history()
    assert re.search(r"╭─0─+y─╮|┏━0━+y━┓", drawn(history, g.now).text()), "a gradient of zeros"


def test_a_wire_says_whether_its_gradient_has_come_and_was_none():
    b, n = diamond(none=["n_a"])
    history = b.history()
    text = drawn(history, moment_of(history, "NODE_ENTER", n["n_b"])).text()
    assert text.count("▼") == 2
    assert text.count("▽") == 3
    end = drawn(history, b.now).text()
    assert end.count("▼") == 3
    assert sum(line.split("│ gradient")[0].count("∅") for line in end.splitlines()) >= 2


def test_a_stale_saved_tensor_names_the_line_that_overwrote_it():
    history, node, end = stale()
    picture = drawn(history, end, node=node)
    text = picture.text()
    assert "STALE" in text
    assert "add_ on line 4" in text
    assert "saved at version 0, is at 1" in text
    marked = [
        span.text
        for y in range(picture.height)
        for span in picture.line(y)
        if "error" in span.style.split()
    ]
    assert any("MulBackward0" in text for text in marked), "the node itself is red"


def test_the_pane_tells_everything_about_a_node():
    history, n = trained()
    text = drawn(history, n["built"], node=n["n_a"]).text()
    for fact in (
        "MulBackward0  node",
        "created by mul on line 2",
        "0: ▸ x",
        "1: ▸ x",
        "_saved_self x #1  version 0",
        "a #2 float32 2",
        "◂ Add",
    ):
        assert fact in text, fact


def test_freed_nodes_keep_their_place_as_ghosts():
    b, n = diamond()
    for node in (n["n_y"], n["n_a"], n["n_b"]):
        b.free_node(node)
    history = b.history()
    text = drawn(history, b.now, node=n["n_a"]).text()
    assert "╌3  MulBackward0" in text
    assert "freed" in text


def test_without_a_graph_it_says_how_to_get_one():
    text = drawn(GradBuilder().history(), -1).text()
    assert "requires_grad=True" in text


# What holds of every picture


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("glyphs", ["unicode", "ascii"])
def test_pictures_fit_and_explain_themselves(form, glyphs):
    explained = set("".join(help_of("autograd", SETS[glyphs])))
    for history, moments in (
        (trained()[0], stops(trained()[0])),
        (deep()[0], stops(deep()[0])[::9]),
    ):
        for width, height in SIZES:
            for moment in moments[:: 1 if width == 83 else 5]:
                picture = drawn(history, moment, width, height, glyphs, AutogradOptions(form))
                assert picture.height == max(height, 10)
                for y in range(picture.height):
                    line = picture.line(y)
                    assert sum(span.width for span in line) <= width, "".join(s.text for s in line)
                    text = "".join(span.text for span in line)
                    assert glyphs == "unicode" or text.isascii()
                    strange = {c for c in text if not c.isascii()} - explained
                    assert not strange, f"HELP does not explain {strange}"
                    assert all(name in STYLES for span in line for name in span.style.split())


@pytest.mark.parametrize("form", FORMS)
def test_every_number_drawn_is_in_the_model(form):
    history, n = trained()
    for moment in stops(history):
        for node in (0, n["n_a"], n["leaf"]):
            model = project("autograd", history, moment, select(node=node))
            output = numbers_in(to_json(model)) | {len(model.parts), 1}
            output |= {row.queue_position + 1 for row in model.nodes}
            context = DrawContext(
                100, 34, UNICODE, select(node=node), "node", AutogradOptions(form)
            )
            reported = in_text(view("autograd").draw(model, context).text())
            assert not reported - output, f"event {moment}: no field holds {reported - output}"


@pytest.mark.parametrize("form", ["boxes", "rows"])
def test_nothing_moves_while_the_graph_grows_runs_and_is_freed(form):
    """A node's name is in the same cell at every moment at which it is drawn."""
    b, n = diamond()
    b.free_node(n["n_y"])
    history = b.history()
    seen: dict[str, set[tuple[int, int]]] = {}
    for moment in range(n["built"] - 60, history.end):
        picture = drawn(history, moment, 100, 34, options=AutogradOptions(form), node=n["leaf"])
        for y, line in enumerate(picture.text().splitlines()[3:]):
            for name in ("Mul", "Exp", "Add", "AccumulateGrad x", "▪2"):
                at = line[:57].find(name)
                if at >= 0:
                    seen.setdefault(name, set()).add((at, y))
    assert {"Mul", "Exp", "Add"} <= set(seen)
    assert all(len(positions) == 1 for positions in seen.values()), seen


def test_the_same_moment_is_the_same_picture():
    history, built = deep()
    for form in FORMS:
        item, two = (
            drawn(history, built, options=AutogradOptions(form)).text(styles=True) for _ in range(2)
        )
        assert item == two


def test_a_selected_tensor_lights_its_node_and_the_other_way_round():
    history, n = trained()
    plain, highlighted = (
        drawn(history, n["built"], glyphs="ascii", tensor=tensor).text()
        for tensor in (n["y"], n["b"])
    )
    assert plain != highlighted
    nav = Navigator(history, at=str(n["built"]), view="autograd")
    current = nav.picture("autograd", 100, 34, UNICODE).guide.focus
    assert current is not None
    nav.select(current)
    assert nav.selection.node == NodeSelection(n["n_y"])
    assert nav.selection.tensor == n["y"]
    assert nav.selection.line.line == 4


# Folding


@pytest.mark.parametrize("width", [30, 36, 50])
def test_formulas_of_several_arguments_fit_the_pane(width: int):
    """A line that is too long made scroll bars, and two more drawings a key."""
    fact = SimpleNamespace(leaf=False, op="native_layer_norm")
    pane = Pane(None, DrawContext(), width)  # type: ignore[arg-type]
    _formula(pane, SimpleNamespace(fact=fact, formula=formula(fact.op)))  # type: ignore[arg-type]
    lines = ["".join(span.text for span in line) for line in pane.lines]
    assert max(map(len, lines)) <= width
    assert "input, weight, bias:" in lines[1]
    assert "native_layer_norm_backward(" in "".join(lines[2:]).replace(" ", "")
