"""The autograd graph as DOT text: what the screen shows, folded as it is folded."""

from __future__ import annotations

from engine.inspect.models._wording import shape_text
from engine.inspect.models.autograd import Autograd, NodeBox
from tui.render.dot import label_lines
from tui.views.autograd.fold import Folded

_FILL = {
    "running": "#ffd866",
    "ready": "#e0af68",
    "done": "#b9e08f",
    "waiting": "#b8cdfa",
    "partly": "#b8cdfa",
    "failed": "#f7768e",
    "skipped": "#dddddd",
}


def dot_text(model: Autograd, folded: Folded) -> str:
    """Return a folded part as DOT: a node per item that has been created, an edge per gradient that may flow."""
    lines = [
        "digraph autograd {",
        "  rankdir=TB;",
        '  node [shape=box style="rounded,filled" fillcolor="#ffffff" fontname="sans-serif"];',
        '  edge [fontname="sans-serif" fontsize=9];',
    ]
    drawn = set()
    for number, item in enumerate(folded.items):
        boxes = [model.nodes.of(folded.part.nodes[index].id) for index in item.members[:1]]
        if boxes[0] is None and not any(
            model.nodes.of(folded.part.nodes[index].id) for index in item.members[1:]
        ):
            continue
        drawn.add(number)
        box = boxes[0] if len(item.members) == 1 else None
        about = f"×{item.times}, {len(item.members)} nodes"
        text = _label(box) if box else label_lines([item.label, about])
        lines.append(f'  n{number} [label="{text}"{_style(box)}];')
    edges = zip(folded.heads, folded.tails, folded.edges, strict=True)
    for head, tail, (_, index) in edges:
        if head in drawn and tail in drawn:
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
    return label_lines(rows)


def _style(box: NodeBox | None) -> str:
    if box is None:
        return ' peripheries=2 fillcolor="#f4f4f4"'
    if box.stale:
        return ' fillcolor="#f7768e"'
    if not box.alive:
        return ' style="rounded,dashed" fontcolor="#888888"'
    fill = _FILL.get(box.state, "")
    return f' fillcolor="{fill}"' if fill else ""
