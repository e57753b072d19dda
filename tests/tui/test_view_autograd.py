"""The autograd view on hand-written streams: what stands where, and that nothing moves."""

from __future__ import annotations

import re
from functools import lru_cache

import pytest

from engine.inspect.history import History
from engine.inspect.models import project, to_json
from engine.inspect.selection import Selection
from tests.inspect.autograd_builder import GradBuilder
from tests.inspect.models.test_autograd import diamond, moment_of
from tests.inspect.trace_builder import T
from tests.tui.test_json_twin import in_text, numbers_in
from tui.render import ASCII, SETS, UNICODE, Picture
from tui.render.theme import STYLES
from tui.stage import Stage
from tui.views import DrawContext, Look, help_of, view

FORMS = ("boxes", "rows", "list")
SIZES = ((60, 18), (80, 19), (83, 34), (118, 34), (200, 60))


def drawn(
    history: History,
    moment: int,
    width: int = 100,
    height: int = 34,
    glyphs: str = "unicode",
    look: Look | None = None,
    **chosen: int,
) -> Picture:
    selection = Selection(**chosen)
    context = DrawContext(width, height, SETS[glyphs], selection, "node", look or Look())
    return view("autograd").draw(project("autograd", history, moment, selection), context)


def stops(history: History) -> list[int]:
    return [int(moment) for moment in history.tables.node_stops]


def network(layers: int, names: bool = True) -> tuple[GradBuilder, int]:
    """relu(addmm(b, h, w.t())) again and again, then a mean; the builder and the loss."""
    b = GradBuilder()
    b.file(
        "net.py",
        "x = leaf()\nfor w, b in layers:\n    h = relu(linear(h, w, b))\nloss = h.mean()\n",
    )
    b.line(1)
    parameters = [
        (b.leaf((8, 8), f"w{at}" if names else ""), b.leaf((8,), f"b{at}" if names else ""))
        for at in range(layers)
    ]
    h = 0
    for weight, bias in parameters:
        b.line(3)
        turned = b.made("TBackward0", (weight,), op="t", sizes=(8, 8))
        h = b.made("AddmmBackward0", (bias, h, turned), {"mat2": turned}, (4, 8), op="addmm")
        h = b.made("ReluBackward0", (h,), {"result": 0}, (4, 8))
    b.line(4)
    return b, b.made("MeanBackward0", (h,), sizes=(), bind="loss")


@lru_cache(maxsize=1)
def trained() -> tuple[History, dict[str, int]]:
    b, named = diamond()
    return b.history(), named


@lru_cache(maxsize=1)
def deep() -> tuple[History, int]:
    b, loss = network(12)
    built = b.now
    b.backward(loss)
    return b.history(), built


@lru_cache(maxsize=1)
def stale() -> tuple[History, int, int]:
    """x is saved by a product and then written in place."""
    b = GradBuilder()
    b.file("stale.py", "x = leaf()\nw = x.exp()\ny = w * w\nw.add_(1)\n")
    b.line(1)
    x = b.leaf(name="x", values=[1.0, 2.0])
    b.line(2)
    w = b.made("ExpBackward0", (x,), bind="w")
    b.line(3)
    y = b.made("MulBackward0", (w, w), {"self": w, "other": w}, bind="y")
    b.line(4)
    with b.op("add_(Tensor(a!) self, Scalar other) -> Tensor(a!)", [T(w), 1]):
        b.write(w, [2.0, 3.0])
    return b.history(), b.made_by[y][0], b.now


# What the picture says


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
    texts = [drawn(history, moment).text() for moment in arrivals]
    assert "■ 1/3" in texts[0]
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
    y = g.made("MulBackward0", (x,), bind="y")
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
        "made by mul on line 2",
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
                picture = drawn(history, moment, width, height, glyphs, Look(form))
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
            model = project("autograd", history, moment, Selection(node=node))
            said = numbers_in(to_json(model)) | {len(model.parts), 1}
            said |= {row.place + 1 for row in model.nodes}
            context = DrawContext(100, 34, UNICODE, Selection(node=node), "node", Look(form))
            shown = in_text(view("autograd").draw(model, context).text())
            assert not shown - said, f"event {moment}: no field holds {shown - said}"


