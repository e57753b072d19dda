"""The queries of the JIT view: key phases, changing passes, graphs, provenance, search, a page.

Each takes the navigator and returns one sentence for the status line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.inspect.models._wording import pluralise
from engine.inspect.selection import ValueSelection
from tui.render import Target

if TYPE_CHECKING:
    from tui.navigator import Navigator

VIEW = "jit"
PHASES = {
    "source": ("source", "the source"),
    "tree": ("syntax", "the tokens and the tree"),
    "graph": ("graph", "the graph as it was made"),
    "inlined": ("inline", "the graph after inlining"),
    "fused": ("fuse", "the graph after fusion"),
    "optimised": ("pass", "the graph after the last pass"),
    "code": ("code", "the instructions"),
    "run": ("run", "the first run of these instructions"),
}
"""The key phases: the sort of the row, or the pass, after which they are reached."""


def to_phase(nav: Navigator, name: str) -> tuple[bool, str]:
    """To a key phase of the function that is shown; whether there is one, and a sentence."""
    sort, words = PHASES[name]
    rows = [row for row in nav.model(VIEW).passes if sort in (row.kind, row.name)]
    rows = rows or _in_other_graphs(nav, sort)
    if not rows:
        return False, f"there is no such phase here: {words}"
    row = rows[-1] if sort == "pass" else rows[0]
    nav.remember()
    nav.move(row.at)
    return True, f"{words}; Backspace returns"


def _in_other_graphs(nav: Navigator, sort: str) -> list[Any]:
    """The rows of such a phase in another graph of the same function: only the one that is specialised
    has groups that are fused."""
    from engine.inspect.models.jit.passes import Focus, pass_rows

    for function in all_functions(nav):
        for graph in function.graphs if function.current else ():
            focus = Focus(function.id, graph.graph)
            rows = pass_rows(nav.history.jit, focus, nav.moment, frozenset())
            found = [row for row in rows if sort in (row.kind, row.name)]
            if found:
                return found
    return []


def changing_pass(nav: Navigator, direction: int) -> str:
    """To the next pass that changes something, or to the one before. (What the front end does to a
    graph before it is first told cannot be shown, and is passed over.)"""
    jit = nav.history.jit
    told = set(jit.tables.graphs.id.tolist())
    ends = jit.tables.ends
    changed = [
        int(since)
        for since, run, count in zip(ends.since, ends.run, ends.changes, strict=True)
        if count and jit.run_fact(jit.tables.runs.last("id", int(run), nav.last)).graph in told
    ]
    ahead = [moment for moment in changed if (moment - nav.moment) * direction > 0]
    if not ahead:
        return f"no {'later' if direction > 0 else 'earlier'} pass changed anything"
    nav.move(ahead[0] if direction > 0 else ahead[-1])
    return ""


def to_function(nav: Navigator, direction: int) -> str:
    """To the next graph of the recording (the next function, or the same one specialised)."""
    functions = nav.model(VIEW).functions
    if not functions:
        return "nothing has been compiled yet"
    places = sorted(
        (graph.until, function.name, graph.graph, graph.current)
        for function in all_functions(nav)
        for graph in function.graphs
    )
    now = next((at for at, place in enumerate(places) if place[3]), -1 if direction > 0 else 0)
    at = now + direction
    if not 0 <= at < len(places):
        return f"no {'later' if direction > 0 else 'earlier'} graph"
    nav.remember()
    nav.move(places[at][0])
    return f"{places[at][1]}, graph {places[at][2]}; Backspace returns"


def all_functions(nav: Navigator) -> tuple[Any, ...]:
    """Every function of the recording with its graphs, those to come too."""
    from engine.inspect.models.jit.passes import focus_at, function_rows

    jit = nav.history.jit
    return function_rows(jit, focus_at(jit, nav.moment), nav.last)


def follow(nav: Navigator, number: int) -> str:
    """To the rewrite that removed what is selected, or, where it still exists, made it."""
    links = nav.history.jit.links
    node = node_of(nav, number)
    removal, creation = links.removals.get(node), links.creations.get(node)
    if creation is None:
        return "this is a line of your source; select a line of the graph"
    if removal is not None and removal.moment <= nav.moment:
        nav.move(removal.moment)
        return f"removed here: {removal.rule}; Backspace returns"
    nav.move(creation.moment)
    return f"created here: {creation.rule}; Backspace returns"


def selected_value(nav: Navigator) -> int:
    """The number of the selected Value or part of a function; 0: none."""
    value = nav.selection.value
    return value.value if value is not None else 0


def node_of(nav: Navigator, number: int) -> int:
    """The node that a selected number is, or whose Value it is; 0: none."""
    from engine.inspect.history.jit.source_ranges import what_is

    kind, item, _, _ = what_is(number)
    if kind == "node":
        return item
    return nav.history.jit.links.node_of.get(item, 0) if kind == "value" else 0


def who_made(nav: Navigator) -> str:
    """To the phase or the rewrite that made the selected Value; again: to what it was made from."""
    from engine.inspect.history.jit.source_ranges import what_is

    links = nav.history.jit.links
    sort, value, _, _ = what_is(selected_value(nav))
    if sort == "node":
        value = next(iter(links.values_of.get(value, ())), 0)
    creation = (
        links.creations.get(links.node_of.get(value, -1)) if sort in ("value", "node") else None
    )
    if creation is None:
        return "select a Value or a line of the graph: a place in the source was written by you"
    again = ""
    if creation.moment == nav.moment and nav.view == VIEW:
        origins = {
            one: links.creations.get(links.node_of.get(one, -1)) for one in links.origins(value)
        }
        known = {one: at for one, at in origins.items() if at is not None}
        if not known:
            places = links.sources(value)
            where = f" but {places[0].file.rpartition('/')[2]}:{places[0].line}" if places else ""
            return f"%{links.name_of.get(value, value)} was made from nothing{where}"
        value = max(known, key=lambda one: known[one].moment)
        creation = known[value]
        again = f"it was made from %{links.name_of.get(value, value)}, and that: "
    nav.remember()
    nav.move(creation.moment)
    nav.show_view(VIEW)
    nav.select(Target(ValueSelection(value)))
    how = f'by the rule "{creation.rule}"' if creation.run else f"with its graph ({creation.rule})"
    return f"{again}made {how}; w again for what it was made from, Backspace returns"


def who_reads(nav: Navigator) -> str:
    """Every line of the graph that reads the selected Value now."""
    number = selected_value(nav)
    rows = [row for row in nav.model(VIEW).rows if row.change not in ("gone", "removed", "left")]
    mine = next((row for row in rows if row.number == number or number in row.made), None)
    values = set(mine.made) if mine is not None and mine.number == number else {number}
    name = next((part.text for row in rows for part in row.parts if part.value in values), "it")
    readers = [row for row in rows if values & set(row.used)]
    if mine is None:
        return "it is not in this graph now; Enter goes to where it was"
    if not readers:
        return f"no uses of {name}"
    said = "; ".join(row.text[:40] for row in readers[:3])
    more = f"; and {len(readers) - 3} more" if len(readers) > 3 else ""
    return f"{name} is read by {pluralise(len(readers), 'line')}: {said}{more}"


def search(nav: Navigator, text: str, direction: int) -> str | None:
    """To the next line of this graph that has the text, else to the pass or graph that has it.

    None: nothing of the JIT has it.
    """
    wanted = text.lower()
    model = nav.model(VIEW)
    rows = [row for row in model.rows if row.change != "gone"]
    at = next((i for i, row in enumerate(rows) if row.chosen), -1 if direction > 0 else len(rows))
    ahead = rows[at + 1 :] if direction > 0 else rows[:at][::-1]
    for row in ahead:
        if wanted in row.text.lower():
            nav.remember()
            nav.select(Target(ValueSelection(row.number)))
            return f"{row.text[:60]}; n for the next"
    for moment, value, said in _elsewhere(nav, wanted, direction):
        nav.remember()
        nav.move(moment)
        if value:
            nav.select(Target(ValueSelection(value)))
        return f"{said}; n for the next"
    return None


def _elsewhere(nav: Navigator, wanted: str, direction: int) -> list[tuple[int, int, str]]:
    """(moment, Value, words) of passes of that name and of nodes made with it, nearest first."""
    jit, links = nav.history.jit, nav.history.jit.links
    found = []
    for row in range(len(jit.tables.runs)):
        run = jit.run_fact(row)
        if wanted in run.name.lower():
            found.append((min(run.until, nav.last), 0, f"pass {run.name}"))
    told = set(jit.tables.graphs.id.tolist())
    graph_of = {
        int(run): int(graph)
        for run, graph in zip(jit.tables.runs.id, jit.tables.runs.graph, strict=True)
    }
    for node, kind in links.kind_of.items():
        creation = links.creations[node]
        values = links.values_of.get(node, [])
        names = [links.name_of.get(value, "") for value in values]
        if creation.run and graph_of.get(creation.run) not in told:
            continue
        if wanted in f"%{' %'.join(names)} = {kind}".lower():
            found.append((creation.moment, values[0] if values else 0, kind))
    found.sort(key=lambda one: one[0])
    if direction > 0:
        return [one for one in found if one[0] > nav.moment]
    return [one for one in found if one[0] < nav.moment][::-1]


def page(nav: Navigator) -> str:
    """Everything about what is selected and the last rewrite, as the Markdown of a page."""
    model = nav.model(VIEW)
    parts: list[str] = []
    if model.story:
        chosen = next((row for row in model.rows if row.chosen), None)
        parts += ["# What is selected", ""]
        if chosen is not None:
            parts += ["```", chosen.text, *([chosen.before] if chosen.before else []), "```", ""]
        parts += [line + "\n" for line in model.story]
        touched = [row for row in model.passes if row.highlighted]
        if touched:
            parts += ["# Passes that had to do with it", ""]
            parts += [
                f"- {row.index} {row.name}: {pluralise(row.changes, 'change')}, event {row.at:,}"
                for row in touched
            ]
            parts.append("")
        lit = [row for row in model.code if row.highlighted]
        if lit:
            parts += ["# Instructions", "", "```", *(f"{r.pc:>4} {r.text}" for r in lit), "```", ""]
    if model.refused:
        parts += ["# The compiler rejected the function", "", "```", *model.refused, "```", ""]
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
