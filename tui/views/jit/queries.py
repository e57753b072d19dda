"""The queries of the JIT view: key phases, changing passes, graphs, provenance, search, a page.

Each takes the navigator and returns one sentence for the status line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.inspect.models._wording import pluralise
from engine.inspect.models.jit.explanation import story_of
from engine.inspect.selection import GraphNodeSelection, ValueSelection
from tui.render import Target

if TYPE_CHECKING:
    from tui.navigator import Navigator

VIEW = "jit"
MAX_LINES = 60  # lines of a source that a page explains
PHASES = {
    "source": ("source", "the source"),
    "tree": ("syntax", "the tokens and the tree"),
    "graph": ("graph", "the initial graph"),
    "inlined": ("inline", "the graph after inlining"),
    "fused": ("fuse", "the graph after fusion"),
    "optimised": ("pass", "the graph after the last pass"),
    "code": ("code", "the instructions"),
    "run": ("run", "the first run of these instructions"),
}
"""The key phases: the kind of the row, or the pass, after which each is reached."""


def to_phase(nav: Navigator, name: str) -> tuple[bool, str]:
    """Go to a key phase of the visible function. Returns whether it exists, and a sentence."""
    kind, description = PHASES[name]
    rows = [row for row in nav.model(VIEW).passes if kind in (row.kind, row.name)]
    rows = rows or _in_other_graphs(nav, kind)
    if not rows:
        return False, f"this function has no such phase: {description}"
    row = rows[-1] if kind == "pass" else rows[0]
    nav.remember()
    nav.move(row.at)
    return True, f"{description}; Backspace returns"


def _in_other_graphs(nav: Navigator, kind: str) -> list[Any]:
    """Return the rows of such a phase in another graph of the same function: only the specialised one
    has fused groups."""
    from engine.inspect.models.jit.passes import Focus, pass_rows

    for function in all_functions(nav):
        for graph in function.graphs if function.current else ():
            focus = Focus(function.id, graph.graph)
            rows = pass_rows(nav.history.jit, focus, nav.moment, frozenset())
            matches = [row for row in rows if kind in (row.kind, row.name)]
            if matches:
                return matches
    return []


def changing_pass(nav: Navigator, direction: int) -> str:
    """Go to the next or previous pass that changed something. (Passes of the front end before the
    graph was first recorded are skipped.)"""
    jit = nav.history.jit
    recorded = set(jit.tables.graphs.id.tolist())
    ends = jit.tables.ends
    changed = [
        int(since)
        for since, run, count in zip(ends.since, ends.run, ends.changes, strict=True)
        if count and jit.run_fact(jit.tables.runs.last("id", int(run), nav.last)).graph in recorded
    ]
    ahead = [moment for moment in changed if (moment - nav.moment) * direction > 0]
    if not ahead:
        return f"no {'later' if direction > 0 else 'earlier'} pass changed anything"
    nav.move(ahead[0] if direction > 0 else ahead[-1])
    return ""


def to_function(nav: Navigator, direction: int) -> str:
    """Go to the next graph of the recording (of the next function, or the same one specialised)."""
    functions = nav.model(VIEW).functions
    if not functions:
        return "nothing has been compiled yet"
    graphs = sorted(
        (graph.until, function.name, graph.graph, graph.current)
        for function in all_functions(nav)
        for graph in function.graphs
    )
    current = next((at for at, graph in enumerate(graphs) if graph[3]), -1 if direction > 0 else 0)
    at = current + direction
    if not 0 <= at < len(graphs):
        return f"no {'later' if direction > 0 else 'earlier'} graph"
    nav.remember()
    nav.move(graphs[at][0])
    return f"{graphs[at][1]}, graph {graphs[at][2]}; Backspace returns"


def all_functions(nav: Navigator) -> tuple[Any, ...]:
    """Return every function of the recording with its graphs, later ones included."""
    from engine.inspect.models.jit.passes import focus_at, function_rows

    jit = nav.history.jit
    return function_rows(jit, focus_at(jit, nav.moment), nav.last)


def follow(nav: Navigator, item: object) -> str:
    """Go to the rewrite that removed the selection or, if it still exists, created it."""
    links = nav.history.jit.links
    node = node_of(nav, item)
    removal, creation = links.removals.get(node), links.creations.get(node)
    if creation is None:
        return "this is a line of your source; select a line of the graph"
    if removal is not None and removal.moment <= nav.moment:
        nav.move(removal.moment)
        return f"removed here: {removal.rule}; Backspace returns"
    nav.move(creation.moment)
    return f"created here: {creation.rule}; Backspace returns"


def node_of(nav: Navigator, item: object) -> int:
    """Return the node that is selected, or that defines the selected Value; 0: none."""
    if isinstance(item, GraphNodeSelection):
        return item.node
    return (
        nav.history.jit.links.node_of.get(item.value, 0) if isinstance(item, ValueSelection) else 0
    )


def who_made(nav: Navigator) -> str:
    """Go to the phase or rewrite that created the selected Value; again: to its origin."""
    links = nav.history.jit.links
    selected = nav.selection.value
    value = 0
    if isinstance(selected, (ValueSelection, GraphNodeSelection)):
        value = min(links.seeds(selected), default=0)
    creation = links.creations.get(links.node_of.get(value, -1))
    if creation is None:
        return "select a Value or a line of the graph, not a line of your source"
    origin = ""
    if creation.moment == nav.moment and nav.view == VIEW:
        origins = {
            each: links.creations.get(links.node_of.get(each, -1)) for each in links.origins(value)
        }
        known = {each: at for each, at in origins.items() if at is not None}
        if not known:
            ranges = links.sources(value)
            source = f" but {ranges[0].file.rpartition('/')[2]}:{ranges[0].line}" if ranges else ""
            return f"%{links.name_of.get(value, value)} has no origin{source}"
        value = max(known, key=lambda each: known[each].moment)
        creation = known[value]
        origin = f"its origin is %{links.name_of.get(value, value)}: "
    nav.remember()
    nav.move(creation.moment)
    nav.show_view(VIEW)
    nav.select(Target(ValueSelection(value)))
    cause = (
        f'by the rule "{creation.rule}"' if creation.run else f"with its graph ({creation.rule})"
    )
    return f"{origin}created {cause}; w again: its origin, Backspace returns"


def who_reads(nav: Navigator) -> str:
    """List the lines of the graph that use the selected Value at this moment."""
    selected = nav.selection.value
    rows = [row for row in nav.model(VIEW).rows if row.change not in ("gone", "removed", "left")]
    value = selected.value if isinstance(selected, ValueSelection) else 0
    own = next((row for row in rows if row.item == selected or value in row.defined), None)
    values = set(own.defined) if own is not None and own.item == selected else {value}
    name = next((part.text for row in rows for part in row.parts if part.value in values), "it")
    readers = [row for row in rows if values & set(row.used)]
    if own is None:
        return "it is not in this graph now; Enter goes to the moment of its removal"
    if not readers:
        return f"no uses of {name}"
    lines = "; ".join(row.text[:40] for row in readers[:3])
    more = f"; and {len(readers) - 3} more" if len(readers) > 3 else ""
    return f"{name} is used by {pluralise(len(readers), 'line')}: {lines}{more}"


def search(nav: Navigator, text: str, direction: int) -> str | None:
    """Go to the next line of this graph that contains the text, else to a matching pass or node.

    None: nothing in the JIT matches.
    """
    pattern = text.lower()
    model = nav.model(VIEW)
    rows = [row for row in model.rows if row.change != "gone"]
    at = next((i for i, row in enumerate(rows) if row.selected), -1 if direction > 0 else len(rows))
    ahead = rows[at + 1 :] if direction > 0 else rows[:at][::-1]
    for row in ahead:
        if pattern in row.text.lower():
            nav.remember()
            nav.select(Target(row.item))
            return f"{row.text[:60]}; n for the next"
    for moment, value, sentence in _elsewhere(nav, pattern, direction):
        nav.remember()
        nav.move(moment)
        if value:
            nav.select(Target(ValueSelection(value)))
        return f"{sentence}; n for the next"
    return None


def _elsewhere(nav: Navigator, pattern: str, direction: int) -> list[tuple[int, int, str]]:
    """Return (moment, Value, sentence) of matching passes and created nodes, nearest first."""
    jit, links = nav.history.jit, nav.history.jit.links
    matches = []
    for row in range(len(jit.tables.runs)):
        run = jit.run_fact(row)
        if pattern in run.name.lower():
            matches.append((min(run.until, nav.last), 0, f"pass {run.name}"))
    recorded = set(jit.tables.graphs.id.tolist())
    graph_of = {
        int(run): int(graph)
        for run, graph in zip(jit.tables.runs.id, jit.tables.runs.graph, strict=True)
    }
    for node, kind in links.kind_of.items():
        creation = links.creations[node]
        values = links.values_of.get(node, [])
        names = [links.name_of.get(value, "") for value in values]
        if creation.run and graph_of.get(creation.run) not in recorded:
            continue
        if pattern in f"%{' %'.join(names)} = {kind}".lower():
            matches.append((creation.moment, values[0] if values else 0, kind))
    matches.sort(key=lambda match: match[0])
    if direction > 0:
        return [match for match in matches if match[0] > nav.moment]
    return [match for match in matches if match[0] < nav.moment][::-1]


def page(nav: Navigator) -> str:
    """Return everything about the selection and the last rewrite, as the Markdown of a page."""
    model = nav.model(VIEW)
    parts: list[str] = []
    if model.story:
        selected = next((row for row in model.rows if row.selected), None)
        parts += ["# Selection", ""]
        if selected is not None:
            parts += [
                "```",
                selected.text,
                *([selected.before] if selected.before else []),
                "```",
                "",
            ]
        parts += [line + "\n" for line in model.story]
        touched = [row for row in model.passes if row.highlighted]
        if touched:
            parts += ["# Passes that changed it", ""]
            parts += [
                f"- {row.index} {row.name}: {pluralise(row.changes, 'change')}, event {row.at:,}"
                for row in touched
            ]
            parts.append("")
        highlighted = [row for row in model.code if row.highlighted]
        if highlighted:
            parts += [
                "# Instructions",
                "",
                "```",
                *(f"{r.pc:>4} {r.text}" for r in highlighted),
                "```",
                "",
            ]
    elif model.rewrite is None and model.function:
        parts += _lines(nav, model)
    if model.rejected:
        parts += ["# The compiler rejected the function", "", "```", *model.rejected, "```", ""]
    if model.failed:
        parts += ["# A pass failed", "", "```", *model.failed.splitlines(), "```", ""]
    rewrite = model.rewrite
    if rewrite is not None:
        parts += [
            f"# Rewrite {rewrite.index + 1} of {len(model.rewrites)}: {rewrite.rule}",
            "",
            *([rewrite.reason, ""] if rewrite.reason else []),
        ]
        parts += _rule(model.rule)
    return (
        "\n".join(parts)
        or model.why
        or (
            "Select a line, a node of the tree or a Value to read its origin and why it was "
            "removed; step by rewrite to see the rule of each."
        )
    )


def _lines(nav: Navigator, model: Any) -> list[str]:
    """List where each line of the source went: into which Values, or by which rewrite it was removed."""
    items = [row.item for row in model.source if row.line and row.item is not None]
    stories = [
        story_of(nav.history.jit, item, model.graph, nav.moment)
        for item in items
        if item.part == "line"
    ]
    facts = [f"- {' '.join(sentences)}" for sentences in stories[:MAX_LINES] if sentences]
    return ["# Where each line went", "", *facts, ""] if facts else []


def _rule(rule: Any) -> list[str]:
    """Return the lines around a rule, with the line of the rule marked."""
    if not rule.lines:
        return [rule.why]
    marked = [
        f"{'>' if number == rule.line else ' '}{number:>5} {text}"
        for number, text in enumerate(rule.lines, rule.first)
    ]
    return [f"{rule.path}, line {rule.line}:", "", "```", *marked, "```"]
