"""The autograd view: folding, ways through the graph, large graphs, export."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from engine.inspect.history import History
from engine.inspect.models import project
from engine.inspect.selection import (
    CallSelection,
    LineSelection,
    NodeSelection,
    Selection,
    TensorSelection,
)
from tests.inspect.autograd_builder import GradBuilder
from tests.inspect.models.test_autograd import diamond, moment_of
from tests.tui.autograd_scenes import (
    FORMS,
    deep,
    drawn,
    network,
    trained,
)
from tui.actions.queries import details
from tui.navigator import Navigator
from tui.render import ASCII, UNICODE, Target
from tui.views import DrawContext, view
from tui.views.autograd import FOLDS
from tui.views.autograd.items import node_target, tensor_target
from tui.views.autograd.scene import AutogradOptions


def test_repeated_blocks_are_one_until_they_are_opened():
    history, built = deep()
    nav = Navigator(history, at=str(built), view="autograd")
    text = nav.picture("autograd", 83, 34, UNICODE).text()
    assert "×11 Relu Addmm" in text
    group = project("autograd", history, built, Selection()).parts[0].nodes
    inside = next(fact for fact in group if fact.name == "ReluBackward0")
    nav.select(_node(inside.id))
    assert "55 nodes, 55 created" in nav.picture("autograd", 83, 34, UNICODE).text()
    assert nav.press("u").startswith("expanded")
    assert "×11" not in nav.picture("autograd", 83, 34, UNICODE).text()
    assert nav.press("u").startswith("collapsed")
    assert "×11" in nav.picture("autograd", 83, 34, UNICODE).text()


def _node(node: int):
    return Target(NodeSelection(node))


def test_the_target_of_a_node_has_only_what_the_node_has():
    history, built = deep()
    facts = project("autograd", history, built, Selection()).parts[0].nodes
    leaf = next(fact for fact in facts if fact.leaf)
    assert node_target(replace(leaf, file=0, line=0, call=0)) == Target(NodeSelection(leaf.id))
    other = replace(leaf, file=4, line=2, call=9)
    also = (TensorSelection(7), LineSelection(4, 2), CallSelection(9))
    assert node_target(other, 7) == Target(NodeSelection(leaf.id), also)
    nav = Navigator(history, at=str(built), view="autograd")
    source = nav.model("source").file
    nav.select(node_target(replace(leaf, file=0, line=0, call=0)))
    assert nav.model("source").file == source != 0, "the source stays when a node has no line"
    assert tensor_target(0, leaf.id) == Target(NodeSelection(leaf.id))
    nav.select(tensor_target(7, leaf.id))
    assert nav.selection.node == NodeSelection(leaf.id)


def test_folding_goes_round_and_counts_what_has_run():
    history, _ = deep()
    nav = Navigator(history, view="autograd")
    recorded = [nav.press("f") for _ in FOLDS]
    assert len(set(recorded)) == len(FOLDS)
    assert "unknown form" in nav.command("form", "spiral")
    nav.options["autograd"] = AutogradOptions("rows", "lines")
    text = nav.picture("autograd", 83, 34, UNICODE).text()
    assert re.search(r"✓60/60 line 3: ", text), "all nodes of line 3 are one"


def test_a_group_of_any_folding_keeps_every_node_once():
    from tui.views.autograd.fold import FOLDS, fold

    history, built = deep()
    part = project("autograd", history, built, Selection()).parts[0]
    for mode in FOLDS:
        folded = fold(part, mode)
        positions = sorted(member for item in folded.items for member in item.members)
        assert positions == list(range(len(part.nodes))), mode
        assert sorted(folded.order) == list(range(len(folded.items)))
        assert all(head != tail for head, tail in zip(folded.heads, folded.tails, strict=True))


# Moving


@pytest.mark.parametrize("form", FORMS)
def test_the_keys_reach_every_node(form):
    """Down to the leaves and up again, along what the picture's guide says."""
    history, built = deep()
    nav = Navigator(history, at=str(built), view="autograd")
    nav.options["autograd"] = AutogradOptions(form, "none")
    reached = set()
    for key in ("home", *["down"] * 80, *["up"] * 80, "end", "pageup", "pagedown", "home"):
        guide = nav.picture("autograd", 83, 20, UNICODE).guide
        assert guide.focus is not None
        reached.add(guide.focus.item.node)
        if key in guide.ways:
            nav.select(guide.ways[key])
    minimum = 60 if form == "list" else 26
    assert len(reached) >= minimum


@pytest.mark.parametrize("form", FORMS)
def test_the_node_in_focus_is_always_on_the_picture(form):
    history, built = deep()
    part = project("autograd", history, built, Selection()).parts[0]
    for fact in part.nodes[::4]:
        for width, height in ((66, 12), (83, 20)):
            picture = drawn(
                history,
                built,
                width,
                height,
                options=AutogradOptions(form, "none"),
                node=fact.id,
            )
            current = picture.guide.focus
            actual = [y for y in range(height) for _, _, t in picture.targets(y) if t == current]
            assert actual, f"{form}: node {fact.id} is outside its own picture"


def test_enter_follows_an_edge_and_backspace_returns():
    history, n = trained()
    nav = Navigator(history, at=str(n["built"]), view="autograd")
    nav.select(_node(n["n_y"]))
    current = nav.picture("autograd", 100, 34, UNICODE).guide.focus
    assert current is not None
    assert "followed to MulBackward0" in nav.follow(current)
    assert nav.selection.node == NodeSelection(n["n_a"])
    nav.back()
    assert nav.selection.node == NodeSelection(n["n_y"])
    leaf = _node(n["leaf"])
    assert "end of path" in nav.follow(leaf)


