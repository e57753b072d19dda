"""The views: one module per picture, found by looking into this folder.

A view is a module with NAME (as in `underhood show --view NAME`), KEY (the digit that opens it), TITLE,
HELP (every sign and column of its own -> one sentence) and `draw(model, context) -> Picture`, a pure function.
Adding a view is adding a file here and one of the same name in `engine.inspect.models`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

from engine.inspect.selection import Selection
from tui.render import UNICODE, Glyphs, Picture
from tui.render.glyphs import translated


@dataclass(frozen=True, slots=True)
class ViewOptions:
    """How the reader wants graphs to be drawn; "" leaves it to the view."""

    form: str = ""
    fold: str = ""
    opened: frozenset[tuple[int, int]] = frozenset()  # groups that are drawn one by one
    pane: str = ""  # what stands beside the graph in the JIT view
    idle: bool = False  # whether passes that changed nothing are listed
    ghosts: str = ""  # which lines that are gone keep their place: "" all, pass, none


@dataclass(frozen=True, slots=True)
class DrawContext:
    """What a drawing may depend on besides its model: the room, the signs, the selection, how far one
    step goes, and how graphs are looked at."""

    width: int = 80
    height: int = 24
    glyphs: Glyphs = UNICODE
    selection: Selection = field(default_factory=Selection)
    grain: str = ""
    look: ViewOptions = field(default_factory=ViewOptions)


class View(Protocol):
    """What a module of this folder has to offer."""

    NAME: str
    KEY: str
    TITLE: str
    HELP: dict[str, str]

    def draw(self, model: Any, context: DrawContext) -> Picture: ...


def _place_on_keyboard(view: View) -> tuple[bool, bool, str]:
    return view.KEY.isalpha(), view.KEY == "0", view.KEY


@lru_cache(maxsize=1)
def views() -> dict[str, View]:
    """Every view by name, in the order of their keys."""
    modules = (
        import_module(f"{__name__}.{module.name}")
        for module in iter_modules(__path__)
        if not module.name.startswith("_")
    )
    found = sorted(modules, key=_place_on_keyboard)
    return {view.NAME: view for view in found}


def view(name: str) -> View:
    """The view of that name, or KeyError that lists the names there are."""
    known = views()
    if name not in known:
        raise KeyError(f"there is no view named {name!r}; the views are {', '.join(known)}")
    return known[name]


def is_whole(name: str) -> bool:
    """Whether a view brings its own source and has the whole screen."""
    return bool(getattr(view(name), "WHOLE", False))


def is_slow(name: str, history: Any, moment: int, look: ViewOptions) -> bool:
    """Whether the first picture of this moment has so much to go through that a thread should."""
    asked = getattr(view(name), "is_slow", None)
    return asked is not None and bool(asked(history, moment, look))


COMMON = {
    "─│╭╮╰╯├┤┬┴┼": "A wire, or the frame of a box.",
    "━┃┏┓┗┛┣┫┳┻╋": "The same, of what is selected.",
    "▸": "Points at.",
    "▌": "This line belongs to what is selected.",
    "×": "Between the sizes of a shape; a tensor without dimensions is ().",
    "·": "Between two facts.",
    "…": "Too long for its place: something is cut off here.",
}
"""What these signs mean in every view that does not say otherwise in its own HELP."""


def help_of(name: str, glyphs: Glyphs = UNICODE) -> dict[str, str]:
    """What every sign and column of a view means, in the signs that are on the screen."""
    own = view(name).HELP
    taken = "".join(sign for sign in own if not sign.isascii())
    shared = {
        "".join(c for c in signs if c not in taken): description
        for signs, description in COMMON.items()
    }
    said: dict[str, str] = {}
    for sign, sentence in (own | shared).items():
        # several signs of one set can be one sign of another (all corners are + in ASCII)
        shown = sign if sign.isascii() else "".join(dict.fromkeys(translated(sign, glyphs)))
        words = translated(sentence, glyphs)
        said[shown] = f"{said[shown]} Or: {words}" if shown in said else words
    said.pop("", None)
    return said
