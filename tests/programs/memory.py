"""Memory that `resize_` and `set_` add to a storage is filled with zeros, in either library.

It holds whatever was there before, so that any value in it, and all that follows from it, would differ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

GROWING = ("resize_", "resize_as_", "set_")


def fill_added_memory(lib: Any) -> None:
    """Makes the methods of `lib.Tensor` that can grow a storage fill what they add. Only once."""
    for name in GROWING:
        method = getattr(lib.Tensor, name)
        if not hasattr(method, "fills_added_memory"):
            setattr(lib.Tensor, name, _filling(lib, method))


def _filling(lib: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def grow(self: Any, *args: Any, **kwargs: Any) -> Any:
        source = args[0] if args and method.__name__ == "set_" else self
        storage = source.untyped_storage() if isinstance(source, lib.Tensor) else source
        before = storage.nbytes() if hasattr(storage, "nbytes") else 0
        result = method(self, *args, **kwargs)
        storage = self.untyped_storage()
        if storage.nbytes() > before:
            # Another tensor, with its own version counter: this counts as no write.
            lib.empty(0, dtype=lib.uint8).set_(storage)[before:].zero_()
        return result

    grow.fills_added_memory = True  # type: ignore[attr-defined]
    return grow
