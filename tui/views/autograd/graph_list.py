"""The graph drawn as a list, newest node first: lanes, state, name, tensor, buffer, what is saved."""

from __future__ import annotations

from engine.inspect.models.autograd import Autograd, NodeBox
from tui.render import Line, Span, cells, cut, fit
from tui.render.glyphs import translated
from tui.render.graph import Rails
from tui.views._table import window
from tui.views._view import DrawContext
from tui.views.autograd.fold import NODE
from tui.views.autograd.glyphs import NOT_YET, buffer_text, item_glyph
from tui.views.autograd.graph import belongs, item_target, tensor_name
from tui.views.autograd.scene import STATE, Scene

NAME, BUFFER, SAVED, LINE = 9, 6, 4, 6


def listed(
    model: Autograd, scene: Scene, context: DrawContext, width: int, height: int, focus: int
) -> list[Line]:
    """Return the lines around the item in focus, as many as there is room for."""
    rails = scene.rails
    assert rails is not None
    at = rails.line_of[focus] if focus >= 0 else 0
    return [
        _line(model, scene, context, width, line, focus)
        for line in window(at, len(rails.rows), height)
    ]


def _line(
    model: Autograd, scene: Scene, context: DrawContext, width: int, line: int, focus: int
) -> Line:
    rails, glyphs = scene.rails, context.glyphs
    assert rails is not None
    row = rails.rows[line]
    item = scene.folded.items[row.node]
    glyph = item_glyph(model, scene.folded, row.node, glyphs)
    box = model.nodes.of(item.key[0]) if item.key[1] == NODE else None
    highlighted = row.node == focus or belongs(box, context.selection)
    lanes = _lanes(rails, line, glyph is NOT_YET, context)
    if glyph is NOT_YET:
        return (Span(" "), *lanes)
    style = (
        f"{glyph.style} highlighted" if highlighted and glyph.style != "current" else glyph.style
    )
    target = item_target(scene.folded, row.node, box)
    room = width - 1 - sum(span.width for span in lanes) - 1
    columns = _columns(room)
    name = max(4, room - STATE - sum(columns))
    notes = _notes(box, context)
    spans = [
        Span(glyphs.highlighted if highlighted else " ", "highlighted"),
        *lanes,
        Span(glyphs.far if row.stubs else " ", "wire"),
        Span(fit(glyph.text, STATE - 1, glyphs.ellipsis) + " ", style, target),
        *_padded(translated(scene.labels[row.node], glyphs), name, style, target, glyphs.ellipsis),
    ]
    for (text, look), cells_ in zip(notes, columns, strict=True):
        if cells_:
            spans += _padded(
                text, cells_, "dim" if not box or not box.alive else look, None, glyphs.ellipsis
            )
    return tuple(spans)


def _padded(text: str, width: int, style: str, target, ellipsis: str) -> list[Span]:  # type: ignore[no-untyped-def]
    clipped = cut(text, width - 1, ellipsis)
    return [Span(clipped, style, target), Span(" " * (width - cells(clipped)), "", target)]


def _columns(room: int) -> tuple[int, int, int, int]:
    """Return the widths of the columns after the name; if room is short, the least useful ones are dropped first."""
    spare = room - STATE - 10
    widths = [0, 0, 0, 0]
    for column, width in ((1, BUFFER), (0, NAME), (2, SAVED), (3, LINE)):
        if spare >= width:
            widths[column] = width
            spare -= width
    return widths[0], widths[1], widths[2], widths[3]


def _notes(
    box: NodeBox | None, context: DrawContext
) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str], tuple[str, str]]:
    """Return the contents of the columns: tensor, buffer, saved tensors, line of the program."""
    glyphs = context.glyphs
    if box is None:
        return ("", ""), ("", ""), ("", ""), ("", "")
    if box.fact.leaf:
        grad = box.grad
        name = "" if grad is None else f"grad {glyphs.single if grad.tensor else glyphs.none}"
        saved = ""
    else:
        name = tensor_name(box)
        count = sum(each.released < 0 for each in box.saved)
        saved = f"{glyphs.saved}{count}" if count else ""
    line = f"L{box.fact.line}" if box.fact.line else ""
    return (
        (name, "name"),
        (buffer_text(box, glyphs), "done"),
        (saved, "error" if box.stale else "number"),
        (line, "dim"),
    )


def _lanes(rails: Rails, line: int, blank: bool, context: DrawContext) -> list[Span]:
    """Return the lanes of a line; the node's own is a dot where nothing else is drawn for it."""
    glyphs = context.glyphs
    row = rails.rows[line]
    symbols = [glyphs.wire(sides) for sides in rails.sides(line)]
    if not blank:
        symbols[2 * row.lane] = glyphs.mark
    text = "".join(symbols[:-1])
    return [Span(text if not blank else " " * len(text), "wire")]
