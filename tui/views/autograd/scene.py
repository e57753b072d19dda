"""The form of a part of the graph in the available room: boxes, rows or a list, with their layout.

Form and layout are computed once per part, room and options, never per moment: see the note in
tui/render/graph/layout.py. The last few scenes are cached.
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
LARGE = 1200  # items from which only a list is drawn by default
FEW = 60  # items up to which PyTorch's full names are tried
ROOMY = 16  # items up to which boxes have room for the numbers of a gradient
NARROW = 46  # columns below which a graph that does not fit is a list
FULL, SHORT, TIGHT = 2, 1, 0  # lengths of names
STATE = 4  # cells of a node's state: its glyph and a number
BOX_ROWS = 3
PORTAL = 10
MAX_LABEL = 32
CACHED = 12  # entries of each cache
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


class IdentityCache(Generic[T]):
    """The last few results computed from a part or a folding, by its identity: a part
    has thousands of nodes, and its hash would be as expensive as the result."""

    def __init__(self, make: Callable[..., T]) -> None:
        self._make = make
        self._results: dict[tuple, tuple[object, T]] = {}
        self._lock = Lock()  # views are drawn ahead by a thread

    def __call__(self, of: object, *options: Hashable) -> T:
        key = (id(of), *options)
        with self._lock:
            entry = self._results.pop(key, None)
        if entry is None or entry[0] is not of:  # the id of a freed object is reused
            entry = of, self._make(of, *options)
        with self._lock:
            self._results[key] = entry
            while len(self._results) > CACHED:
                del self._results[next(iter(self._results))]
        return entry[1]


_folded = IdentityCache(fold)


def folded(part: Part, options: AutogradOptions) -> Folded:
    """Return the part, folded as the options say."""
    return _folded(part, options.fold, options.opened)


def scene(part: Part, options: AutogradOptions, width: int, height: int) -> Scene:
    """Return the scene of a part in `width` x `height` cells: the requested form, else the most
    detailed one that fits, else one to scroll in."""
    folding, form = folded(part, options), options.form
    if form == "list" or (not form and len(folding.items) > LARGE):
        return _listed(folding)
    if form in ("", "boxes"):
        full = _boxes(folding, FULL) if len(folding.items) <= FEW else None
        if full is not None and _fits(full, width, height):
            return full
        short = _narrow(_boxes, folding, width)
        if form or _fits(short, width, height):
            wide = full is None or full.layout is None or full.layout.width > width
            return full if full is not None and not wide else short
    rows = _narrow(_rows, folding, width)
    if form or _fits(rows, width, height):
        return rows
    if width < NARROW:
        return _listed(folding)
    assert rows.layout is not None
    return rows if rows.layout.width <= 2 * width else _listed(folding)


def _narrow(make: IdentityCache[Scene], folding: Folded, width: int) -> Scene:
    """Return the scene with short names, or with the shortest if only they fit the width."""
    short = make(folding, SHORT)
    if short.layout is None or short.layout.width <= width:
        return short
    tight = make(folding, TIGHT)
    fits = tight.layout is not None and tight.layout.width <= width
    return tight if fits else short


def _fits(drawn: Scene, width: int, height: int) -> bool:
    return (
        drawn.layout is not None and drawn.layout.width <= width and drawn.layout.height <= height
    )


def _labels(folding: Folded, length: int) -> tuple[str, ...]:
    """Return the name of each item: FULL is PyTorch's own name of the node, SHORT that without Backward,
    TIGHT the same with the last two parts of a parameter's name."""
    names = []
    for number, item in enumerate(folding.items):
        fact = fact_of(folding, number)
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
        names.append(text)
    return tuple(names)


def _make_boxes(folding: Folded, length: int) -> Scene:
    labels = _labels(folding, length)
    roomy = length == FULL and len(folding.items) <= ROOMY
    min_width = 23 if roomy else 14
    widths = [max(min_width, each + 4) for each in _room(folding, labels)]
    boxes = layout(_odd(widths), folding.heads, folding.tails, BOX_ROWS, PORTAL)
    return Scene(folding, "boxes", labels, boxes, None)


def _make_rows(folding: Folded, length: int) -> Scene:
    labels = _labels(folding, length)
    widths = [each + 4 for each in _room(folding, labels)]
    return Scene(
        folding, "rows", labels, layout(_odd(widths), folding.heads, folding.tails, 1, PORTAL), None
    )


def _make_list(folding: Folded) -> Scene:
    lanes = rails(len(folding.items), folding.heads, folding.tails, folding.order)
    return Scene(folding, "list", _labels(folding, SHORT), None, lanes)


def _room(folding: Folded, labels: tuple[str, ...]) -> list[int]:
    """Return the cells of each state and label. A group's state counts the nodes that have run."""
    state = [
        STATE if item.key[1] == NODE else 3 + 2 * len(str(len(item.members)))
        for item in folding.items
    ]
    return [min(MAX_LABEL, cells(label) + each) for label, each in zip(labels, state, strict=True)]


def _odd(widths: list[int]) -> list[int]:
    """Round widths up to odd ones, which have a middle cell: wires that go straight down stay in one column."""
    return [width | 1 for width in widths]


_boxes = IdentityCache(_make_boxes)
_rows = IdentityCache(_make_rows)
_listed = IdentityCache(_make_list)
