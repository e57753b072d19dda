"""Keys of the JIT view: panes, idle passes, ghosts, key phases, changing passes, search, a page.

Each takes the stage and returns one sentence for the status line. In the view of a fused kernel the keys
of passes and graphs go along its launches and groups (`tui/running.py`, with those of the interpreter).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.inspect.models._wording import many
from tui import running
from tui.render import Target

if TYPE_CHECKING:
    from tui.stage import Stage

VIEW = "jit"
GHOSTS = {
    "": "lines that are gone keep their place, as one row where they do not fit",
    "all": "every line that is gone keeps its place",
    "pass": "lines that this pass removed keep their place",
    "none": "lines that are gone are not shown",
}
PHASES = {
    "source": ("source", "the source"),
    "tree": ("syntax", "the tokens and the tree"),
    "graph": ("graph", "the graph as it was made"),
    "inlined": ("inline_calls", "the graph after inlining"),
    "fused": ("fuse", "the graph after fusion"),
    "optimised": ("pass", "the graph after the last pass"),
    "code": ("code", "the instructions"),
    "run": ("run", "the first run of these instructions"),
}
"""The key phases: the sort of the row, or the pass, after which they are reached."""
SHOWN = {"source": "source", "tree": "tree", "code": "code", "run": "code"}
"""What stands beside the graph then, for phases that are no graph."""


def change(stage: Stage, what: str) -> str:
    """The keys that change how graphs are drawn: in this view, or in the others."""
    from tui import graphs

    if stage.view == running.FUSED:
        return running.next_pane(stage) if what == "form" else "nothing to fold in this view"
    if stage.view == VIEW:
        return {"form": next_pane, "fold": idle_passes, "open": next_ghosts}[what](stage)
    acts = {"form": graphs.next_form, "fold": graphs.next_fold, "open": graphs.open_or_close}
    return acts[what](stage)


def go(stage: Stage, where: str, direction: int = 1) -> str:
    """To a key phase, the next changing pass or the next graph; in this view."""
    if where in running.STOPS:
        return running.run_on(stage, where, direction)
    if stage.view == running.FUSED and where in ("pass", "function"):
        return running.along(stage, where, direction)
    if where == "pass":
        said = changing_pass(stage, direction)
    elif where == "function":
        said = to_function(stage, direction)
    else:
        said = to_phase(stage, where)
    stage.show_view(VIEW)
    return said


def next_pane(stage: Stage, name: str = "") -> str:
    """Another thing beside the graph, or the one of that name."""
    from tui.views._jit_panes import PANES

    if stage.view == running.FUSED:
        return running.next_pane(stage, name)
    names = list(PANES)
    if name and name not in names:
        return f"no pane is called {name!r}; there are {', '.join(names)}"
    now = stage.look.pane if stage.look.pane in names else "passes"
    pane = name or names[(names.index(now) + 1) % len(names)]
    stage.look = replace(stage.look, pane=pane)
    return f"beside the graph: {pane}"


def idle_passes(stage: Stage, name: str = "") -> str:
    """List passes that changed nothing, or hide them."""
    stage.look = replace(stage.look, idle=not stage.look.idle)
    shown = "are listed" if stage.look.idle else "are hidden"
    return f"passes that changed nothing {shown}"


def next_ghosts(stage: Stage, name: str = "") -> str:
    """Which of the lines that are gone keep their place."""
    order = list(GHOSTS)
    ghosts = order[(order.index(stage.look.ghosts) + 1) % len(order)]
    stage.look = replace(stage.look, ghosts=ghosts)
    return GHOSTS[ghosts]


def to_phase(stage: Stage, name: str) -> str:
    """To a key phase of the function that is looked at."""
    sort, words = PHASES[name]
    rows = [row for row in stage.model(VIEW).passes if sort in (row.sort, row.name)]
    rows = rows or _in_other_graphs(stage, sort)
    if not rows:
        return f"there is no such phase here: {words}"
    row = rows[-1] if sort == "pass" else rows[0]
    stage.remember()
    stage.move(row.at)
    if name in SHOWN:
        stage.look = replace(stage.look, pane=SHOWN[name])
    return f"{words}; Backspace returns"


def _in_other_graphs(stage: Stage, sort: str) -> list[Any]:
    """The rows of such a phase in another graph of the same function: only the one that is specialised
    has groups that are fused."""
    from engine.inspect.models.jit.passes import Focus, pass_rows

    for function in all_functions(stage):
        for graph in function.graphs if function.current else ():
            focus = Focus(function.id, graph.graph)
            rows = pass_rows(stage.history.jit, focus, stage.moment, frozenset())
            found = [row for row in rows if sort in (row.sort, row.name)]
            if found:
                return found
    return []


def changing_pass(stage: Stage, direction: int) -> str:
    """To the next pass that changes something, or to the one before. (What the front end does to a
    graph before it is first told cannot be shown, and is passed over.)"""
    jit = stage.history.jit
    told = set(jit.tables.graphs.id.tolist())
    ends = jit.tables.ends
    changed = [
        int(since)
        for since, run, count in zip(ends.since, ends.run, ends.changes, strict=True)
        if count and jit.run_fact(jit.tables.runs.last("id", int(run), stage.last)).graph in told
    ]
    ahead = [moment for moment in changed if (moment - stage.moment) * direction > 0]
    if not ahead:
        return f"no {'later' if direction > 0 else 'earlier'} pass changed anything"
    stage.move(ahead[0] if direction > 0 else ahead[-1])
    return ""


def to_function(stage: Stage, direction: int) -> str:
    """To the next graph of the recording (the next function, or the same one specialised)."""
    functions = stage.model(VIEW).functions
    if not functions:
        return "no function came to the compiler yet"
    places = sorted(
        (graph.until, function.name, graph.graph, graph.current)
        for function in all_functions(stage)
        for graph in function.graphs
    )
    now = next((at for at, place in enumerate(places) if place[3]), -1 if direction > 0 else 0)
    at = now + direction
    if not 0 <= at < len(places):
        return f"no {'later' if direction > 0 else 'earlier'} graph"
    stage.remember()
    stage.move(places[at][0])
    return f"{places[at][1]}, graph {places[at][2]}; Backspace returns"


def all_functions(stage: Stage) -> tuple[Any, ...]:
    """Every function of the recording with its graphs, those to come too."""
    from engine.inspect.models.jit.passes import focus_at, function_rows

    jit = stage.history.jit
    return function_rows(jit, focus_at(jit, stage.moment), stage.last)


def follow(stage: Stage, number: int) -> str:
    """Into the kernel of a fused group; else to the rewrite that took away what is selected, or, where
    it is still there, made it."""
    from engine.inspect.history.jit.source_ranges import what_is

    links = stage.history.jit.links
    sort, one, _, _ = what_is(number)
    node = links.node_of.get(one, 0) if sort == "value" else one if sort == "node" else 0
    if stage.view != running.FUSED and (said := running.into_kernel(stage, node)):
        return said
    if stage.view != VIEW:
        return stage.show_view(VIEW)
    end, birth = links.ends.get(node), links.births.get(node)
    if birth is None:
        return "a place in the source is made by nobody; select a line of the graph"
    if end is not None and end.moment <= stage.moment:
        stage.move(end.moment)
        return f"it vanished here: {end.rule}; Backspace returns"
    stage.move(birth.moment)
    return f"it was made here: {birth.rule}; Backspace returns"


def is_asked(stage: Stage) -> bool:
    """Whether `w` and `o` ask about a Value of a graph, and not about a tensor."""
    chosen = stage.selection
    if stage.view == running.INTERPRETER:
        return bool(chosen.value) and not chosen.tensor
    return bool(chosen.value) and stage.view in (VIEW, running.FUSED)


def who_made(stage: Stage) -> str:
    """To the phase or the rewrite that made the selected Value; again: to what it was made from."""
    from engine.inspect.history.jit.source_ranges import what_is

    links = stage.history.jit.links
    sort, value, _, _ = what_is(stage.selection.value)
    if sort == "node":
        value = next(iter(links.values_of.get(value, ())), 0)
    birth = links.births.get(links.node_of.get(value, -1)) if sort in ("value", "node") else None
    if birth is None:
        return "select a Value or a line of the graph: a place in the source was written by you"
    again = ""
    if birth.moment == stage.moment and stage.view == VIEW:
        origins = {
            one: links.births.get(links.node_of.get(one, -1)) for one in links.origins(value)
        }
        known = {one: at for one, at in origins.items() if at is not None}
        if not known:
            places = links.sources(value)
            where = f" but {places[0].file.rpartition('/')[2]}:{places[0].line}" if places else ""
            return f"%{links.name_of.get(value, value)} was made from nothing{where}"
        value = max(known, key=lambda one: known[one].moment)
        birth = known[value]
        again = f"it was made from %{links.name_of.get(value, value)}, and that: "
    stage.remember()
    stage.move(birth.moment)
    stage.show_view(VIEW)
    stage.select(Target("value", value=value))
    how = f'by the rule "{birth.rule}"' if birth.run else f"with its graph ({birth.rule})"
    return f"{again}made {how}; w again for what it was made from, Backspace returns"


def who_reads(stage: Stage) -> str:
    """Every line of the graph that reads the selected Value now."""
    number = stage.selection.value
    rows = [row for row in stage.model(VIEW).rows if row.change not in ("gone", "removed", "left")]
    mine = next((row for row in rows if row.number == number or number in row.made), None)
    values = set(mine.made) if mine is not None and mine.number == number else {number}
    name = next((part.text for row in rows for part in row.parts if part.value in values), "it")
    readers = [row for row in rows if values & set(row.used)]
    if mine is None:
        return "it is not in this graph now; Enter goes to where it was"
    if not readers:
        return f"nobody reads {name}"
    said = "; ".join(row.text[:40] for row in readers[:3])
    more = f"; and {len(readers) - 3} more" if len(readers) > 3 else ""
    return f"{name} is read by {many(len(readers), 'line')}: {said}{more}"


def search(stage: Stage, text: str, direction: int) -> str | None:
    """To the next line of this graph that has the text, else to the pass or graph that has it.

    None: nothing of the JIT has it.
    """
    wanted = text.lower()
    model = stage.model(VIEW)
    rows = [row for row in model.rows if row.change != "gone"]
    at = next((i for i, row in enumerate(rows) if row.chosen), -1 if direction > 0 else len(rows))
    ahead = rows[at + 1 :] if direction > 0 else rows[:at][::-1]
    for row in ahead:
        if wanted in row.text.lower():
            stage.remember()
            stage.select(Target("value", value=row.number))
            return f"{row.text[:60]}; n for the next"
    for moment, value, said in _elsewhere(stage, wanted, direction):
        stage.remember()
        stage.move(moment)
        if value:
            stage.select(Target("value", value=value))
        return f"{said}; n for the next"
    return None


def _elsewhere(stage: Stage, wanted: str, direction: int) -> list[tuple[int, int, str]]:
    """(moment, Value, words) of passes of that name and of nodes made with it, nearest first."""
    jit, links = stage.history.jit, stage.history.jit.links
    found = []
    for row in range(len(jit.tables.runs)):
        run = jit.run_fact(row)
        if wanted in run.name.lower():
            found.append((min(run.until, stage.last), 0, f"pass {run.name}"))
    told = set(jit.tables.graphs.id.tolist())
    graph_of = {
        int(run): int(graph)
        for run, graph in zip(jit.tables.runs.id, jit.tables.runs.graph, strict=True)
    }
    for node, kind in links.kind_of.items():
        birth = links.births[node]
        values = links.values_of.get(node, [])
        names = [links.name_of.get(value, "") for value in values]
        if birth.run and graph_of.get(birth.run) not in told:
            continue
        if wanted in f"%{' %'.join(names)} = {kind}".lower():
            found.append((birth.moment, values[0] if values else 0, kind))
    found.sort(key=lambda one: one[0])
    if direction > 0:
        return [one for one in found if one[0] > stage.moment]
    return [one for one in found if one[0] < stage.moment][::-1]


def page(stage: Stage) -> str:
    """Everything about what is selected and the last rewrite, as the Markdown of a page."""
    model = stage.model(VIEW)
    parts: list[str] = []
    if model.story:
        chosen = next((row for row in model.rows if row.chosen), None)
        parts += ["# What is selected", ""]
        if chosen is not None:
            parts += ["```", chosen.text, *([chosen.before] if chosen.before else []), "```", ""]
        parts += [line + "\n" for line in model.story]
        touched = [row for row in model.passes if row.lit]
        if touched:
            parts += ["# Passes that had to do with it", ""]
            parts += [
                f"- {row.index} {row.name}: {many(row.changes, 'change')}, event {row.at:,}"
                for row in touched
            ]
            parts.append("")
        lit = [row for row in model.code if row.lit]
        if lit:
            parts += ["# Instructions", "", "```", *(f"{r.pc:>4} {r.text}" for r in lit), "```", ""]
    if model.refused:
        parts += ["# The compiler refused what came", "", "```", *model.refused, "```", ""]
    if model.failed:
        parts += ["# A pass failed", "", "```", *model.failed.splitlines(), "```", ""]
    here = model.rewrite
    if here is not None:
        parts += [
            f"# Rewrite {here.index + 1} of {len(model.rewrites)}: {here.rule}",
            "",
            *([here.reason, ""] if here.reason else []),
        ]
        parts += _rule(model.rule)
    return "\n".join(parts) or (
        "Select a line, a node of the tree or a Value to be told where it comes from and why it "
        "vanished; step by rewrite to be shown the rule of each."
    )


def _rule(rule: Any) -> list[str]:
    """The lines round a rule, its own marked."""
    if not rule.lines:
        return [rule.why]
    marked = [
        f"{'>' if number == rule.line else ' '}{number:>5} {text}"
        for number, text in enumerate(rule.lines, rule.first)
    ]
    return [f"{rule.path}, line {rule.line}:", "", "```", *marked, "```"]
