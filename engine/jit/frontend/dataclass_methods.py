"""Dataclasses: the methods that Python wrote for them, as source that can be compiled."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

from engine.jit.frontend.source import Source

_WRITTEN = ("__init__", "__eq__")  # those that can be


def is_written(fn: Callable[..., Any]) -> bool:
    """Whether a method has no source: the dataclass made it."""
    return inspect.unwrap(fn).__code__.co_filename == "<string>"


def can_be_written(name: str) -> bool:
    """Whether `source_of_method` knows how a method of that name looks."""
    return name in _WRITTEN


def why_not(python: type) -> str:
    """Why a class cannot be compiled for what its fields are; "" for every other class."""
    fields = dataclasses.fields(python) if dataclasses.is_dataclass(python) else ()
    for one in fields:
        if one.default_factory is not dataclasses.MISSING:
            return (
                f"field '{one.name}' has a default_factory, which only Python can call. Hint: write "
                f"__init__, with self.{one.name}: List[int] = [] in it"
            )
    return ""


def source_of_method(python: type, name: str) -> tuple[Source, dict[str, Any]]:
    """The source of a method, and what the names in its annotations mean."""
    fields = dataclasses.fields(python)
    try:
        file = inspect.getsourcefile(python) or "<unknown>"
        line = inspect.getsourcelines(python)[1]
    except (OSError, TypeError):
        file, line = "<unknown>", 1
    if name == "__eq__":
        same = " and ".join(f"self.{one.name} == other.{one.name}" for one in fields if one.compare)
        head = f"def __eq__(self, other: {python.__name__}) -> bool:"
        return Source(file, line, f"{head}\n    return {same or 'True'}\n"), {}
    names: dict[str, Any] = {}
    parameters, body = [], []
    for i, one in enumerate(fields):
        names[f"_type_{i}"] = one.type
        note = one.type if isinstance(one.type, str) else f"_type_{i}"
        if one.init:
            has_default = one.default is not dataclasses.MISSING
            parameters.append(f"{one.name}: {note}{' = None' if has_default else ''}")
            body.append(f"    self.{one.name}: {note} = {one.name}")
    if hasattr(python, "__post_init__"):
        body.append("    self.__post_init__()")
    head = f"def __init__({', '.join(['self', *parameters])}) -> None:"
    return Source(file, line, "\n".join([head, *(body or ["    pass"])]) + "\n"), names