@pytest.mark.parametrize("form", ["boxes", "rows"])
def test_nothing_moves_while_the_graph_grows_runs_and_is_freed(form):
    """A node's name stands in the same cell at every moment at which it is drawn."""
    b, n = diamond()
    b.free_node(n["n_y"])
    history = b.history()
    seen: dict[str, set[tuple[int, int]]] = {}
    for moment in range(n["built"] - 60, history.end):
        picture = drawn(history, moment, 100, 34, look=Look(form), node=n["leaf"])
        for y, line in enumerate(picture.text().splitlines()[3:]):
            for name in ("Mul", "Exp", "Add", "AccumulateGrad x", "▪2"):
                at = line[:57].find(name)
                if at >= 0:
                    seen.setdefault(name, set()).add((at, y))
    assert {"Mul", "Exp", "Add"} <= set(seen)
    assert all(len(places) == 1 for places in seen.values()), seen


def test_the_same_moment_is_the_same_picture():
    history, built = deep()
    for form in FORMS:
        one, two = (drawn(history, built, look=Look(form)).text(styles=True) for _ in range(2))
        assert one == two


def test_a_selected_tensor_lights_its_node_and_the_other_way_round():
    history, n = trained()
    plain, lit = (
        drawn(history, n["built"], glyphs="ascii", tensor=tensor).text()
        for tensor in (n["y"], n["b"])
    )
    assert plain != lit
    stage = Stage(history, at=str(n["built"]), view="autograd")
    here = stage.picture("autograd", 100, 34, UNICODE).guide.here
    assert here is not None
    stage.select(here)
    assert stage.selection.node == n["n_y"]
    assert stage.selection.tensor == n["y"]
    assert stage.selection.line == 4


# Folding


def test_repeated_blocks_are_one_until_they_are_opened():
    history, built = deep()
    stage = Stage(history, at=str(built), view="autograd")
    text = stage.picture("autograd", 83, 34, UNICODE).text()
    assert "×11 Relu Addmm" in text
    group = project("autograd", history, built, Selection()).parts[0].nodes
    inside = next(fact for fact in group if fact.name == "ReluBackward0")
    stage.select(_node(inside.id))
    assert "55 nodes, 55 made" in stage.picture("autograd", 83, 34, UNICODE).text()
    from tui import graphs

    assert graphs.open_or_close(stage).startswith("opened")
    assert "×11" not in stage.picture("autograd", 83, 34, UNICODE).text()
    assert graphs.open_or_close(stage).startswith("closed")
    assert "×11" in stage.picture("autograd", 83, 34, UNICODE).text()


def _node(node: int):
    from tui.render import Target

    return Target("node", node=node)


def test_folding_goes_round_and_counts_what_has_run():
    from tui import graphs

    history, _ = deep()
    stage = Stage(history, view="autograd")
    said = [graphs.next_fold(stage) for _ in graphs.FOLDS]
    assert len(set(said)) == len(graphs.FOLDS)
    assert "no form is called" in graphs.next_form(stage, "spiral")
    stage.look = Look("rows", "lines")
    text = stage.picture("autograd", 83, 34, UNICODE).text()
    assert re.search(r"✓60/60 line 3: ", text), "all nodes of line 3 are one"


def test_a_group_of_any_folding_keeps_every_node_once():
    from tui.views._autograd_fold import FOLDS, fold

    history, built = deep()
    part = project("autograd", history, built, Selection()).parts[0]
    for how in FOLDS:
        folded = fold(part, how)
        places = sorted(place for item in folded.items for place in item.members)
        assert places == list(range(len(part.nodes))), how
        assert sorted(folded.order) == list(range(len(folded.items)))
        assert all(head != tail for head, tail in zip(folded.heads, folded.tails, strict=True))


# Moving


