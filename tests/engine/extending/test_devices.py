"""A device that is registered through the C ABI is one of Python's: by name, in tensors, in operators."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.engine.extending.building import build_library

HERE = Path(__file__).parent


def test_a_registered_device_is_used_from_python(tmp_path):
    library = build_library(HERE / "toy_device.c", tmp_path)
    program = [sys.executable, HERE / "device_program.py", library]
    done = subprocess.run(program, capture_output=True, text=True, check=False)  # devices stay
    assert (done.returncode, done.stdout) == (0, "all of it holds\n"), done.stderr
