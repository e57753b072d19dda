"""PyTorch's `torch.cpu`: the CPU under the names that accelerators have."""

from __future__ import annotations

from typing import Any

from engine.cpu import amp as amp


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return True."""
    return True


def device_count() -> int:
    """Return 1: all cores are one device."""
    return 1


def current_device() -> str:
    """Return "cpu"."""
    return "cpu"


def set_device(device: Any) -> None:
    """Select the current device: there is only one, so this does nothing."""


def synchronize(device: Any = None) -> None:
    """Wait for the device: every call has finished when it returns, so this does nothing."""


class Stream:
    """A queue of work; on the CPU every call finishes before it returns, so there is nothing to queue."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Stream) -> None:
        """Wait for the work of another stream, which has finished."""


_stream = Stream()


def current_stream(device: Any = None) -> Stream:
    """Return the stream of the device."""
    return _stream