@pytest.mark.parametrize("form", FORMS)
def test_the_keys_reach_every_node(form):
    """Down to the leaves and up again, along what the picture's guide says."""
    history, built = deep()
    stage = Stage(history, at=str(built), view="autograd")
    stage.look = Look(form, "nothing")
    reached = set()
    for key in ("home", *["down"] * 80, *["up"] * 80, "end", "pageup", "pagedown", "home"):
        guide = stage.picture("autograd", 83, 20, UNICODE).guide
        assert guide.here is not None
        reached.add(guide.here.node)
        if key in guide.ways:
            stage.select(guide.ways[key])
    least = 60 if form == "list" else 26
    assert len(reached) >= least


@pytest.mark.parametrize("form", FORMS)
def test_the_node_in_focus_is_always_on_the_picture(form):
    history, built = deep()
    part = project("autograd", history, built, Selection()).parts[0]
    for fact in part.nodes[::4]:
        for width, height in ((66, 12), (83, 20)):
            picture = drawn(history, built, width, height, look=Look(form, "nothing"), node=fact.id)
            here = picture.guide.here
            found = [y for y in range(height) for _, _, t in picture.targets(y) if t == here]
            assert found, f"{form}: node {fact.id} is outside its own picture"


def test_enter_follows_an_edge_and_backspace_returns():
    history, n = trained()
    stage = Stage(history, at=str(n["built"]), view="autograd")
    stage.select(_node(n["n_y"]))
    here = stage.picture("autograd", 100, 34, UNICODE).guide.here
    assert here is not None
    assert "followed to MulBackward0" in stage.follow(here)
    assert stage.selection.node == n["n_a"]
    stage.back()
    assert stage.selection.node == n["n_y"]
    leaf = _node(n["leaf"])
    assert "ends here" in stage.follow(leaf)


def test_a_step_lets_a_selected_node_go_and_nodes_are_a_grain():
    history, n = trained()
    stage = Stage(history, at=str(n["built"]), view="autograd")
    stage.set_grain("node")
    stage.select(_node(n["n_a"]))
    stage.step(1)
    assert stage.selection.node == 0
    assert "node" not in Stage(_no_graph()).grains()


def _no_graph() -> History:
    b = GradBuilder()
    b.line(1)
    b.tensor((2,), name="x")
    return b.history()


# Large graphs


@pytest.mark.parametrize("form", FORMS)
def test_a_large_graph_is_only_looked_at_where_it_is_drawn(form):
    b, loss = network(400, names=False)
    built = b.now
    b.backward(loss)
    history = b.history()
    for moment in (built, moment_of(history, "NODE_ENTER", 900), history.end - 1):
        model = project("autograd", history, moment, Selection())
        look = Look(form, "nothing")
        view("autograd").draw(model, DrawContext(120, 40, UNICODE, Selection(), "", look)).text()
        assert len(model.nodes) == 2001
        assert len(model.nodes._made) < 120


# Export


def test_the_graph_as_dot(tmp_path):
    from tui.export import ExportError, write_graph

    history, n = trained()
    stage = Stage(history, at=str(n["built"]), view="autograd")
    assert "written" in write_graph(stage, tmp_path / "g.dot")
    text = (tmp_path / "g.dot").read_text()
    assert text.count("->") == 5
    assert 'label="MulBackward0\\na 2' in text
    with pytest.raises(ExportError, match=r"what format is \.doc"):
        write_graph(stage, tmp_path / "g.doc")


def test_ascii_and_unicode_draw_the_same_cells():
    history, built = deep()
    for form in FORMS:
        plain = drawn(history, built, glyphs="ascii", look=Look(form))
        signs = drawn(history, built, look=Look(form))
        for y in range(plain.height):
            one, two = plain.line(y), signs.line(y)
            assert sum(s.width for s in one) == sum(s.width for s in two)
    assert ASCII.ready != ASCII.done


def test_skipped_and_failed_nodes_are_not_taken_for_done_ones():
    b, _ = diamond(needs=["n_y", "n_a"])
    text = drawn(b.history(), b.now).text()
    assert "⊘   ExpBackward0" in text
    b, _n = diamond(stops_at="n_b")
    picture = drawn(b.history(), b.now)
    assert "✖2  ExpBackward0" in picture.text()
    assert "failed" in picture.text().splitlines()[0]


