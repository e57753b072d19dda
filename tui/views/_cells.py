"""The parts that the storage, strides and values views share: facts in a line, and framed rows of cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.inspect.selection import CellSelection
from tui.render import Glyphs, Line, Span, Target, cells, clean, cut
from tui.render.glyphs import DOWN, LEFT, RIGHT, UP

GUTTER = 16  # where the cells begin: room for an address or a label
FAR = 300  # lines: what is selected further down is also drawn at the top


@dataclass(frozen=True, slots=True)
class Box:
    """One cell of a framed row."""

    number: int
    text: str
    style: str
    highlighted: bool
    mark: str  # one glyph after the text, or ""
    target: Target


def index_text(index: Sequence[int] | None) -> str:
    """Return `1,0,2`; the only index of a tensor without dimensions is `()`."""
    if index is None:
        return ""
    return ",".join(map(str, index)) or "()"


def numbers_text(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers)) or "()"


def facts(pairs: Iterable[tuple[str, str]], width: int, ellipsis: str) -> Line:
    """Return spans one after the other from column 1, cut at the width."""
    line, x = [Span(" ")], 1
    for text, style in pairs:
        clipped = cut(clean(text), width - x, ellipsis)
        blank = len(clipped) - len(clipped.lstrip())
        line += [Span(clipped[:blank]), Span(clipped[blank:], style)]  # blanks are not underlined
        x += cells(clipped)
    return tuple(line)


def padded(
    text: str,
    width: int,
    style: str,
    target: Target | None = None,
    align: str = "<",
    ellipsis: str = "",
) -> tuple[Span, Span]:
    """Return `text` in exactly `width` cells; the blank part is highlighted with it, but not underlined."""
    clipped = Span(cut(clean(text), width, ellipsis), style, target)
    highlighted = "highlighted" if "highlighted" in style.split() else ""
    blank = Span(" " * (width - clipped.width), highlighted, target)
    return (blank, clipped) if align == ">" else (clipped, blank)


def wrapped(text: str, width: int, style: str, indent: int) -> list[Line]:
    """Return a sentence over as many lines as it needs, each `indent` cells in."""
    lines: list[str] = [""]
    for word in clean(text).split():
        joined = f"{lines[-1]} {word}".strip()
        if lines[-1] and cells(joined) > max(20, width - indent):
            lines.append(word)
        else:
            lines[-1] = joined
    return [(Span(" " * indent), Span(line, style)) for line in lines]


def per_row(width: int, cell: int, count: int) -> int:
    """Return the number of cells in a row: all if they fit, else a multiple of four or two."""
    limit = max(1, (width - GUTTER - 1) // cell)
    if count <= limit:
        return max(1, count)
    step = 4 if limit >= 8 else 2 if limit >= 2 else 1
    limit = limit // step * step
    even = -(-count // -(-count // limit))  # as many rows, the last one not much shorter
    return -(-even // step) * step


def framed(row: Sequence[Box], cell: int, glyphs: Glyphs, gutter: Line) -> tuple[Line, Line, Line]:
    """Return a row of boxes, each `cell` wide with its left side: top with numbers, inside, bottom."""
    blank = Span(" " * GUTTER)
    heavy_cells = [
        False,
        *(box.highlighted for box in row),
        False,
    ]  # of the neighbours left and right of each side
    top, middle, bottom = [blank], list(gutter), [blank]
    for at, box in enumerate(row):
        heavy = heavy_cells[at] or heavy_cells[at + 1]
        ends = 0 if at else LEFT
        top.append(_corner(glyphs, LEFT + RIGHT + DOWN - ends, heavy))
        middle.append(_corner(glyphs, UP + DOWN, heavy))
        bottom.append(_corner(glyphs, LEFT + RIGHT + UP - ends, heavy))
        across = glyphs.wire(LEFT + RIGHT, box.highlighted)
        number = f"{across if cell > 6 else ''}{box.number}{across}"[-(cell - 1) :]
        frame = "frame highlighted" if box.highlighted else "frame"
        top += [Span(across * (cell - 1 - len(number)), frame), Span(number, frame)]
        style = f"{box.style} highlighted" if box.highlighted else box.style
        middle += padded(box.text, cell - 2, style, box.target, ">", glyphs.ellipsis)
        style = "op highlighted" if box.highlighted else "op"
        middle.append(Span(box.mark or " ", style, box.target))
        bottom.append(Span(across * (cell - 1), frame))
    top.append(_corner(glyphs, LEFT + DOWN, heavy_cells[-2]))
    middle.append(_corner(glyphs, UP + DOWN, heavy_cells[-2]))
    bottom.append(_corner(glyphs, LEFT + UP, heavy_cells[-2]))
    return tuple(top), tuple(middle), tuple(bottom)


def _corner(glyphs: Glyphs, sides: int, heavy: bool) -> Span:
    return Span(glyphs.wire(sides, heavy), "frame highlighted" if heavy else "frame")


def cell_target(
    tensor: int, storage: int, byte: int, index: tuple[int, ...] | None = None
) -> Target:
    """Return the target of a cell. byte -1: the cell is outside of its storage."""
    return Target(CellSelection(tensor, storage, byte if byte >= 0 else None, index))
