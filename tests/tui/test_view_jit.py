"""The JIT view as a person sees it: at every size, in ASCII, without colour; and its keys."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from engine.inspect.models.jit import NOT_YET
from engine.inspect.selection import ValueSelection
from tests.inspect.jit_traces import LOOP, recorded
from tests.inspect.models.test_jit_model import BRANCHES, BROKEN, GONE, graphs, run_of
from tui.actions.queries import who_owns, who_wrote
from tui.navigator import Navigator
from tui.render import ASCII, UNICODE, Picture, Target
from tui.render.theme import STYLES
from tui.views import DrawContext, help_of, view
from tui.views.jit import GHOSTS, JITOptions, queries
from tui.views.jit.boxes import Drawing
from tui.views.jit.panes import PANES
from tui.views.jit.rows import Region, window

PHASE_KEYS = dict(zip(queries.PHASES, "SABLFOCR", strict=True))
SIZES = ((80, 20), (80, 24), (118, 34), (160, 50))


def navigator_at(program: str, moment: int, **options: object) -> Navigator:
    nav = Navigator(recorded(program), view="jit")
    nav.move(moment)
    nav.options["jit"] = JITOptions(**options)  # type: ignore[arg-type]
    return nav


def peephole() -> Navigator:
    history = recorded(LOOP)
    return navigator_at(LOOP, run_of(history, "peephole", graphs(history)[0]).until)


def picture(nav: Navigator, width: int, height: int, glyphs=UNICODE) -> Picture:
    return nav.picture("jit", width, height, glyphs)


def every():
    """The view at many moments: each pane at every other moment, in every size, with both sets of signs."""
    for program in (LOOP, BRANCHES, BROKEN):
        end = recorded(program).end
        for number, at in enumerate(range(0, end, max(1, end // 12))):
            for pane in tuple(PANES)[number % 2 :: 2]:
                nav = navigator_at(program, at, pane=pane, idle=number % 3 == 0)
                rows = nav.model("jit").rows
                for item in (None, rows[len(rows) // 2].item if rows else ValueSelection(3)):
                    nav.selection = replace(nav.selection, value=item)
                    model, options = nav.model("jit"), nav.options_of("jit")
                    for glyphs in (UNICODE, ASCII):
                        room = DrawContext(
                            *SIZES[number // 2 % len(SIZES)],
                            glyphs,
                            nav.selection,
                            nav.grain,
                            options,
                        )
                        yield room, view("jit").draw(model, room)


def test_it_fits_and_every_sign_and_style_is_known():
    explained = {glyphs: "".join(help_of("jit", glyphs)) for glyphs in (UNICODE, ASCII)}
    for room, drawn in every():
        assert drawn.width <= room.width
        assert drawn.height == room.height
        text = drawn.text()
        strange = {
            sign for sign in text if not sign.isascii() and sign not in explained[room.glyphs]
        }
        assert not strange
        assert room.glyphs is UNICODE or text.isascii()
        for y in range(drawn.height):
            assert sum(span.width for span in drawn.line(y)) <= room.width
            for span in drawn.line(y):
                assert all(style in STYLES for style in span.style.split()), span


def test_a_pass_is_told_by_signs_and_not_only_by_colour():
    text = picture(peephole(), 118, 34).text()
    assert "after peephole -2 ~1" in text
    assert sum("-   %" in line and "aten::t(" in line for line in text.splitlines()) == 2
    assert any("~   %" in line and "aten::mul(%x.1" in line for line in text.splitlines())
    assert re.search(r"▶ +\d+ peephole", text)
    assert "x.t().t() -> x" in text
    assert "csrc/jit/peephole/" in text


def test_what_is_selected_shows_in_all_panes_without_colour():
    nav = peephole()
    row = next(row for row in nav.model("jit").rows if row.change == "removed")
    plain = picture(nav, 118, 34).text()
    nav.selection = replace(nav.selection, value=row.item)
    highlighted = picture(nav, 118, 34).text()
    assert plain.count("▌") == 0
    assert (
        highlighted.count("▌") >= 4
    )  # in the graph, the source, the tree or the rule, and next to passes
    assert "◆-" in highlighted
    assert "It was removed in pass peephole" in highlighted


def test_nothing_is_left_out_silently():
    history = recorded(BRANCHES)
    nav = navigator_at(BRANCHES, run_of(history, "unroll_loops", graphs(history)[0]).until)
    text = picture(nav, 80, 20).text()
    rows = len(nav.model("jit").rows)
    graph = next(line for line in text.splitlines() if line.strip().startswith("graph "))
    hidden = sum(int(word[1:]) for word in graph.split() if word[0] in "▴▾")
    assert 0 < hidden < rows
    assert "idle hidden" in text


def test_lanes_lead_from_a_node_to_those_that_read_its_values():
    moment = graphs_start(navigator_at(LOOP, 0))
    text = picture(navigator_at(LOOP, moment, pane="diagram"), 80, 24).text()
    drawn = text.split(" diagram")[1].splitlines()
    assert any("▼" in line and "add(" in line for line in drawn)  # it reads the product above it
    assert any("■" in line and "CallFunction" in line for line in drawn)
    assert not any("prim::Constant[value" in line for line in drawn)


def boxes(nav: Navigator) -> dict[int, tuple[int, int]]:
    """Return the position of each node's box in the present drawing."""
    context = DrawContext(118, 34, UNICODE, nav.selection, options=nav.options_of("jit"))
    drawing = Drawing(nav.model("jit"), context, Region(0, 86, 1, 28))
    laid = drawing.placed.layout
    return {row.node: (laid.left[at], laid.top[at]) for at, row in drawing.rows.items()}


