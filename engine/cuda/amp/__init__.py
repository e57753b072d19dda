"""PyTorch's `torch.cuda.amp`: `engine.amp` for CUDA."""

from __future__ import annotations

import warnings
from typing import Any

from engine import amp
from engine.amp import custom_bwd, custom_fwd
from engine.dtypes import dtype, float16

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def _warn(name: str) -> None:
    warnings.warn(
        f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
        FutureWarning,
        stacklevel=3,
    )


class autocast(amp.autocast):
    """`engine.amp.autocast("cuda")`."""

    def __init__(
        self, enabled: bool = True, dtype: dtype = float16, cache_enabled: bool = True
    ) -> None:
        _warn("autocast")
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(amp.GradScaler):
    """`engine.amp.GradScaler("cuda")`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        _warn("GradScaler")
        super().__init__("cuda", *args, **options)
