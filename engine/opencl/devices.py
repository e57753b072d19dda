"""The OpenCL devices: how many there are, what they are called, which is the current one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import dtypes
from engine._generated import codes
from engine._native import ffi, lib
from engine._native.errors import raise_last

TYPE = codes.DEVICES.index("opencl")


def device_count() -> int:
    """Return the number of devices: 0 without a driver. GPUs are counted before CPUs."""
    return int(lib.uh_device_count(TYPE))


def is_available() -> bool:
    """Return whether there is a device, after looking for a driver."""
    return device_count() > 0


def init() -> None:
    """Look for the driver now. Raises: RuntimeError that says what is missing, if there is no device."""
    if not is_available():
        raise RuntimeError(f"opencl: {ffi.string(lib.uh_device_absence(TYPE)).decode()}")


def index_of(device: Any) -> int:
    """Return the index of a device: an int, a name or a `device`; None and "opencl" are the current one.

    Raises: ValueError for another type of device, RuntimeError if there is no such device.
    """
    init()
    if isinstance(device, str):
        device = dtypes.device(device)
    if isinstance(device, dtypes.device):
        if device.type != "opencl":
            raise ValueError(f"Expected a opencl device, but got: {device}")
        device = device.index
    if device is None:
        return current_device()
    if not isinstance(device, int) or isinstance(device, bool):
        raise TypeError(
            f"opencl: expected a device, its name or its index, got {type(device).__name__} {device!r}"
        )
    count = device_count()
    if not 0 <= device < count:
        raise RuntimeError(
            f"opencl: there is no device {device}; the number of opencl devices is {count}"
        )
    return device


def code_of(device: Any) -> int:
    """Return the number of a device in the C ABI."""
    return dtypes.device("opencl", index_of(device)).code


def current_device() -> int:
    """Return the index of the device that "opencl" without an index means in this thread."""
    init()
    return dtypes.current_devices.index.get("opencl", 0)


def set_device(device: Any) -> None:
    """Make a device the one that "opencl" without an index means in this thread.

    A negative index changes nothing, as in PyTorch.
    """
    if not isinstance(device, int) or device >= 0:
        dtypes.current_devices.index["opencl"] = index_of(device)


class device:
    """A context in which another device is the current one: `with opencl.device(1):`; None changes nothing."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None or device == -1 else index_of(device)
        self._before = -1

    def __enter__(self) -> None:
        self._before = current_device()
        set_device(self.idx)

    def __exit__(self, *exception: object) -> None:
        set_device(self._before)


def get_device_name(device: Any = None) -> str:
    """Return the name that its driver gives a device."""
    title = ffi.string(lib.uh_device_title(code_of(device))).decode("utf-8", "replace")
    return title or raise_last()


@dataclass(frozen=True)
class DeviceProperties:
    """The name and the memory of a device, as its driver reports them."""

    name: str
    total_memory: int  # bytes
    major: int = 0  # of `get_device_capability`
    minor: int = 0


def get_device_properties(device: Any = None) -> DeviceProperties:
    """Return the name and the memory of a device."""
    from engine.opencl.memory import statistics

    return DeviceProperties(get_device_name(device), statistics(device).total)


def synchronize(device: Any = None) -> None:
    """Wait until a device has run all that was enqueued.

    Raises: RuntimeError if a command has failed; the message names its operator.
    """
    if lib.uh_device_synchronize(code_of(device)):
        raise_last()