@pytest.mark.parametrize("program", [LOOP, BRANCHES])
def test_a_box_keeps_its_place_from_pass_to_pass(program):
    history = recorded(program)
    for graph in graphs(history):
        nav = navigator_at(program, 0, pane="diagram")
        positions: dict[int, tuple[int, int]] = {}
        seen = 0
        for moment, _ in history.jit.changes[graph]:
            nav.move(moment)
            if nav.model("jit").graph != graph:
                continue
            for node, item in boxes(nav).items():
                assert positions.setdefault(node, item) == item
                seen += 1
        assert seen > len(positions) > 3


def test_wires_of_the_drawing_lead_from_who_makes_a_value_to_who_reads_it():
    nav = navigator_at(BRANCHES, graphs_start(navigator_at(BRANCHES, 0)), pane="diagram")
    model = nav.model("jit")
    rows = {row.node: row for row in model.rows}
    wires = set(model.wires)
    inner = ("prim::If", "prim::Loop")
    read = 0
    for row in model.rows:
        for other in model.rows:
            plain = " = aten::" in other.text and not any(kind in row.text for kind in inner)
            if plain and set(other.defined) & set(row.used):
                assert (other.node, row.node) in wires
                read += 1
    assert read > 3
    text = {node: row.text for node, row in rows.items()}
    loop = next(node for node, item in text.items() if "prim::Loop" in item)
    assert any(above == loop and "block0" in text[below] for above, below in wires)
    results = {box for box, _ in wires if text[box].startswith("-> (")}
    assert results  # a block's results lead to the readers of the If's or Loop's outputs


def test_boxes_show_what_a_pass_did_and_what_is_selected_without_colour():
    nav = peephole()
    nav.options["jit"] = JITOptions(pane="diagram")
    row = next(row for row in nav.model("jit").rows if row.change == "removed")
    plain = picture(nav, 118, 40).text()
    assert "[ -%" in plain or "│ -%" in plain
    nav.selection = replace(nav.selection, value=row.item)
    assert "◆-%" in picture(nav, 118, 40).text()


def test_windows_hold_the_focus_and_do_not_move_at_every_line():
    for count in range(60):
        for room in range(1, 20):
            starts = []
            for focus in range(count):
                output = window(focus, count, room)
                assert focus in output
                assert len(output) == min(count, room)
                starts.append(output.start)
            assert starts == sorted(starts)
    assert len({window(focus, 100, 20).start for focus in range(100)}) < 25


def test_a_trace_without_the_jit_says_what_to_do():
    from tests.inspect.trace_builder import TraceBuilder

    builder = TraceBuilder()
    builder.line(1)
    nav = Navigator(builder.history(), view="jit")
    assert "engine.jit.script" in picture(nav, 80, 24).text()


# Keys


REFUSES = """
import engine

def opens(x):
    with open("a") as file:
        return x

def tried():
    try:
        engine.jit.script(opens)
    except RuntimeError as error:
        said = str(error)

tried()
good = engine.jit.trace(lambda x: x + 1, engine.ones(2))
tried()
"""


