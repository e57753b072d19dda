"""Autograd folded event by event, the slow way: the tables must agree with it at every moment.

Nothing here is shared with the history: one event after the other changes plain dictionaries, as a
reader of the event list would keep books.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.sampling import sampled

MAX_MOMENTS = 300  # of one history


@dataclass
class Book:
    """The state of one backward pass."""

    known: dict[int, tuple[int, bool]] = field(default_factory=dict)  # node: count, needed
    came: Counter[int] = field(default_factory=Counter)
    pushed: list[int] = field(default_factory=list)
    entered: list[int] = field(default_factory=list)
    exited: set[int] = field(default_factory=set)
    popped: set[int] = field(default_factory=set)
    buffers: dict[tuple[int, int], int] = field(default_factory=dict)
    started: bool = False
    has_run: bool = False
    ended: bool = False
    failed: bool = False
    captures: set[int] = field(default_factory=set)  # taken from the queue, never entered

    def state(self, node: int) -> str:
        if node not in self.known:
            return ""
        needed = self.known[node][1]
        if node in self.exited:
            return "done"
        if node in self.captures and node in self.pushed:
            return "captured" if node in self.popped else "ready"
        if node in self.entered or (node in self.popped and needed):
            return "failed" if self.ended and self.failed else "running"
        if not needed:
            return "skipped"
        if node in self.pushed:
            return "ready"
        return "partly" if self.came[node] else "waiting"

    def waits(self, node: int) -> int:
        return max(self.known.get(node, (0, True))[0] - self.came[node], 0)


class Replay:
    """Books kept up to one event; `take` enters the next."""

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.grad_fn: dict[int, int] = {}
        self.saved: dict[tuple[int, int], tuple[int, int]] = {}
        self.runs: dict[int, Book] = {}
        self.grad: dict[int, int] = {}
        self.uses: Counter[int] = Counter()

    def take(self, kind: str, f: dict[str, int]) -> None:
        act = getattr(self, f"_{kind.lower()}", None)
        if act:
            act(f)

    def _book(self, f: dict[str, int]) -> Book:
        return self.runs.setdefault(f["run"], Book())

    def _node_new(self, f: dict[str, int]) -> None:
        self.alive.add(f["node"])

    def _node_free(self, f: dict[str, int]) -> None:
        self.alive.discard(f["node"])
        for key in [key for key in self.saved if key[0] == f["node"]]:
            del self.saved[key]

    def _grad_fn(self, f: dict[str, int]) -> None:
        self.grad_fn[f["tensor"]] = f["node"]

    def _tensor_free(self, f: dict[str, int]) -> None:
        self.grad_fn.pop(f["tensor"], None)
        self.grad.pop(f["tensor"], None)

    def _save(self, f: dict[str, int]) -> None:
        self.saved[f["node"], f["slot"]] = (f["tensor"], f["version"])

    def _release(self, f: dict[str, int]) -> None:
        self.saved.pop((f["node"], f["slot"]), None)

    def _backward_begin(self, f: dict[str, int]) -> None:
        self._book(f).started = True

    def _backward_end(self, f: dict[str, int]) -> None:
        book = self._book(f)
        book.ended, book.failed = True, bool(f["failed"])

    def _dependency(self, f: dict[str, int]) -> None:
        self._book(f).known[f["node"]] = (f["count"], bool(f["needed"]))

    def _ready_push(self, f: dict[str, int]) -> None:
        self._book(f).pushed.append(f["node"])

    def _ready_pop(self, f: dict[str, int]) -> None:
        self._book(f).popped.add(f["node"])
        self._book(f).has_run = True

    def _node_enter(self, f: dict[str, int]) -> None:
        self._book(f).entered.append(f["node"])
        self._book(f).has_run = True

    def _node_exit(self, f: dict[str, int]) -> None:
        self._book(f).exited.add(f["node"])

    def _arrive(self, f: dict[str, int]) -> None:
        book = self._book(f)
        book.buffers[f["node"], f["input"]] = f["sum"]
        book.came[f["node"]] += book.has_run

    def _grad_set(self, f: dict[str, int]) -> None:
        self.grad[f["tensor"]] = f["grad"]


def moments(history: Any, first: int = 0) -> Any:
    """(moment, the books after it) for each event of the history."""
    replay = Replay()
    for run, nodes in _captures(history).items():
        replay.runs.setdefault(run, Book()).captures = nodes
    for moment in range(history.end):
        event = history.event(moment)
        replay.take(event.kind, dict(event.fields))
        if moment >= first:
            yield moment, replay


def _captures(history: Any) -> dict[int, set[int]]:
    """Per pass: the nodes that were taken from the queue but did not run, and not for an error."""
    used: dict[int, list[int]] = {}
    matches: dict[int, set[int]] = {}
    for moment in map(int, history.tables.numbers("READY_POP", "NODE_ENTER", "BACKWARD_END")):
        event = history.event(moment)
        if event.kind == "READY_POP":
            used.setdefault(event["run"], []).append(event["node"])
            matches.setdefault(event["run"], set()).add(event["node"])
        elif event.kind == "NODE_ENTER":
            matches.setdefault(event["run"], set()).discard(event["node"])
        elif event["failed"]:
            matches.setdefault(event["run"], set()).difference_update(used[event["run"]][-1:])
    return matches


def assert_agrees(history: Any, project: Any, selection: Any) -> int:
    """The model at a sample of the moments says what the books say; how many moments were compared."""
    seen = 0
    looked_at = set(sampled(range(history.end), MAX_MOMENTS))
    for moment, books in moments(history):
        if moment not in looked_at:
            continue
        model = project(history, moment, selection)
        location = f"at event {moment}, {history.event(moment).sentence}"
        assert model.living == len(books.alive), location
        result = {(b.fact.id, s.slot) for b in model.nodes for s in b.saved if s.released < 0}
        visible = {b.fact.id for b in model.nodes}
        assert result == {key for key in books.saved if key[0] in visible}, location
        assert {b.fact.id for b in model.nodes if b.alive} == books.alive & visible, location
        assert model.hidden or books.alive <= visible, location
        if model.run is None:
            assert not any(book.started for book in books.runs.values()), location
            continue
        book = books.runs[model.run.id]
        for box in model.nodes:
            node = box.fact.id
            assert box.state == book.state(node), f"{location}: node {node}"
            assert box.waits_for == book.waits(node), f"{location}: node {node}"
            lies = {slot.input: slot.tensor for slot in box.inputs}
            for (which, item), tensor in book.buffers.items():
                if which == node:
                    assert lies[item] == tensor, f"{location}: node {node}, input {item}"
            if box.fact.leaf and box.grad is not None:
                assert box.grad.tensor == books.grad.get(box.fact.variable, 0), location
        queue = [] if book.ended else [n for n in book.pushed if n not in book.popped]
        assert {row.node for row in model.ready} == set(queue), location
        assert model.run.done == len(book.exited), location
        seen += 1
    return seen


def assert_queue_order(history: Any, project: Any, selection: Any) -> int:
    """Just before a node is taken from the queue, the model has it in first place."""
    pops = [int(n) for n in history.tables.numbers("READY_POP")]
    for moment in pops:
        event = history.event(moment)
        before = max(n for n in range(moment) if _same_run(history, n, event["run"]))
        model = project(history, before, selection)
        assert model.ready[0].node == event["node"], f"before event {moment}: {event.sentence}"
    return len(pops)


def _same_run(history: Any, moment: int, run: int) -> bool:
    return dict(history.fields(moment)).get("run") == run
