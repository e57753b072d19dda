"""Parse location specs: moments of a trace as a user types them."""

from __future__ import annotations

from pathlib import PurePath

import numpy as np

from engine.inspect.history import History
from engine.inspect.history.failure import fatal_failure

USAGE = "an event number, +5, -5, start, end, last, error, line:12 or train.py:12"


def find_moment(history: History, spec: str, current: int) -> int:
    """Return the event number of `spec` relative to the moment `current`: 120, +5, -5, start, end, last,
    error, line:12, train.py:12. Raises: ValueError for any other."""
    last = int(history.end) - 1
    word = spec.strip().lower()
    if word in ("start", "first", "begin"):
        return 0
    if word == "last":
        return last
    if word == "end":
        return last_full_moment(history)
    if word == "error":
        failure = fatal_failure(history)
        if failure is None:
            raise ValueError("this program did not end with an exception")
        return failure.moment
    if word.startswith(("line:", "l:")):
        return line_moment(history, word.partition(":")[2], current)
    name, colon, line = spec.strip().rpartition(":")
    if colon and name:
        return line_moment(history, line, current, name)
    try:
        number = int(word.replace(",", ""))
    except ValueError:
        raise ValueError(f"{spec!r} is not a location; use {USAGE}") from None
    moment = current + number if word[0] in "+-" else number
    if not 0 <= moment <= last:
        raise ValueError(f"there is no event {moment}; this trace has 0 to {last}")
    return moment


def last_full_moment(history: History) -> int:
    """Return the last moment at which the program's names still exist: just before its outermost frame
    ended, after which everything is freed. If nothing is alive even then, because a function owned
    everything, return the moment just before that function ended."""
    tables, last = history.tables, int(history.end) - 1
    frames = tables.frames
    outer = [
        int(until) for until, parent in zip(frames.until, frames.parent, strict=True) if not parent
    ]
    ended = [until for until in outer if until <= last]
    moment = max(0, max(ended) - 1) if ended and len(ended) == len(outer) else last
    if moment < 0 or len(tables.tensors.at(moment)):
        return moment
    leaving = sorted({int(until) - 1 for until in frames.until if until <= moment}, reverse=True)
    alive = (each for each in leaving if len(tables.tensors.at(each)))
    freed = tables.tensors.until[tables.tensors.until <= last]
    return next(alive, int(freed.max()) - 1 if len(freed) else moment)


def line_moment(history: History, text: str, current: int, name: str = "") -> int:
    """Return the moment at which that line (of the file `name`) runs next, or first if it does not run
    again."""
    if not text.isdigit():
        raise ValueError(f"{text!r} is not a line number")
    lines = history.tables.lines
    line = history.line_at(current) if current >= 0 else None
    rows = lines.where("line", int(text))
    if name:
        rows = rows[np.isin(lines.file[rows], _files(history, name))]
    elif line is not None and any(lines.file[row] == line.file for row in rows):
        rows = rows[lines.file[rows] == line.file]
    if not len(rows):
        raise ValueError(f"line {text}{f' of {name}' if name else ''} never ran")
    moments = [int(lines.since[row]) for row in rows]
    return next((moment for moment in moments if moment > current), moments[0])


def _files(history: History, name: str) -> list[int]:
    """Return the files of the program with this name, or whose path ends with it."""
    files = {
        int(file): history.source(int(file))[0] for file in np.unique(history.tables.lines.file)
    }
    suffix = PurePath(name).parts
    matches = [
        file for file, path in files.items() if PurePath(path).parts[-len(suffix) :] == suffix
    ]
    if not matches:
        known = ", ".join(dict.fromkeys(PurePath(path).name for path in files.values()))
        raise ValueError(f"no file {name!r} ran; the files of this recording are {known}")
    return matches
