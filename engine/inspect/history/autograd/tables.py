"""The fold of autograd's events into tables of nodes, edges, saved tensors and backward passes."""

from __future__ import annotations

import numpy as np

from engine._generated.codes import GRADIENT_HOOKS
from engine.inspect.events import FOREVER
from engine.inspect.history.fold import PartTables
from engine.inspect.history.table import (
    Ints,
    Table,
    ends_of,
    indexed,
    look_up,
    next_of_same,
    pair,
    rows_before,
)


class AutogradTables(PartTables):
    """The tables of autograd; each is built on its first use."""

    # The graph

    @indexed
    def nodes(self) -> Table:
        since, new = self.of("NODE_NEW")
        ended, old = self.of("NODE_FREE")
        return Table(
            since,
            ends_of(new["node"], old["node"], ended),
            id=new["node"],
            name=new["name"],
            call=new["call"],
            sequence=new["sequence"],
        )

    @indexed
    def edges(self) -> Table:
        """An edge lives as long as its source node."""
        since, new = self.of("EDGE")
        ended, old = self.of("NODE_FREE")
        until = ends_of(new["node"], old["node"], ended)
        return Table(
            since, until, node=new["node"], index=new["index"], next=new["next"], input=new["input"]
        )

    @indexed
    def grad_fns(self) -> Table:
        """A tensor's grad_fn, until it is replaced or the tensor is freed."""
        since, new = self.of("GRAD_FN")
        ended, old = self.of("TENSOR_FREE")
        until = np.minimum(
            next_of_same(new["tensor"], since=since), ends_of(new["tensor"], old["tensor"], ended)
        )
        return Table(since, until, tensor=new["tensor"], node=new["node"], output=new["output"])

    @indexed
    def flags(self) -> Table:
        """requires_grad of leaves, as the program set it."""
        since, new = self.of("REQUIRES_GRAD")
        until = next_of_same(new["tensor"], since=since)
        return Table(since, until, tensor=new["tensor"], value=new["value"])

    @indexed
    def saves(self) -> Table:
        """Saved tensors, until the node releases them or is freed.

        `storage` and `counter` are those that the tensor had when it was saved. `stale` is the
        moment at which it was first written after that, FOREVER if it never was."""
        since, new = self.of("SAVE")
        left, old = self.of("RELEASE")
        ended, freed = self.of("NODE_FREE")
        until = pair((new["node"], new["slot"]), since, (old["node"], old["slot"]), left)
        tensors = self.tables.tensors
        row = rows_before(tensors.id, tensors.since, new["tensor"], since)
        matches = row >= 0
        storage, counter = np.zeros((2, len(since)), np.int64)
        storage[matches] = tensors.storage[row[matches]]
        described, index = np.unique(tensors.since[row[matches]], return_inverse=True)
        counter[matches] = self.tables.trace.blob_words(described, 1)[index, 0]
        return Table(
            since,
            np.minimum(until, ends_of(new["node"], freed["node"], ended)),
            node=new["node"],
            slot=new["slot"],
            tensor=new["tensor"],
            version=new["version"],
            name=new["name"],
            storage=storage,
            counter=counter,
            stale=self._written(counter, new["version"]),
        )

    def _written(self, counter: Ints, version: Ints) -> Ints:
        """Return the moment at which each counter first exceeded the version; versions only grow."""
        table = self.tables.versions
        row = rows_before(table.counter, -table.version, counter, -version - 1)
        return np.where(row >= 0, np.append(table.since, FOREVER)[row], FOREVER)

    @indexed
    def unpacks(self) -> Table:
        return self.tables.moments("UNPACK")

    @indexed
    def hooks(self) -> Table:
        """`node` is the node that was taken from the queue last, in the same thread; `run` its pass.

        Hooks that pack a tensor are called while the program runs: then both are 0."""
        since, rows = self.of("HOOK")
        moments, pops = self.of("READY_POP")
        row = rows_before(pops.thread, moments, rows.thread, since)
        inside = (row >= 0) & np.isin(rows["kind"], GRADIENT_HOOKS)
        run, node = (
            np.where(inside, np.append(pops[field], 0)[row], 0) for field in ("run", "node")
        )
        return Table(
            since, since + 1,
            kind=rows["kind"], owner=rows["owner"], before=rows["before"], after=rows["after"], run=run, node=node,
        )  # fmt: skip

    # Gradients of leaves

    @indexed
    def grads(self) -> Table:
        """The .grad of tensors, each from one assignment until the next."""
        since, new = self.of("GRAD_SET")
        ended, old = self.of("TENSOR_FREE")
        until = np.minimum(
            next_of_same(new["tensor"], since=since), ends_of(new["tensor"], old["tensor"], ended)
        )
        return Table(since, until, tensor=new["tensor"], grad=new["grad"])

    @indexed
    def accumulations(self) -> Table:
        return self.tables.moments("ACCUMULATE")

    # Backward passes

    @indexed
    def runs(self) -> Table:
        """A backward pass, from BACKWARD_BEGIN until BACKWARD_END."""
        since, new = self.of("BACKWARD_BEGIN")
        ended, end = self.of("BACKWARD_END")
        until = ends_of(new["run"], end["run"], ended)
        return Table(
            since,
            until,
            id=new["run"],
            outer=new["outer"],
            flags=new["flags"],
            n_roots=new["n_roots"],
            thread=new.thread.astype(np.int64),
            failed=look_up(new["run"], end["run"], end["failed"]),
        )

    @indexed
    def dependencies(self) -> Table:
        return self.tables.moments("DEPENDENCY")

    @indexed
    def pushes(self) -> Table:
        return self.tables.moments("READY_PUSH")

    @indexed
    def pops(self) -> Table:
        return self.tables.moments("READY_POP")

    @indexed
    def enters(self) -> Table:
        return self.tables.moments("NODE_ENTER", n="n_inputs")

    @indexed
    def exits(self) -> Table:
        return self.tables.moments("NODE_EXIT", n="n_outputs")

    @indexed
    def arrivals(self) -> Table:
        return self.tables.moments("ARRIVE")
