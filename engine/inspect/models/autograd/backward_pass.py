"""A backward pass at a moment: its progress, its queue, and the memory it released."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engine._generated.codes import ACCUMULATE, CREATE_GRAPH, KEEP_GRAPH
from engine.inspect.history.cache import per_history
from engine.inspect.models.autograd.boxes import Flow, FreedRow, ReadyRow, RunBox
from engine.inspect.models.autograd.components import PartMaker
from engine.inspect.models.autograd.node import roots

if TYPE_CHECKING:
    from engine.inspect.history import History

MAX_FREED = 100
MAX_READY = 100
_AFTER = 16  # events after the end of a failed pass that are searched for its error


def run_box(history: History, run: Any, moment: int) -> RunBox:
    line = history.line_at(run.since)
    file, number = (line.file, line.line) if line else (0, 0)
    over = run.until <= moment
    return RunBox(
        id=run.id,
        outer=run.outer,
        thread=run.thread,
        since=run.since,
        until=run.until,
        active=not over,
        keep_graph=bool(run.flags & KEEP_GRAPH),
        create_graph=bool(run.flags & CREATE_GRAPH),
        accumulate=bool(run.flags & ACCUMULATE),
        roots=tuple(_root(history, *root, moment) for root in roots(history, run)),
        file=file,
        line=number,
        code=history.line_text(file, number) if file else "",
        running=tuple(run.running(moment).tolist()),
        done=run.done(moment),
        total=run.total(moment),
        last=run.last(moment),
        failed=over and run.failed,
        error=_error(history, run, moment) if over and run.failed else "",
    )


def _root(history: History, node: int, number: int, gradient: int, moment: int) -> Flow:
    fact = history.described(gradient, moment) if gradient else None
    label = history.label(gradient, moment) if gradient else "None"
    return Flow(node, gradient, label, fact.dtype if fact else "", fact.sizes if fact else ())


def _error(history: History, run: Any, moment: int) -> str:
    numbers = history.tables.numbers("ERROR", "EXCEPTION")
    last = min(run.until + _AFTER, moment)
    inside = numbers[(numbers > run.since) & (numbers <= last)]
    strings = (history.text(int(number)) for number in inside[::-1])
    return next((text for text in strings if text), "")


def ready(maker: PartMaker, run: Any, moment: int) -> tuple[ReadyRow, ...]:
    """Return the queue, the next node first; only the beginning of a long one."""
    return tuple(
        ReadyRow(
            node=(node := int(run.nodes[index])),
            label=maker.label(node),
            sequence=int(run.sequence[index]),
            since=int(run.pushed[index]),
        )
        for index in run.ready(moment)[:MAX_READY]
    )


def _releases(history: History, run: Any, moment: int) -> Any:
    """Return the release events since the pass started, oldest first."""
    numbers = history.autograd.releases
    lo, hi = np.searchsorted(numbers, [run.since, min(moment, run.until) + 1])
    return numbers[lo:hi]


def freed_count(history: History, run: Any, moment: int) -> int:
    """Return the number of releases of the pass, up to the moment or its end."""
    return len(_releases(history, run, moment))


def freed(history: History, run: Any, moment: int) -> tuple[FreedRow, ...]:
    """Return the last releases, newest first."""
    before = history.previous(moment, "node")
    newest = _releases(history, run, moment)[::-1][:MAX_FREED].tolist()
    rows = ((number, _freed(history, number)) for number in newest)
    return tuple(replace(row, fresh=True) if number > before else row for number, row in rows)


@per_history(max_entries=1 << 14)
def _freed(history: History, number: int) -> FreedRow:
    event = dict(history.fields(number))
    node, tensor = event.get("node", 0), event.get("tensor", 0)
    node_name = history.autograd.describe_node(node) if node else ""
    nbytes = 0
    if "slot" in event:
        kind, label = "saved", f"{history.autograd.slot_name(node, event['slot'])} of {node_name}"
    elif node:
        kind, label = "node", node_name
    else:
        kind, label = "tensor", history.label(tensor, max(number - 1, 0))
        nbytes = _went(history, event.get("storage", 0), number)
    return FreedRow(number, kind, node, tensor, label, nbytes, False)


def _went(history: History, storage: int, number: int) -> int:
    """Return the bytes of a tensor's storage, if that was freed with it."""
    table = history.tables.storages
    rows = table.until_now("id", storage, number)
    if not len(rows) or not number <= table.until[rows[-1]] <= number + 4:
        return 0
    return int(table.nbytes[rows[-1]])
