"""Parse location specs: moments of a trace as a user types them."""

from __future__ import annotations

from engine.inspect.history import History


def find_moment(history: History, spec: str, current: int) -> int:
    """The event number that `spec` means at the moment `current`: 120, +5, -5, start, end, last,
    line:12. Raises: ValueError for any other."""
    last = int(history.end) - 1
    word = spec.strip().lower().replace(",", "").replace("_", "")
    if word in ("start", "first", "begin"):
        return 0
    if word == "last":
        return last
    if word == "end":
        return last_full_moment(history)
    if word.startswith(("line:", "l:")):
        return line_moment(history, word.partition(":")[2], current)
    try:
        number = int(word)
    except ValueError:
        raise ValueError(
            f"{spec!r} is not a location; use an event number, +5, -5, start, end, last or line:12"
        ) from None
    moment = current + number if word[0] in "+-" else number
    if not 0 <= moment <= last:
        raise ValueError(f"there is no event {moment}; this trace has 0 to {last}")
    return moment


def last_full_moment(history: History) -> int:
    """The last moment at which the program's own names still exist: just before its outermost frame
    ended. After that everything has been freed."""
    frames, last = history.tables.frames, int(history.end) - 1
    outer = [
        int(until) for until, parent in zip(frames.until, frames.parent, strict=True) if not parent
    ]
    ended = [until for until in outer if until <= last]
    return max(0, ended[-1] - 1) if ended and len(ended) == len(outer) else last


def line_moment(history: History, text: str, current: int) -> int:
    """The moment at which that line runs next, or first if it does not run again."""
    if not text.isdigit():
        raise ValueError(f"{text!r} is not a line number")
    lines = history.tables.lines
    line = history.line_at(current) if current >= 0 else None
    rows = lines.where("line", int(text))
    if line is not None and any(lines.file[row] == line.file for row in rows):
        rows = rows[lines.file[rows] == line.file]
    if not len(rows):
        raise ValueError(f"line {text} never ran")
    moments = [int(lines.since[row]) for row in rows]
    return next((moment for moment in moments if moment > current), moments[0])
