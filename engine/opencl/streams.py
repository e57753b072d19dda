"""PyTorch's streams and events for a device whose queue runs in order: every stream is that queue."""

from __future__ import annotations

from typing import Any

from engine import dtypes
from engine._native import lib
from engine._native.errors import raise_last
from engine.opencl import devices


class Event:
    """A point in the queue of a device. With `enable_timing` it has the time at which the device reached it."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        if interprocess:
            raise NotImplementedError("opencl.Event: events of other processes are not supported")
        self.enable_timing, self.blocking = enable_timing, blocking
        self.device: dtypes.device | None = None  # where it was recorded
        self._mark = 0

    def __del__(self, _release: Any = lib.uh_device_event_release) -> None:
        if getattr(self, "_mark", 0):
            _release(self._mark)

    def record(self, stream: Stream | None = None) -> None:
        """Mark the end of what has been enqueued; nothing is waited for."""
        device = (stream or current_stream()).device
        mark = lib.uh_device_mark(device.code) or raise_last()
        if self._mark:
            lib.uh_device_event_release(self._mark)
        self.device, self._mark = device, mark

    def synchronize(self) -> None:
        """Wait until the device has reached it. One that was not recorded is not waited for."""
        if self._mark and lib.uh_device_event_wait(self._mark):
            raise_last()

    def query(self) -> bool:
        """Return whether the device has reached it."""
        reached = lib.uh_device_event_reached(self._mark) if self._mark else 1
        return reached == 1 if reached >= 0 else raise_last()

    def wait(self, stream: Stream | None = None) -> None:
        """Make a stream continue after this event: its own device runs in order, for another's the host waits."""
        if self.device != (stream or current_stream()).device:
            self.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds of the device from this event to another.

        Raises: ValueError for events without times, or of two devices; RuntimeError before the device has reached
        them.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.device is None or end_event.device is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if self.device != end_event.device:
            raise ValueError(
                f"elapsed_time: the events are of {self.device} and {end_event.device}, which have their own clocks"
            )
        return (end_event._time() - self._time()) / 1e6

    def _time(self) -> int:
        if not self.query():
            raise RuntimeError(
                f"elapsed_time: {self.device} has not reached the event yet; call its synchronize() first"
            )
        time = int(lib.uh_device_event_time(self._mark))
        return time if time >= 0 else raise_last()


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
        """Return whether the device has run all that was enqueued."""
        idle = lib.uh_device_idle(self.device.code)
        return idle == 1 if idle >= 0 else raise_last()

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
