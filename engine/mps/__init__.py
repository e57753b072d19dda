"""PyTorch's `torch.mps` on a machine without Apple GPUs: nothing is available, seeds are ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_available() -> bool:
    """Return False: there is no MPS device."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the device: there is none, so this does nothing."""
    int(seed)


def seed() -> None:
    """Seed the generator of the device: there is none, so this does nothing."""


def _needs_device(name: str, operation: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **options: Any) -> NoReturn:
        raise RuntimeError(f"Cannot execute {operation}() without MPS backend.")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Raise RuntimeError: this needs an MPS device."
    return call


empty_cache = _needs_device("empty_cache", "emptyCache")
synchronize = _needs_device("synchronize", "deviceSynchronize")
current_allocated_memory = _needs_device("current_allocated_memory", "getCurrentAllocatedMemory")
driver_allocated_memory = _needs_device("driver_allocated_memory", "getDriverAllocatedMemory")
