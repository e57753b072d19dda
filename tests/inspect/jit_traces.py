"""Programs that compile and run, each recorded once in a separate process."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from functools import cache
from pathlib import Path

from engine.inspect.history import History
from engine.inspect.trace import TraceReader
from tests.recordings import once

LOOP = """
import engine

@engine.jit.script
def helper(x):
    return x.t().t() * 2

@engine.jit.script
def looped(x, n: int):
    y = helper(x) + 1
    for i in range(n):
        y = y.relu() * y
    return y

for _ in range(4):
    out = looped(engine.ones(2, 3), 2)
"""
"""A call to inline, a peephole, a loop, and enough calls to be specialised."""

FAILS = """
import engine

@engine.jit.script
def refuses(x, n: int):
    assert n > 0, "n must be positive"
    return x * n

try:
    refuses(engine.ones(2), 0)
except engine.jit.Error as error:
    said = str(error)
"""

_RECORD = "import sys; from engine.inspect.recorder import record_program; record_program([sys.argv[2]], sys.argv[1])"


def trace_of(program: str) -> Path:
    """Return the trace of a program."""

    def record(folder: Path) -> None:
        script = folder / "program.py"
        script.write_text(program.lstrip())
        trace = str(folder / "program.uht")
        subprocess.run([sys.executable, "-c", _RECORD, trace, str(script)], check=True)

    digest = hashlib.sha256(program.encode()).hexdigest()[:16]
    return once(f"program-{digest}", record) / "program.uht"


@cache
def recorded(program: str) -> History:
    """Return the history of a program."""
    return History(TraceReader.open(trace_of(program)))
