"""A recording as a timeline for Perfetto and Chrome (JSON), and its events as a table (CSV)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any

from tui.output import json_text
from tui.render import clean

if TYPE_CHECKING:
    from engine.inspect.history import History

FIELDS = "abcde"


def as_chrome_trace(history: History) -> str:
    """Frames, operators, passes, the interpreter, backward passes and waits for a device as nested spans of each
    thread, in the Trace Event Format; lines, rewrites and errors as instants; each device's commands as a lane of
    their own, with the times that the device measured."""
    events = [*_spans(history), *_instants(history), *_device_lanes(history)]
    events.sort(key=lambda event: event["ts"])
    return json_text({"traceEvents": events, "displayTimeUnit": "ns"}, indent=0)


def as_csv(history: History) -> str:
    """Return one row per event: its number, nanoseconds since the first, thread, kind, fields, and its sentence."""
    output = StringIO()
    table = csv.writer(output)
    table.writerow(["event", "ns", "thread", "kind", *FIELDS, "sentence"])
    start = int(history.tables.events["t"][0]) if history.end else 0
    for event, (record, kind, sentence) in enumerate(history.each_sentence()):
        _, time, thread, _, _, *fields = record
        table.writerow([event, time - start, thread, kind, *fields, _cell(sentence)])
    return output.getvalue()


def _cell(text: str) -> str:
    """Return `text` as a spreadsheet shows it: on one line, and not as a formula."""
    text = clean(text)
    return f"'{text}" if text.lstrip().startswith(("=", "+", "-", "@")) else text


def _spans(history: History) -> Iterator[dict[str, Any]]:
    tables, jit, string = history.tables, history.jit, history.string
    backward = history.autograd.tables.runs
    categories = (
        ("frame", tables.frames, lambda row: string(int(tables.frames.function[row]))),
        ("operator", tables.calls, lambda row: string(int(tables.calls.op[row]))),
        ("pass", jit.tables.runs, lambda row: f"pass {string(int(jit.tables.runs.name[row]))}"),
        ("interpreter", jit.tables.frames, lambda row: _function(jit, row)),
        ("backward", backward, lambda row: f"backward pass {int(backward.id[row])}"),
        ("wait", tables.waits, lambda row: f"waits: {string(int(tables.waits.reason[row]))}"),
    )
    last = history.end - 1
    for category, table, name in categories:
        for row, (since, until) in enumerate(zip(table.since, table.until, strict=True)):
            start, end = _time(history, int(since)), _time(history, min(int(until), last))
            yield _event(history, int(since), category, name(row)) | {"ph": "X", "dur": end - start}


_DEVICE_LANE = 1 << 20  # above the numbers of threads


def _device_lanes(history: History) -> Iterator[dict[str, Any]]:
    """Yield a lane per device: a span for each command, while the device ran it."""
    start = int(history.tables.events["t"][0]) if history.end else 0
    named: set[int] = set()
    commands = history.tables.commands
    for row, code in enumerate(commands.device.tolist()):
        fact = history.command(row)
        lane = _DEVICE_LANE + code
        if code not in named:
            named.add(code)
            yield {
                "name": "thread_name", "ph": "M", "pid": 1, "tid": lane, "ts": 0, "args": {"name": fact.device},
            }  # fmt: skip
        if fact.ended:
            about = {
                "event": fact.since, "bytes": fact.bytes, "pinned": fact.pinned, "queued_ns": fact.queued - start,
            }  # fmt: skip
            yield {
                "name": fact.name, "cat": fact.kind, "ph": "X", "ts": (fact.started - start) / 1000,
                "dur": (fact.ended - fact.started) / 1000, "pid": 1, "tid": lane, "args": about,
            }  # fmt: skip


def _function(jit: Any, row: int) -> str:
    fact = jit.function(int(jit.tables.frames.function[row]))
    code = jit.code(int(jit.tables.frames.code[row]))
    return str(fact.name if fact is not None else code.name if code is not None else "?")


def _instants(history: History) -> Iterator[dict[str, Any]]:
    tables, jit = history.tables, history.jit
    moments = [
        *(("line", int(since)) for since in tables.lines.since),
        *(("rewrite", int(since)) for since in jit.tables.rewrites.since),
        *(("fused kernel", int(since)) for since in jit.tables.launches.since),
        *(("bail-out", int(since)) for since in jit.tables.bail_outs.since),
        *(("exception", int(since)) for since in tables.exceptions.since),
    ]
    for category, moment in moments:
        yield _event(history, moment, category, history.event(moment).sentence) | {
            "ph": "i",
            "s": "t",
        }


def _event(history: History, moment: int, category: str, name: str) -> dict[str, Any]:
    thread = int(history.tables.events["thread"][moment])
    about = {"event": moment}
    return {
        "name": name, "cat": category, "ts": _time(history, moment), "pid": 1, "tid": thread, "args": about,
    }  # fmt: skip


def _time(history: History, moment: int) -> float:
    """Return microseconds since the first event."""
    times = history.tables.events["t"]
    return float(int(times[moment]) - int(times[0])) / 1000
