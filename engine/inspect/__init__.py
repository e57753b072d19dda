"""Inspection of the engine's work: record a run, read its trace, query its history."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "History": "engine.inspect.history",
    "record": "engine.inspect.recorder",
    "record_program": "engine.inspect.recorder",
    "step": "engine.inspect.chosen_steps",
    "TraceReader": "engine.inspect.trace",
    "TraceError": "engine.inspect.trace",
    "Selection": "engine.inspect.selection",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    """Import on first use: NumPy and SQLite cost time that `import engine` must not spend."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
