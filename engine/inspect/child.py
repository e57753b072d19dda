"""Start of a recording in the process of the user's program, which Python then runs as usual.

`startup/sitecustomize.py` calls `begin` before the program; none of our frames is on the stack when it runs.
See "What a recorded program can see" in engine/README.md.
"""

from __future__ import annotations

import atexit
import os
import sys
import time
from contextlib import suppress

from engine.inspect import line_tracer, sink
from engine.inspect.chosen_steps import ChosenSteps
from engine.inspect.ring import Ring

_STDERR = 2


def begin(fd: int, script: str, module: str, steps: tuple[int, int | None] | None) -> None:
    """Record this process into the ring of `fd`: up to its last atexit function, or chosen steps only."""
    if script:
        line_tracer.claim(script)
    argv = [module or sys.argv[0], *sys.argv[1:]]
    ring = Ring(fd)
    _await_writer(ring)
    running: sink.RingSink | ChosenSteps
    if steps is None:
        running = sink.start(ring, argv, module, is_running=False)
    else:
        running = ChosenSteps(ring, argv, module, *steps)
    # Registered before the user's atexit functions, so it runs after them.
    atexit.register(_end, running, _identity(_STDERR))


def _await_writer(ring: Ring) -> None:
    """Wait for the writer: the recorder starts the program first, and then makes the trace; if it cannot, it kills
    the program."""
    recorder = os.getppid()
    while not ring["writer_pid"] and os.getppid() == recorder:
        time.sleep(0.001)


def _end(running: sink.RingSink | ChosenSteps, stderr: tuple[int, int] | None) -> None:
    """Write the recording's message to the stderr that the program started with, if that is still open."""
    if (problem := running.stop(None)) and stderr and _identity(_STDERR) == stderr:
        with suppress(OSError):
            os.write(_STDERR, f"underhood: {problem}\n".encode())


def _identity(fd: int) -> tuple[int, int] | None:
    """Return the identity of a descriptor's file: the program may have reused the number."""
    try:
        file = os.fstat(fd)
    except OSError:
        return None
    return file.st_dev, file.st_ino
