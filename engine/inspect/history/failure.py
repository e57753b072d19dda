"""Failures: the exception that ended a program, its line, and the tensors involved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.history.cache import per_history
from engine.inspect.history.facts import CallFact, ExceptionFact

if TYPE_CHECKING:
    from engine.inspect.history import History

_LEAVES = ("SystemExit", "GeneratorExit")  # exceptions with which a program just ends
_MATMUL = re.compile(r"cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)")
_DIMENSION = re.compile(r"(?:at non-singleton|at|for) dimension (\d+)")
_SIZE = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor argument of the failing call. `wrong[i]`: size i is part of the problem."""

    name: str  # of the operator's argument
    label: str
    tensor: int
    dtype: str
    device: str
    sizes: tuple[int, ...]
    wrong: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception at the line that raised it. call 0: no operator failed."""

    moment: int
    type: str
    message: str
    file: int
    line: int
    call: int
    op: str
    operands: tuple[Operand, ...]
    fatal: bool  # the program ended with it

    @property
    def title(self) -> str:
        """The last line of Python's traceback."""
        return f"{self.type}: {self.message}" if self.message else self.type


@per_history(max_entries=1)
def fatal_failure(history: History) -> Failure | None:
    """Return the exception that ended the program, or None."""
    tables = history.tables
    moments, ended = tables.of("FRAME_POP")
    if not len(tables.frames) or not len(tables.exceptions):
        return None
    outer = int(tables.frames.id[0])
    rows = np.flatnonzero((ended["frame"] == outer) & (ended["raised"] != 0))
    if not len(rows):
        return None
    last = tables.exceptions.started_by(int(moments[rows[-1]])) - 1
    while last >= 0 and int(tables.exceptions.frame[last]) != outer:
        last -= 1
    if last < 0:
        return None
    fact = history.exception(_origin(history, last))
    return None if fact.type in _LEAVES else _failure(history, fact, fatal=True)


def failure_at(history: History, m: int) -> Failure | None:
    """Return the exception that ended the program, was raised at the moment, or ended a frame after the
    last line that has started: that of a line of the playground."""
    if m < 0:
        return None
    ending = fatal_failure(history)
    if ending is not None and m >= ending.moment:
        return ending
    row = history.tables.exceptions.started_by(m) - 1
    since = int(history.tables.exceptions.since[row]) if row >= 0 else -1
    if since < 0 or (since != m and not _ended_a_frame(history, since, m)):
        return None
    fact = history.exception(_origin(history, row))
    return None if fact.type in _LEAVES else _failure(history, fact, fatal=False)


def _ended_a_frame(history: History, since: int, m: int) -> bool:
    """Return whether an exception of the moment `since` has ended a frame by `m`, and no line has started."""
    tables = history.tables
    line = tables.lines.started_by(m) - 1
    if line >= 0 and int(tables.lines.since[line]) > since:
        return False
    moments, ended = tables.of("FRAME_POP")
    return bool(np.any((moments > since) & (moments <= m) & (ended["raised"] != 0)))


def _origin(history: History, row: int) -> int:
    """Return the row of the frame that raised the exception; each caller on the way has another row."""
    tables = history.tables
    parents = dict(zip(tables.frames.id.tolist(), tables.frames.parent.tolist(), strict=True))
    while row > 0:
        own, before = history.exception(row), history.exception(row - 1)
        same = (own.type, own.message) == (before.type, before.message)
        if not same or parents.get(before.frame) != own.frame:
            return row
        row -= 1
    return row


def _failure(history: History, fact: ExceptionFact, *, fatal: bool) -> Failure:
    m = fact.moment
    frame = history.frame(fact.frame, m)
    call = _failed_call(history, fact)
    operands = _operands(history, call, m) if call is not None else []
    wrong = _wrong(fact.message, [sizes for *_, sizes in operands])
    return Failure(
        moment=m,
        type=fact.type,
        message=fact.message,
        file=frame.file if frame else 0,
        line=fact.line,
        call=call.id if call else 0,
        op=call.op if call else "",
        operands=tuple(
            Operand(*operand, marks) for operand, marks in zip(operands, wrong, strict=True)
        ),
        fatal=fatal,
    )


def _failed_call(history: History, fact: ExceptionFact) -> CallFact | None:
    """Return the program's call that failed on the line, just before the exception."""
    since, errors = history.tables.of("ERROR")
    row = int(np.searchsorted(since, fact.moment)) - 1
    if row < 0:
        return None
    line = history.line_at(fact.moment)
    if line is not None and int(since[row]) < line.since:
        return None
    return history.call(int(errors["call"][row]))


def _operands(
    history: History, call: CallFact, m: int
) -> list[tuple[str, str, int, str, str, tuple[int, ...]]]:
    """Return the tensors among the call's arguments."""
    operands = []
    for argument in call.args:
        if argument.kind == "tensor":
            items = [(argument.name, int(argument.value))]
        elif argument.kind == "tensors":
            items = [(f"{argument.name}[{i}]", int(t)) for i, t in enumerate(argument.value)]
        else:
            continue
        for name, tensor in items:
            fact = history.described(tensor, m)
            if fact is not None:
                label = history.label(tensor, m)
                operands.append((name, label, tensor, fact.dtype, fact.device, fact.sizes))
    return operands


def _wrong(message: str, shapes: list[tuple[int, ...]]) -> list[tuple[bool, ...]]:
    """Mark the mismatched sizes that the message is about."""
    marks = [[False] * len(shape) for shape in shapes]
    if product := _MATMUL.search(message):
        inner, outer = int(product[2]), int(product[3])
        if len(shapes) > 1 and shapes[0] and shapes[1]:
            _mark_last(marks[0], shapes[0], inner)
            _mark_last(marks[1], shapes[1], outer)
    elif "must match the size of tensor b" in message or "broadcast" in message:
        for back in range(1, 1 + max((len(shape) for shape in shapes), default=0)):
            sizes = {shape[-back] for shape in shapes if len(shape) >= back} - {1}
            for mark, shape in zip(marks, shapes, strict=True):
                if len(sizes) > 1 and len(shape) >= back and shape[-back] != 1:
                    mark[-back] = True
    elif (named := _DIMENSION.search(message)) and "out of bounds" in message:
        dimension = int(named[1])
        if marks and dimension < len(marks[0]):
            marks[0][dimension] = True
    elif "except in dimension" in message or "to be equal size" in message:
        for dimension in range(max((len(shape) for shape in shapes), default=0)):
            sizes = {shape[dimension] for shape in shapes if dimension < len(shape)}
            joined = f"except in dimension {dimension}" in message
            for mark, shape in zip(marks, shapes, strict=True):
                if len(sizes) > 1 and not joined and dimension < len(shape):
                    mark[dimension] = True
    elif "channels" in message:
        for mark in marks[:2]:
            if len(mark) > 1:
                mark[1] = True
    elif "size" in message or "shape" in message:
        named_sizes = {int(number) for number in _SIZE.findall(message)}
        common = set.intersection(*(set(shape) for shape in shapes)) if len(shapes) > 1 else set()
        for mark, shape in zip(marks, shapes, strict=True):
            mark[:] = [size in named_sizes and size not in common for size in shape]
    return [tuple(mark) for mark in marks]


def _mark_last(mark: list[bool], shape: tuple[int, ...], size: int) -> None:
    """Mark the last of the two last sizes that has this value."""
    for back in range(1, min(2, len(shape)) + 1):
        if shape[-back] == size:
            mark[-back] = True
            return
