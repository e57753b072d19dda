"""Recording takes bounded memory; opening takes time and memory in proportion to the events."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# VmHWM, as ru_maxrss counts the process that started this one (a whole pytest) until the exec.
PEAK = """
import pathlib
def peak(process="self"):
    return int(pathlib.Path(f"/proc/{process}/status").read_text().split("VmHWM:")[1].split()[0]) >> 10
"""
RECORD = """
import sys
import engine
from engine.inspect import record

before = peak()
with record(sys.argv[1]):
    tensors = [engine.ones(1) for _ in range(100_000)]
print(len(tensors), peak() - before)
"""
OPEN = """
import resource, sys
from engine.inspect.history import History
from engine.inspect.trace import TraceReader

trace = TraceReader.open(sys.argv[1])
history = History(trace)
last = len(trace) - 1
live = max(len(history.tensors_at(m)) for m in (last // 2, last - last // 8))
print(len(trace), live, resource.getrusage(resource.RUSAGE_SELF).ru_utime, peak())
"""


def numbers(program: str, path: Path, *arguments: str) -> list[float]:
    """Run the program with the path as its first argument, in a new process, and return what it prints."""
    command = [sys.executable, "-c", PEAK + program, str(path), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in ran.stdout.split()]


def test_a_hundred_thousand_live_tensors_open_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "live.uht"
    tensors, grown = numbers(RECORD, path)
    assert tensors == 100_000
    assert grown < 400, f"the recorder took {grown} MB"
    events, live, seconds, megabytes = numbers(OPEN, path)
    assert events > 1_000_000
    assert live > 40_000
    assert seconds < 8, f"{seconds} s"
    assert megabytes < 400, f"{megabytes} MB"


RECORD_A_LOOP = """
import os, sys
import engine
from engine.inspect import record

# Without the ring, which the processes share: its window grows when the writer is late, to an end.
def private(process):
    return int(pathlib.Path(f"/proc/{process}/status").read_text().split("RssAnon:")[1].split()[0]) >> 10

x = engine.ones(1)
with record(sys.argv[1]):
    for _ in range(int(sys.argv[2])):
        x = x + 1
    writers = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    print(len(writers), *map(private, ["self", *writers]))
"""


@pytest.fixture(scope="module")
def loops(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, list[float]]]:
    """Two recordings, of which the second is twice as long, and what RECORD_A_LOOP printed."""
    folder = tmp_path_factory.mktemp("loops")
    paths = {count: folder / f"{count}.uht" for count in (240_000, 480_000)}
    return [(path, numbers(RECORD_A_LOOP, path, str(count))) for count, path in paths.items()]


def test_memory_of_a_recording_does_not_grow_with_its_length(
    loops: list[tuple[Path, list[float]]],
) -> None:
    (_, shorter), (_, longer) = loops
    assert shorter[0] >= 1
    for before, after in zip(shorter[1:], longer[1:], strict=True):
        # 680 bytes an operator, as once, would be 163 MB.
        assert after - before < 60, f"{shorter} and {longer} MB"


def test_a_million_operators_open_in_seconds(loops: list[tuple[Path, list[float]]]) -> None:
    (events, _, _, smaller), (more, _, seconds, larger) = (numbers(OPEN, p) for p, _ in loops)
    assert more > 1.9 * events > 6_000_000
    # 17 s and 2100 MB, once; here for the 480,000, and for the 240,000 that are more.
    assert seconds < 17 / 3, f"{seconds} s"
    assert larger - smaller < 2100 / 6, f"{smaller} and {larger} MB"
