"""What each view shows, as plain data: `project(view, history, moment, selection) -> model`.

A model is a tree of frozen dataclasses that holds every fact of the picture drawn from it, so the
screen, `underhood show --json`, lessons and tests all read the same thing. One view = one module of
this folder with a function `project(history, moment, selection)`; modules are found, not listed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

VIEWS: dict[str, Callable[..., Any]] = {
    module.name: import_module(f"{__name__}.{module.name}").project
    for module in iter_modules(__path__)
    if not module.name.startswith("_")
}


def project(view: str, history: Any, moment: int, selection: Any) -> Any:
    """The model of a view at a moment; KeyError lists the views when there is none of that name."""
    if view not in VIEWS:
        raise KeyError(f"there is no view named {view!r}; the views are {', '.join(sorted(VIEWS))}")
    return VIEWS[view](history, moment, selection)


def to_json(model: Any, indent: int | None = None) -> str:
    """A model as JSON text (see `engine.inspect.jsonable`, which is imported when it is needed)."""
    from engine.inspect.jsonable import to_json as text_of

    return text_of(model, indent)
