"""Opening a recording takes time and memory in proportion to its events."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import engine
from engine.inspect import record

OPEN = """
import resource, sys
from engine.inspect.history import History
from engine.inspect.trace import TraceReader

trace = TraceReader.open(sys.argv[1])
history = History(trace)
last = len(trace) - 1
live = max(len(history.tensors_at(m)) for m in (last // 2, last - last // 8))
usage = resource.getrusage(resource.RUSAGE_SELF)
print(len(trace), live, usage.ru_utime, usage.ru_maxrss >> 10)
"""


def test_a_hundred_thousand_live_tensors_open_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "live.uht"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with record(path):
        tensors = [engine.ones(1) for _ in range(100_000)]
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
    assert len(tensors) == 100_000
    assert grown < 400, f"the recorder took {grown} MB"
    command = [sys.executable, "-c", OPEN, str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    events, live, seconds, megabytes = map(float, ran.stdout.split())
    assert events > 1_000_000
    assert live > 40_000
    assert seconds < 8, f"{seconds} s"
    assert megabytes < 700, f"{megabytes} MB"
