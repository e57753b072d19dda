"""Hooks of optimizers, in order, each with a handle that removes it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from engine.nn.hooks import RemovableHandle


def register(hooks: OrderedDict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    """Register a hook as the last one, or as the first."""
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle
