"""Graphs as DOT text: the autograd graph, and the graph of the JIT.

What is written is what the screen shows at that moment: the part in focus, folded as it is folded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.inspect.models._wording import shape_text
from tui.render import clean

if TYPE_CHECKING:
    from engine.inspect.models.autograd import Autograd, NodeBox
    from engine.inspect.models.jit import JitModel
    from tui.navigator import Navigator
    from tui.views.autograd.fold import Folded

_CHANGED = {"added": "#b9e08f", "changed": "#ffd866", "moved": "#b8cdfa"}
_FILL = {
    "running": "#ffd866",
    "ready": "#e0af68",
    "done": "#b9e08f",
    "waiting": "#b8cdfa",
    "partly": "#b8cdfa",
    "failed": "#f7768e",
    "skipped": "#dddddd",
}


class NoGraph(Exception):
    """There is nothing to draw, with the reason in one sentence."""


def graph_dot(nav: Navigator) -> str:
    """The graph in focus as DOT: the JIT's where its view is chosen, else autograd's."""
    if nav.view == "jit":
        return jit_dot(nav.model("jit"))
    from tui.views.autograd.actions import part_of
    from tui.views.autograd.scene import folded

    model = nav.model("autograd")
    part = part_of(model, model.focus) or next(iter(reversed(model.parts)), None)
    if part is None:
        raise NoGraph("there is no graph at this moment")
    return dot_text(model, folded(part, nav.look))


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
        about = f"×{item.times}, {len(item.members)} nodes"
        text = _label(box) if box else _rows([item.label, about])
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
    return _rows(rows)


def _style(box: NodeBox | None) -> str:
    if box is None:
        return ' peripheries=2 fillcolor="#f4f4f4"'
    if box.stale:
        return ' fillcolor="#f7768e"'
    if not box.alive:
        return ' style="rounded,dashed" fontcolor="#888888"'
    fill = _FILL.get(box.state, "")
    return f' fillcolor="{fill}"' if fill else ""


def jit_dot(model: JitModel) -> str:
    """The graph of the JIT as DOT: a node per box of the drawing, an edge per wire."""
    from engine.inspect.models.jit.dataflow import constants_of, label

    rows = {row.node: row for row in model.rows if row.change not in ("gone", "left", "removed")}
    boxes = [box.node for box in model.boxes if box.node in rows]
    if not boxes:
        raise NoGraph(model.why or model.why_no_graph or "there is no graph at this moment")
    constants = constants_of([row.parts for row in model.rows])
    wired = {value for node in boxes for value in rows[node].made}
    lines = [
        "digraph jit {",
        f'  label="{_quoted(f"{model.function}: {model.position}")}";',
        "  rankdir=TB;",
        '  node [shape=box style="rounded,filled" fillcolor="#ffffff" fontname="monospace"];',
    ]
    for node in boxes:
        row = rows[node]
        text = "".join(part.text for part in label(row.parts, constants, wired))
        tip = f"{row.text}  {row.source}".strip()
        fill = f' fillcolor="{_CHANGED[row.change]}"' if row.change in _CHANGED else ""
        lines.append(f'  n{node} [label="{_quoted(text)}" tooltip="{_quoted(tip)}"{fill}];')
    there = set(boxes)
    lines += [f"  n{a} -> n{b};" for a, b in model.wires if a in there and b in there]
    return "\n".join([*lines, "}", ""])


def _rows(texts: list[str]) -> str:
    return "\\n".join(map(_quoted, texts))


def _quoted(text: str) -> str:
    """Return `text` as it may stand in a quoted string of DOT: it can end neither string nor line."""
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
