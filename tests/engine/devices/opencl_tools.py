"""Functions that the tests of the OpenCL device share."""

from __future__ import annotations

import subprocess
import sys

import pytest

import engine
from engine._generated import codes
from engine._native import ffi, lib

TYPE = codes.DEVICES.index("opencl")

needs_opencl = pytest.mark.skipif(
    lib.uh_device_count(TYPE) == 0,
    reason="no OpenCL device: " + ffi.string(lib.uh_device_absence(TYPE)).decode(),
)


def code(index: int = 0) -> int:
    """Return the number of a device in the C ABI."""
    return TYPE | (index + 1) << 8


def stats(index: int = 0):
    memory = ffi.new("uh_device_memory *")
    assert lib.uh_device_memory_stats(code(index), memory) == 0
    return memory[0]


def on_device(*args, **options) -> engine.Tensor:
    return engine.tensor(*args, **options).to("opencl")


def run_program(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a separate process, with variables of the environment added ("" removes one)."""
    import os

    variables = {k: v for k, v in {**os.environ, **environment}.items() if v}
    return subprocess.run(
        [sys.executable, "-c", text], env=variables, capture_output=True, text=True, timeout=120
    )
