"""The parts of a profile: spans of operators, backward Nodes and record_function blocks, nested by time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.inspect.events import qualified_op
from engine.inspect.history import History
from engine.inspect.trace import TraceReader


@dataclass(eq=False)
class FunctionEvent:
    """One span. Times are in microseconds, memory in bytes that it allocated less those that it freed."""

    name: str
    thread: int
    start: float
    end: float
    is_user_annotation: bool = False
    input_shapes: list[list[int]] = field(default_factory=list)
    cpu_memory_usage: int = 0
    cpu_children: list[FunctionEvent] = field(default_factory=list)
    cpu_parent: FunctionEvent | None = None
    count: int = 1

    @property
    def key(self) -> str:
        """The name, by which averages are taken."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """The time with that of the spans inside."""
        return self.end - self.start

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """The time without that of the spans inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """The memory without that of the spans inside."""
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)


@dataclass(frozen=True)
class UserSpan:
    """A record_function block: its name, thread, and times in nanoseconds of CLOCK_MONOTONIC."""

    name: str
    is_main: bool
    start: int
    end: int

    def event(self, main_thread: int = 1) -> FunctionEvent:
        """Return the block as a span."""
        thread = main_thread if self.is_main else 0
        return FunctionEvent(self.name, thread, self.start / 1000, self.end / 1000, True)


def read_spans(path: str, blocks: list[UserSpan], shapes: bool) -> list[FunctionEvent]:
    """Return the spans of a recording and the blocks of the program, by their beginning."""
    with_history = History(TraceReader.open(path))
    spans = list(_recorded_spans(with_history, shapes))
    times = with_history.tables.events["t"]
    main = int(with_history.tables.events["thread"][0]) if with_history.end else 1
    allocated = _allocated(with_history)
    for block in blocks:
        event = block.event(main)
        first, last = np.searchsorted(times, (block.start, block.end))
        event.cpu_memory_usage = int(allocated[last] - allocated[first])
        spans.append(event)
    return nested(spans)


def _recorded_spans(history: History, shapes: bool) -> Iterator[FunctionEvent]:
    times = history.tables.events["t"]
    threads = history.tables.events["thread"]
    allocated = _allocated(history)
    calls, nodes = history.tables.calls, history.autograd.tables
    names = {
        int(node): int(name) for node, name in zip(nodes.nodes.id, nodes.nodes.name, strict=True)
    }
    last = history.end - 1

    def span(name: str, since: int, until: int) -> FunctionEvent:
        until = min(until, last)
        return FunctionEvent(
            name,
            int(threads[since]),
            int(times[since]) / 1000,
            int(times[until]) / 1000,
            cpu_memory_usage=int(allocated[until + 1] - allocated[since]),
        )

    for row, (since, until) in enumerate(zip(calls.since, calls.until, strict=True)):
        schema = history.string(int(calls.op[row]))
        event = span(qualified_op(schema), int(since), int(until))
        if shapes:
            event.input_shapes = _shapes(history, int(calls.id[row]), int(since))
        yield event
    exits = {
        (int(run), int(node)): int(moment)
        for run, node, moment in zip(
            nodes.exits.run, nodes.exits.node, nodes.exits.since, strict=True
        )
    }
    for run, node, since in zip(
        nodes.enters.run, nodes.enters.node, nodes.enters.since, strict=True
    ):
        name = history.string(names[int(node)]) if int(node) in names else "Node"
        label = f"autograd::engine::evaluate_function: {name}"
        yield span(label, int(since), exits.get((int(run), int(node)), last))


def _shapes(history: History, call: int, moment: int) -> list[list[int]]:
    """Return the sizes of each argument: [] for what is not a tensor."""
    fact = history._call(call)
    shapes: list[list[int]] = []
    for argument in fact.args if fact is not None else ():
        tensor = history.tensor(argument.value, moment) if argument.kind == "tensor" else None
        shapes.append(list(tensor.sizes) if tensor is not None else [])
    return shapes


def _allocated(history: History) -> Any:
    """Return the bytes that were allocated less those that were freed, before each event and at the end."""
    change = np.zeros(history.end + 1, np.int64)
    for kind, sign in (("ALLOCATE", 1), ("FREE", -1)):
        moments, columns = history.tables.of(kind)
        np.add.at(change, moments + 1, sign * columns["bytes"].astype(np.int64))
    return np.cumsum(change)


def nested(spans: list[FunctionEvent]) -> list[FunctionEvent]:
    """Find the parent of each span: the innermost one of its thread that encloses it."""
    spans.sort(key=lambda s: (s.start, -s.end, not s.is_user_annotation))
    open_spans: dict[int, list[FunctionEvent]] = {}
    for span in spans:
        stack = open_spans.setdefault(span.thread, [])
        while stack and stack[-1].end < span.end:
            stack.pop()
        if stack:
            span.cpu_parent = stack[-1]
            stack[-1].cpu_children.append(span)
        stack.append(span)
    return spans
