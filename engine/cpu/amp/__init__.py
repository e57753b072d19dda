"""PyTorch's `torch.cpu.amp`: `engine.amp` for the CPU."""

from __future__ import annotations

import warnings
from typing import Any

from engine import amp
from engine.dtypes import bfloat16, dtype

__all__ = ["GradScaler", "autocast"]


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.cpu.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cpu', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """`engine.amp.autocast("cpu")`."""

    def __init__(
        self, enabled: bool = True, dtype: dtype = bfloat16, cache_enabled: bool = True
    ) -> None:
        _warn("autocast")
        super().__init__("cpu", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`engine.amp.GradScaler("cpu")`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _warn("GradScaler")
        super().__init__("cpu", *args, **options)
