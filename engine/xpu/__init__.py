"""PyTorch's `torch.xpu` on a machine without Intel GPUs: nothing is available, counts are 0, seeds are ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from engine.absent_device import (
    device_count as device_count,
)
from engine.absent_device import (
    empty_cache as empty_cache,
)
from engine.absent_device import (
    is_available as is_available,
)
from engine.absent_device import (
    is_bf16_supported as is_bf16_supported,
)
from engine.absent_device import (
    is_initialized as is_initialized,
)
from engine.absent_device import (
    manual_seed as manual_seed,
)
from engine.absent_device import (
    manual_seed_all as manual_seed_all,
)
from engine.absent_device import (
    memory_allocated,
    needs_device,
)

max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def _needs_device(name: str) -> Callable[..., NoReturn]:
    return needs_device(name, AssertionError, "Torch not compiled with XPU enabled")


current_device = _needs_device("current_device")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
set_device = _needs_device("set_device")
synchronize = _needs_device("synchronize")
