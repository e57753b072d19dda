"""Named tuples of operators with several results, such as `engine.return_types.max`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

_made: dict[str, Any] = {}


def structure(name: str, fields: tuple[str, ...]) -> Any:
    """The named tuple of one operator's results; the same class for all its overloads."""
    if name not in _made:
        made = namedtuple(name, fields)  # type: ignore[misc]
        made.__repr__ = _shown  # type: ignore[method-assign]
        made.__module__ = "engine.return_types"
        made.__doc__ = f"What `{name}` returns: {', '.join(fields)}."
        _made[name] = made
        globals()[name] = made
    return _made[name]


def _shown(self: Any) -> str:
    inner = ",\n".join(f"{f}={getattr(self, f)!r}" for f in self._fields)
    return f"engine.return_types.{type(self).__name__}(\n{inner})"