def test_what_the_compiler_refused_is_shown_with_its_line_and_caret():
    history = recorded(REFUSES)
    raised = [m for m in history.tables.exceptions.since.tolist() if "HERE" in history.text(m)]
    functions = history.jit.tables.functions.since.tolist()
    first = next(m for m in raised if m < functions[0])
    alone = navigator_at(REFUSES, first)
    drawn = picture(alone, 80, 20).text()
    assert "The compiler rejected this program" in drawn
    caret = next(line for line in drawn.splitlines() if "<--- HERE" in line)
    assert drawn.splitlines()[drawn.splitlines().index(caret) - 1].strip().startswith("with open")
    between = navigator_at(REFUSES, functions[0] + 1)
    assert between.model("jit").rejected == ()
    later = navigator_at(REFUSES, history.end - 1)
    assert "The compiler rejected the next function." in picture(later, 118, 34).text()
    assert "<--- HERE" in queries.page(later)


def test_t_goes_round_all_panes_and_f_and_u_toggle():
    nav = peephole()
    seen = [nav.press("t").rpartition(" ")[2] for _ in PANES]
    assert set(seen) == set(PANES)
    assert "unknown pane 'x'" in nav.command("pane", "x")
    passes = picture(replace_pane(nav, "passes"), 80, 24).text()
    assert "idle hidden" in passes
    assert "are listed" in nav.press("f")
    assert "idle hidden" not in picture(nav, 80, 24).text()
    recorded = {nav.press("u") for _ in GHOSTS}
    assert recorded == set(GHOSTS.values())


def replace_pane(nav: Navigator, pane: str) -> Navigator:
    nav.options["jit"] = replace(nav.options_of("jit"), pane=pane)
    return nav


def test_a_view_without_panes_says_whose_key_t_is():
    nav = peephole()
    nav.show_view("memory")
    assert nav.press("t") == "this is a key of: Autograd, JIT, Fused"
    assert nav.options == {"jit": JITOptions()}


def test_key_phases_are_one_key_away_and_backspace_returns():
    nav = peephole()
    start = nav.moment
    reached = {}
    for name, key in PHASE_KEYS.items():
        output = nav.press(key)
        reached[name] = (nav.moment, output)
        nav.back()
        assert nav.moment == start
    order = [
        reached[name][0] for name in ("source", "tree", "graph", "inlined", "optimised", "code")
    ]
    assert order == sorted(order)
    # only the graph that is specialised has groups: the key leads there
    assert "fusion" in reached["fused"][1]
    assert reached["fused"][0] > start
    nav.move(nav.last)
    assert "fusion" in nav.press("F")


def test_the_next_changing_pass_and_back_and_the_next_graph():
    nav = peephole()
    history, start = nav.history, nav.moment
    nav.press("full_stop")
    model = nav.model("jit")
    current = next(row for row in model.passes if row.state == "current")
    assert nav.moment > start
    assert current.changes > 0
    nav.press("comma")
    assert nav.moment == start
    first, second = graphs(history)[:2]
    assert f"graph {second}" in nav.press("m")
    assert nav.model("jit").graph == second
    assert f"graph {first}" in nav.press("M")
    while "no earlier graph" not in nav.press("M"):
        assert nav.moment < start


def test_search_finds_nodes_of_this_graph_then_passes_and_nodes_elsewhere():
    nav = peephole()
    nav.move(graphs_start(nav))
    output = nav.search("aten::relu")
    assert "aten::relu" in output
    selected = next(row for row in nav.model("jit").rows if row.selected)
    assert "aten::relu" in selected.text
    nav.search("constant_pooling")
    current = next(row for row in nav.model("jit").passes if row.state == "current")
    assert current.name == "constant_pooling"
    assert "does not occur" in nav.search("no such thing anywhere")


def graphs_start(nav: Navigator) -> int:
    """Return the moment at which the first compiled graph was recorded."""
    output = nav.history.jit.tables.graphs
    return int(output.since[output.where("id", graphs(nav.history)[0])[0]])


def test_the_page_of_a_recording_without_compiled_code_says_so() -> None:
    from tests.inspect.trace_builder import TraceBuilder

    b = TraceBuilder()
    b.tensor((2,))
    assert queries.page(Navigator(b.history())).startswith("The compiler did nothing")


def test_the_page_tells_all_about_what_is_selected():
    nav = peephole()
    row = next(row for row in nav.model("jit").rows if row.change == "removed")
    nav.selection = replace(nav.selection, value=row.item)
    page = queries.page(nav)
    for terms in (
        "It was removed in pass peephole",
        "Passes that changed it",
        "# Rewrite 1 of 1",
    ):
        assert terms in page
    nav.selection = replace(nav.selection, value=None)
    nav.move(0)
    assert queries.page(nav) == NOT_YET


