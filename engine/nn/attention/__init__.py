"""The choice of an implementation of scaled_dot_product_attention, without effect: the engine has one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The implementations that PyTorch has."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: list[SDPBackend] | SDPBackend, set_priority: bool = False
) -> Iterator[dict[Any, Any]]:
    """Accept a choice of implementations for the block, without effect: the engine's only one computes the same
    values.

    Raises: AssertionError for other objects than SDPBackend values.

    >>> with sdpa_kernel(SDPBackend.MATH): pass
    """
    requested = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(requested, list) or not all(isinstance(x, SDPBackend) for x in requested):
        raise AssertionError(f"sdpa_kernel: expected SDPBackend values, got {backends!r}")
    yield {}
