"""Rich styles of a picture's semantic style names, in the theme of the app."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from tui.render import Span
from tui.render.theme import definition


def ink_of(app: App) -> str:
    """The column of the style table that fits the app: mono, ansi, dark or light."""
    if app.no_color:
        return "mono"
    if app.current_theme.ansi or app.console.color_system == "standard":
        return "ansi"
    return "dark" if app.current_theme.dark else "light"


@lru_cache(maxsize=2048)
def style(names: str, ink: str) -> Style:
    """The Rich style of one or more names."""
    return Style.parse(definition(names, ink))


def strip_of(spans: Iterable[Span], ink: str) -> Strip:
    """One line of a picture as Textual draws it."""
    return Strip(
        [Segment(span.text, style(span.style, ink) if span.style else None) for span in spans]
    )
