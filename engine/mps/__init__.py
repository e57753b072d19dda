"""PyTorch's `torch.mps` on a machine without Apple GPUs: nothing is available, seeds are ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from engine.absent_device import (
    device_count as device_count,
)
from engine.absent_device import (
    is_available as is_available,
)
from engine.absent_device import (
    manual_seed as manual_seed,
)
from engine.absent_device import (
    needs_device,
)


def seed() -> None:
    """Seed the generator of the device: there is none, so this does nothing."""


def _needs_device(name: str, operation: str) -> Callable[..., NoReturn]:
    return needs_device(name, RuntimeError, f"Cannot execute {operation}() without MPS backend.")


empty_cache = _needs_device("empty_cache", "emptyCache")
synchronize = _needs_device("synchronize", "deviceSynchronize")
current_allocated_memory = _needs_device("current_allocated_memory", "getCurrentAllocatedMemory")
driver_allocated_memory = _needs_device("driver_allocated_memory", "getDriverAllocatedMemory")
