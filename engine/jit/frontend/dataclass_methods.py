"""Dataclasses: source for the methods that Python generated without any."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from engine.jit.frontend.source import Source

_WRITTEN = ("__init__", "__eq__")  # the methods that can be generated


def is_written(fn: Callable[..., Any]) -> bool:
    """Returns whether a method has no source because the dataclass generated it."""
    return inspect.unwrap(fn).__code__.co_filename == "<string>"


def can_be_written(name: str) -> bool:
    """Returns whether `source_of_method` can write a method of that name."""
    return name in _WRITTEN


def why_not(python: type) -> str:
    """Returns the reason why a dataclass's fields prevent compilation; "" if they do not."""
    fields = dataclasses.fields(python) if dataclasses.is_dataclass(python) else ()
    for field in fields:
        if field.default_factory is not dataclasses.MISSING:
            return (
                f"field '{field.name}' has a default_factory, which only Python can call. Hint: write "
                f"__init__, with self.{field.name}: List[int] = [] in it"
            )
    return ""


def source_of_method(python: type, name: str) -> tuple[Source, dict[str, Any]]:
    """Returns the source of a method, and the namespace of its annotations."""
    fields = dataclasses.fields(python)
    try:
        file = inspect.getsourcefile(python) or "<unknown>"
        line = inspect.getsourcelines(python)[1]
    except (OSError, TypeError):
        file, line = "<unknown>", 1
    if name == "__eq__":
        same = " and ".join(
            f"self.{field.name} == other.{field.name}" for field in fields if field.compare
        )
        head = f"def __eq__(self, other: {python.__name__}) -> bool:"
        return Source(file, line, f"{head}\n    return {same or 'True'}\n"), {}
    names: dict[str, Any] = {}
    parameters, body = [], []
    for i, field in enumerate(fields):
        names[f"_type_{i}"] = field.type
        note = field.type if isinstance(field.type, str) else f"_type_{i}"
        if field.init:
            has_default = field.default is not dataclasses.MISSING
            parameters.append(f"{field.name}: {note}{' = None' if has_default else ''}")
            body.append(f"    self.{field.name}: {note} = {field.name}")
    if hasattr(python, "__post_init__"):
        body.append("    self.__post_init__()")
    head = f"def __init__({', '.join(['self', *parameters])}) -> None:"
    return Source(file, line, "\n".join([head, *(body or ["    pass"])]) + "\n"), names
