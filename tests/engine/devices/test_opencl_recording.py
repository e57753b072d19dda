"""Recordings of a device: its commands, their profiles, where the host waited."""

import json
import subprocess
import sys

import pytest
from opencl_tools import needs_opencl

from engine._generated.event_kinds import (
    ALLOCATE,
    COMMAND,
    COMMAND_END,
    HOST_WAIT,
    HOST_WAIT_END,
    PROGRAM_SOURCE,
)
from engine.inspect.trace import TraceReader

pytestmark = needs_opencl
PROGRAM = """
import engine
x = engine.ones(300, 300).to("opencl")
y = (x * 2 + 1).sum()
print(y.item())
z = x + 1
"""
RECORD = """
import sys
from engine.inspect.recorder import record_program
sys.exit(record_program(sys.argv[2:], sys.argv[1]))
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "program.py").write_text(PROGRAM)
    plain = subprocess.run(
        [sys.executable, folder / "program.py"], capture_output=True, text=True, check=True
    )
    recorded = subprocess.run(
        [sys.executable, "-c", RECORD, folder / "trace.uht", folder / "program.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert recorded.stdout == plain.stdout == "270000.0\n"
    return TraceReader.open(folder / "trace.uht")


def of_kind(trace, kind):
    return [event for event in trace.events if event["kind"] == kind]


def commands(trace):
    return {
        int(event["a"]): (event, json.loads(trace.blob(int(event["n"]))))
        for event in of_kind(trace, COMMAND)
    }


def test_every_command_has_an_end_with_its_profile(trace):
    started_commands = commands(trace)
    ended = {int(event["a"]): event for event in of_kind(trace, COMMAND_END)}
    assert set(started_commands) == set(ended)
    last = 0
    for number in sorted(started_commands):
        queued, submitted, started, over = (int(ended[number][field]) for field in "bcde")
        assert queued <= submitted <= started <= over
        assert started >= last  # one after the other
        last = over
        # On the recorder's clock: queued as it was recorded, over before the host knew it.
        assert abs(int(started_commands[number][0]["t"]) - queued) < 50_000_000
        assert over <= int(ended[number]["t"]) + 1_000_000


def test_the_lane_of_the_device_adds_up_to_the_profile(trace):
    """In the file for Perfetto every command has the time that the device measured."""
    from engine.inspect.history import History
    from tui.exports.events import as_chrome_trace

    ended = of_kind(trace, COMMAND_END)
    spans = [
        event
        for event in json.loads(as_chrome_trace(History(trace)))["traceEvents"]
        if event["ph"] == "X" and event["tid"] >= 1 << 20
    ]
    assert len(spans) == len(ended)
    expected = sum(int(event["e"]) - int(event["d"]) for event in ended)
    assert sum(event["dur"] for event in spans) * 1000 == pytest.approx(expected)
    waits = of_kind(trace, HOST_WAIT)
    assert len(waits) == sum(
        event.get("cat") == "wait"
        for event in json.loads(as_chrome_trace(History(trace)))["traceEvents"]
    )


def test_what_the_commands_were(trace):
    details = [detail for _, detail in commands(trace).values()]
    names = [detail["name"] for detail in details if detail["kind"] == "kernel"]
    assert [name for name in names if name in ("mul", "add", "sum")][:3] == ["mul", "add", "sum"]
    copies = [
        (detail, int(event["d"]))
        for event, detail in commands(trace).values()
        if detail["kind"] == "host to device"
    ]
    assert any(size == 360000 and not detail["pinned"] for detail, size in copies)
    sources = {
        int(event["a"]): trace.blob(int(event["n"])).decode()
        for event in of_kind(trace, PROGRAM_SOURCE)
    }
    for detail in details:
        if detail["kind"] == "kernel":
            assert "kernel void" in sources[detail["program"]]
    multiply = next(detail for detail in details if detail["name"] == "mul")
    assert "return self * other;" in sources[multiply["program"]]


def test_where_the_host_waited(trace):
    started_commands = [int(event["a"]) for event in of_kind(trace, HOST_WAIT)]
    ended = [int(event["a"]) for event in of_kind(trace, HOST_WAIT_END)]
    assert started_commands == ended
    reasons = [trace.string(int(event["d"])) for event in of_kind(trace, HOST_WAIT)]
    assert "a copy to the host" in reasons
    assert "the recording ends" in reasons or reasons[-1]


def test_memory_of_the_device_is_recorded(trace):
    from engine._generated import codes

    opencl = codes.ALLOCATORS.index("opencl")
    sizes = [int(event["c"]) for event in of_kind(trace, ALLOCATE) if event["a"] == opencl]
    assert sizes.count(360000) >= 3
