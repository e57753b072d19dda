"""The recorded process's side of a recording: start and stop writing events into a ring.

It is small because it is in the user's `sys.modules`. During the recording no descriptor is open:
the ring is mapped, and its file closed.
"""

from __future__ import annotations

import json
import os
import sys

from engine._generated.event_kinds import PROGRAM_BEGIN, PROGRAM_END
from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.inspect import line_tracer, snapshot
from engine.inspect.ring import HEADER_BYTES, MODE_LINES, SILENT, Header, Ring, alive


class RingSink:
    """A recording of this process that is under way; `stop()` ends it, once."""

    def __init__(self, lines: bool) -> None:
        self.header = Header(memoryview(ffi.buffer(lib.uh_record_header(), HEADER_BYTES)))
        self.lines = lines
        self.pid = os.getpid()
        self.stopped = False

    def stop(self, exit_code: int | None) -> str:
        """End the recording; return a message, "" if all went well.

        Without an exit code, the writer determines how the program ended.
        """
        if self.stopped or os.getpid() != self.pid:  # a forked child is not recorded
            lib.uh_output_end()
            return ""
        self.stopped = True
        lib.uh_output_end()
        if self.lines:
            line_tracer.uninstall()
        if exit_code is not None:
            lib.uh_emit(PROGRAM_END, 0, exit_code, 0, 0, 0, 0)
        lib.uh_record_close()
        return why_it_stopped(self.header)


def why_it_stopped(header: Header) -> str:
    """Return the message about a recording whose writer ended or hung before the program ended."""
    if header["end"] == SILENT:
        return "the recorder process hung; recording stopped, program continued"
    if header["end"] or not alive(header["writer_pid"]):
        return "the recorder process ended; recording stopped, program continued"
    return ""


def start(ring: Ring, argv: list[str], module: str = "", is_running: bool = True) -> RingSink:
    """Start to record this process into `ring`, according to the mode in its header.

    A program that is running has tensors already, and they are recorded first.
    The ring is closed: from now on only the core has it mapped.
    """
    lines = bool(ring["mode"] & MODE_LINES)
    tensors = snapshot.describe_tensors() if is_running else []
    try:
        if lib.uh_record_open(ring.fd, ring["values_budget"]) != 0:
            raise_last()
    finally:
        ring.close()
    about = {
        "argv": argv,
        "cwd": working_directory(),
        "module": module,
        "version": sys.version.split()[0],
    }
    text = json.dumps(about).encode()
    lib.uh_emit_blob(PROGRAM_BEGIN, 0, os.getpid(), sys.hexversion, 0, 0, text, len(text))
    snapshot.emit(tensors)
    lib.uh_output_begin(id(sys.stdout), id(sys.stderr))
    if lines:
        line_tracer.install()
    return RingSink(lines)


def working_directory() -> str:
    """Return the current folder, "" when it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""
