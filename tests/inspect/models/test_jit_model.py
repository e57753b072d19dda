"""The JIT view's model, from recorded compilations: every state, every tie, every reason."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

import engine
from engine.inspect.history.jit.ir import IrGraph
from engine.inspect.models import project, to_json
from engine.inspect.models._wording import method_name
from engine.inspect.models.jit import JitModel
from engine.inspect.models.jit.graph_timeline import GraphTimeline, timeline_of
from engine.inspect.models.jit.lines import short_type
from engine.inspect.models.jit.rule import rule_of, rule_text
from engine.inspect.selection import JitSelection, Selection, SyntaxSelection, ValueSelection
from tests.inspect.jit_traces import LOOP, recorded
from tests.inspect.trace_builder import TraceBuilder

BRANCHES = """
import engine

@engine.jit.script
def scale(x, k: float):
    if k > 1.0:
        return x * k
    return x

@engine.jit.script
def branches(x, n: int, flag: bool):
    for i in range(3):
        if flag:
            x = scale(x, 2.0) + i
        else:
            x = x.t().t()
    while n > 0:
        x = x - n
        n -= 1
    return x * 2 + x * 2, n

for _ in range(3):
    out = branches(engine.ones(2, 3), 2, True)
"""
"""Inlining, constant conditions, unrolling, merging, control flow that stays."""

BROKEN = """
import engine

@engine.jit.register_pass(after="peephole")
def gives_up(graph):
    for node in graph.findAllNodes("aten::neg"):
        with graph.rewrite("-x -> x", node):
            node.output().replaceAllUsesWith(node.input())
    raise RuntimeError("this pass gives up")

@engine.jit.script
def negated(x):
    return -x * 2

try:
    negated(engine.ones(2))
except RuntimeError as error:
    said = str(error)
"""
"""A pass of the user's that fails after it has changed something."""

PROGRAMS = {"loop": LOOP, "branches": BRANCHES, "broken": BROKEN}
GONE = ("gone", "removed", "left")


def at(history, moment: int, item: JitSelection | None = None) -> JitModel:
    return project("jit", history, moment, Selection(value=item))


def graphs(history) -> list[int]:
    """Graphs that were compiled; the front end's unoptimised form is another graph ("as it came")."""
    output = history.jit.tables.graphs
    phases = [history.string(int(phase)) for phase in output.phase]
    came = {graph for graph, phase in zip(output.id, phases, strict=True) if phase == "as it came"}
    return [graph for graph in dict.fromkeys(output.id.tolist()) if graph not in came]


def run_of(history, name: str, graph: int):
    return next(run for run in history.jit.runs(graph, history.end) if run.name == name)


