"""Zooming a bar over the run: the same keys and words in every view that has one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.inspect.models.timeline import window
from tui.render import Glyphs

if TYPE_CHECKING:
    from tui.navigator import Navigator
    from tui.views._view import View


def zoomed(view: View, nav: Navigator, step: int) -> str:
    """Zoom in (1) or out (-1), and return the sentence."""
    zoom, end = nav.options_of(view.name).zoom, nav.last + 1
    if step < 0 and not zoom:
        return "all of the run is shown"
    before, after = (window(nav.moment, end, each) for each in (zoom, zoom + step))
    if before == after and step > 0:
        return "no closer: the window is a few events wide"
    view.change(nav, zoom=zoom + step)
    first, last = after
    return f"events {first:,} to {last - 1:,} of {end - 1:,}"


def zoom_caption(measure: str, first: int, last: int, end: int, glyphs: Glyphs) -> str:
    """The caption of a bar: the meaning of its height, its events, and the keys."""
    dot = f" {glyphs.dot} "
    part = "all events" if last - first >= end else f"events {first:,} to {last - 1:,}"
    return f"{measure}{dot}{part}{dot}+ - zoom"
