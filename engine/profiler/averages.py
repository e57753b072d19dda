"""Averages over spans of one name, and their table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from engine.profiler.spans import FunctionEvent

_UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}
_COLUMNS = 12  # the width of a column of numbers


@dataclass(eq=False)
class FunctionEventAvg:
    """The spans of one name (and of one list of shapes): sums over their number, `count`."""

    key: str
    input_shapes: list[list[int]] = field(default_factory=list)
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    is_user_annotation: bool = False

    def add(self, event: Any) -> FunctionEventAvg:
        """Add a span, or the sums over several."""
        self.count += event.count
        # A span inside one of the same name is part of it.
        if getattr(event, "cpu_parent", None) is None or event.cpu_parent.key != event.key:
            self.cpu_time_total += event.cpu_time_total
            self.cpu_memory_usage += event.cpu_memory_usage
        self.self_cpu_time_total += event.self_cpu_time_total
        self.self_cpu_memory_usage += event.self_cpu_memory_usage
        self.is_user_annotation = event.is_user_annotation
        return self

    @property
    def cpu_time(self) -> float:
        """The mean time of a span, in microseconds."""
        return self.cpu_time_total / self.count if self.count else 0.0

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={time_text(self.self_cpu_time_total)} "
            f"cpu_time={time_text(self.cpu_time)} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list[Any]):
    """Spans, or averages over them."""

    def __init__(self, items: Iterable[Any] = (), profile_memory: bool = False) -> None:
        super().__init__(items)
        self._profile_memory = profile_memory

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shape: bool = False) -> EventList:
        """Return the averages over the spans of each name, or of each name and shapes."""
        averages: dict[tuple[str, str], FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            key = event.key, str(shapes)
            averages.setdefault(key, FunctionEventAvg(event.key, shapes)).add(event)
        return EventList(averages.values(), self._profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """Return the sums over all."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int = 75,
        max_name_column_width: int = 55,
        max_shapes_column_width: int = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """Return a table with a row for each entry, by the greatest attribute `sort_by` first."""
        entries = [
            e for e in self if not top_level_events_only or getattr(e, "cpu_parent", None) is None
        ]
        if sort_by is not None:
            if entries and not hasattr(entries[0], sort_by):
                raise AttributeError(f"cannot sort by {sort_by!r}: an entry has no such attribute")
            entries.sort(key=lambda entry: getattr(entry, sort_by), reverse=True)
        total = self.self_cpu_time_total
        heads = ["Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        heads += ["CPU Mem", "Self CPU Mem"] if self._profile_memory else []
        heads += ["# of Calls"]
        rows = [[_cut("Name", max_name_column_width), *heads]]
        has_shapes = any(entry.input_shapes for entry in entries)
        rows[0] += ["Input Shapes"] if has_shapes else []
        for entry in entries[: row_limit if row_limit >= 0 else None]:
            row = [
                _cut(entry.key, max_name_column_width),
                _percent(entry.self_cpu_time_total, total),
                time_text(entry.self_cpu_time_total, time_unit),
                _percent(entry.cpu_time_total, total),
                time_text(entry.cpu_time_total, time_unit),
                time_text(entry.cpu_time, time_unit),
            ]
            if self._profile_memory:
                row += map(memory_text, (entry.cpu_memory_usage, entry.self_cpu_memory_usage))
            row.append(str(entry.count))
            row += [_cut(str(entry.input_shapes), max_shapes_column_width)] if has_shapes else []
            rows.append(row)
        widths = [
            max(_COLUMNS if i else 0, *(len(row[i]) for row in rows)) for i in range(len(rows[0]))
        ]
        rule = "  ".join("-" * width for width in widths)
        lines = [
            "  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows
        ]
        if header is not None:
            lines[:0] = ["=" * len(rule), header]
        end = f"Self CPU time total: {time_text(total, time_unit)}"
        return "\n".join([rule, lines[0], rule, *lines[1:], rule, end, ""])


def time_text(microseconds: float, unit: str | None = None) -> str:
    """Return a time in the largest unit that gives at least 1.

    >>> time_text(1234.5)
    '1.234ms'
    """
    if unit is None:
        unit = "s" if microseconds >= 1e6 else "ms" if microseconds >= 1e3 else "us"
    return f"{microseconds / _UNITS[unit]:.3f}{unit}"


def memory_text(size: int) -> str:
    """Return a number of bytes, negative for memory that was freed.

    >>> memory_text(-2048)
    '-2.00 KB'
    """
    for unit, bytes_of_unit in (("GB", 2**30), ("MB", 2**20), ("KB", 2**10)):
        if abs(size) >= bytes_of_unit:
            return f"{size / bytes_of_unit:.2f} {unit}"
    return f"{size} B"


def _percent(part: float, total: float) -> str:
    return f"{100 * part / total:.2f}%" if total else "NaN"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def as_chrome_trace(events: Iterable[FunctionEvent]) -> dict[str, Any]:
    """Return the spans in the Trace Event Format of Chrome and Perfetto."""
    return {
        "displayTimeUnit": "ms",
        "traceEvents": [
            {
                "ph": "X",
                "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
                "name": event.name,
                "pid": 1,
                "tid": event.thread,
                "ts": event.start,
                "dur": event.cpu_time_total,
                "args": {"Input Dims": event.input_shapes} if event.input_shapes else {},
            }
            for event in events
        ],
    }
