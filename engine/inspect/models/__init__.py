"""The content of each view, as plain data: `project(view, history, moment, selection) -> model`.

A model is a tree of frozen dataclasses that holds every fact of the picture drawn from it, so the
screen, `underhood show --json`, lessons and tests all read the same thing. One view = one module of
this folder with a function `project(history, moment, selection)`; modules are found, not listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.selection import Selection

VIEWS: dict[str, Callable[..., Any]] = {
    module.name: import_module(f"{__name__}.{module.name}").project
    for module in iter_modules(__path__)
    if not module.name.startswith("_")
}


def project(view: str, history: History, moment: int, selection: Selection) -> Any:
    """Return the model of a view at a moment. Raises: KeyError, which lists the views."""
    if view not in VIEWS:
        raise KeyError(f"there is no view named {view!r}; the views are {', '.join(sorted(VIEWS))}")
    return VIEWS[view](history, moment, selection)


def to_json(model: Any) -> Any:
    """Convert a model to dicts, lists, numbers and strings for `json.dumps`.

    Bytes become hexadecimal text; numbers that JSON lacks become "nan", "inf" and "-inf".
    """
    if is_dataclass(model) and not isinstance(model, type):
        return {field.name: to_json(getattr(model, field.name)) for field in fields(model)}
    if isinstance(model, dict):
        return {str(key): to_json(value) for key, value in model.items()}
    if isinstance(model, (list, tuple)):
        return [to_json(item) for item in model]
    if isinstance(model, (set, frozenset)):
        return sorted((to_json(item) for item in model), key=repr)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model).hex()
    if isinstance(model, float) and not math.isfinite(model):
        return str(model)
    if model is None or isinstance(model, (bool, int, float, str)):
        return model
    if isinstance(model, Sequence):  # may build its items on access
        return [to_json(item) for item in model]
    if hasattr(model, "tolist"):  # a NumPy array or scalar
        return to_json(model.tolist())
    raise TypeError(f"{type(model).__name__} has no JSON form: {model!r}")
