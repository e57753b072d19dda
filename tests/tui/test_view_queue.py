"""The Queue view, Dispatch and Perfetto's lanes for a device whose commands and waits are known."""

from __future__ import annotations

import json
from functools import lru_cache

import pytest

from engine.inspect.events import DEVICES
from engine.inspect.history import History
from engine.inspect.selection import Selection
from tests.inspect.selections import select
from tests.inspect.trace_builder import TraceBuilder
from tui.exports.events import as_chrome_trace
from tui.render import ASCII, UNICODE
from tui.views import DrawContext, view

DEVICE = DEVICES.index("opencl") | 1 << 8
SOURCE = "kernel void mul() {\n  return;\n}"


def enqueue(b: TraceBuilder, number: int, call: int, size: int, **detail: object) -> None:
    b.emit("COMMAND", number, call, DEVICE, size, blob=json.dumps(detail).encode())


@lru_cache(maxsize=1)
def history() -> History:
    """A copy to the device, a kernel, and a read for which the host waits; a last copy has no end."""
    b = TraceBuilder()
    b.file("demo.py", "y = x * 2\ny.item()\n")
    b.frame("<module>")
    b.line(1)
    start = b.records[-1][1]  # the clock of the last event
    b.emit("PROGRAM_SOURCE", 5, DEVICE, blob=SOURCE.encode())
    with b.op("mul(Tensor self, Tensor other) -> Tensor", []) as call:
        enqueue(b, 1, call.number, 400, kind="host to device", name="host to device", pinned=True)
        enqueue(b, 2, call.number, 0, kind="kernel", name="mul", program=5, items=[100], group=[4])
    b.line(2)
    enqueue(b, 3, 0, 4, kind="device to host", name="device to host", pinned=False)
    b.emit("HOST_WAIT", 1, 0, DEVICE, b.string("a copy to the host"))
    for number, (since, until) in enumerate(((10, 30), (30, 90), (95, 100)), 1):
        b.emit("COMMAND_END", number, start, start + 5, start + since, start + until)
    b.emit("HOST_WAIT_END", 1)
    enqueue(b, 4, 0, 8, kind="host to device", name="host to device", pinned=False)
    b.line(2)
    return b.history()


def model(moment: int | None = None, **selected):
    recorded = history()
    moment = recorded.end - 1 if moment is None else moment
    return view("queue").project(recorded, moment, select(**selected) if selected else Selection())


def test_the_rows_are_what_was_recorded():
    view_model = model()
    assert (view_model.device, view_model.commands, view_model.pending) == ("opencl:0", 4, 1)
    rows = [row for row in view_model.rows if hasattr(row, "kind")]
    assert [(r.kind, r.name, r.bytes, r.pinned, r.duration_ns) for r in rows] == [
        ("host to device", "host to device", 400, True, 20),
        ("kernel", "mul", 0, False, 60),
        ("device to host", "device to host", 4, False, 5),
        ("host to device", "host to device", 8, False, 0),
    ]
    assert [row.state for row in rows][-1] == "waiting"
    (wait,) = (row for row in view_model.rows if not hasattr(row, "kind"))
    assert wait.reason == "a copy to the host"


