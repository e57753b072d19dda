"""The autograd graph: it grows while the program runs, and a backward pass goes down it, node by node.

Next to it is everything about one node, above it the pass and its ready queue. The node in focus is the
selected node, else the one that runs: the graph is drawn around it.
"""

from __future__ import annotations

from engine.inspect.models._wording import bytes_text, pluralise
from engine.inspect.models.autograd import Autograd, Part, RunBox
from engine.inspect.selection import NodeSelection
from tui.render import Guide, Line, Picture, Span, Target, cells, clean, cut, line_width
from tui.render.glyphs import DOWN, LEFT, RIGHT, UP
from tui.views._cells import facts
from tui.views._view import DrawContext
from tui.views.autograd.fold import NODE, Folded, holds
from tui.views.autograd.graph import Window, item_target
from tui.views.autograd.graph_list import listed
from tui.views.autograd.items import Details
from tui.views.autograd.navigation import ways
from tui.views.autograd.node import Pane, group_lines, node_lines
from tui.views.autograd.scene import Scene, scene

WIDE = 66  # columns from which the pane is next to the graph
MIN_PANE, MAX_PANE = 30, 50  # columns of the pane
_EXAMPLE = ("x = engine.ones(3, requires_grad=True)", "y = (x * x).sum()", "y.backward()")
LEGEND = 8  # rows that must be free below the graph for a legend
QUEUE = 6  # nodes of the queue that are named


