"""Conversion of a lesson's "look at `x` in the Strides view" to a moment and a selection of a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.inspect.selection import CellSelection, NameSelection, Selection
from lessons._runner.lesson import LessonError, Look

if TYPE_CHECKING:
    from engine.inspect.history import History


def resolve_look(look: Look, history: History) -> tuple[int, Selection]:
    """Return the moment and the selection. A name that is not bound there is a LessonError."""
    moment = moment_of(look, history)
    if not look.select:
        return moment, Selection()
    for name in history.names_at(moment):
        tensor = history.tensor(name.tensor, moment) if name.tensor else None
        if name.name != look.select or tensor is None:
            continue
        selection = Selection(NameSelection(tensor.id, tensor.storage, look.select))
        if look.index is None:
            return moment, selection
        steps = zip(look.index, tensor.strides, strict=True)
        cell = tensor.offset + sum(i * stride for i, stride in steps)
        byte = cell * tensor.itemsize
        return moment, Selection(CellSelection(tensor.id, tensor.storage, byte, look.index))
    raise LessonError(f"no name {look.select!r} stands for a tensor at moment {moment}")


def moment_of(look: Look, history: History) -> int:
    """Return the last moment of a line; without a line, the last moment at which the program's names exist."""
    frames, lines = history.tables.frames, history.tables.lines
    if not len(frames):
        return int(history.end) - 1
    if not look.line:
        return min(int(frames.until[0]), int(history.end)) - 1
    rows = [r for r in lines.where("frame", int(frames.id[0])) if lines.line[r] == look.line]
    if not rows:
        raise LessonError(f"line {look.line} of the program never ran")
    return min(int(lines.until[rows[-1]]), int(history.end)) - 1
