"""A grid of cells to compose on: text, boxes, and wires that join where they meet.

A wire is kept as the set of sides it leaves its cell by, so two wires crossing one cell become the
right junction (`┬`, `┼`) whatever order they were drawn in. Highlighted wires are heavy: the path to the
selection is visible without colour.
"""

from __future__ import annotations

from tui.render.glyphs import DOWN, LEFT, RIGHT, UP, Glyphs
from tui.render.picture import Line, Picture, Span, Target, cells, clean, cut

Cell = tuple[str, str, Target | None]  # symbol, style, target
Wire = tuple[int, bool, str]  # sides, highlighted, style

_BLANK: Cell = (" ", "", None)


class Grid:
    """`width` x `height` cells. Later text covers earlier text; wires join; text covers wires."""

    __slots__ = ("_cells", "_wires", "glyphs", "height", "width")

    def __init__(self, width: int, height: int, glyphs: Glyphs) -> None:
        self.width = width
        self.height = height
        self.glyphs = glyphs
        # by line, then by column: a line is drawn without visiting the others
        self._cells: list[dict[int, Cell]] = [{} for _ in range(height)]
        self._wires: list[dict[int, Wire]] = [{} for _ in range(height)]

    def put(
        self,
        x: int,
        y: int,
        text: str,
        style: str = "",
        target: Target | None = None,
        room: int = -1,
    ) -> int:
        """Write `text`, cut to `room` cells (at most to the right edge); the column after it."""
        limit = self.width - x if room < 0 else min(room, self.width - x)
        text = cut(clean(text), max(0, limit), self.glyphs.ellipsis)
        row = self._cells[y]
        if text.isascii():  # nearly always; one cell a character
            row.update((at, (glyph, style, target)) for at, glyph in enumerate(text, x))
            return x + len(text)
        for character in text:
            wide = cells(character)
            if not wide:
                continue  # a lone combining mark has no cell
            row[x] = (character, style, target)
            if wide == 2:
                row[x + 1] = ("", style, target)
            x += wide
        return x

    def spans(self, x: int, y: int, spans: Line | list[Span], room: int = -1) -> int:
        """Write spans one after the other, cut to `room` cells together; the column after them."""
        end, start = self.width if room < 0 else min(self.width, x + room), x
        for span in spans:
            if x == end and x > start and span.text.strip():  # cut off between two spans
                self.put(end - 1, y, self.glyphs.ellipsis, span.style, span.target)
                break
            x = self.put(x, y, span.text, span.style, span.target, end - x)
        return x

    def across(
        self, x0: int, x1: int, y: int, style: str = "wire", highlighted: bool = False
    ) -> None:
        """Draw a wire along line `y` from the middle of cell x0 to the middle of cell x1."""
        low, high = min(x0, x1), max(x0, x1)
        for x in range(low, high + 1):
            self._join(
                x, y, (LEFT if x > low else 0) | (RIGHT if x < high else 0), style, highlighted
            )

    def down(
        self, x: int, y0: int, y1: int, style: str = "wire", highlighted: bool = False
    ) -> None:
        """Draw a wire along column `x` from the middle of cell y0 to the middle of cell y1."""
        low, high = min(y0, y1), max(y0, y1)
        for y in range(low, high + 1):
            self._join(x, y, (UP if y > low else 0) | (DOWN if y < high else 0), style, highlighted)

    def box(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        style: str = "frame",
        highlighted: bool = False,
    ) -> None:
        """Draw the frame of a box whose upper left corner is (x, y); its inside stays unchanged."""
        self.across(x, x + width - 1, y, style, highlighted)
        self.across(x, x + width - 1, y + height - 1, style, highlighted)
        self.down(x, y, y + height - 1, style, highlighted)
        self.down(x + width - 1, y, y + height - 1, style, highlighted)

    def line(self, y: int) -> list[Span]:
        """Return line `y` as spans: neighbours of the same style and target are one span."""
        written, wires = self._cells[y], self._wires[y]
        spans: list[Span] = []
        symbols: list[str] = []
        style, target = "", None
        last = max((*written, *wires), default=-1)
        for x in range(min(last + 1, self.width)):
            cell = written.get(x) or (self._wire(wires[x]) if x in wires else _BLANK)
            if symbols and (cell[1] != style or (cell[2] is not target and cell[2] != target)):
                spans.append(Span("".join(symbols), style, target))
                symbols = []
            glyph, style, target = cell
            symbols.append(glyph)
        if symbols:
            spans.append(Span("".join(symbols), style, target))
        return spans

    def picture(self) -> Picture:
        return Picture(self.width, self.height, self.line)

    def _wire(self, wire: Wire) -> Cell:
        sides, highlighted, style = wire
        return self.glyphs.wire(sides, highlighted), style, None

    def _join(self, x: int, y: int, sides: int, style: str, highlighted: bool) -> None:
        before, was_highlighted, old_style = self._wires[y].get(x, (0, False, style))
        # a highlighted wire shows through one that is not, wherever they share a cell
        self._wires[y][x] = (
            before | sides,
            was_highlighted or highlighted,
            old_style if was_highlighted else style,
        )
