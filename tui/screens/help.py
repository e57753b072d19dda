"""The screen of `?`: every symbol of the focused view, then every key. All from the tables themselves."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from tui.keys import ANYWHERE, CURSOR, KeyGroup, key_label
from tui.render import Picture, Span, cells, fit
from tui.screens.text_modal import TextModal
from tui.widgets.markdown import pieces, wrap

if TYPE_CHECKING:
    from textual.screen import Screen

Table = tuple[str, list[tuple[str, str]]]  # heading, (symbol, sentence)


def help_modal(screen: Screen) -> TextModal:
    """Return the help of a screen: the symbols of its viewer first, then its keys."""
    ascii = getattr(screen.app, "ascii", False)
    symbols: list[Table] = [
        table for node in screen.query("*") for table in getattr(node, "symbols", list)()
    ]
    tables = [*symbols, *key_tables(screen, ascii)]
    return TextModal("Help", partial(draw_tables, tables))


def key_tables(screen: Screen, ascii: bool) -> list[Table]:
    """Return the keys of everything on the screen, group by group."""
    groups: list[KeyGroup] = []
    for node in [screen, *screen.query("*")]:
        for group in getattr(node, "KEYS", ()):
            if group not in groups:
                groups.append(group)
    for group in (CURSOR, ANYWHERE):
        if group not in groups:
            groups.append(group)
    return [
        (
            f"Keys: {group.title}",
            [(key_label(key.keys, ascii), key.description) for key in group.rows if key.keys],
        )
        for group in groups
    ]


def draw_tables(tables: Iterable[Table], width: int) -> Picture:
    """Draw two columns per table: the symbol, and its sentence wrapped next to it."""
    lines: list[list[Span]] = []
    for title, rows in tables:
        lines += [[Span(title, "head")], []]
        widest = min(18, max((cells(symbol) for symbol, _ in rows), default=0))
        for symbol, description in rows:
            body = wrap(pieces(description), max(20, width - widest - 2))
            for number, line in enumerate(body):
                lead = fit(symbol, widest) if number == 0 else " " * widest
                lines.append([Span(lead, "name"), Span("  "), *line])
        lines.append([])
    return Picture.of(lines, width)
