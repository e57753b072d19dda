"""Tensors of other libraries over DLPack."""

from __future__ import annotations

from typing import Any

from engine.dlpack import from_dlpack
from engine.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """Return a DLPack capsule that shares the tensor's memory."""
    return tensor.__dlpack__()
