"""Training steps on the OpenCL device with and without a recorder, and what the recording says of the queue."""

import json

import pytest

from benchmarks import device_training
from engine._generated.event_kinds import COMMAND_END, HOST_WAIT, HOST_WAIT_END
from engine.inspect.history import History
from engine.inspect.models import queue
from engine.inspect.recorder import record
from engine.inspect.selection import Selection
from engine.inspect.trace import TraceReader
from tests.engine.devices.opencl_tools import needs_opencl
from tui.exports.events import as_chrome_trace

pytestmark = needs_opencl
STEPS = 3


@pytest.mark.parametrize("name", device_training.WORKLOADS)
def test_a_recorded_training_has_the_same_losses(name, tmp_path):
    expected, _ = device_training.train(name, "opencl", STEPS)
    with record(tmp_path / "training.uht"):
        losses, _ = device_training.train(name, "opencl", STEPS)
    assert losses == expected
    trace = TraceReader.open(tmp_path / "training.uht")
    ended = [event for event in trace.events if event["kind"] == COMMAND_END]
    ran = sum(int(event["e"]) - int(event["d"]) for event in ended)
    since = {int(e["a"]): int(e["t"]) for e in trace.events if e["kind"] == HOST_WAIT}
    until = {int(e["a"]): int(e["t"]) for e in trace.events if e["kind"] == HOST_WAIT_END}
    waited = sum(until[number] - since[number] for number in until)
    assert ran > 0
    assert waited > 0

    history = History(trace)
    lanes = queue.project(history, history.end - 1, Selection())
    assert lanes.commands == len(ended)
    assert lanes.pending == 0
    assert lanes.busy_ns == ran
    assert lanes.waited_ns == waited

    spans = [e for e in json.loads(as_chrome_trace(history))["traceEvents"] if e["ph"] == "X"]
    on_device = [span["dur"] for span in spans if span["tid"] >= 1 << 20]
    assert len(on_device) == len(ended)
    assert sum(on_device) * 1000 == pytest.approx(ran)
    assert sum(s["dur"] for s in spans if s.get("cat") == "wait") * 1000 == pytest.approx(waited)
