"""The form of a part of the graph in the available room: as boxes, as rows or as a list, and where each is.

Chosen and laid out once per part, room and way of looking, never per moment: see the note in
tui/render/graph/layout.py. The last few scenes are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from engine.inspect.models.autograd import Part
from tui.render import cells
from tui.render.graph import Layout, Rails, layout, rails
from tui.views._view import ViewOptions
from tui.views.autograd.fold import NODE, REPEAT, Folded, fact_of, fold

FORMS = ("boxes", "rows", "list")
LARGE = 1200  # items from which on only a list is made without being asked for
FEW = 60  # items up to which it is tried to write PyTorch's own names
ROOMY = 16  # items up to which boxes have room for the numbers of a gradient
NARROW = 46  # columns below which a graph that does not fit is a list
FULL, SHORT, TIGHT = 2, 1, 0  # how long names are
STATE = 4  # cells of a node's state: its sign and a number
BOX_ROWS = 3
PORTAL = 10
WIDEST = 32
KEPT = 12  # things of each sort
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AutogradOptions(ViewOptions):
    """The form of the drawing; "" leaves it to the view."""

    form: str = ""
    fold: str = ""
    opened: frozenset[tuple[int, int]] = frozenset()  # groups that are expanded


@dataclass(frozen=True, slots=True)
class Scene:
    """A part, folded, laid out. Of `layout` and `rails` there is the one that the form needs."""

    folded: Folded
    form: str
    labels: tuple[str, ...]
    layout: Layout | None
    rails: Rails | None


class Kept(Generic[T]):
    """The last few things that were made of a part or a folding. They are known by identity: a part
    has thousands of nodes, and its hash would be as dear as what is kept."""

    def __init__(self, make: Callable[..., T]) -> None:
        self._make = make
        self._found: dict[tuple, tuple[object, T]] = {}
        self._lock = Lock()  # views are drawn ahead by a thread

    def __call__(self, of: object, *how: Hashable) -> T:
        key = (id(of), *how)
        with self._lock:
            found = self._found.pop(key, None)
        if found is None or found[0] is not of:  # an id may have been another thing's before
            found = of, self._make(of, *how)
        with self._lock:
            self._found[key] = found
            while len(self._found) > KEPT:
                del self._found[next(iter(self._found))]
        return found[1]


_folded = Kept(fold)


def folded(part: Part, options: AutogradOptions) -> Folded:
    """The part folded as one wants to look at it."""
    return _folded(part, options.fold, options.opened)


def scene(part: Part, options: AutogradOptions, width: int, height: int) -> Scene:
    """The scene of a part in `width` x `height` cells: the form that was asked for, else the most
    telling one that fits, else one to scroll in."""
    what, form = folded(part, options), options.form
    if form == "list" or (not form and len(what.items) > LARGE):
        return _listed(what)
    if form in ("", "boxes"):
        full = _boxes(what, FULL) if len(what.items) <= FEW else None
        if full is not None and _fits(full, width, height):
            return full
        short = _narrow(_boxes, what, width)
        if form or _fits(short, width, height):
            wide = full is None or full.layout is None or full.layout.width > width
            return full if full is not None and not wide else short
    rows = _narrow(_rows, what, width)
    if form or _fits(rows, width, height):
        return rows
    if width < NARROW:
        return _listed(what)
    assert rows.layout is not None
    return rows if rows.layout.width <= 2 * width else _listed(what)


def _narrow(make: Kept[Scene], what: Folded, width: int) -> Scene:
    """With short names; with the shortest if that makes it fit the width."""
    made = make(what, SHORT)
    if made.layout is None or made.layout.width <= width:
        return made
    tight = make(what, TIGHT)
    fits = tight.layout is not None and tight.layout.width <= width
    return tight if fits else made


def _fits(made: Scene, width: int, height: int) -> bool:
    return made.layout is not None and made.layout.width <= width and made.layout.height <= height


def _labels(what: Folded, length: int) -> tuple[str, ...]:
    """The name of each item: FULL is PyTorch's own name of the node, SHORT that without Backward,
    TIGHT the same with the last two parts of a parameter's name."""
    made = []
    for number, item in enumerate(what.items):
        fact = fact_of(what, number)
        if item.key[1] == REPEAT:
            text = f"×{item.times} {item.label}"
        elif item.key[1] != NODE:
            text = item.label
        elif length == TIGHT and fact.leaf:
            text = ".".join(fact.label.split(".")[-2:])
        elif length == FULL and len(item.members) == 1:
            text = f"{fact.name} {fact.label}" if fact.leaf else fact.name
        else:
            text = item.label
        made.append(text)
    return tuple(made)


def _make_boxes(what: Folded, length: int) -> Scene:
    labels = _labels(what, length)
    roomy = length == FULL and len(what.items) <= ROOMY
    least = 23 if roomy else 14
    widths = [max(least, each + 4) for each in _room(what, labels)]
    made = layout(_odd(widths), what.heads, what.tails, BOX_ROWS, PORTAL)
    return Scene(what, "boxes", labels, made, None)


def _make_rows(what: Folded, length: int) -> Scene:
    labels = _labels(what, length)
    widths = [each + 4 for each in _room(what, labels)]
    return Scene(
        what, "rows", labels, layout(_odd(widths), what.heads, what.tails, 1, PORTAL), None
    )


def _make_list(what: Folded) -> Scene:
    lanes = rails(len(what.items), what.heads, what.tails, what.order)
    return Scene(what, "list", _labels(what, SHORT), None, lanes)


def _room(what: Folded, labels: tuple[str, ...]) -> list[int]:
    """The cells of each state and label: of a group it says how many of how many have run."""
    state = [
        STATE if item.key[1] == NODE else 3 + 2 * len(str(len(item.members))) for item in what.items
    ]
    return [min(WIDEST, cells(label) + each) for label, each in zip(labels, state, strict=True)]


def _odd(widths: list[int]) -> list[int]:
    """Odd widths have a middle cell: wires that go straight down stay in one column."""
    return [width | 1 for width in widths]


_boxes = Kept(_make_boxes)
_rows = Kept(_make_rows)
_listed = Kept(_make_list)