def value_named(model: JitModel, kind: str) -> JitSelection:
    """Return the first output of a node of this kind."""
    return next(
        row.item for row in model.rows if f" = {kind}" in row.text and row.change not in GONE
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_moment_shows_the_graph_as_it_is_then(program):
    history = recorded(PROGRAMS[program])
    output = 0
    for graph in graphs(history):
        for moment in timeline_of(history, graph).moments:
            model = at(history, moment)
            assert model.graph == graph
            current = [row.node for row in model.rows if row.change not in GONE]
            state = history.jit.graph_at(graph, moment)
            assert current == [line.node for line in state.every_line()]
            output += 1
    assert output >= 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_snapshot_and_the_edits_since_give_the_next_snapshot(program):
    history = recorded(PROGRAMS[program])
    jit, compared = history.jit, 0
    for graph in graphs(history):
        state = None
        for moment, row in jit.changes[graph]:
            if row >= 0:
                state.apply(jit._rewrite(row).edits)
                continue
            output = IrGraph(jit.json(moment))
            if state is not None:
                assert state.text() == output.text(), f"graph {graph} at event {moment}"
                compared += 1
            state = output
    assert compared or program == "broken"


@pytest.mark.parametrize("program", ["loop", "branches"])
def test_what_stays_keeps_its_place_from_step_to_step(program):
    history = recorded(PROGRAMS[program])
    for graph in graphs(history):
        models = [at(history, moment) for moment in timeline_of(history, graph).moments]
        for before, after in itertools.pairwise(models):
            moved = {row.node for row in after.rows if row.change in ("moved", "left")}
            saved = {row.node for row in before.rows} & {row.node for row in after.rows} - moved
            orders = [
                [row.node for row in model.rows if row.node in saved] for model in (before, after)
            ]
            assert orders[0] == orders[1], f"graph {graph}, event {after.moment}"


def test_the_differences_are_those_of_the_pass_or_of_the_one_rewrite():
    history = recorded(LOOP)
    graph = graphs(history)[0]
    run = run_of(history, "peephole", graph)
    assert not [row for row in at(history, run.since).rows if row.change not in ("", "gone")]
    rewrite = history.jit.rewrites(run.id)[0]
    for moment in (rewrite.moment, run.until):
        model = at(history, moment)
        removed = [row.text for row in model.rows if row.change == "removed"]
        assert [text.partition(" = ")[2] for text in removed] == [
            "aten::t(%x.1)",
            "aten::t(%17)",
        ] or (len(removed) == 2 and all("aten::t(" in text for text in removed))
        changed = next(row for row in model.rows if row.change == "changed")
        assert "aten::mul(%x.1" in changed.text
        assert "aten::mul(%x.1" not in changed.before
        assert (model.added, model.removed, model.changed) == (0, 2, 1)
    assert at(history, rewrite.moment).position == "in peephole, rewrite 1 of 1"
    assert at(history, run.until).position == "after peephole"


@pytest.mark.skipif(
    not (Path(engine.__file__).parents[1] / "csrc").is_dir(),
    reason="the engine is installed without its source",
)
def test_the_rule_of_every_rewrite_shows_its_lines_of_the_engines_source():
    jit = recorded(LOOP).jit
    rewrites = [rewrite for run in jit.tables.runs.id.tolist() for rewrite in jit.rewrites(run)]
    assert len(rewrites) > 10
    for rewrite in rewrites:
        rule = rule_of(jit, rewrite)
        assert rule.path.startswith("csrc/jit/"), rule.why
        assert rule.lines[rule.line - rule.first].strip(), rule


def test_why_a_node_vanished_names_pass_rule_place_and_what_stands_for_it():
    history = recorded(LOOP)
    run = run_of(history, "peephole", graphs(history)[0])
    model = at(history, run.until)
    inner, outer = (row for row in model.rows if row.change == "removed")
    story = " ".join(at(history, run.until, outer.item).story)
    assert re.search(r"removed in pass peephole \(\d+\)", story)
    assert '"x.t().t() -> x" (csrc/jit/peephole/' in story
    assert "%x.1 replaces it" in story
    assert 'by the rule "a call -> the nodes of its callee"' in story
    assert "nothing replaces it" in " ".join(at(history, run.until, inner.item).story)
    before = " ".join(at(history, run.since, outer.item).story)
    assert "It will be removed in pass peephole" in before
    assert "It was removed" not in before


def test_a_merged_node_says_which_value_stands_for_it():
    history = recorded(BRANCHES)
    run = run_of(history, "cse", graphs(history)[0])
    model = at(history, run.until)
    merged = next(row for row in model.rows if row.change == "removed" and "aten::mul(" in row.text)
    story = " ".join(at(history, run.until, merged.item).story)
    assert "computed before -> what was computed before" in story
    name = story.partition(" replaces it")[0].split()[-1]
    saved = next(row for row in model.rows if row.text.startswith(f"{name} : "))
    assert saved.text.partition(" = ")[2] == merged.text.partition(" = ")[2]
    highlighted = {row.node for row in at(history, run.until, merged.item).rows if row.highlighted}
    assert {merged.node, saved.node} <= highlighted


def test_a_line_of_an_inlined_function_lights_what_became_of_it_and_back():
    history = recorded(LOOP)
    graph = graphs(history)[0]
    jit = history.jit
    helper = next(f for f in jit.functions(history.end) if f.name == "helper")
    inlined = run_of(history, "inline", graph).until
    line = helper.first_line + 2  # return x.t().t() * 2
    model = at(history, inlined, SyntaxSelection(helper.id, "line", line))
    highlighted = [row.text for row in model.rows if row.highlighted]
    assert sum("aten::t(" in text for text in highlighted) == 2
    assert any("aten::mul(" in text for text in highlighted)
    assert not any("aten::relu(" in text for text in highlighted)
    # and from the Value back to both lines: its own, and the call
    product = value_named(at(history, inlined), "aten::mul")
    model = at(history, inlined, product)
    assert {(row.function, row.line) for row in model.source if row.highlighted} >= {
        (helper.id, line)
    }
    assert any(row.highlighted and "helper(x)" in row.text for row in model.source)
    assert any(row.highlighted and row.kind == "BinOp" for row in model.tree)


def test_instructions_of_the_last_code_belong_to_values_of_the_first_graph():
    history = recorded(LOOP)
    first = graphs(history)[0]
    relu = value_named(at(history, timeline_of(history, first).moments[0]), "aten::relu")
    code = next(row for row in at(history, history.end - 1).passes if row.kind == "code")
    model = at(history, code.at, relu)
    assert [row.text.split()[0] for row in model.code if row.highlighted]
    assert any(row.highlighted for row in model.rows)


def test_a_selected_tree_node_or_token_stays_selected_in_every_pass():
    history = recorded(LOOP)
    jit, graph = history.jit, graphs(history)[0]
    looped = next(f for f in jit.functions(history.end) if f.name == "looped")
    tree = jit.tree(looped.id)
    index = next(
        i for i, node in enumerate(tree) if node.kind == "Call" and i and "relu" in tree[i + 1].text
    )
    tokens = jit.syntax(looped.id)["tokens"]
    token = next(i for i, item in enumerate(tokens) if item[1] == "relu")
    for item in (
        SyntaxSelection(looped.id, "tree", index),
        SyntaxSelection(looped.id, "token", token),
    ):
        for moment in timeline_of(jit.history, graph).moments:
            model = at(history, moment, item)
            alive = [row for row in model.rows if row.highlighted and row.change not in GONE]
            assert any("aten::relu" in row.text for row in alive), moment
            assert model.story
            assert model.selected == item


def test_parameters_come_from_where_the_function_names_them():
    history = recorded(LOOP)
    graph = graphs(history)[0]
    moment = timeline_of(history, graph).moments[0]
    head = at(history, moment).rows[0]
    x = next(ValueSelection(part.value) for part in head.parts if part.text == "%x.1")
    model = at(history, moment, x)
    assert any(row.highlighted and row.kind == "arg" and row.text == "x" for row in model.tree)


def test_the_rows_of_passes_count_what_was_rewritten():
    history = recorded(BRANCHES)
    model = at(history, history.end - 1)
    passes = [row for row in model.passes if row.kind == "pass"]
    assert len(passes) > 10
    for row in passes:
        assert row.changes == len(history.jit.rewrites(row.run))
        assert row.idle == (row.changes == 0)
    sorts = [row.kind for row in model.passes]
    assert sorts[:3] == ["source", "syntax", "graph"]
    assert sorts[-2:] == ["code", "run"]
    middle = next(row for row in passes if row.name == "unroll_loops")
    states = [row.state for row in at(history, middle.at).passes]
    current = states.index("current")
    assert states.count("current") == 1
    assert model.passes[current].name == "unroll_loops"
    assert set(states[:current]) == {"past"}
    assert set(states[current + 1 :]) == {"ahead"}


def test_an_unrolled_loop_lights_up_in_every_copy():
    history = recorded(BRANCHES)
    graph = graphs(history)[0]
    timeline = timeline_of(history, graph)
    start = at(history, timeline.moments[0])
    added = value_named(start, "aten::add")  # x = scale(...) + i, inside of the loop
    after = run_of(history, "unroll_loops", graph).until
    highlighted = [
        r for r in at(history, after, added).rows if r.highlighted and "aten::add(" in r.text
    ]
    assert len([row for row in highlighted if row.change not in GONE]) == 3


def test_a_pass_that_fails_shows_everything_up_to_there():
    history = recorded(BROKEN)
    failed = [
        run for g in graphs(history) for run in history.jit.runs(g, history.end) if run.failed
    ]
    assert [run.name for run in failed] == ["gives_up"]
    model = at(history, failed[0].until)
    assert model.failed == "RuntimeError: this pass gives up"
    assert model.changed == 1
    assert model.rewrites[-1].rule == "-x -> x"
    assert any("with graph.rewrite" in line for line in model.rule.lines)
    assert next(row for row in model.passes if row.failed).state == "current"
    assert "it failed: RuntimeError: this pass gives up" in history.event(failed[0].until).sentence


def test_events_of_the_jit_say_names():
    history = recorded(LOOP)
    run = run_of(history, "peephole", graphs(history)[0])
    assert history.event(run.since).sentence.startswith("pass peephole begins")
    rewrite = history.jit.rewrites(run.id)[0]
    assert history.event(rewrite.moment).sentence.endswith("x.t().t() -> x")
    assert history.find("x.t().t()", -1, 1) is not None
    assert history.event(history.find("kind:AST", -1, 1)).sentence == "function helper was parsed"


def test_a_trace_without_the_jit_says_what_to_do():
    model = at(TraceBuilder().history(), -1)
    assert "engine.jit.script" in model.why
    early = at(recorded(LOOP), 0)
    assert "later" in early.why


def test_before_its_first_call_a_function_has_its_source_and_the_graph_it_was_compiled_to():
    history = recorded(LOOP)
    syntax = history.jit.tables.syntax.since
    for moment, name in zip(syntax.tolist(), ("helper", "looped"), strict=True):
        model = at(history, moment)
        assert model.function == name
        assert model.rows
        assert model.source
        assert model.tree
        assert model.tokens
        assert [row.kind for row in model.passes][:3] == ["source", "syntax", "graph"]
        assert {"dce", "constant_pooling"} <= {row.name for row in model.passes}


def test_the_text_of_a_rule_is_found_by_name_when_the_file_has_changed():
    text = "\n" * 20 + 'with graph.rewrite("a -> b", node):\n    pass\n'
    assert rule_text("mine.py", 7, "a -> b", text).line == 21
    assert rule_text("mine.py", 21, "a -> b", text).lines[-2].startswith("with graph")
    assert (
        rule_text("/built/elsewhere/csrc/jit/passes/dce.cpp", 9, "x").path
        == "csrc/jit/passes/dce.cpp"
    )
    assert "neither in the trace" in rule_text("/nowhere/csrc/jit/none.cpp", 3, "x").why
    assert "does not record" in rule_text("", 0, "x").why
    assert "it has changed since" in rule_text("mine.py", 99, "other", text).why


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "{secret}",
        "csrc/../../../../../../..{secret}",
        "{folder}/csrc/jit/secret.txt",
        "engine/../pyproject.toml",
        "engine\0",
        "csrc/" + "a" * 5000,
    ],
)
def test_a_rewrite_cannot_name_a_file_that_is_not_the_engines(path, tmp_path):
    secret = tmp_path / "csrc" / "jit" / "secret.txt"
    secret.parent.mkdir(parents=True)
    secret.write_text("the secret\n" * 40)
    text = rule_text(path.format(secret=secret, folder=tmp_path), 3, "x")
    assert text.lines == ()
    assert "neither in the trace nor in this engine's source" in text.why


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_model_is_json(program):
    history = recorded(PROGRAMS[program])
    for moment in range(0, history.end, max(1, history.end // 25)):
        model = at(history, moment, ValueSelection(5))
        assert json.loads(json.dumps(to_json(model)))["moment"] == moment


def test_a_return_lights_what_it_takes():
    history = recorded(LOOP)
    moment = timeline_of(history, graphs(history)[0]).moments[0]
    last = at(history, moment).rows[-1]
    model = at(history, moment, last.item)
    assert model.rows[-1].selected
    assert [row.text for row in model.rows if row.highlighted and "prim::Loop(" in row.text]


def test_rewrites_are_counted_from_one_in_sentences_as_in_the_view():
    history = recorded(LOOP)
    for graph in graphs(history):
        for run in history.jit.runs(graph, history.end):
            for index, fact in enumerate(history.jit.rewrites(run.id), 1):
                assert history.event(fact.moment).sentence.startswith(f"rewrite {index}: ")


GROUPS = """
import engine

@engine.jit.script
def chain(a, b, n: int):
    for i in range(n):
        if i > 1:
            a = engine.tanh(a) * b
        else:
            a = a.t().t() + i
    return (engine.sigmoid(a) + 1.0).sum(), (a - b) * 2.0

for _ in range(4):
    chain(engine.ones(3, 3), engine.ones(3, 3), 3)
"""
"""Blocks, groups that hold graphs, nodes that move."""


@pytest.mark.parametrize("program", [*PROGRAMS.values(), GROUPS])
def test_a_film_has_every_state_that_the_edits_lead_to(program):
    jit = recorded(program).jit
    for graph in graphs(jit.history):
        timeline = timeline_of(jit.history, graph)
        for index, moment in enumerate(timeline.moments):
            output = jit.graph_at(graph, moment).every_line()
            assert list(timeline.lines(index).values()) == output, f"graph {graph}, event {moment}"
            names = {
                number: item["name"] for number, item in jit.graph_at(graph, moment).values.items()
            }
            assert timeline.names(index).items() <= names.items()


def test_a_film_says_which_states_it_lost_and_goes_on_with_the_next_snapshot(monkeypatch):
    jit = recorded(GROUPS).jit
    graph = graphs(jit.history)[-1]
    full = GraphTimeline(jit, graph)
    rows = [row for _, row in jit.changes[graph]]
    hole = next(index for index, row in enumerate(rows) if row >= 0)
    actual = jit._rewrite
    monkeypatch.setattr(
        jit,
        "_rewrite",
        lambda row: replace(actual(row), edits=[]) if row == rows[hole] else actual(row),
    )
    timeline = GraphTimeline(jit, graph)
    after = next(snapshot for snapshot in timeline.snapshots if snapshot > hole)
    assert timeline.lost == hole
    assert [timeline.is_known(item) for item in (hole - 1, hole, after - 1, after)] == [
        True, False, False, True,
    ]  # fmt: skip
    assert timeline.lines(hole) == {}
    assert list(timeline.lines(after).items()) == list(full.lines(after).items())


def test_what_went_into_a_group_is_told_where_it_is_now():
    history = recorded(GROUPS)
    graph = graphs(history)[-1]
    fuse = run_of(history, "fuse", graph)
    freed = [
        row for row in at(history, fuse.until).rows
        if row.change == "removed" and "aten::tanh" in row.text
    ]  # fmt: skip
    assert freed
    story = at(history, fuse.until, freed[0].item).story
    output = re.search(r"(%\S+) in (prim::FusionGroup_\d+) does its work\.$", story[1])
    assert output
    name, group = output.groups()
    rows = [row.text for row in at(history, fuse.until).rows if row.change not in GONE]
    inside = rows[next(i for i, text in enumerate(rows) if text.startswith(f"with {group} ")) :]
    assert any(text.startswith(f"{name} : ") and "aten::tanh" in text for text in inside)


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("__torch__.engine.nn.modules.linear.___torch_mangle_2.Linear", "Linear"),
        ("__torch__.Net", "Net"),
        ("Dict(str, __torch__.a.B)[]", "Dict(str, B)[]"),
        ("Float(2, 3, requires_grad=0, device=cpu)", "Float(2, 3)"),
        ("Tensor", "Tensor"),
    ],
)
def test_short_types_still_differ(full: str, short: str):
    assert short_type(full) == short


