"""Recording of Python frames, lines and names: the choice of files, and installation of the C line
tracer.

The tracer is engine/_native/line_tracer.c. This module decides, once per file, whether a file is
the user's: not the standard library, an installed package, or Underhood itself.
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import threading
import tokenize
from functools import cache
from types import FrameType
from typing import Any

from engine._generated.event_kinds import SOURCE
from engine._native import lib

_files: dict[str, int] = {}
_sources: dict[str, str] = {}
_own_scripts: set[str] = set()
_before: list[Any] = [None, None]  # trace functions of a debugger: of this thread, and of new ones


def install() -> None:
    """Trace the calling thread, and threads that are started from now on, until `uninstall`."""
    _files.clear()
    if lib.uh_trace_begin(id(sys.modules["engine"].Tensor), id(file_id)) != 0:
        raise RuntimeError("tracer: this Python cannot be traced")
    _before[:] = sys.gettrace(), threading.gettrace()
    threading.settrace(_begin_in_thread)
    lib.uh_trace_thread()


def uninstall() -> None:
    """Stop in the calling thread; other threads stop by themselves when the recording is over.

    An earlier trace function (of a debugger, say) is restored; a later one stays.
    """
    current, in_threads = _before
    _before[:] = None, None
    if threading.gettrace() is _begin_in_thread:
        threading.settrace(in_threads)
    if sys.gettrace() is None:  # gettrace() returns None for a tracer in C
        lib.uh_trace_end()
        sys.settrace(current)


def _begin_in_thread(frame: FrameType, event: str, argument: object) -> None:
    """Replace itself by the C tracer, as the first trace function of a new thread."""
    if lib.uh_trace_thread() != 0:  # the recording is over, or this is a forked child
        sys.settrace(None)


def absolute(path: str) -> str:
    """Return the absolute path; the path itself in a folder that was deleted."""
    try:
        return os.path.abspath(path)
    except OSError:
        return path


def claim(path: str) -> None:
    """Treat this file, the program to record, as the user's, in any folder."""
    _own_scripts.add(path)


def add_source(name: str, text: str) -> None:
    """Add source that is not in a file, such as prompt input, as the user's."""
    _sources[name] = text
    _files.pop(name, None)


def file_id(name: str) -> int:
    """Return the string id of a code object's file if it is the user's own, else 0.

    The C tracer calls it for each new code object. The first call for a file records its text.
    """
    known = _files.get(name)
    if known is not None:
        return known
    try:
        return _meet(name)
    except Exception:  # an odd file name must not break the user's program
        _files[name] = 0
        return 0


def _meet(name: str) -> int:
    """Decide about a new file, and record its source."""
    if name in _sources:
        return _record_source(name, name, _sources[name])
    path = absolute(name)
    if name.startswith("<") or not is_users(path):
        _files[name] = 0
        return 0
    return _record_source(name, path, _text_of(path))


def _record_source(name: str, path: str, text: str) -> int:
    raw = path.encode("utf-8", "surrogateescape")
    number = lib.uh_intern(raw, len(raw))
    _files[name] = number
    data = text.encode("utf-8", "replace")
    lib.uh_emit_blob(SOURCE, 0, number, 0, 0, 0, data, len(data))
    return number


def is_users(path: str) -> bool:
    """Return whether this absolute path is the user's own code."""
    if path in _own_scripts:
        return True
    own, lessons, libraries = _source_folders()
    if path.startswith(lessons):
        # Exercises and the gallery are programs to trace; the lesson runner is not.
        folder = path[len(lessons) :].split(os.sep)[0]
        return not folder.startswith("_") and not folder.endswith(".py")
    if path.startswith(own):
        return False
    folders = path.split(os.sep)
    if "site-packages" in folders or "dist-packages" in folders:
        return False
    return not path.startswith(libraries)


@cache
def _source_folders() -> tuple[tuple[str, ...], str, tuple[str, ...]]:
    """Return Underhood's own packages, its lessons, the folders of the standard library and packages."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    own = tuple(os.path.join(root, package, "") for package in ("engine", "tui"))
    folders = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {os.path.dirname(os.__file__), site.getusersitepackages()}
    libraries = tuple(sorted({os.path.join(os.path.abspath(p), "") for p in folders if p}))
    return own, os.path.join(root, "lessons", ""), libraries


def _text_of(path: str) -> str:
    """Return the file's text, decoded as Python would (PEP 263); "" when it cannot be read."""
    try:
        with tokenize.open(path) as stream:
            return stream.read()
    except (OSError, SyntaxError, UnicodeError):
        return ""
