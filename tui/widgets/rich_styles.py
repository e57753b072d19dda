"""Rich styles of a picture's semantic style names, in the theme of the app."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from tui.render import Span
from tui.render.contrast import FRAME, TEXT, channels_of, luminance, readable
from tui.render.theme import FRAMES, definition


def ink_of(app: App) -> str:
    """Return the column of the style table that fits the app (mono, ansi, ansi_light, dark or light) and, for
    the last two, the ground on which text is hardest to read."""
    if app.no_color:
        return "mono"
    theme = app.current_theme
    if theme.ansi or app.console.color_system == "standard":
        return "ansi" if theme.dark else "ansi_light"
    grounds = [app.theme_variables[name] for name in ("background", "surface", "panel")]
    by_light = sorted(grounds, key=lambda each: luminance(channels_of(each)))
    return f"dark {by_light[-1]}" if theme.dark else f"light {by_light[0]}"


@lru_cache(maxsize=2048)
def style(names: str, ink: str) -> Style:
    """Return the Rich style of one or more names, readable on the ground that the ink names."""
    column, _, ground = ink.partition(" ")
    parsed = Style.parse(definition(names, column))
    if not ground or parsed.color is None or parsed.color.triplet is None:
        return parsed
    own = parsed.bgcolor.triplet.hex if parsed.bgcolor and parsed.bgcolor.triplet else ground
    minimum = FRAME if FRAMES.issuperset(names.split()) else TEXT
    return parsed + Style(color=readable(parsed.color.triplet.hex, own, minimum))


def strip_of(spans: Iterable[Span], ink: str) -> Strip:
    """Return one line of a picture as Textual draws it."""
    return Strip(
        [Segment(span.text, style(span.style, ink) if span.style else None) for span in spans]
    )
