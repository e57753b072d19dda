"""One backward pass: the states of the nodes that it reaches, in columns.

A query at a moment (`codes`, `waits`) compares whole columns, so it is fast for ten thousand nodes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.events import FOREVER
from engine.inspect.history.table import Ints, Table

if TYPE_CHECKING:
    from engine.inspect.history.autograd.tables import AutogradTables

STATES = ("", "waiting", "partly", "ready", "running", "done", "skipped", "failed", "captured")
"""What a node is in a backward pass.

"" the pass does not reach it; waiting: nothing has arrived; partly: some gradients have arrived and
others have not; ready: in the queue; running; done; skipped: reached, but `inputs=` needs nothing
of it; failed: it ran when the pass ended with an error; captured: the gradient that arrived is what
autograd.grad() returns, and the node itself does not run."""

WAITING, PARTLY, READY, RUNNING, DONE, SKIPPED, FAILED, CAPTURED = range(1, len(STATES))


class BackwardPass:
    """The nodes of one pass, in the order of their ids, with the moments of their state changes."""

    def __init__(self, tables: AutogradTables, row: int):
        runs = tables.runs
        self.row = row
        self.id, self.outer = int(runs.id[row]), int(runs.outer[row])
        self.since, self.until = int(runs.since[row]), int(runs.until[row])
        self.flags, self.thread = int(runs.flags[row]), int(runs.thread[row])
        self.failed = bool(runs.failed[row])
        self._tables = tables
        named = (
            tables.dependencies, tables.pushes, tables.pops, tables.enters, tables.exits,
            tables.arrivals,
        )  # fmt: skip
        rows = [table.where("run", self.id) for table in named]
        matches = [table.node[each] for table, each in zip(named, rows, strict=True)]
        self.nodes: Ints = np.unique(np.concatenate(matches))
        depend = rows[0]
        index = self.indices(tables.dependencies.node[depend])
        self.known, self.count = self._first(tables.dependencies, depend), self._zeros()
        self.needed = np.ones(len(self.nodes), bool)
        self.count[index] = tables.dependencies.count[depend]
        self.needed[index] = tables.dependencies.needed[depend] != 0
        self.pushed, self.popped, self.entered, self.exited = (
            self._first(table, each) for table, each in zip(named[1:5], rows[1:5], strict=True)
        )
        last = self.popped == self.popped[self.popped < FOREVER].max(initial=-1)
        self.captured = (self.popped < FOREVER) & (self.entered == FOREVER) & self.needed
        self.captured &= ~(last & self.failed)  # a hook raised, so it never ran
        self.sequence = self._zeros()
        self.sequence[self.indices(tables.pushes.node[rows[1]])] = tables.pushes.sequence[rows[1]]
        self.arrivals: Ints = rows[5]
        """Rows of the table of arrivals."""
        self.order: Ints = tables.enters.node[rows[3]]
        """The nodes in the order in which they ran."""

    def _zeros(self) -> Ints:
        return np.zeros(len(self.nodes), np.int64)

    def _first(self, table: Table, rows: Ints) -> Ints:
        """Return the moment of each node's first row; FOREVER for nodes without a row."""
        out = np.full(len(self.nodes), FOREVER, np.int64)
        out[self.indices(table.node[rows[::-1]])] = table.since[rows[::-1]]
        return out

    def indices(self, nodes: Ints) -> Ints:
        """Return the indices of nodes of this pass in its columns."""
        return np.searchsorted(self.nodes, nodes)

    def index(self, node: int) -> int:
        """Return the index of a node; -1 if the pass does not reach it."""
        index = int(np.searchsorted(self.nodes, node))
        return index if index < len(self.nodes) and self.nodes[index] == node else -1

    # Gradients that arrive

    @cached_property
    def arrived(self) -> tuple[Ints, Ints]:
        """(moments, indices) of the gradients that nodes wait for, without the roots' own."""
        table, rows = self._tables.arrivals, self.arrivals
        rows = rows[table.since[rows] > self.started]
        return table.since[rows], self.indices(table.node[rows])

    @cached_property
    def started(self) -> int:
        """The moment at which the first node left the queue or ran: earlier gradients were for the roots."""
        return int(min(self.popped.min(initial=FOREVER), self.entered.min(initial=FOREVER)))

    def arrivals_at(self, node: int, m: int) -> Ints:
        """Return the rows of what has arrived at a node, the roots' own gradients too."""
        rows = self._by_node.get(node, np.empty(0, np.int64))
        return rows[: int(np.searchsorted(self._tables.arrivals.since[rows], m, "right"))]

    @cached_property
    def _by_node(self) -> dict[int, Ints]:
        node = self._tables.arrivals.node[self.arrivals]
        order = np.argsort(node, kind="stable")
        ids, first = np.unique(node[order], return_index=True)
        parts = np.split(self.arrivals[order], first[1:]) if len(ids) else []
        return {int(number): part for number, part in zip(ids, parts, strict=True)}

    def expected(self, node: int) -> dict[int, int]:
        """Return the number of gradients that each input of a node receives from nodes that have to run."""
        ends, inputs, counts = self._expected
        lo, hi = np.searchsorted(ends, [node, node + 1])
        return dict(zip(inputs[lo:hi].tolist(), counts[lo:hi].tolist(), strict=True))

    @cached_property
    def _expected(self) -> tuple[Ints, Ints, Ints]:
        """(node, input, gradients), sorted."""
        edges = self._tables.edges
        index = np.searchsorted(self.nodes, edges.node)
        inside = np.append(self.nodes, -1)[index] == edges.node
        inside &= np.append(self.needed, False)[index] & (edges.next > 0)
        inside &= (edges.since < self.until) & (edges.until > self.since)
        both = np.stack([edges.next[inside], edges.input[inside]], axis=1)
        keys, counts = np.unique(both, axis=0, return_counts=True)
        return keys[:, 0], keys[:, 1], counts

    # A moment

    def waits(self, m: int) -> Ints:
        """Return how many gradients each node still waits for."""
        moments, indices = self.arrived
        come = indices[: int(np.searchsorted(moments, m, "right"))]
        came = np.bincount(come, minlength=len(self.nodes))
        return np.maximum(np.where(self.known <= m, self.count, 0) - came, 0)

    def codes(self, m: int) -> np.ndarray:
        """Return the state of each node, as its index in STATES."""
        moments, indices = self.arrived
        come = indices[: int(np.searchsorted(moments, m, "right"))]
        out = np.where(self.known <= m, WAITING, 0).astype(np.uint8)
        out[come] = PARTLY
        out[self.pushed <= m] = READY
        running = (self.entered <= m) | ((self.popped <= m) & self.needed)
        out[running] = RUNNING if m < self.until or not self.failed else FAILED
        out[self.exited <= m] = DONE
        out[(self.popped <= m) & self.captured] = CAPTURED
        out[(out > 0) & ~self.needed & (self.entered > m)] = SKIPPED
        return out

    def ready(self, m: int) -> Ints:
        """Return the indices of the nodes in the ready queue, the next one first.

        The newest node is next; leaves, which count as newer than all others, come first."""
        inside = np.flatnonzero((self.pushed <= m) & (self.popped > m) & (self.entered > m))
        if m >= self.until:
            return inside[:0]
        number = self.sequence[inside].astype(np.uint64)  # -1 is the greatest
        return inside[np.lexsort([self.pushed[inside], np.iinfo(np.uint64).max - number])]

    def done(self, m: int) -> int:
        return int((self.exited <= m).sum())

    def total(self, m: int) -> int:
        """Return the number of nodes that have to run, as far as it is known."""
        return int(((self.known <= m) & self.needed & ~self.captured).sum())

    def last(self, m: int) -> int:
        """Return the node that ran last; 0: none has."""
        done = np.where(self.exited <= m, self.exited, -1)
        index = int(done.argmax()) if len(done) else 0
        return int(self.nodes[index]) if len(done) and done[index] >= 0 else 0

    def running(self, m: int) -> Ints:
        """Return the nodes between enter and exit."""
        if m >= self.until:
            return self.nodes[:0]
        return self.nodes[(self.entered <= m) & (self.exited > m)]

    def order_of(self, node: int, m: int) -> int:
        """Return the node's position in the order of execution, from 1; 0: it has not run."""
        index = self.index(node)
        if index < 0 or self.entered[index] > m:
            return 0
        return int((self.entered <= self.entered[index]).sum())
