"""Positions in recordings: reopening one restores its last moment, selection and view."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.inspect import selection as kinds
from engine.inspect.selection import Selection
from tui.views import views

if TYPE_CHECKING:
    from tui.navigator import Navigator
    from tui.settings import Memory

MAX_PLACES = 40  # recordings whose positions are stored


@dataclass(frozen=True, slots=True)
class Position:
    """A moment, a selection, a view and a grain; `stamp` identifies the file that they belong to."""

    stamp: tuple[int, int]
    moment: int
    view: str
    grain: str
    selection: dict[str, Any]


def save_place(memory: Memory, trace: Path, nav: Navigator) -> None:
    """Store the navigator's position in this trace."""
    stamp = _stamp(trace)
    if stamp is None or nav.moment < 0:
        return
    selected = {
        each.name: {"kind": type(item).__name__, **asdict(item)}
        for each in fields(Selection)
        if (item := getattr(nav.selection, each.name)) is not None
    }
    position = Position(stamp, nav.moment, nav.view, nav.grain, selected)
    key = str(trace.resolve())
    others = {name: entry for name, entry in memory.get("places", {}).items() if name != key}
    newest = dict([*others.items(), (key, asdict(position))][-MAX_PLACES:])
    memory.put("places", newest)


def restore_place(memory: Memory, trace: Path, nav: Navigator) -> bool:
    """Restore the last position in this trace. Returns False for a new recording."""
    saved = memory.get("places", {}).get(str(trace.resolve()))
    stamp = _stamp(trace)
    if not isinstance(saved, dict) or stamp is None or saved.get("stamp") != list(stamp):
        return False
    try:
        position = Position(**saved)
        items = {name: _item(**entry) for name, entry in position.selection.items()}
        selection = Selection(**items)
        moment = int(position.moment)
    except (
        TypeError,
        ValueError,
        AttributeError,
    ):  # an edited state.json
        return False
    if position.view not in views() or not 0 <= moment <= nav.last:
        return False
    nav.view, nav.moment, nav.selection = position.view, moment, selection
    if position.grain in nav.grains():
        nav.grain = position.grain
    return True


def _stamp(trace: Path) -> tuple[int, int] | None:
    """Return the size and modification time of the file, or None if it does not exist."""
    try:
        facts = trace.stat()
    except OSError:
        return None
    return facts.st_size, facts.st_mtime_ns


def _item(kind: str, **values: Any) -> Any:
    """Restore one item of a selection. Raises: AttributeError or TypeError for invalid data."""
    if not kind.endswith("Selection"):
        raise TypeError(kind)
    fitting = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return getattr(kinds, kind)(**fitting)