def test_a_legend_stands_where_there_is_room_for_it():
    history, n = trained()
    enter = moment_of(history, "NODE_ENTER", n["n_b"])
    assert "○ waits" in drawn(history, enter, 100, 40).text()
    assert "○ waits" not in drawn(history, enter, 100, 22, look=Look("boxes")).text()
    assert "○ waits" not in drawn(history, n["built"], 100, 40).text(), "no pass, no states"


def test_what_does_not_fit_in_the_pane_is_counted_and_told_on_a_sheet():
    from tui.graphs import details

    history, n = trained()
    enter = moment_of(history, "NODE_ENTER", n["n_a"])
    small = drawn(history, enter, 80, 14).text()
    found = re.search(r"… (\d+) more lines", small)
    assert found
    stage = Stage(history, at=str(enter), view="autograd")
    whole = details(stage, UNICODE, 80).text()
    assert "gradients come from" in whole
    assert "gradients come from" not in small


def test_modules_are_folded_with_what_lies_between_their_parameters():
    from tui.views._autograd_fold import NODE, fold, module_of

    assert module_of("net.layers.3.attention.out") == "net.layers.3"
    assert module_of("net.fc1") == "net.fc1"
    assert module_of("") == ""
    b = GradBuilder()
    b.file("net.py", "x\ny\n")
    h = 0
    for block in range(2):
        for name in ("one", "two"):
            path = f"net._modules['layers']._modules['{block}']._modules['{name}']"
            weight = b.leaf((4, 4), f"{path}._parameters['weight']")
            b.line(1)
            h = b.made("MmBackward0", (h, weight) if h else (0, weight), {}, (4, 4), op="mm")
            h = b.made("TanhBackward0", (h,), {}, (4, 4))
    b.made("SumBackward0", (h,), sizes=())
    history = b.history()
    part = project("autograd", history, b.now, Selection()).parts[0]
    folded = fold(part, "modules")
    groups = {item.label: len(item.members) for item in folded.items if item.key[1] != NODE}
    assert groups == {"net.layers.0": 5, "net.layers.1": 5}, "two Mm, what is between, two weights"


def test_boxes_say_what_numbers_came_also_when_they_are_gone():
    """What a node got stays to be read when the pass has used it up and the tensor is freed."""
    b = GradBuilder()
    x = b.leaf((), "x")
    y = b.made("MulBackward0", (x,), sizes=(), bind="y")
    gradient = b.tensor((), values=[2.5], wrap=False)
    b._gradient = lambda like: gradient  # type: ignore[method-assign]
    b.backward(y)
    during = b.now
    b.free(gradient)
    b.line(1)
    history = b.history()
    for moment in (during, b.now):
        assert re.search(r"━■━2\.5━+y━|─■─2\.5─+y─", drawn(history, moment).text()), moment
    assert "grad ■ 2.5" in drawn(history, during).text()


def test_the_command_line_draws_and_exports_graphs(tmp_path, capsys):
    from tests.inspect.trace_builder import TraceBuilder
    from tui.cli import main

    b, n = diamond()
    trace = str(TraceBuilder.save(b, tmp_path / "d.uht"))
    assert main(["export", trace, "-o", str(tmp_path / "d.gv"), "--at", str(n["built"])]) == 0
    assert "AccumulateGrad x" in (tmp_path / "d.gv").read_text()
    assert main(["export", trace, "-o", str(tmp_path / "d.gv"), "--fold", "spiral"]) == 1
    assert "nothing is folded by 'spiral'" in capsys.readouterr().err
    shown = ["show", trace, "--view", "autograd", "--form", "list", "--select", f"node={n['n_a']}"]
    assert main([*shown, "--width", "100", "--height", "20"]) == 0
    text = capsys.readouterr().out
    assert "─ list · 4 nodes" in text
    assert "MulBackward0  node" in text
