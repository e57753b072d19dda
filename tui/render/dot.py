"""Labels and strings of DOT text."""

from __future__ import annotations

from collections.abc import Iterable

from tui.render.picture import clean


class NoGraph(Exception):
    """There is nothing to draw, with the reason in one sentence."""


def label_lines(lines: Iterable[str]) -> str:
    """Return lines of one label."""
    return "\\n".join(map(quoted, lines))


def quoted(text: str) -> str:
    """Return `text` for a quoted string of DOT: it can end neither string nor line."""
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
