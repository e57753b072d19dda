"""Graphs for other programs: DOT text always, SVG, PNG and PDF where graphviz is installed.

What is written is what the screen shows at that moment: the part in focus, folded as it is folded.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from engine.inspect.models._words import shape_text

if TYPE_CHECKING:
    from engine.inspect.models.autograd import Autograd, NodeBox
    from tui.stage import Stage
    from tui.views._autograd_fold import Folded

DOT = (".dot", ".gv")
RENDERED = (".svg", ".png", ".pdf")
_FILL = {
    "running": "#ffd866",
    "ready": "#e0af68",
    "done": "#b9e08f",
    "waiting": "#b8cdfa",
    "partly": "#b8cdfa",
    "failed": "#f7768e",
    "skipped": "#dddddd",
}


class ExportError(Exception):
    """A file that cannot be written, with the reason in one sentence."""


def write_graph(stage: Stage, path: Path) -> str:
    """Write the graph in focus to `path`, in the format of its suffix; a sentence that says so."""
    suffix = path.suffix.lower()
    if suffix not in (*DOT, *RENDERED):
        known = ", ".join((*DOT, *RENDERED))
        raise ExportError(f"{path.name}: what format is {suffix or 'no suffix'}? There are {known}")
    text = graph_dot(stage)
    if suffix in DOT:
        path.write_text(text, encoding="utf-8")
    else:
        path.write_bytes(rendered(text, suffix[1:]))
    return f"written: {path}"


def rendered(text: str, form: str) -> bytes:
    """DOT text as SVG, PNG or PDF, by the graphviz package and its program `dot`."""
    try:
        graphviz = import_module("graphviz")
    except ImportError:
        raise ExportError("this needs the package graphviz; DOT text needs nothing") from None
    try:
        made: bytes = graphviz.Source(text).pipe(format=form)
    except graphviz.ExecutableNotFound:
        raise ExportError(
            "graphviz' program `dot` is not installed; DOT text needs nothing"
        ) from None
    return made


def graph_dot(stage: Stage) -> str:
    """The part of the graph in focus as DOT."""
    from tui.graphs import part_of
    from tui.views._autograd_scene import folded

    model = stage.model("autograd")
    part = part_of(model, model.focus) or next(iter(reversed(model.parts)), None)
    if part is None:
        raise ExportError("there is no graph at this moment")
    return dot_text(model, folded(part, stage.look))


def dot_text(model: Autograd, what: Folded) -> str:
    """A folded part as DOT: a node per item that has been made, an edge per gradient that may flow."""
    lines = [
        "digraph autograd {",
        "  rankdir=TB;",
        '  node [shape=box style="rounded,filled" fillcolor="#ffffff" fontname="sans-serif"];',
        '  edge [fontname="sans-serif" fontsize=9];',
    ]
    there = set()
    for number, item in enumerate(what.items):
        boxes = [model.nodes.of(what.part.nodes[place].id) for place in item.members[:1]]
        if boxes[0] is None and not any(
            model.nodes.of(what.part.nodes[place].id) for place in item.members[1:]
        ):
            continue
        there.add(number)
        box = boxes[0] if len(item.members) == 1 else None
        text = _label(box) if box else f"{item.label}\\n×{item.times}, {len(item.members)} nodes"
        lines.append(f'  n{number} [label="{text}"{_style(box)}];')
    edges = zip(what.heads, what.tails, what.edges, strict=True)
    for head, tail, (_, index) in edges:
        if head in there and tail in there:
            lines.append(f'  n{head} -> n{tail} [label="{index}"];')
    return "\n".join([*lines, "}", ""])


def _label(box: NodeBox) -> str:
    fact = box.fact
    rows = [f"{fact.name} {fact.label}" if fact.leaf else fact.name]
    rows += [f"{flow.label} {shape_text(flow.sizes, '×')}" for flow in box.outputs if not fact.leaf]
    rows += [
        f"{each.name} {each.label} v{each.saved}"
        + (f", overwritten: v{each.current}" if each.stale else "")
        for each in box.saved
        if each.released < 0
    ]
    if fact.line:
        rows.append(f"line {fact.line}")
    return "\\n".join(row.replace("\\", "\\\\").replace('"', '\\"') for row in rows)


def _style(box: NodeBox | None) -> str:
    if box is None:
        return ' peripheries=2 fillcolor="#f4f4f4"'
    if box.stale:
        return ' fillcolor="#f7768e"'
    if not box.alive:
        return ' style="rounded,dashed" fontcolor="#888888"'
    fill = _FILL.get(box.state, "")
    return f' fillcolor="{fill}"' if fill else ""
