"""The x86-64 level of the loops that a process uses: a build need not have all three."""

from __future__ import annotations

import functools
import os
import subprocess
import sys


@functools.cache
def level_in_use(requested: str) -> str:
    """`"v2"`, `"v3"` or `"v4"`: what runs under `UNDERHOOD_ISA=requested`."""
    code = "from engine._native import ffi, lib; print(ffi.string(lib.uh_isa()).decode())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "UNDERHOOD_ISA": requested},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()
