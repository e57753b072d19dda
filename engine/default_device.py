"""The device of new tensors: `set_default_device`, and `with engine.device("meta"):`.

Factories look it up only after the first of these calls, so other programs pay nothing.
"""

from __future__ import annotations

import threading
from typing import Any

from engine import creation
from engine._generated import ops
from engine.dtypes import CPU, as_device, device


class _Devices(threading.local):
    """The default device of a thread, and the devices of its enclosing `with` blocks."""

    def __init__(self) -> None:
        self.default: device | None = None
        self.blocks: list[device] = []


_devices = _Devices()


def get_default_device() -> device:
    """Return the device on which factories create tensors.

    >>> get_default_device()
    device(type='cpu')
    """
    if _devices.blocks:
        return _devices.blocks[-1]
    return _devices.default or CPU


def set_default_device(device: Any) -> None:
    """Make factories create tensors on a device, in this thread; None is the CPU.

    Only factories without `device=` follow it; `from_numpy`, `*_like` and `new_*` do not.
    """
    _devices.default = None if device is None else as_device(device, "set_default_device")
    if _devices.default is not None:
        _install()


def enter(device: device) -> None:
    """Start a block in which factories create tensors on `device`."""
    _install()
    _devices.blocks.append(device)


def leave() -> None:
    """End the last block."""
    _devices.blocks.pop()


_installed = False


def _install() -> None:
    """Make the factories look up the default device."""
    global _installed
    if _installed:
        return
    _installed = True
    for name in ops.FACTORIES:
        setattr(ops, name, _following(getattr(ops, name)))
    creation.default_device = get_default_device


def _following(factory: Any) -> Any:
    def create(*args: Any, device: Any = None, **options: Any) -> Any:
        return factory(*args, device=get_default_device() if device is None else device, **options)

    create.__name__ = create.__qualname__ = factory.__name__
    create.__doc__ = factory.__doc__
    return create
