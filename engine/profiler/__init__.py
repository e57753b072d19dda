"""PyTorch's `torch.profiler` over the recorder: which operators run, for how long, and what they allocate.

A `profile` records its block as `underhood record` records a program, into a file that is deleted when it has been
read. Every operator is measured, whichever thread it runs on. Recording itself costs time: compare the entries
with each other, not with an unrecorded run.
"""

from __future__ import annotations

import enum
import functools
import gzip
import json
import os
import socket
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from engine import regions
from engine._native import lib
from engine.absent_names import getattr_of
from engine.inspect.recorder import record
from engine.profiler.averages import EventList, as_chrome_trace
from engine.profiler.spans import UserSpan, nested, read_spans

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
__getattr__ = getattr_of("profiler")


class ProfilerActivity(enum.Enum):
    """Kinds of devices to profile. Only the CPU is profiled; the others are ignored."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3


class ProfilerAction(enum.Enum):
    """The action of a profile in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """Return what can be profiled: the CPU."""
    return {ProfilerActivity.CPU}


def kineto_available() -> bool:
    """Return False: the engine's recorder profiles."""
    return False


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Return the function from a step to its action: cycles of `wait`, `warmup` and `active` steps.

    `repeat` 0 cycles until the end. `skip_first` steps come before the first cycle, which does not wait if
    `skip_first_wait` is not 0.

    >>> [schedule(wait=1, warmup=1, active=1)(step).name for step in range(3)]
    ['NONE', 'WARMUP', 'RECORD_AND_SAVE']
    """

    counts = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
    if min(counts.values()) < 0 or active <= 0:
        raise AssertionError(
            f"schedule: expected active > 0 and no negative number, got {active=}, {counts}"
        )

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        cycle, position = divmod(step, wait + warmup + active)
        if (repeat and cycle >= repeat) or position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        is_last = position == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD

    return action


_blocks: list[UserSpan] | None = None  # of the profile that is recording
_main_thread = 0


class record_function:
    """A named block, or a decorated function, that a profile shows as a span."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args

    def __enter__(self) -> record_function:
        self._region = regions.begin(self.name)
        self._start = time.monotonic_ns()
        return self

    def __exit__(self, *exception: object) -> None:
        regions.end(self._region)
        if _blocks is not None:
            is_main = threading.get_ident() == _main_thread
            _blocks.append(UserSpan(self.name, is_main, self._start, time.monotonic_ns()))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return inside


class profile:
    """Profiles the operators of a block, or of the steps that a `schedule` chooses.

    `on_trace_ready(self)` is called whenever a recording is complete. `record_shapes` keeps the sizes of arguments,
    `profile_memory` adds columns of memory. `with_stack`, `with_flops` and `with_modules` are accepted and add
    nothing. In a process that is recorded already a profile has the record_function blocks
    only, and says so: the recording has the operators, and shows the profile and its blocks as regions.
    Raises: RuntimeError while another profile runs.
    """

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        **unused: Any,
    ) -> None:
        self._schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.step_num = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._recording: record | None = None
        self._is_running = False
        self._region = 0  # in the recording of a process that is recorded already
        self._events: EventList | None = None

    # ---- what is recorded

    @property
    def _action(self) -> ProfilerAction:
        return self._schedule(self.step_num) if self._schedule else ProfilerAction.RECORD

    def _begin(self) -> None:
        global _blocks, _main_thread
        if _blocks is not None:
            raise RuntimeError("Profiler is already enabled on this thread")
        if lib.uh_recording():
            warnings.warn(
                "profile: this process is being recorded already, so the profile has the record_function blocks "
                "only; the recording has the operators",
                stacklevel=4,
            )
            self._region = regions.begin("profile")
        else:
            self._folder = tempfile.TemporaryDirectory(prefix="underhood-profile-")
            path = Path(self._folder.name) / "profile.uht"
            self._recording = record(path, values=False, lines=False)
            self._recording.__enter__()
        self._is_running = True
        _blocks, _main_thread = [], threading.get_ident()

    def _end(self) -> None:
        global _blocks
        blocks, _blocks = _blocks or [], None
        self._is_running = False
        if self._recording is None or self._folder is None:
            regions.end(self._region)
            spans = nested([block.event() for block in blocks])
        else:
            self._recording.__exit__(None, None, None)
            spans = read_spans(str(self._recording.path), blocks, self.record_shapes)
            self._folder.cleanup()
            self._recording = self._folder = None
        self._events = EventList(spans, self.profile_memory)
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def start(self) -> None:
        """Begin to profile, if the schedule says so for the first step."""
        if self._action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._begin()

    def stop(self) -> None:
        """End the profile."""
        if self._is_running:
            self._end()

    def step(self) -> None:
        """Continue with the next step of the schedule."""
        is_saved = self._action is ProfilerAction.RECORD_AND_SAVE
        self.step_num += 1
        is_recorded = self._action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if self._is_running and (is_saved or not is_recorded):
            self._end()
        if not self._is_running and is_recorded:
            self._begin()

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    # ---- what it was

    def events(self) -> EventList:
        """Return the spans of the last recording. Raises: AssertionError before there is one."""
        if self._events is None:
            raise AssertionError("the profile has recorded nothing yet")
        return self._events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """Return the averages over the spans of each name."""
        return self.events().key_averages(group_by_input_shape)

    def export_chrome_trace(self, path: Any) -> None:
        """Write the spans as JSON for chrome://tracing and Perfetto; compressed if the name ends in .gz."""
        text = json.dumps(as_chrome_trace(self.events()))
        if str(path).endswith(".gz"):
            with gzip.open(path, "wt", encoding="utf-8") as file:
                file.write(text)
        else:
            Path(path).write_text(text, encoding="utf-8")


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[profile], None]:
    """Return a function for `on_trace_ready` that writes a Chrome trace into a folder.

    `use_python_export` has no effect: Python writes the file.
    """
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handler(profile: profile) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        suffix = ".gz" if use_gzip else ""
        name = f"{worker}.{time.time_ns() // 1_000_000}.pt.trace.json{suffix}"
        profile.export_chrome_trace(folder / name)

    return handler
