"""Functions shared by the modules of absent devices (`engine.cuda`, `engine.mps`, ...): they return 0 or raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def is_available() -> bool:
    """Return False: there is no device of this kind.

    >>> is_available()
    False
    """
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


def needs_device(name: str, error: type[Exception], message: str) -> Callable[..., NoReturn]:
    """Return the function `name` of a device's module; calling it raises `error(message)`, as in PyTorch."""

    def call(*args: Any, **options: Any) -> NoReturn:
        raise error(message)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Raise {error.__name__}: this needs a device."
    return call
