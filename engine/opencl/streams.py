"""PyTorch's streams and events for a device whose queue runs in order: every stream is that queue."""

from __future__ import annotations

import time
from typing import Any

from engine import dtypes
from engine.opencl import devices


class Event:
    """A point in the queue of a device. With `enable_timing`, `record` waits for it and reads the clock."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        if interprocess:
            raise NotImplementedError("opencl.Event: events of other processes are not supported")
        self.enable_timing, self.blocking = enable_timing, blocking
        self._device: dtypes.device | None = None
        self._time = 0.0

    def record(self, stream: Stream | None = None) -> None:
        """Mark the end of what has been enqueued."""
        self._device = (stream or current_stream()).device
        if self.enable_timing:
            devices.synchronize(self._device)
            self._time = time.perf_counter()

    def synchronize(self) -> None:
        """Wait for what was enqueued before `record`, and for what followed: the queue has one end."""
        if self._device is not None:
            devices.synchronize(self._device)

    def query(self) -> bool:
        """Return True, after waiting for the device."""
        self.synchronize()
        return True

    def wait(self, stream: Stream | None = None) -> None:
        """Make a stream continue after this event: its own device runs in order, others are waited for."""
        if self._device != (stream or current_stream()).device:
            self.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another. Raises: RuntimeError for events without times."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._device is None or end_event._device is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._time - self._time) * 1e3


class Stream:
    """The queue of a device under PyTorch's name: what is enqueued on any stream runs in order."""

    cuda_stream = stream_id = 0
    priority = 0

    def __init__(self, device: Any = None, priority: int = 0) -> None:
        self.device = dtypes.device("opencl", devices.index_of(device))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"<engine.opencl.Stream device={self.device}>"

    def synchronize(self) -> None:
        """Wait until the device has run all that was enqueued."""
        devices.synchronize(self.device)

    def query(self) -> bool:
        """Return True, after waiting for the device."""
        self.synchronize()
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one by default, and return it."""
        recorded = event or Event()
        recorded.record(self)
        return recorded

    def wait_event(self, event: Event) -> None:
        """Make what follows here run after the event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make what follows here run after what another stream has been given."""
        if stream != self:
            stream.synchronize()


class StreamContext:
    """A context in which a stream, and so its device, is the current one; None changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream
        self._device = devices.device(stream.device if stream else None)

    def __enter__(self) -> None:
        self._device.__enter__()

    def __exit__(self, *exception: object) -> None:
        self._device.__exit__(*exception)


def stream(stream: Stream | None) -> StreamContext:
    """Return a context in which a stream is the current one."""
    return StreamContext(stream)


def current_stream(device: Any = None) -> Stream:
    """Return the stream of a device: there is one."""
    return Stream(device)


def default_stream(device: Any = None) -> Stream:
    """Return the stream of a device: there is one."""
    return Stream(device)


def set_stream(stream: Stream) -> None:
    """Make a stream, and so its device, the current one."""
    devices.set_device(stream.device)
