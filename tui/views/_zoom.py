"""Views with a bar over the run that can be zoomed: they share the keys, the option and the words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.inspect.models import VIEWS
from engine.inspect.models.timeline import window
from tui.render import Glyphs
from tui.views._view import View, ViewOptions, action

if TYPE_CHECKING:
    from tui.navigator import Navigator


@dataclass(frozen=True, slots=True)
class ZoomOptions(ViewOptions):
    """`zoom`: how often the window was halved."""

    zoom: int = 0


class ZoomView(View):
    """A view whose model takes the zoom, too."""

    Options = ZoomOptions

    def model(self, nav: Navigator) -> Any:
        """Return the model of the zoomed window."""
        zoom = nav.options_of(self.name).zoom
        return VIEWS[self.name](nav.history, nav.moment, nav.selection, zoom)

    @action("plus", "zoom in", "Show half as much of the run.")
    def zoom_in(self, nav: Navigator) -> str:
        """Halve the window."""
        return self._zoom(nav, 1)

    @action("minus", "zoom out", "Show twice as much of the run.")
    def zoom_out(self, nav: Navigator) -> str:
        """Double the window."""
        return self._zoom(nav, -1)

    def _zoom(self, nav: Navigator, step: int) -> str:
        """Zoom in (1) or out (-1), and return the sentence."""
        zoom, end = nav.options_of(self.name).zoom, nav.last + 1
        if step < 0 and not zoom:
            return "all of the run is shown"
        before, after = (window(nav.moment, end, each) for each in (zoom, zoom + step))
        if before == after and step > 0:
            return "no closer: the window is a few events wide"
        self.change(nav, zoom=zoom + step)
        first, last = after
        return f"events {first:,} to {last - 1:,} of {end - 1:,}"


def zoom_caption(measure: str, first: int, last: int, end: int, glyphs: Glyphs) -> str:
    """Return the caption of a bar: the meaning of its height, its events, and the keys."""
    dot = f" {glyphs.dot} "
    part = "all events" if last - first >= end else f"events {first:,} to {last - 1:,}"
    return f"{measure}{dot}{part}{dot}+ - zoom"