def test_a_step_lets_a_selected_node_go_and_nodes_are_a_grain():
    history, n = trained()
    nav = Navigator(history, at=str(n["built"]), view="autograd")
    nav.set_grain("node")
    nav.select(_node(n["n_a"]))
    nav.step(1)
    assert nav.selection.node is None
    assert "node" not in Navigator(_no_graph()).grains()


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
        options = AutogradOptions(form, "none")
        view("autograd").draw(model, DrawContext(120, 40, UNICODE, Selection(), "", options)).text()
        assert len(model.nodes) == 2001
        assert len(model.nodes._boxes) < 120


# Export


def test_the_graph_as_dot(tmp_path):
    from tui.export import ExportError, write_graph

    history, n = trained()
    nav = Navigator(history, at=str(n["built"]), view="autograd")
    assert "written" in write_graph(nav, tmp_path / "g.dot")
    text = (tmp_path / "g.dot").read_text()
    assert text.count("->") == 5
    assert 'label="MulBackward0\\na 2' in text
    with pytest.raises(ExportError, match=r"unsupported format \.doc"):
        write_graph(nav, tmp_path / "g.doc")


def test_ascii_and_unicode_draw_the_same_cells():
    history, built = deep()
    for form in FORMS:
        plain = drawn(history, built, glyphs="ascii", options=AutogradOptions(form))
        signs = drawn(history, built, options=AutogradOptions(form))
        for y in range(plain.height):
            item, two = plain.line(y), signs.line(y)
            assert sum(s.width for s in item) == sum(s.width for s in two)
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
    assert "○ waits" not in drawn(history, enter, 100, 22, options=AutogradOptions("boxes")).text()
    assert "○ waits" not in drawn(history, n["built"], 100, 40).text(), "no pass, no states"


def test_what_does_not_fit_in_the_pane_is_counted_and_told_on_a_sheet():
    history, n = trained()
    enter = moment_of(history, "NODE_ENTER", n["n_a"])
    small = drawn(history, enter, 80, 14).text()
    actual = re.search(r"… (\d+) more lines", small)
    assert actual
    nav = Navigator(history, at=str(enter), view="autograd")
    full = details(nav, UNICODE).body(80).text()
    assert "gradients come from" in full
    assert "gradients come from" not in small


def test_modules_are_folded_with_what_lies_between_their_parameters():
    from tui.views.autograd.fold import NODE, fold, module_of

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
            h = b.result("MmBackward0", (h, weight) if h else (0, weight), {}, (4, 4), op="mm")
            h = b.result("TanhBackward0", (h,), {}, (4, 4))
    b.result("SumBackward0", (h,), sizes=())
    history = b.history()
    part = project("autograd", history, b.now, Selection()).parts[0]
    folded = fold(part, "modules")
    groups = {item.label: len(item.members) for item in folded.items if item.key[1] != NODE}
    assert groups == {"net.layers.0": 5, "net.layers.1": 5}, "two Mm, what is between, two weights"


def test_a_module_of_one_node_is_folded_and_an_optimizer_is_no_module():
    from tui.views.autograd.fold import NODE, ORIGIN, fold

    b = GradBuilder()
    weight, bias = b.leaf((4, 1)), b.leaf((4,))
    for index, tensor in enumerate((weight, bias)):  # the optimizer's names come first
        b.bind(f"adam.param_groups[0]['params'][{index}]", tensor, "SLOT")
        b.bind(f"net._modules['conv']._parameters['{'wb'[index]}']", tensor, "SLOT")
    b.result("ConvolutionBackward0", (0, weight, bias), {}, (4, 4))
    part = project("autograd", b.history(), b.now, Selection()).parts[0]
    (item,) = fold(part, "modules").items
    assert (item.label, len(item.members)) == ("net.conv", 3)
    opened = fold(part, "modules", frozenset({(item.key[0], ORIGIN)})).items
    assert [each.key[1] for each in opened] == [NODE] * 3


def test_boxes_say_what_numbers_came_also_when_they_are_gone():
    """A node's gradients stay readable when the pass has used them up and the tensors are freed."""
    b = GradBuilder()
    x = b.leaf((), "x")
    y = b.result("MulBackward0", (x,), sizes=(), bind="y")
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
    assert "unknown fold 'spiral'" in capsys.readouterr().err
    visible = [
        "show",
        trace,
        "--view",
        "autograd",
        "--form",
        "list",
        "--select",
        f"node={n['n_a']}",
    ]
    assert main([*visible, "--width", "100", "--height", "20"]) == 0
    text = capsys.readouterr().out
    assert "─ list · 4 nodes" in text
    assert "MulBackward0  node" in text


def test_the_pane_gives_way_to_a_wide_graph_and_what_is_cut_is_marked():
    b = GradBuilder()
    leaves = [b.leaf((2,), f"parameter_{number}") for number in range(6)]
    b.result("CatBackward0", tuple(leaves), {}, (12,))
    history = b.history()

    def text(width: int) -> str:
        nav = Navigator(history, at=str(b.now), view="autograd")
        nav.set_option("form", "rows")
        return nav.picture("autograd", width, 24, UNICODE).text()

    wide = text(170)
    assert all(f"parameter_{number}" in wide for number in range(6))
    assert "columns" not in wide
    narrow = text(80)
    assert "columns 1-" in narrow or "columns" in narrow
    assert "…" in narrow
