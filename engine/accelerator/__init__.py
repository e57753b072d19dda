"""PyTorch's `torch.accelerator`: the OpenCL devices under a name that every device has.

The driver is looked for when one of these functions is called. Without a device the functions that need one
raise PyTorch's RuntimeError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import dtypes, opencl
from engine.opencl import device_count as device_count
from engine.opencl import is_available as is_available


class AcceleratorError(RuntimeError):
    """PyTorch's class for errors of a device. Those of an OpenCL device are RuntimeErrors of the operator."""


def current_accelerator(check_available: bool = False) -> dtypes.device | None:
    """Return the device of the accelerator without an index; None if there is none."""
    return dtypes.device("opencl") if is_available() else None


def device_of(device: Any = None) -> dtypes.device:
    """Return a device of the accelerator: the current one by default. Raises: RuntimeError if there is none."""
    if not is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return dtypes.device("opencl", opencl.devices.index_of(device))


def _of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `engine.opencl` that refuses in the accelerator's words."""

    def call(*args: Any, **options: Any) -> Any:
        device_of()
        return function(*args, **options)

    call.__name__ = call.__qualname__ = function.__name__
    call.__doc__ = function.__doc__
    return call


current_device_index = current_device_idx = _of(opencl.current_device)
set_device_index = set_device_idx = _of(opencl.set_device)
synchronize = _of(opencl.synchronize)
empty_cache = _of(opencl.empty_cache)
memory_allocated = _of(opencl.memory_allocated)
memory_reserved = _of(opencl.memory_reserved)
memory_stats = _of(opencl.memory_stats)
max_memory_allocated = _of(opencl.max_memory_allocated)
reset_peak_memory_stats = _of(opencl.reset_peak_memory_stats)
