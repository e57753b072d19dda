"""The base of the views of compiled code: their queries are about the selected Value of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.views._view import View
from tui.views.jit import queries

if TYPE_CHECKING:
    from tui.navigator import Navigator


class IRView(View):
    """A view in which a Value of a graph can be selected."""

    def has_value(self, nav: Navigator) -> bool:
        """Return whether queries are about a Value, and not about a tensor."""
        return bool(nav.selection.value)

    def who_wrote(self, nav: Navigator) -> str | None:
        return queries.who_made(nav) if self.has_value(nav) else None

    def who_owns(self, nav: Navigator) -> str | None:
        return queries.who_reads(nav) if self.has_value(nav) else None
