"""No arguments bring the process down: every operator, called with random ones, returns or raises."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine import opencl

PROBE = Path(__file__).with_name("any_arguments_probe.py")
ROUNDS = 12  # calls of each operator


def probe(notes: Path, *arguments: object) -> tuple[int, int]:
    """Run the probe in a process; return the numbers of calls, and of those that returned."""
    done = subprocess.run(
        [sys.executable, str(PROBE), *map(str, arguments)],
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
        timeout=600,
        check=False,
    )
    last = notes.read_text(encoding="utf-8") if notes.exists() else "nothing"
    assert done.returncode == 0, f"{done.returncode} at:\n{last}\n{done.stderr[-2500:]}"
    calls, returned = map(int, done.stdout.split())
    return calls, returned


@pytest.mark.parametrize("seed", [1, 2])
def test_every_operator_returns_or_raises(seed: int, tmp_path: Path) -> None:
    notes = tmp_path / "last call"
    calls, returned = probe(notes, seed, ROUNDS, notes)
    assert returned > calls // 8, "nearly all calls were refused: the arguments test nothing"


@pytest.mark.skipif(not opencl.is_available(), reason="there is no OpenCL device")
def test_operators_without_a_kernel_on_the_device_return_or_raise(tmp_path: Path) -> None:
    """Nothing follows the address of a tensor that is on the device: a few hundred operators, one call each."""
    notes = tmp_path / "last call"
    calls, returned = probe(notes, 1, 1, notes, "opencl")
    assert returned > calls // 8
