"""skip_init: creation of a module with uninitialised parameters."""

from __future__ import annotations

from typing import Any

from engine.nn.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Any:
    """Create a module without initialising its parameters, which must be loaded or set.

    Raises: RuntimeError if the class is not a Module's.
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=device)
