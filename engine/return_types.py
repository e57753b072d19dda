"""Named tuples of operators with several results, such as `engine.return_types.max`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from engine._native.namespace import namespace

_structures: dict[str, Any] = {}


def structure(name: str, fields: tuple[str, ...]) -> Any:
    """Return the named tuple of an operator's results: one class for all its overloads."""
    if name not in _structures:
        structure = namedtuple(name, fields)  # type: ignore[misc]
        structure.__repr__ = _repr  # type: ignore[method-assign]
        structure.__module__ = f"{namespace()}.return_types"
        structure.__doc__ = f"What `{name}` returns: {', '.join(fields)}."
        _structures[name] = structure
        globals()[name] = structure
    return _structures[name]


def _repr(self: Any) -> str:
    inner = ",\n".join(f"{f}={getattr(self, f)!r}" for f in self._fields)
    return f"{type(self).__module__}.{type(self).__name__}(\n{inner})"
