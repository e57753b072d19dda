"""What a training script needs besides tensors: `data` (data sets, DataLoader) and `checkpoint`.

Both are imported when they are first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_LAZY = ("checkpoint", "data")

if TYPE_CHECKING:
    from engine.utils import checkpoint, data  # noqa: F401


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'engine.utils' has no attribute {name!r}")
    return importlib.import_module(f"engine.utils.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
