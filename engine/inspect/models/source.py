"""The source at a moment: the line that runs, how often each line ran, the names, the call stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.inspect.history.failure import Failure, failure_at, fatal_failure
from engine.inspect.models._wording import shape_text

if TYPE_CHECKING:
    from engine.inspect.history import History
    from engine.inspect.history.facts import NameFact
    from engine.inspect.selection import Selection

OUTPUT = 12  # lines of output
MAX_EVENTS = 2000  # events that are looked up to mark their lines


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of the file that is shown."""

    number: int
    text: str
    hits: int  # how often it has started up to this moment
    total: int  # and in the whole trace
    current: bool
    last: bool  # it ran just before the current one
    touched: bool  # it created, read, wrote or named the selection
    event: int  # the moment of its last start (or its first, if that is later); -1 never


@dataclass(frozen=True, slots=True)
class BoundName:
    """A name of the running frame and what it is bound to, in a few words."""

    name: str
    kind: str
    tensor: int
    storage: int
    text: str
    changed: bool  # bound by the line before
    highlighted: bool
    since: int
    others: int  # number of longer paths to the same tensor, which are not listed


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A function that has been entered and not left; the last one is running."""

    id: int
    function: str
    file: int
    path: str
    line: int
    since: int


@dataclass(frozen=True, slots=True)
class OutputLine:
    """A line that the program wrote to stdout (stream 1) or stderr (2)."""

    stream: int
    text: str
    line: int  # of the program, that was running; 0: none
    moment: int


@dataclass(frozen=True, slots=True)
class SourceModel:
    """The file of the selected line's or the running frame's code."""

    moment: int
    file: int
    path: str
    current: int
    selected: int
    lines: tuple[SourceLine, ...]
    names: tuple[BoundName, ...]
    stack: tuple[StackFrame, ...]
    output: tuple[OutputLine, ...]
    error: str
    failure: Failure | None  # the exception that is raised, or that ended the program
    failed_line: int  # the line of this file at which the program ended; 0: none


def project(history: History, moment: int, selection: Selection) -> SourceModel:
    """Return the source, names, stack and output of the program at this moment."""
    at_cursor = history.line_at(moment)
    # Nothing runs between two lines of the playground: then the last line that ran, and its names.
    near = at_cursor or history.last_line(moment)
    selected = selection.line
    file = selected.file if selected else near.file if near else _first_file(history)
    path, text = history.source(file) if file else ("", "")
    current = at_cursor.line if at_cursor and at_cursor.file == file else 0
    ending = fatal_failure(history)
    return SourceModel(
        moment=moment,
        file=file,
        path=path,
        current=current,
        selected=selected.line if selected and selected.file == file else 0,
        lines=_lines(history, moment, selection, file, text.splitlines(), current),
        names=_names(history, moment, selection, near.frame if near else 0),
        stack=_stack(history, moment),
        output=_output(history, moment),
        error=_error(history, moment),
        failure=failure_at(history, moment),
        failed_line=ending.line if ending is not None and ending.file == file else 0,
    )


def _first_file(history: History) -> int:
    """Return the file of the first frame, so that there is something to read before the first line runs."""
    files = history.tables.frames.file
    return int(files[0]) if len(files) else 0


def _lines(
    history: History, moment: int, selection: Selection, file: int, strings: list[str], current: int
) -> tuple[SourceLine, ...]:
    import numpy as np

    table = history.tables.lines
    own = np.flatnonzero(table.file == file)
    numbers, since = table.line[own].astype(np.int64), table.since[own]
    size = len(strings) + 2
    inside = (numbers > 0) & (numbers < size)
    numbers, since = numbers[inside], since[inside]
    past = since <= moment
    totals = np.bincount(numbers, minlength=size)
    hits = np.bincount(numbers[past], minlength=size)
    when = np.full(size, -1, np.int64)
    when[numbers[::-1]] = since[::-1]  # of several events of a line, the first remains
    when[numbers[past]] = since[past]  # and of past events the last
    before = numbers[past]
    last = int(before[-2]) if current and len(before) > 1 else 0
    touched = _touched(history, moment, selection, file)
    columns = (hits.tolist()[1:], totals.tolist()[1:], when.tolist()[1:])
    return tuple(
        SourceLine(n, text, ran, total, n == current, n == last, n in touched, event)
        for n, (text, ran, total, event) in enumerate(zip(strings, *columns, strict=False), 1)
    )


def _touched(history: History, moment: int, selection: Selection, file: int) -> frozenset[int]:
    """Return the lines under which the selected tensor or storage was created, written, named or used."""
    import numpy as np

    tables = history.tables
    tensor, storage = selection.tensor, selection.storage
    if tensor:
        fact = history.tensor(tensor, moment)
        storage = fact.storage if fact else storage
    if not tensor and not storage:
        return frozenset()
    moments = [tables.writes.since[tables.writes.where("storage", storage)]] if storage else []
    if tensor:
        moments += [
            tables.tensors.since[tables.tensors.where("id", tensor)],
            tables.views.since[tables.views.where("base", tensor)],
        ]
    moments = [np.concatenate(moments)[:MAX_EVENTS]]
    if tensor:  # a name is recorded at the line after the one that bound it
        moments += [tables.names.since[tables.names.where("tensor", tensor)][:MAX_EVENTS]]
    _, files, lines = tables.lines_of(np.concatenate(moments))
    return frozenset(lines[(files == file) & (lines > 0)].tolist())


def _names(
    history: History, moment: int, selection: Selection, frame: int
) -> tuple[BoundName, ...]:
    if not frame:
        return ()
    before = history.names_at(history.previous(moment, "line"), frame)
    same = {(fact.name, fact.tensor, fact.text) for fact in before}
    facts = history.names_at(moment, frame)
    paths: dict[int, list[NameFact]] = {}  # by tensor, through containers
    for fact in facts:
        if fact.tensor and fact.kind != "NAME":
            paths.setdefault(fact.tensor, []).append(fact)
    # A module's parameter is in an optimizer, too: `net.0.weight` says more than `sgd.state.keys()[0]`.
    best = {
        tensor: min(own, key=lambda fact: (fact.label == fact.name, len(fact.label))).name
        for tensor, own in paths.items()
    }
    matches = []
    for fact in facts:
        if fact.kind != "NAME" and best.get(fact.tensor, fact.name) != fact.name:
            continue
        tensor = history.tensor(fact.tensor, moment) if fact.tensor else None
        text = fact.text
        if tensor:
            text = f"{tensor.dtype} {shape_text(tensor.sizes)}"
        matches.append(
            BoundName(
                name=fact.label,
                kind=fact.kind,
                tensor=fact.tensor,
                storage=tensor.storage if tensor else 0,
                text=text,
                changed=(fact.name, fact.tensor, fact.text) not in same,
                highlighted=fact.tensor == selection.tensor != 0,
                since=fact.since,
                others=len(paths[fact.tensor]) - 1 if fact.name == best.get(fact.tensor) else 0,
            )
        )
    return tuple(sorted(matches, key=lambda name: name.since))


def _stack(history: History, moment: int) -> tuple[StackFrame, ...]:
    lines = {line.frame: line.line for line in history.lines_at(moment)}
    return tuple(
        StackFrame(
            id=frame.id,
            function=frame.function,
            file=frame.file,
            path=frame.path,
            line=lines.get(frame.id, frame.first_line),
            since=frame.since,
        )
        for frame in history.frames_at(moment)
    )


def _output(history: History, moment: int) -> tuple[OutputLine, ...]:
    """Return the last lines that the program wrote up to the moment, oldest first."""
    table = history.tables.output
    lines: list[OutputLine] = []
    for row in range(table.started_by(moment) - 1, -1, -1):
        at, stream = int(table.since[row]), int(table.stream[row])
        running = history.line_at(at)
        number = running.line if running else 0
        text = history.text(at)
        parts = text.removesuffix("\n").split("\n")[-OUTPUT:]
        lines += [OutputLine(stream, part, number, at) for part in reversed(parts)]
        if len(lines) >= OUTPUT:
            break
    return tuple(reversed(lines[:OUTPUT]))


def _error(history: History, moment: int) -> str:
    """Return the exception that is being raised at this moment."""
    if moment < 0:
        return ""
    event = history.event(moment)
    return event.sentence if event.kind in ("EXCEPTION", "ERROR") else ""
