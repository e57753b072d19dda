"""The recorded process's side: start writing events into a ring, stop again.

Kept small, because the user's program finds it in `sys.modules`.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass

from engine._generated.event_kinds import PROGRAM_BEGIN, PROGRAM_END
from engine._native import lib
from engine._native.errors import raise_last
from engine.inspect import tracer
from engine.inspect.ring import MODE_LINES, Ring, alive


@dataclass
class Producer:
    """A recording of this process that is under way; `stop()` ends it, once."""

    ring: Ring
    lines: bool
    pid: int
    parent: int
    stopped: bool = False

    def stop(self, exit_code: int) -> str:
        """Ends the recording; returns what has to be said about it, "" when all went well."""
        if self.stopped or os.getpid() != self.pid:  # a forked child is not what is recorded
            return ""
        self.stopped = True
        if self.lines:
            tracer.uninstall()
        lib.uh_emit(PROGRAM_END, 0, exit_code, 0, 0, 0, 0)
        lib.uh_record_close()
        stops = self.ring["lost"] or self._writer_gone()
        self.ring.close()
        if stops:
            return "the recorder process ended; the recording stops there, the program went on"
        return ""

    def _writer_gone(self) -> bool:
        """Whether nobody is left who could carry the last events to disk."""
        writer = self.ring["writer_pid"]
        if writer == self.parent:
            return os.getppid() != writer  # a dead parent's number may be taken or not reaped yet
        return not alive(writer)


def start(ring: Ring, argv: list[str], module: str = "") -> Producer:
    """Begins to record this process into `ring`, according to the mode in its header."""
    lines = bool(ring["mode"] & MODE_LINES)
    if lib.uh_record_open(ring.fd, ring["values_budget"]) != 0:
        raise_last()
    about = {
        "argv": argv,
        "cwd": os.getcwd(),
        "module": module,
        "version": sys.version.split()[0],
    }
    text = json.dumps(about).encode()
    lib.uh_emit_blob(PROGRAM_BEGIN, 0, os.getpid(), sys.hexversion, 0, 0, text, len(text))
    if lines:
        tracer.install()
    return Producer(ring, lines, os.getpid(), os.getppid())