def test_the_lanes_add_up_to_the_profile():
    recorded = history()
    commands = recorded.tables.commands
    assert int((commands.ended - commands.started).sum()) == 85
    events = json.loads(as_chrome_trace(recorded))["traceEvents"]
    lane = [event for event in events if event["tid"] == (1 << 20) + DEVICE]
    assert [e["args"]["name"] for e in lane if e["ph"] == "M"] == ["opencl:0"]
    spans = [event for event in lane if event["ph"] == "X"]
    assert [event["name"] for event in spans] == ["host to device", "mul", "device to host"]
    assert sum(event["dur"] for event in spans) == pytest.approx(0.085)
    assert [e["name"] for e in events if e.get("cat") == "wait"] == ["waits: a copy to the host"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
def test_the_drawing(size, glyphs):
    text = view("queue").draw(model(), DrawContext(*size, glyphs)).text()
    assert max(map(len, text.splitlines())) <= size[0]
    for expected in (
        "opencl:0",
        "4 commands",
        "400 bytes, pinned",
        "4 bytes, pageable",
        "host waits",
    ):
        assert expected in text
    assert "mul" in text


def test_dispatch_shows_the_kernel():
    recorded = history()
    call = int(recorded.tables.calls.id[0])
    view_model = view("dispatch").project(recorded, recorded.end - 1, select(call=call))
    assert [(each.name, each.device) for each in view_model.commands] == [
        ("host to device", "opencl:0"),
        ("mul", "opencl:0"),
    ]
    assert view_model.commands[1].source == tuple(SOURCE.splitlines())
    text = view("dispatch").draw(view_model, DrawContext(80, 24)).text()
    assert "kernel void mul() {" in text
    assert "400 bytes, pinned" in text


def test_without_a_device_it_says_so():
    b = TraceBuilder()
    b.file("demo.py", "x = 1\n")
    b.frame("<module>")
    b.line(1)
    view_model = view("queue").project(b.history(), 1, Selection())
    assert "No device" in view("queue").draw(view_model, DrawContext(80, 24)).text()


def test_a_damaged_description_is_no_crash():
    b = TraceBuilder()
    b.file("demo.py", "x = 1\n")
    b.frame("<module>")
    b.line(1)
    for number, text in enumerate((b"{", b"[]", b'{"items": "x", "program": null}', b"\xff"), 1):
        b.emit("COMMAND", number, 0, 999, 0, blob=text)
    recorded = b.history()
    view_model = view("queue").project(recorded, recorded.end - 1, Selection())
    assert view("queue").draw(view_model, DrawContext(80, 24)).text()


def test_memory_has_a_column_for_each_device():
    code = DEVICES.index("opencl")
    b = TraceBuilder()
    b.file("demo.py", "x = 1\n")
    b.frame("<module>")
    b.line(1)
    b.bind("x", b.tensor((2, 3)))
    b.bind("y", b.tensor((2, 3), device="opencl"))
    for number, (kind, pinned) in enumerate(
        (("host to device", True), ("host to device", False), ("device to host", False)), 1
    ):
        detail = {"kind": kind, "name": kind, "pinned": pinned}
        b.emit("COMMAND", number, 0, code, 24 * number, blob=json.dumps(detail).encode())
    recorded = b.history()
    view_model = view("memory").project(recorded, recorded.end - 1, Selection())
    assert [section.device for section in view_model.devices] == ["cpu", "opencl"]
    section = view_model.devices[1]
    assert (section.storages, section.to_device.count, section.to_device.bytes) == (1, 2, 72)
    assert (section.to_device.pinned, section.to_host.bytes) == (1, 72)
    text = view("memory").draw(view_model, DrawContext(80, 24)).text()
    assert "│ ──────▸ │ 2 copies, 72 bytes, 1 pinned" in text
    assert "│ ◂────── │ 1 copy, 72 bytes, 0 pinned" in text
    lines = view("memory").draw(view_model, DrawContext(200, 40)).text().splitlines()
    assert [line.split() for line in lines if line.startswith(" cpu ")] == [["cpu", "opencl"]]
    live = view("allocator").project(recorded, recorded.end - 1, Selection())
    assert [(memory.device, memory.count) for memory in live.devices] == [("cpu", 1), ("opencl", 1)]
    assert [sum(map(max, memory.layers)) for memory in live.devices] == [24, 24]
    heading = view("allocator").draw(live, DrawContext(80, 24)).text().splitlines()[1]
    assert " ".join(heading.split()) == "cpu 24 bytes on 1 storage opencl 24 bytes on 1 storage"


def test_sentences_and_searches_name_the_device():
    recorded = history()
    first = int(recorded.tables.commands.since[0])
    assert recorded.event(first).sentence == "command 1 was enqueued on device opencl:0"
    for text in ("device:opencl:0", "device:opencl"):
        assert recorded.find(text, first) == int(recorded.tables.commands.since[1])
    assert recorded.find("device:opencl:1", first) is None