def test_methods_are_called_by_their_class():
    assert method_name("__torch__.engine.nn.modules.linear.Linear.forward") == "Linear.forward"
    assert method_name("looped") == "looped"


FROZEN = """
import engine

class Twice(engine.nn.Module):
    def forward(self, x):
        return engine.jit.wait(engine.jit.fork(engine.relu, x)) * 2

frozen = engine.jit.freeze(engine.jit.script(Twice().eval()))
for _ in range(3):
    frozen(engine.ones(2))
"""
"""Graphs of functions that never came to the front end: of a frozen module, of what a fork runs."""


@pytest.mark.parametrize("program", [LOOP, FROZEN])
def test_every_graph_of_the_recording_can_be_gone_to(program):
    history = recorded(program)
    model = at(history, history.end - 1)
    listed = [graph.graph for row in model.functions for graph in row.graphs]
    assert sorted(listed) == sorted(set(history.jit.tables.graphs.id.tolist()))
    assert all(row.name for row in model.functions)
    current = [graph.graph for row in model.functions for graph in row.graphs if graph.current]
    assert current == [model.graph]


VANISHING = """
import engine

@engine.jit.script
def f(x, y):
    unused = x * 3
    z = x + 0
    w = z * 1
    return (w + y).relu()

for _ in range(3):
    f(engine.ones(4), engine.ones(4))
"""


def test_a_source_line_that_vanished_says_where_it_went():
    history = recorded(VANISHING)

    def story(line: int) -> str:
        item = SyntaxSelection(1, "line", line)
        return " ".join(at(history, history.end - 1, item).story)

    removed = story(5)
    assert "nothing in this graph at this moment comes from it." in removed
    assert '%unused.1 = aten::mul was removed in pass dce by the rule "an unused node"' in removed
    assert "prim::Constant" not in removed
    assert "%w.1 = aten::mul was removed in pass peephole" in story(7)
    assert '"x * 1 -> x"' in story(7)
    assert "does its work" in story(8)
