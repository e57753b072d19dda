"""Products by CLBlast, where it is installed: the CPU's results, and a command that says who computed them."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path

import pytest

from engine._generated.event_kinds import COMMAND
from engine.inspect.trace import TraceReader
from tests.engine.devices.opencl_tools import needs_opencl, run_program

LIBRARY = "libclblast.so.1"
PROGRAM = """
import engine, sys
from engine.inspect.recorder import record
engine.manual_seed(0)
a, b, c = engine.randn(9, 5), engine.randn(5, 7), engine.randn(7)
x, y = engine.randn(3, 4, 5), engine.randn(3, 5, 6)
calls = [
    (lambda a, b: a @ b, (a, b)),
    (lambda a, b: a.t()[1:] @ b[:, 1:], (a, engine.randn(9, 8))),
    (engine.bmm, (x, y)),
    (lambda c, a, b: engine.addmm(c, a, b, beta=0.5, alpha=2), (c, a, b)),
    (engine.nn.functional.linear, (x, engine.randn(7, 5), c)),
    (lambda a, b: a.double() @ b.double(), (a, b)),
    (engine.matmul, (x, y[0])),
    (lambda a, b: a.half() @ b.half(), (a, b)),
    (lambda a, b: a[:, ::2] @ b[::2], (a, b)),
]
expected = [call(*arguments) for call, arguments in calls]
moved = [[t.opencl() for t in arguments] for _, arguments in calls]
with record(sys.argv[1] if len(sys.argv) > 1 else PATH):
    results = [call(*arguments) for (call, _), arguments in zip(calls, moved)]
for ours, theirs in zip(results, expected):
    tolerance = 1e-2 if theirs.dtype == engine.float16 else 1e-5
    engine.testing.assert_close(ours.cpu(), theirs, rtol=tolerance, atol=tolerance)
"""


def is_installed() -> bool:
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return False
    return True


def kernels(path: Path, setting: str) -> list[str]:
    """Run the program; return the names of its kernels."""
    result = run_program(PROGRAM.replace("PATH", repr(str(path))), UNDERHOOD_CLBLAST=setting)
    assert result.returncode == 0, result.stderr
    trace = TraceReader.open(path)
    commands = [
        json.loads(trace.blob(int(event["n"])))
        for event in trace.events
        if event["kind"] == COMMAND
    ]
    return [command["name"] for command in commands if command["kind"] == "kernel"]


@needs_opencl
@pytest.mark.skipif(not is_installed(), reason=f"there is no {LIBRARY}")
def test_products_by_clblast(tmp_path: Path) -> None:
    names = kernels(tmp_path / "with.uht", "1")
    ours = [name.removesuffix(" by CLBlast") for name in names if name.endswith(" by CLBlast")]
    assert ours == ["mm", "mm", "bmm", "addmm", "linear", "mm", "matmul"]
    assert names.count("mm") == 2  # 16-bit floats, and rows whose elements are apart


@needs_opencl
@pytest.mark.parametrize("setting", ["0", "/nowhere.so"])
def test_products_without_clblast(tmp_path: Path, setting: str) -> None:
    names = kernels(tmp_path / "without.uht", setting)
    assert [name for name in names if name != "copy_"] == [
        *("mm", "mm", "bmm", "addmm", "linear", "mm", "matmul", "mm", "mm")
    ]
    assert not [name for name in names if "CLBlast" in name]
