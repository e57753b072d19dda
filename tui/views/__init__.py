"""The views: one class per picture, found by listing this folder.

Adding a view is adding a module here with one subclass of `View`; its keys, its help, its place among the
tabs, its actions in the palette and its row in `underhood show` follow from the class. (A model that lessons
or other tools want to read goes into `engine.inspect.models`; a view with its own model overrides `project`.)
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules

from tui.keys import Key, KeyGroup
from tui.render import UNICODE, Glyphs
from tui.render.glyphs import translated
from tui.render.target import TargetItem
from tui.views._view import Action, DrawContext, Page, View, ViewOptions, action

__all__ = [
    "Action",
    "DrawContext",
    "Page",
    "View",
    "ViewOptions",
    "action",
    "help_of",
    "key_groups",
    "opening",
    "view",
    "view_with_role",
    "views",
]


def _keyboard_order(view: View) -> tuple[bool, bool, str]:
    return view.key.isalpha(), view.key == "0", view.key


@lru_cache(maxsize=1)
def views() -> dict[str, View]:
    """Return every view by name, in the order of their keys."""
    loaded = []
    for entry in iter_modules(__path__):
        if entry.name.startswith("_"):
            continue
        module = import_module(f"{__name__}.{entry.name}")
        classes = [
            member
            for member in vars(module).values()
            if isinstance(member, type)
            and issubclass(member, View)
            and member.__module__ == module.__name__
        ]
        if [each.name for each in classes] != [entry.name]:
            raise TypeError(f"{module.__name__} needs exactly one View, named {entry.name!r}")
        loaded.append(classes[0]())
    return {each.name: each for each in sorted(loaded, key=_keyboard_order)}


def view(name: str) -> View:
    """Return the view of that name, or KeyError that lists the names there are."""
    known = views()
    if name not in known:
        raise KeyError(f"unknown view {name!r}; choose from {', '.join(known)}")
    return known[name]


def view_with_role(role: str) -> View:
    """Return the view with this role: "first" or "side"."""
    return next(each for each in views().values() if each.role == role)


def opening(item: TargetItem) -> list[View]:
    """Return the views in which Enter shows an item of this class, the first choice first."""
    able = [each for each in views().values() if type(item) in each.opens]
    return sorted(able, key=lambda each: each.opens[type(item)])


def key_groups(active: str = "") -> tuple[KeyGroup, ...]:
    """Return the keys that the views declare: for the tabs, of the view named `active`, and of others that work
    from there. Without `active`, those of all views."""
    tabs = KeyGroup(
        "Views",
        tuple(
            Key(
                f"view('{each.key}')",
                each.key,
                f"show the {_spoken(each.title)} view",
                f"Show the {_spoken(each.title)} view. {each.summary}".rstrip(),
            )
            for each in views().values()
        ),
    )
    own = {each.keys for each in views()[active].actions} if active else set()
    groups = [tabs]
    for each in sorted(views().values(), key=lambda each: each.name != active):
        rows = [
            row.row
            for row in each.actions
            if not active or each.name == active or (row.leads_in and row.keys not in own)
        ]
        if rows:
            groups.append(KeyGroup(f"{each.title} view", tuple(rows)))
    return tuple(groups)


def _spoken(title: str) -> str:
    """Return a title within a sentence: `memory map`, but `JIT`."""
    return title if title.isupper() else title.lower()


COMMON = {
    "─│╭╮╰╯├┤┬┴┼": "A wire, or the frame of a box.",
    "━┃┏┓┗┛┣┫┳┻╋": "The same, for the selection.",
    "▸": "Points at.",
    "▌": "This line belongs to the selection.",
    "×": "Between the sizes of a shape; a tensor without dimensions is ().",
    "·": "Separator.",
    "…": "Truncated.",
}
"""What these symbols mean in every view that does not define them in its own help."""


def help_of(name: str, glyphs: Glyphs = UNICODE) -> dict[str, str]:
    """Return the meaning of every symbol and heading of a view, in the glyphs that are on the screen."""
    own = dict(view(name).help)
    defined = "".join(symbol for symbol in own if not symbol.isascii())
    shared = {
        "".join(c for c in symbols if c not in defined): sentence
        for symbols, sentence in COMMON.items()
    }
    table: dict[str, str] = {}
    for symbol, sentence in (own | shared).items():
        # several symbols of one set can be one symbol of another (all corners are + in ASCII)
        drawn = symbol if symbol.isascii() else "".join(dict.fromkeys(translated(symbol, glyphs)))
        sentence = translated(sentence, glyphs)
        table[drawn] = f"{table[drawn]} Or: {sentence}" if drawn in table else sentence
    table.pop("", None)
    return table
