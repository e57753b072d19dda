"""The graph of the JIT as DOT text: a node per box of the diagram, an edge per wire."""

from __future__ import annotations

from engine.inspect.models.jit import JitModel
from engine.inspect.models.jit.dataflow import constants_of, label
from tui.render.dot import NoGraph, quoted
from tui.views.jit.boxes import GONE

_CHANGED = {"added": "#b9e08f", "changed": "#ffd866", "moved": "#b8cdfa"}


def jit_dot(model: JitModel) -> str:
    """Return the graph of the JIT as DOT: a node per box of the drawing, an edge per wire."""
    rows = {row.node: row for row in model.rows if row.change not in GONE}
    boxes = [box.node for box in model.boxes if box.node in rows]
    if not boxes:
        raise NoGraph(model.why or model.why_no_graph or "there is no graph at this moment")
    constants = constants_of([row.parts for row in model.rows])
    wired = {value for node in boxes for value in rows[node].defined}
    lines = [
        "digraph jit {",
        f'  label="{quoted(f"{model.function}: {model.position}")}";',
        "  rankdir=TB;",
        '  node [shape=box style="rounded,filled" fillcolor="#ffffff" fontname="monospace"];',
    ]
    for node in boxes:
        row = rows[node]
        text = "".join(part.text for part in label(row.parts, constants, wired))
        tip = f"{row.text}  {row.source}".strip()
        fill = f' fillcolor="{_CHANGED[row.change]}"' if row.change in _CHANGED else ""
        lines.append(f'  n{node} [label="{quoted(text)}" tooltip="{quoted(tip)}"{fill}];')
    drawn = set(boxes)
    lines += [f"  n{a} -> n{b};" for a, b in model.wires if a in drawn and b in drawn]
    return "\n".join([*lines, "}", ""])