def draw(model: Autograd, context: DrawContext) -> Picture:
    """Draw two lines about the pass; the graph; everything about the node in focus."""
    width, height = context.width, max(context.height, 10)
    if not model.parts:
        return Picture.of(_nothing(model), width)
    part = _part(model)
    head = [_pass(model, context), _queue(model, context)]
    rows = height - len(head) - 1
    if width >= WIDE:
        left = _graph_width(part, context, rows)
        pane_width = width - left - 1
        graph, drawn, seen = _graph(model, part, context, left, rows)
        pane = _pane(model, drawn.folded, context, pane_width, rows)
        lines = [*head, _rule(model, drawn, part, context, left, seen)]
        lines += [_joined(graph, pane, y, left, context) for y in range(rows)]
        return _guided(Picture.of(lines, width), model, drawn, left, rows, pane)
    below = max(8, rows // 2)
    graph, drawn, seen = _graph(model, part, context, width, rows - below)
    pane = _pane(model, drawn.folded, context, width, below - 1)
    lines = [*head, _rule(model, drawn, part, context, -1, seen), *graph]
    lines += [(Span(context.glyphs.wire(LEFT | RIGHT) * width, "frame"),), *pane]
    return _guided(Picture.of(lines, width), model, drawn, width, rows - below, pane)


def _graph_width(part: Part, context: DrawContext, rows: int) -> int:
    """Return the columns of the graph next to the pane: the pane gives way to a graph that is wider."""
    pane = max(MIN_PANE, min(MAX_PANE, context.width * 42 // 100))
    left, max_left = context.width - pane - 1, context.width - MIN_PANE - 1
    drawn = scene(part, context.options, left, rows)
    if drawn.layout is not None and drawn.layout.width <= left:
        return left
    wider = scene(part, context.options, max_left, rows)
    return max_left if wider.layout is None else max(left, min(max_left, wider.layout.width))


def _guided(
    picture: Picture, model: Autograd, drawn: Scene, split: int, rows: int, pane: list[Line]
) -> Picture:
    """Add the targets of the keys to the picture."""
    focus = drawn.folded.item_of.get(model.focus, -1)
    if focus >= 0:
        key = drawn.folded.items[focus].key
        box = model.nodes.of(key[0]) if key[1] == NODE else None
        focused = item_target(drawn.folded, focus, box)
        picture.guide = Guide(focused, ways(model, drawn, focus, rows, pane), split)
    return picture


def _nothing(model: Autograd) -> list[Line]:
    """Return the lines drawn without a graph."""
    if model.created:
        return [
            (),
            (
                Span(
                    f"  {pluralise(model.created, 'node')} created, none is alive at this moment",
                    "dim",
                ),
            ),
        ]
    return [
        (),
        (Span("  no node has been created yet", "text"),),
        (Span("  An operator makes one when it runs on a tensor that requires grad:", "dim"),),
        (),
        *((Span(f"      {line}", "name"),) for line in _EXAMPLE),
    ]


def _part(model: Autograd) -> Part:
    """Return the part that is drawn: that of the node in focus, else the newest."""
    for part in reversed(model.parts):
        if holds(part, model.focus):
            return part
    return model.parts[-1]


# Above the graph


def _pass(model: Autograd, context: DrawContext) -> Line:
    run, glyphs = model.run, context.glyphs
    if run is None:
        about = [
            ("no backward pass yet", "dim"),
            (f"  {pluralise(model.living, 'node')} alive", "number"),
        ]
        return facts([*about, *_keeps(model)], context.width, glyphs.ellipsis)
    cells_ = 12
    filled = cells_ * run.done // max(1, run.total)
    function = "backward" if run.accumulate else "grad"
    if run.failed:
        state = (f" failed: {run.error}" if run.error else " failed", "error")
    elif run.active:
        state = (f" runs {run.done}/{run.total}", "title")
    else:
        state = (f" done {run.done}/{run.total}", "done")
    about = [
        (f"{function} {run.id}", "head"),
        ("  ", ""),
        (glyphs.full * filled, "bar"),
        (glyphs.empty * (cells_ - filled), "track"),
        state,
        (_location(run), "dim"),
    ]
    return facts(about, context.width, glyphs.ellipsis)


def _location(run: RunBox) -> str:
    location = f"  line {run.line}: {run.code}" if run.line else ""
    if run.outer:
        location += f"  inside pass {run.outer}"
    options = [
        word
        for flag, word in ((run.keep_graph, "retain_graph"), (run.create_graph, "create_graph"))
        if flag
    ]
    return location + "".join(f"  {word}" for word in options)


def _keeps(model: Autograd) -> list[tuple[str, str]]:
    """Return the tensors that the graph keeps alive."""
    pairs = [
        (
            f"  keeps {pluralise(model.saved_count, 'tensor')}, {bytes_text(model.saved_bytes)}",
            "dim",
        )
    ]
    if model.stale:
        pairs.append((f"  {pluralise(len(model.stale), 'node')} stale", "error"))
    return pairs


def _queue(model: Autograd, context: DrawContext) -> Line:
    """Return the ready queue while a pass runs; else what the graph keeps."""
    glyphs, run = context.glyphs, model.run
    if run is None:
        return ()
    spans = [Span(" queue ", "head")]
    if not run.active:
        spans.append(Span("  the pass is over", "dim"))
    elif not model.ready:
        spans.append(Span("  empty", "dim"))
    for position, row in enumerate(model.ready[:QUEUE], 1):
        spans.append(Span(f" {glyphs.ready}{position} ", "ready"))
        spans.append(Span(row.label, "ready", Target(NodeSelection(row.node))))
    if model.ready_count > QUEUE:
        spans.append(Span(f" and {model.ready_count - QUEUE} more", "dim"))
    spans += [Span(text, style) for text, style in _keeps(model)]
    return _cut(spans, context.width, glyphs.ellipsis)


def _rule(
    model: Autograd, drawn: Scene, part: Part, context: DrawContext, at: int, seen: str
) -> Line:
    """Draw the line above the graph: the part, form and fold of the drawing. It has a corner where the pane begins."""
    glyphs = context.glyphs
    wire = glyphs.wire(LEFT | RIGHT)
    fold = context.options.fold or ("repeats" if drawn.folded.grouped else "")
    parts = [drawn.form, pluralise(len(part.nodes), "node")]
    parts.append(f"{fold} folded" if fold and fold != "none" else "")
    parts.append(seen)
    if len(model.parts) > 1:
        parts.append(f"graph {model.parts.index(part) + 1} of {len(model.parts)}")
    if model.hidden:
        parts.append(f"{model.hidden} more hidden")
    left = at if at >= 0 else context.width
    title = f" {f' {glyphs.dot} '.join(filter(None, parts))} "
    if cells(title) > left - 2:  # what is visible is worth more than how many nodes there are
        del parts[1]
        title = f" {f' {glyphs.dot} '.join(filter(None, parts))} "
    title = cut(title, max(0, left - 2), glyphs.ellipsis)
    line = [
        Span(wire, "frame"),
        Span(title, "dim"),
        Span(wire * (left - 1 - cells(title)), "frame"),
    ]
    if at >= 0:
        line += [
            Span(glyphs.wire(LEFT | RIGHT | DOWN), "frame"),
            Span(wire * (context.width - at - 1), "frame"),
        ]
    return tuple(line)


# The graph and the pane


def _graph(
    model: Autograd, part: Part, context: DrawContext, width: int, rows: int
) -> tuple[list[Line], Scene, str]:
    """Return the lines of the graph, its scene, and the visible part in words."""
    drawn = scene(part, context.options, width, rows)
    focus = drawn.folded.item_of.get(model.focus, -1)
    if drawn.form == "list":
        lines = listed(model, drawn, context, width, rows, focus)
        count = len(drawn.folded.items)
        seen = f"{len(lines):,} of {count:,} lines" if len(lines) < count else ""
        return lines + [()] * (rows - len(lines)), drawn, seen
    window = Window(model, drawn, context, width, rows, focus)
    raster = window.drawn()
    lines = [tuple(raster.line(y)) for y in range(rows)]
    if drawn.layout is not None and drawn.layout.height + LEGEND <= rows and model.run is not None:
        lines[-2:] = _legend(context, width)
    return lines, drawn, window.seen()


def _legend(context: DrawContext, width: int) -> list[Line]:
    """Return the meaning of the symbols, in two lines that are otherwise empty: readable without the help."""
    g = context.glyphs
    states = (
        f" {g.waits} waits  {g.ready} queue  {g.current} runs  {g.done} has run  {g.ghost} freed"
    )
    slots = f" {g.dot} not yet  {g.none} None  0 zero  {g.single} one  {g.sum} a sum"
    return [(Span(cut(text, width, g.ellipsis), "dim"),) for text in (states, slots)]


def _pane(
    model: Autograd, folding: Folded, context: DrawContext, width: int, rows: int
) -> list[Line]:
    """Return the node in focus, and at the bottom what the pass released; lines that do not fit are counted."""
    number = folding.item_of.get(model.focus, -1)
    key = folding.items[number].key if number >= 0 else (0, NODE)
    if key[1] != NODE and NodeSelection(key[0]) == context.selection.node:
        lines = group_lines(model, folding, number, context, width)
    else:
        lines = node_lines(model, folding, context, width)
    released = _released(model, context, width)
    room = rows - len(released)
    if len(lines) > room:
        more = len(lines) - room + 1
        text = f"{context.glyphs.ellipsis} {more} more lines: d"
        target = Target(Details(model.focus))
        lines = [*lines[: room - 1], (Span(" "), Span(text, "dim", target))]
    return [*lines, *[()] * (room - len(lines)), *released]


def _released(model: Autograd, context: DrawContext, width: int) -> list[Line]:
    if not model.freed:
        return []
    pane = Pane(model, context, width)
    pane.head("released", f"{model.freed_count} so far")
    for row in model.freed[:3]:
        size = f"  {bytes_text(row.nbytes)}" if row.nbytes else ""
        target = Target(event=row.moment)
        style = "text" if row.fresh else "dim"
        text = row.label if row.kind == "saved" else f"{row.kind} {row.label}"
        pane.add(Span("   "), Span(text, style, target), Span(size, "dim"))
    return pane.lines


def _joined(graph: list[Line], pane: list[Line], y: int, left: int, context: DrawContext) -> Line:
    """Return a line of the graph, the rule between, a line of the pane."""
    glyphs = context.glyphs
    first = graph[y] if y < len(graph) else ()
    gap = left - line_width(first)
    second = pane[y] if y < len(pane) else ()
    return (
        *first,
        Span(" " * max(0, gap)),
        Span(glyphs.wire(UP | DOWN), "frame"),
        *second,
    )


def _cut(spans: list[Span], width: int, ellipsis: str) -> Line:
    clipped, x = [], 0
    for span in spans:
        text = cut(clean(span.text), width - x, ellipsis)
        clipped.append(Span(text, span.style, span.target))
        x += cells(text)
    return tuple(clipped)
