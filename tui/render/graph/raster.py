"""A window onto a layout, drawn: frames join the wires that leave them, wires that cross do not join."""

from __future__ import annotations

from tui.render.boxes import Cell, Grid
from tui.render.glyphs import DOWN, LEFT, RIGHT, UP, Glyphs

FRAME = -1  # the net of a frame: it joins every wire


class Raster(Grid):
    """A grid whose wires belong to nets: set `net`, then draw. Everything outside is clipped.

    Where wires of two nets cross, the one that goes down is drawn whole: so a junction on the screen
    is always one in the graph.
    """

    __slots__ = ("_nets", "net")

    def __init__(self, width: int, height: int, glyphs: Glyphs) -> None:
        super().__init__(width, height, glyphs)
        self.net = FRAME
        self._nets: list[dict[int, int]] = [{} for _ in range(height)]

    def across(
        self, x0: int, x1: int, y: int, style: str = "wire", highlighted: bool = False
    ) -> None:
        low, high = min(x0, x1), max(x0, x1)
        for x in range(max(low, 0), min(high, self.width - 1) + 1):
            self._join(
                x, y, (LEFT if x > low else 0) | (RIGHT if x < high else 0), style, highlighted
            )

    def down(
        self, x: int, y0: int, y1: int, style: str = "wire", highlighted: bool = False
    ) -> None:
        low, high = min(y0, y1), max(y0, y1)
        if 0 <= x < self.width:
            for y in range(max(low, 0), min(high, self.height - 1) + 1):
                self._join(
                    x, y, (UP if y > low else 0) | (DOWN if y < high else 0), style, highlighted
                )

    def box(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        style: str = "frame",
        highlighted: bool = False,
    ) -> None:
        self.net = FRAME
        super().box(x, y, width, height, style, highlighted)

    def blank(self, x: int, y: int, width: int) -> None:
        """Make room for text: nothing shows through."""
        for at in range(max(x, 0), min(x + width, self.width)):
            self._cells[y][at] = (" ", "", None)

    def text(self, x: int, y: int, text: str, style: str = "", target=None) -> None:  # type: ignore[no-untyped-def]
        """Write `text` wherever it lies, as much of it as is inside. One cell per character."""
        if not 0 <= y < self.height or x >= self.width:
            return
        if x < 0:
            text, x = text[-x:], 0
        if text:
            self.put(x, y, text[: self.width - x], style, target)

    def _join(self, x: int, y: int, sides: int, style: str, highlighted: bool) -> None:
        if not 0 <= y < self.height or not sides:
            return
        nets = self._nets[y]
        other = nets.get(x, self.net)
        if other != self.net and other != FRAME and self.net != FRAME:
            before = self._wires[y][x][0]
            if before & (UP | DOWN) and not before & (LEFT | RIGHT):
                return
            if sides & (UP | DOWN) and not sides & (LEFT | RIGHT):
                del self._wires[y][x]
        nets[x] = self.net
        super()._join(x, y, sides, style, highlighted)


__all__ = ["FRAME", "Cell", "Raster"]
