"""PyTorch's `torch.accelerator` on a machine without one: nothing is available, the count is 0.

The functions that need a device raise PyTorch's RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from engine.absent_device import (
    device_count as device_count,
)
from engine.absent_device import (
    is_available as is_available,
)
from engine.absent_device import (
    needs_device,
)

if TYPE_CHECKING:
    from engine.dtypes import device


def current_accelerator(check_available: bool = False) -> device | None:
    """Return the device of the accelerator: None, as there is none."""
    return None


def _needs_device(name: str) -> Callable[..., NoReturn]:
    return needs_device(
        name, RuntimeError, "Cannot access accelerator device when none is available."
    )


current_device_idx = _needs_device("current_device_idx")
current_device_index = _needs_device("current_device_index")
current_stream = _needs_device("current_stream")
empty_cache = _needs_device("empty_cache")
max_memory_allocated = _needs_device("max_memory_allocated")
max_memory_reserved = _needs_device("max_memory_reserved")
memory_allocated = _needs_device("memory_allocated")
memory_reserved = _needs_device("memory_reserved")
memory_stats = _needs_device("memory_stats")
reset_peak_memory_stats = _needs_device("reset_peak_memory_stats")
set_device_idx = _needs_device("set_device_idx")
set_device_index = _needs_device("set_device_index")
set_stream = _needs_device("set_stream")
synchronize = _needs_device("synchronize")