def test_pointing_at_a_line_of_the_graph_selects_its_value_and_stays_in_the_next_pass():
    nav = peephole()
    drawn = picture(nav, 118, 34)
    targets = [
        t
        for y in range(drawn.height)
        for _, _, t in drawn.targets(y)
        if isinstance(t.item, ValueSelection)
    ]
    live = next(r for r in nav.model("jit").rows if "aten::relu" in r.text and r.change not in GONE)
    nav.select(next(target for target in targets if target.item == live.item))
    assert nav.selection.value == live.item
    nav.press("full_stop")
    result = [
        row.text for row in nav.model("jit").rows if row.highlighted and row.change not in GONE
    ]
    assert nav.selection.value == live.item
    assert any("aten::relu" in text for text in result)


def test_enter_goes_to_where_a_line_vanished_or_was_made_and_backspace_returns():
    nav = peephole()
    nav.move(nav.last)
    nav.go(str(run_of(nav.history, "dce", graphs(nav.history)[0]).until))
    start, model = nav.moment, nav.model("jit")
    freed = next(row for row in model.rows if row.change == "gone" and "aten::t(" in row.text)
    assert "removed here: x.t().t() -> x" in nav.follow(Target(freed.item))
    assert nav.model("jit").position == "in peephole, rewrite 1 of 1"
    nav.back()
    assert nav.moment == start
    result = next(row for row in model.rows if row.change == "" and "aten::mul(" in row.text)
    assert "created here" in nav.follow(Target(result.item))
    assert nav.moment < start


def test_the_graph_alone_has_all_the_room():
    nav = peephole()
    neighbour = picture(nav, 80, 24).text()
    assert "none" in nav.command("pane", "none")
    alone = picture(nav, 80, 24).text()
    assert "passes" not in alone
    assert alone.count("aten::") > neighbour.count("aten::")


def test_a_phase_that_is_no_graph_brings_its_pane():
    nav = peephole()
    for key, terms in (("A", "FunctionDef"), ("C", "\n code"), ("S", "def looped")):
        nav.press(key)
        assert terms in picture(nav, 80, 24).text()


def test_values_are_called_as_the_graph_calls_them_now():
    """A later pass gives them other names: the sentences keep to those on the screen."""
    nav = peephole()
    for moment, _ in nav.history.jit.changes[graphs(nav.history)[0]]:
        nav.move(moment)
        for row in nav.model("jit").rows:
            if row.defined and " = " in row.text and row.change not in GONE:
                nav.selection = replace(nav.selection, value=ValueSelection(row.defined[0]))
                name = row.text.partition(" ")[0]
                assert nav.model("jit").story[0].startswith(f"{name} = ")


def test_what_is_lit_outside_of_a_window_is_counted():
    nav = navigator_at(BRANCHES, graphs_start(peephole()), pane="none")
    nav.move(run_of(nav.history, "unroll_loops", graphs(nav.history)[0]).until)
    rows = [row for row in nav.model("jit").rows if row.change not in GONE and row.defined]
    nav.selection = replace(nav.selection, value=ValueSelection(rows[0].defined[0]))
    result = sum(row.highlighted for row in nav.model("jit").rows)
    text = picture(nav, 80, 16).text()
    heading = next(line for line in text.splitlines() if line.strip().startswith("graph "))
    output = sum(line.startswith("▌") for line in text.splitlines())
    hidden = int(heading.partition("▌")[2].split()[0]) if "▌" in heading else 0
    assert hidden + output == result


def test_w_goes_to_what_made_a_value_and_on_to_what_that_was_made_from():
    nav = peephole()
    rows = nav.model("jit").rows
    result = next(row for row in rows if "aten::mul" in row.text and row.change == "")
    nav.select(Target(result.item))
    links, start = nav.history.jit.links, nav.moment
    output = who_wrote(nav)
    assert "created with its graph" in output
    assert "w again" in output
    assert nav.moment == links.creations[links.node_of[result.item.value]].moment < start
    before = nav.selection.value.value
    while "again" in (output := who_wrote(nav)):
        assert nav.selection.value.value in links.origins(before)
        before = nav.selection.value.value
    assert re.search(r"has no origin but program\.py:\d+$", output)
    for _ in range(20):
        nav.back()
    assert nav.moment == start


def test_o_names_who_reads_a_value():
    nav = peephole()
    rows = [row for row in nav.model("jit").rows if row.change not in GONE]
    result = next(row for row in rows if "aten::mul" in row.text)
    nav.select(Target(result.item))
    output = who_owns(nav)
    readers = [row for row in rows if result.item.value in row.used]
    assert readers
    assert f"is used by {len(readers)} line" in output
    assert readers[0].text[:40] in output
    last = next(row for row in rows if row.text.startswith("return"))
    nav.select(Target(last.item))
    assert who_owns(nav).startswith("no uses of")
