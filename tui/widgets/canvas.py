"""The one widget that shows pictures: any size, drawn line by line, with a cursor among its targets.

The cursor is always on a target, never on an empty cell. A line is
drawn when it becomes visible and cached until the picture or the cursor changes; a new picture repaints
only the lines that came out different.
"""

from __future__ import annotations

from collections.abc import Callable

from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.keys import CURSOR, bindings
from tui.render import Picture, Span, Target
from tui.widgets.cursor import (
    CursorPosition,
    beyond,
    first_position,
    keep_position,
    merged_targets,
    nearest,
    next_on_row,
    placed,
)
from tui.widgets.rich_styles import ink_of, strip_of

Select = Callable[[Target, bool], None]


class Canvas(ScrollView, can_focus=True):
    """Shows a `Picture`; calls `select` when the cursor reaches a target.

    `select(target, entered)` is called at once and not by a message, so that whatever it redraws is in
    the same frame as the cursor. `entered` means a double click.
    """

    BINDINGS = bindings(CURSOR)
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Canvas { scrollbar-size: 1 1; }
    """

    class Fitted(Message):
        """The room for a picture changed."""

        def __init__(self, canvas: Canvas) -> None:
            super().__init__()
            self.canvas = canvas

        @property
        def control(self) -> Canvas:
            return self.canvas

    def __init__(
        self, select: Select | None = None, *, id: str | None = None, click_enters: bool = False
    ) -> None:
        """`click_enters`: a single click follows its target, as in a page of links."""
        super().__init__(id=id)
        self._click_enters = click_enters
        self._select: Select = select or (lambda target, entered: None)
        self.picture = Picture.of([])
        self.cursor: CursorPosition | None = None
        self._strips: dict[int, Strip] = {}
        # The widget's own colours and its ink: finding them out takes longer than drawing a line.
        self._base: Style | None = None
        self._ink = ""

    # The picture

    def show_picture(self, picture: Picture, row: int | None = None, lead: bool = False) -> None:
        """Show `picture`, and scroll so that `row` is visible. With `lead` the cursor goes to the
        focus of the picture; without, it stays on its target."""
        before, top = self._strips, self.scroll_offset.y
        self.picture, self._strips = picture, {}
        focus = picture.guide.focus
        if lead and focus is not None and (self.cursor is None or self.cursor.target != focus):
            self.cursor = placed(picture, focus, self.cursor)
        self.cursor = keep_position(picture, self.cursor)
        size = Size(picture.width, picture.height)
        if size != self.virtual_size:
            self.set_reactive(Canvas.virtual_size, size)  # assigning would lay out the whole screen
            self._scroll_update(size)
        if row is not None:
            self.reveal(row)
        if self.scroll_offset.y != top:
            self.refresh()
            return
        self._repaint(before)

    def _repaint(self, before: dict[int, Strip]) -> None:
        """Repaint the visible lines that differ from those drawn `before`."""
        top, height = self.scroll_offset.y, self.size.height
        changed = [y for y in range(top, top + height) if before.get(y) != self._strip(y)]
        if len(changed) > height // 2:
            self.refresh()
        else:
            for y in changed:
                self.refresh(Region(0, y - top, self.size.width, 1))

    def reveal(self, row: int, margin: int = 2) -> None:
        """Scroll just far enough to show `row` with a little around it."""
        top, height = self.scroll_offset.y, self.size.height
        if top + margin <= row < top + height - margin or height <= 0:
            return
        self.scroll_to(y=max(0, row - height // 2), animate=False, force=True)

    def room(self) -> Size:
        """Return the cells that a picture can use without scrolling."""
        return self.scrollable_content_region.size

    def render_line(self, y: int) -> Strip:
        if self._base is None:
            self._base = self.rich_style
        left, top = self.scroll_offset
        strip = self._strip(top + y).crop_extend(left, left + self.size.width, self._base)
        return strip.apply_style(self._base)

    def _strip(self, y: int) -> Strip:
        strip = self._strips.get(y)
        if strip is None:
            self._ink = self._ink or ink_of(self.app)
            strip = self._strips[y] = strip_of(self._dressed(y), self._ink)
        return strip

    def _dressed(self, y: int) -> list[Span]:
        """Return the spans of line `y` with the cursor marked (views light what is selected themselves)."""
        line = self.picture.line(y)
        cursor = self.cursor
        if cursor is None or cursor.row != y or not self.has_focus:
            return list(line)
        dressed, x = [], 0
        for span in line:
            under = cursor.left <= x < cursor.right
            x += span.width
            dressed.append(Span(span.text, "text cursor", span.target) if under else span)
        return dressed

    # The cursor

    def action_cursor(self, dx: int, dy: int) -> None:
        cursor = self.cursor
        if self._led({(0, -1): "up", (0, 1): "down", (-1, 0): "left", (1, 0): "right"}[dx, dy]):
            return
        if cursor is None:
            target = first_position(self.picture, self.scroll_offset.y)
        else:
            target = (
                next_on_row(self.picture, cursor, dx) if dx else beyond(self.picture, cursor, dy)
            )
        if target is not None:
            self._move(target)
        elif dy:
            self.scroll_relative(y=dy, animate=False, force=True)
        elif dx:
            self.scroll_relative(x=dx * 4, animate=False, force=True)

    def _led(self, key: str) -> bool:
        """Follow the picture's guide for a key, if it has a target. Returns whether it has."""
        guide, cursor = self.picture.guide, self.cursor
        if cursor is None or guide.focus is None:
            return False
        in_pane = cursor.left >= guide.split
        to = guide.ways.get(key)
        if in_pane:
            to = guide.focus if key == "left" else None
        elif key in ("up", "down", "left", "right"):
            to = to if cursor.target == guide.focus else None
        elif to is None:  # it is the first or the last one
            to = guide.focus
        if to is None:
            return False
        self._move(placed(self.picture, to, cursor))
        return True

    def action_page(self, by: int) -> None:
        if self._led("pageup" if by < 0 else "pagedown"):
            return
        rows = by * max(1, self.size.height - 1)
        self.scroll_relative(y=rows, animate=False, force=True)
        self._land(
            min(self.picture.height - 1, max(0, (self.cursor.row if self.cursor else 0) + rows))
        )

    def action_edge(self, to: int) -> None:
        if self._led("home" if to < 0 else "end"):
            return
        row = 0 if to < 0 else max(0, self.picture.height - 1)
        self.scroll_to(y=row, animate=False, force=True)
        self._land(row)

    def _land(self, row: int) -> None:
        """Put the cursor on the target nearest to `row`."""
        target = nearest(self.picture, row, self.cursor.middle if self.cursor else 0)
        if target is not None:
            self._move(target)

    def _move(self, cursor: CursorPosition, entered: bool = False) -> None:
        old, self.cursor = self.cursor, cursor
        for moved in {old.row if old else cursor.row, cursor.row}:
            self._strips.pop(moved, None)
            self.refresh(Region(0, moved - self.scroll_offset.y, self.size.width, 1))
        if (
            self.size.height
        ):  # else no row would be in sight, and the headings above this one hidden
            self.scroll_to_region(
                Region(
                    cursor.left, cursor.row, min(cursor.right - cursor.left, self.size.width), 1
                ),
                animate=False,
                force=True,
            )
        self._select(cursor.target, entered)

    async def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None:  # on the frame
            return
        row, column = at.y + self.scroll_offset.y, at.x + self.scroll_offset.x
        for left, right, target in merged_targets(self.picture, row):
            if left <= column < right:
                self._move(
                    CursorPosition(row, left, right, target),
                    entered=self._click_enters or event.chain > 1,
                )
                return

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, dy: int) -> None:
        """Move the cursor with the wheel where the window onto something larger cannot scroll."""
        if self.picture.guide.focus is not None:
            event.stop()
            event.prevent_default()
            self.action_cursor(0, dy)

    def on_resize(self) -> None:
        self._strips.clear()
        self.post_message(self.Fitted(self))

    def watch_show_vertical_scrollbar(self) -> None:
        """React to a scroll bar that appears or disappears, which changes the room like a resize."""
        self.call_after_refresh(self.post_message, self.Fitted(self))

    def on_focus(self) -> None:
        self._redraw_cursor()

    def on_blur(self) -> None:
        self._redraw_cursor()

    def _redraw_cursor(self) -> None:
        if self.cursor is not None:
            self._strips.pop(self.cursor.row, None)
            self.refresh(Region(0, self.cursor.row - self.scroll_offset.y, self.size.width, 1))

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if hasattr(self, "_strips"):  # Textual calls this before __init__ is through
            self._strips.clear()
            self._base, self._ink = None, ""
