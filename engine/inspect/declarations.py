"""The origin of an operator: its entry in csrc/ops/*.yaml, and the code generated from it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

from engine.inspect.events import full_op


@dataclass(frozen=True, slots=True)
class GeneratedCode:
    """One piece of code that the generator wrote from the entry."""

    name: str  # "dispatcher entry", "kernel", "C function", "Python function", "public names"
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """The entry and its results. `path` "" : this engine does not declare the operator.

    An operator of a library has no entry: `path` and `line` are those of its registration.
    """

    path: str = ""
    line: int = 0
    entry: tuple[str, ...] = ()
    generated: tuple[GeneratedCode, ...] = ()
    library: str = ""  # the shared object that registered it


UNKNOWN = Origin()


def has_tag(name: str, tag: str) -> bool:
    """Return whether the declaration of the operator with this full name has a tag."""
    tags = _module("tags")
    return tags is not None and tag in tags.TAGS.get(name, ())


def may_be_view(schema: str) -> bool:
    """Return whether a result of the operator with this schema is, or may be, a view of an argument."""
    is_view = "(a)" in schema.partition(" -> ")[2]
    return is_view or has_tag(full_op(schema), "maybe_aliasing_or_mutating")


def gradient_of(name: str) -> tuple[tuple[str, str], ...]:
    """Return (arguments, formula) of each gradient formula that the entry of an operator declares."""
    declared = _module("declarations")
    return () if declared is None else declared.GRADIENTS.get(name, ())


@lru_cache(maxsize=256)
def origin(name: str) -> Origin:
    """Return the origin of the operator of this full name."""
    entries, operators = _declarations()
    if name not in operators:
        return UNKNOWN
    family, line, parts = operators[name]
    entry = entries.get((family, line), "")
    generated = (GeneratedCode(part, tuple(text.splitlines())) for part, text in parts.items())
    return Origin(f"csrc/ops/{family}.yaml", line, _own_lines(entry), tuple(generated))


def origin_of_library(location: str, library: str) -> Origin:
    """Return the origin of an operator that a library registered at a location such as "lltm.cpp:12"."""
    path, _, line = location.rpartition(":")
    return Origin(path, int(line), library=library) if line.isdecimal() else Origin(location)


def _own_lines(entry: str) -> tuple[str, ...]:
    """Return the entry without the heading of the next section, which follows it in the file."""
    lines = entry.rstrip().splitlines()
    while lines and (not lines[-1].strip() or lines[-1].startswith("#")):
        lines.pop()
    return tuple(lines)


def _declarations() -> tuple[dict[Any, str], dict[str, Any]]:
    """Return ENTRIES and OPERATORS; empty where the engine was built without them."""
    declared = _module("declarations")
    return ({}, {}) if declared is None else (declared.ENTRIES, declared.OPERATORS)


def _module(name: str) -> Any:
    try:
        return import_module(f"engine._generated.{name}")
    except ImportError:
        return None
