"""The JIT view as a person sees it: at every size, in ASCII, without colour; and its keys."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.inspect.jit_traces import LOOP, recorded
from tests.inspect.models.test_jit_model import BRANCHES, BROKEN, GONE, graphs, run_of
from tui import jit
from tui.questions import who_owns, who_wrote
from tui.render import ASCII, UNICODE, Picture, Target
from tui.render.theme import STYLES
from tui.stage import Stage
from tui.views import DrawContext, Look, help_of
from tui.views._jit_boxes import Drawing
from tui.views._jit_panes import PANES
from tui.views._jit_rows import Area, window

SIZES = ((80, 20), (80, 24), (118, 34), (160, 50))


def stage_at(program: str, moment: int, **look: object) -> Stage:
    stage = Stage(recorded(program), view="jit")
    stage.move(moment)
    stage.look = Look(**look)  # type: ignore[arg-type]
    return stage


def peephole() -> Stage:
    history = recorded(LOOP)
    return stage_at(LOOP, run_of(history, "peephole", graphs(history)[0]).until)


def picture(stage: Stage, width: int, height: int, glyphs=UNICODE) -> Picture:
    return stage.picture("jit", width, height, glyphs)


def every(glyphs=UNICODE):
    """The view at many moments, in every size and with every pane."""
    for program in (LOOP, BRANCHES, BROKEN):
        end = recorded(program).end
        for at in range(0, end, max(1, end // 12)):
            for pane in PANES:
                stage = stage_at(program, at, pane=pane, idle=at % 2 == 0)
                rows = stage.model("jit").rows
                for value in (0, rows[len(rows) // 2].number if rows else 3):
                    stage.selection = replace(stage.selection, value=value)
                    width, height = SIZES[at % len(SIZES)]
                    yield stage, width, height, picture(stage, width, height, glyphs)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_it_fits_and_every_sign_and_style_is_known(glyphs):
    explained = "".join(help_of("jit", glyphs))
    for _, width, height, drawn in every(glyphs):
        assert drawn.width <= width
        assert drawn.height == height
        text = drawn.text()
        strange = {sign for sign in text if not sign.isascii() and sign not in explained}
        assert not strange
        assert glyphs is UNICODE or text.isascii()
        for y in range(drawn.height):
            assert sum(span.width for span in drawn.line(y)) <= width
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
    stage = peephole()
    row = next(row for row in stage.model("jit").rows if row.change == "removed")
    plain = picture(stage, 118, 34).text()
    stage.selection = replace(stage.selection, value=row.number)
    lit = picture(stage, 118, 34).text()
    assert plain.count("▌") == 0
    assert lit.count("▌") >= 4  # in the graph, the source, the tree or the rule, and beside passes
    assert "◆-" in lit
    assert "It vanished in pass peephole" in lit


def test_nothing_is_left_out_silently():
    history = recorded(BRANCHES)
    stage = stage_at(BRANCHES, run_of(history, "unroll_loops", graphs(history)[0]).until)
    text = picture(stage, 80, 20).text()
    rows = len(stage.model("jit").rows)
    graph = next(line for line in text.splitlines() if line.strip().startswith("graph "))
    hidden = sum(int(word[1:]) for word in graph.split() if word[0] in "▴▾")
    assert 0 < hidden < rows
    assert "idle hidden" in text


def test_lanes_lead_from_a_node_to_those_that_read_its_values():
    moment = graphs_start(stage_at(LOOP, 0))
    text = picture(stage_at(LOOP, moment, pane="drawn"), 80, 24).text()
    drawn = text.split(" drawn")[1].splitlines()
    assert any("▼" in line and "add(" in line for line in drawn)  # it reads the product above it
    assert any("■" in line and "CallFunction" in line for line in drawn)
    assert not any("prim::Constant[value" in line for line in drawn)


def boxes(stage: Stage) -> dict[int, tuple[int, int]]:
    """Where the box of each node is that is drawn now."""
    context = DrawContext(118, 34, UNICODE, stage.selection, look=stage.look)
    drawing = Drawing(stage.model("jit"), context, Area(0, 86, 1, 28))
    laid = drawing.placed.layout
    return {row.node: (laid.left[at], laid.top[at]) for at, row in drawing.rows.items()}


@pytest.mark.parametrize("program", [LOOP, BRANCHES])
def test_a_box_keeps_its_place_from_pass_to_pass(program):
    history = recorded(program)
    for graph in graphs(history):
        stage = stage_at(program, 0, pane="drawn")
        places: dict[int, tuple[int, int]] = {}
        seen = 0
        for moment, _ in history.jit.changes[graph]:
            stage.move(moment)
            if stage.model("jit").graph != graph:
                continue
            for node, place in boxes(stage).items():
                assert places.setdefault(node, place) == place
                seen += 1
        assert seen > len(places) > 3


def test_wires_of_the_drawing_lead_from_who_makes_a_value_to_who_reads_it():
    stage = stage_at(BRANCHES, graphs_start(stage_at(BRANCHES, 0)), pane="drawn")
    model = stage.model("jit")
    rows = {row.node: row for row in model.rows}
    wires = set(model.wires)
    inner = ("prim::If", "prim::Loop")
    read = 0
    for row in model.rows:
        for other in model.rows:
            plain = " = aten::" in other.text and not any(kind in row.text for kind in inner)
            if plain and set(other.made) & set(row.used):
                assert (other.node, row.node) in wires
                read += 1
    assert read > 3
    text = {node: row.text for node, row in rows.items()}
    loop = next(node for node, said in text.items() if "prim::Loop" in said)
    assert any(above == loop and "block0" in text[below] for above, below in wires)
    results = {box for box, _ in wires if text[box].startswith("-> (")}
    assert results  # what a block gives back leads on to those that read the If's or Loop's outputs


def test_boxes_show_what_a_pass_did_and_what_is_selected_without_colour():
    stage = peephole()
    stage.look = Look(pane="drawn")
    row = next(row for row in stage.model("jit").rows if row.change == "removed")
    plain = picture(stage, 118, 40).text()
    assert "[ -%" in plain or "│ -%" in plain
    stage.selection = replace(stage.selection, value=row.number)
    assert "◆-%" in picture(stage, 118, 40).text()


def test_windows_hold_the_focus_and_do_not_move_at_every_line():
    for count in range(60):
        for room in range(1, 20):
            starts = []
            for focus in range(count):
                shown = window(focus, count, room)
                assert focus in shown
                assert len(shown) == min(count, room)
                starts.append(shown.start)
            assert starts == sorted(starts)
    assert len({window(focus, 100, 20).start for focus in range(100)}) < 25


def test_a_trace_without_the_jit_says_what_to_do():
    from tests.inspect.trace_builder import TraceBuilder

    builder = TraceBuilder()
    builder.line(1)
    stage = Stage(builder.history(), view="jit")
    assert "engine.jit.script" in picture(stage, 80, 24).text()


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
    alone = stage_at(REFUSES, first)
    drawn = picture(alone, 80, 20).text()
    assert "The compiler refused what came to it" in drawn
    caret = next(line for line in drawn.splitlines() if "<--- HERE" in line)
    assert drawn.splitlines()[drawn.splitlines().index(caret) - 1].strip().startswith("with open")
    between = stage_at(REFUSES, functions[0] + 1)
    assert between.model("jit").refused == ()
    later = stage_at(REFUSES, history.end - 1)
    assert "The compiler refused what came next." in picture(later, 118, 34).text()
    assert "<--- HERE" in jit.page(later)


def test_t_goes_round_all_panes_and_f_and_u_toggle():
    stage = peephole()
    seen = [jit.change(stage, "form").rpartition(" ")[2] for _ in PANES]
    assert set(seen) == set(PANES)
    assert "is called 'x'" in jit.next_pane(stage, "x")
    passes = picture(replace_pane(stage, "passes"), 80, 24).text()
    assert "idle hidden" in passes
    assert "are listed" in jit.change(stage, "fold")
    assert "idle hidden" not in picture(stage, 80, 24).text()
    said = {jit.change(stage, "open") for _ in jit.GHOSTS}
    assert said == set(jit.GHOSTS.values())


def replace_pane(stage: Stage, pane: str) -> Stage:
    stage.look = replace(stage.look, pane=pane)
    return stage


def test_the_other_views_keep_their_own_meaning_of_these_keys():
    stage = peephole()
    stage.show_view("memory")
    assert jit.change(stage, "form").startswith("graphs are drawn")
    assert stage.look.pane == ""


def test_key_phases_are_one_key_away_and_backspace_returns():
    stage = peephole()
    start = stage.moment
    reached = {}
    for name in jit.PHASES:
        said = jit.go(stage, name)
        reached[name] = (stage.moment, said)
        stage.back()
        assert stage.moment == start
    order = [
        reached[name][0] for name in ("source", "tree", "graph", "inlined", "optimised", "code")
    ]
    assert order == sorted(order)
    # only the graph that is specialised has groups: the key leads there
    assert "fusion" in reached["fused"][1]
    assert reached["fused"][0] > start
    stage.move(stage.last)
    assert "fusion" in jit.go(stage, "fused")


def test_the_next_changing_pass_and_back_and_the_next_graph():
    stage = peephole()
    history, start = stage.history, stage.moment
    jit.go(stage, "pass")
    model = stage.model("jit")
    here = next(row for row in model.passes if row.state == "here")
    assert stage.moment > start
    assert here.changes > 0
    jit.go(stage, "pass", -1)
    assert stage.moment == start
    first, second = graphs(history)[:2]
    assert f"graph {second}" in jit.go(stage, "function")
    assert stage.model("jit").graph == second
    assert f"graph {first}" in jit.go(stage, "function", -1)
    while "no earlier graph" not in jit.go(stage, "function", -1):
        assert stage.moment < start


def test_search_finds_nodes_of_this_graph_then_passes_and_nodes_elsewhere():
    stage = peephole()
    stage.move(graphs_start(stage))
    said = stage.search("aten::relu")
    assert "aten::relu" in said
    chosen = next(row for row in stage.model("jit").rows if row.chosen)
    assert "aten::relu" in chosen.text
    stage.search("constant_pooling")
    here = next(row for row in stage.model("jit").passes if row.state == "here")
    assert here.name == "constant_pooling"
    assert "does not occur" in stage.search("no such thing anywhere")


def graphs_start(stage: Stage) -> int:
    """When the first graph that is compiled was told."""
    told = stage.history.jit.tables.graphs
    return int(told.since[told.where("id", graphs(stage.history)[0])[0]])


def test_the_page_tells_all_about_what_is_selected():
    stage = peephole()
    row = next(row for row in stage.model("jit").rows if row.change == "removed")
    stage.selection = replace(stage.selection, value=row.number)
    page = jit.page(stage)
    for words in (
        "It vanished in pass peephole",
        "Passes that had to do with it",
        "# Rewrite 1 of 1",
    ):
        assert words in page
    stage.selection = replace(stage.selection, value=0)
    stage.move(0)
    assert "Select a line" in jit.page(stage)


def test_pointing_at_a_line_of_the_graph_selects_its_value_and_stays_in_the_next_pass():
    stage = peephole()
    drawn = picture(stage, 118, 34)
    targets = [t for y in range(drawn.height) for _, _, t in drawn.targets(y) if t.kind == "value"]
    live = next(
        r for r in stage.model("jit").rows if "aten::relu" in r.text and r.change not in GONE
    )
    stage.select(next(target for target in targets if target.value == live.number))
    assert stage.selection.value == live.number
    jit.go(stage, "pass")
    lit = [row.text for row in stage.model("jit").rows if row.lit and row.change not in GONE]
    assert stage.selection.value == live.number
    assert any("aten::relu" in text for text in lit)


def test_enter_goes_to_where_a_line_vanished_or_was_made_and_backspace_returns():
    stage = peephole()
    stage.move(stage.last)
    stage.go(str(run_of(stage.history, "dce", graphs(stage.history)[0]).until))
    start, model = stage.moment, stage.model("jit")
    gone = next(row for row in model.rows if row.change == "gone" and "aten::t(" in row.text)
    assert "it vanished here: x.t().t() -> x" in stage.follow(Target("value", value=gone.number))
    assert stage.model("jit").position == "in peephole, rewrite 1 of 1"
    stage.back()
    assert stage.moment == start
    made = next(row for row in model.rows if row.change == "" and "aten::mul(" in row.text)
    assert "it was made here" in stage.follow(Target("value", value=made.number))
    assert stage.moment < start


def test_the_graph_alone_has_all_the_room():
    stage = peephole()
    beside = picture(stage, 80, 24).text()
    assert "nothing" in jit.next_pane(stage, "nothing")
    alone = picture(stage, 80, 24).text()
    assert "passes" not in alone
    assert alone.count("aten::") > beside.count("aten::")


def test_a_phase_that_is_no_graph_brings_its_pane():
    stage = peephole()
    for key, words in (("tree", "FunctionDef"), ("code", "\n code"), ("source", "def looped")):
        jit.go(stage, key)
        assert words in picture(stage, 80, 24).text()


def test_values_are_called_as_the_graph_calls_them_now():
    """A later pass gives them other names: the sentences keep to those on the screen."""
    stage = peephole()
    for moment, _ in stage.history.jit.changes[graphs(stage.history)[0]]:
        stage.move(moment)
        for row in stage.model("jit").rows:
            if row.made and " = " in row.text and row.change not in GONE:
                stage.selection = replace(stage.selection, value=row.made[0])
                name = row.text.partition(" ")[0]
                assert stage.model("jit").story[0].startswith(f"{name} = ")


def test_what_is_lit_outside_of_a_window_is_counted():
    stage = stage_at(BRANCHES, graphs_start(peephole()), pane="nothing")
    stage.move(run_of(stage.history, "unroll_loops", graphs(stage.history)[0]).until)
    rows = [row for row in stage.model("jit").rows if row.change not in GONE and row.made]
    stage.selection = replace(stage.selection, value=rows[0].made[0])
    lit = sum(row.lit for row in stage.model("jit").rows)
    text = picture(stage, 80, 16).text()
    heading = next(line for line in text.splitlines() if line.strip().startswith("graph "))
    shown = sum(line.startswith("▌") for line in text.splitlines())
    hidden = int(heading.partition("▌")[2].split()[0]) if "▌" in heading else 0
    assert hidden + shown == lit


def test_w_goes_to_what_made_a_value_and_on_to_what_that_was_made_from():
    stage = peephole()
    rows = stage.model("jit").rows
    made = next(row for row in rows if "aten::mul" in row.text and row.change == "")
    stage.select(Target("value", value=made.number))
    links, start = stage.history.jit.links, stage.moment
    said = who_wrote(stage)
    assert "made with its graph" in said
    assert "w again" in said
    assert stage.moment == links.births[links.node_of[made.number]].moment < start
    before = stage.selection.value
    while "again" in (said := who_wrote(stage)):
        assert stage.selection.value in links.origins(before)
        before = stage.selection.value
    assert re.search(r"was made from nothing but program\.py:\d+$", said)
    for _ in range(20):
        stage.back()
    assert stage.moment == start


def test_o_names_who_reads_a_value():
    stage = peephole()
    rows = [row for row in stage.model("jit").rows if row.change not in GONE]
    made = next(row for row in rows if "aten::mul" in row.text)
    stage.select(Target("value", value=made.number))
    said = who_owns(stage)
    readers = [row for row in rows if made.number in row.used]
    assert readers
    assert f"is read by {len(readers)} line" in said
    assert readers[0].text[:40] in said
    last = next(row for row in rows if row.text.startswith("return"))
    stage.select(Target("value", value=last.number))
    assert who_owns(stage).startswith("nobody reads")
