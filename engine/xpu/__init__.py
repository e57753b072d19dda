"""PyTorch's `torch.xpu` on a machine without Intel GPUs: nothing is available, counts are 0, seeds are ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_available() -> bool:
    """Return False: there is no XPU device."""
    return False


def is_initialized() -> bool:
    """Return False: nothing starts the driver."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Return False: no device supports it."""
    return False


def manual_seed(seed: int) -> None:
    """Seed the generator of the current device: there is none, so this does nothing."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices: there are none, so this does nothing."""
    int(seed)


def empty_cache() -> None:
    """Release unused memory of the devices: there is none."""


def memory_allocated(device: Any = None) -> int:
    """Return 0: no memory of a device is in use."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def _needs_device(name: str) -> Callable[..., NoReturn]:
    def call(*args: Any, **options: Any) -> NoReturn:
        raise AssertionError("Torch not compiled with XPU enabled")

    call.__name__ = call.__qualname__ = name
    call.__doc__ = "Raise AssertionError: this needs an XPU device."
    return call


current_device = _needs_device("current_device")
get_device_name = _needs_device("get_device_name")
get_device_properties = _needs_device("get_device_properties")
set_device = _needs_device("set_device")
synchronize = _needs_device("synchronize")
