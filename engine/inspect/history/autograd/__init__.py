"""Queries about autograd: the node of a tensor, saved tensors, the running pass.

All are look-ups at a moment in the tables of tables.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.events import FOREVER, HOLDERS, fields_of
from engine.inspect.history.autograd.backward_pass import BackwardPass
from engine.inspect.history.autograd.components import Parts
from engine.inspect.history.autograd.tables import AutogradTables
from engine.inspect.history.facts import Fact, VersionFact
from engine.inspect.history.table import Ints

if TYPE_CHECKING:
    from engine.inspect.history import History

LEAF = "AccumulateGrad"
CROWD = 64  # maximum tensors on a storage that are searched for a name


@dataclass(frozen=True, slots=True)
class NodeFact(Fact):
    """A node of the graph."""

    id: int
    name: str
    call: int
    sequence: int


@dataclass(frozen=True, slots=True)
class SavedFact(Fact):
    """A tensor saved by a node at `version`. At `stale` it was written (FOREVER: never)."""

    node: int
    slot: int
    tensor: int
    version: int
    name: str
    storage: int
    counter: int
    stale: int


@dataclass(frozen=True, slots=True)
class GradFact(Fact):
    """The .grad of a tensor; 0: None."""

    tensor: int
    grad: int


@dataclass(frozen=True, slots=True)
class AccumulationFact:
    """The accumulation of a gradient into .grad of a leaf."""

    moment: int
    tensor: int
    incoming: int
    grad: int
    mode: int
    run: int


class Autograd:
    """The autograd queries of one history."""

    def __init__(self, history: History):
        self.history = history
        self.tables = AutogradTables(history.tables)
        memoise = history.cache.memoise
        self._run = memoise(self._backward_pass, 64)
        self._variable = memoise(self._variable_of, 65536)
        self._name_and_variable = memoise(self._describe, 65536)
        self._parts_of_run = memoise(self._reached_parts, 64)

    def _backward_pass(self, row: int) -> BackwardPass:
        return BackwardPass(self.tables, row)

    # Nodes

    @cached_property
    def leaf(self) -> np.ndarray:
        """A mask of the rows of AccumulateGrad nodes."""
        names = [number for number, text in self.history.trace.strings.items() if text == LEAF]
        return np.isin(self.tables.nodes.name, names)

    @cached_property
    def parts(self) -> Parts:
        return Parts(self.tables.nodes, self.tables.edges, self.leaf)

    def row(self, node: int) -> int:
        """Return the row of the nodes that has this id; -1 for none."""
        rows = self.tables.nodes.where("id", node)
        return int(rows[0]) if len(rows) else -1

    def since(self, node: int) -> int:
        """Return the moment at which the node was created; FOREVER if it never was."""
        row = self.row(node)
        return int(self.tables.nodes.since[row]) if row >= 0 else FOREVER

    def node(self, node: int, m: int) -> NodeFact | None:
        """Return the node, while it is alive."""
        table, row = self.tables.nodes, self.row(node)
        if row < 0 or not table.since[row] <= m < table.until[row]:
            return None
        name = self.history.string(int(table.name[row]))
        return NodeFact(
            int(table.since[row]),
            int(table.until[row]),
            node,
            name,
            int(table.call[row]),
            int(table.sequence[row]),
        )

    def describe_node(self, node: int, m: int = -1) -> str:
        """Return `5 (MulBackward0)`, alive or not; for a leaf also its tensor."""
        name, variable = self._name_and_variable(node)
        if not name:
            return str(node)
        variable = variable if m >= 0 else 0
        return f"{node} ({name}{f' of {self.history.label(variable, m)}' if variable else ''})"

    def _describe(self, node: int) -> tuple[str, int]:
        """Return a node's name, "" if unknown, and the leaf that it accumulates into."""
        row = self.row(node)
        if row < 0:
            return "", 0
        return self.history.string(int(self.tables.nodes.name[row])), self.variable(node)

    def named(self, names: list[int], tensors: Ints) -> Ints:
        """Return the nodes with one of these names (string ids), and the leaves of these tensors."""
        table = self.tables.nodes
        leaves = table.id[self.leaf].tolist() if len(tensors) else []
        own = [node for node in leaves if self.variable(node) in tensors]
        return np.concatenate([table.id[np.isin(table.name, names)], np.array(own, np.int64)])

    @cached_property
    def source_lines(self) -> tuple[Ints, Ints, Ints]:
        """(frame, file, line) of the program for each row of the nodes; 0: no line was running."""
        return self.history.tables.lines_of(self.tables.nodes.since)

    def parts_of_run(self, run: BackwardPass) -> Ints:
        """Return the parts that a backward pass reaches."""
        return self._parts_of_run(run.id)

    def _reached_parts(self, run: int) -> Ints:
        matches, table = self.run(run), self.tables.nodes
        rows = (
            np.flatnonzero(np.isin(table.id, matches.nodes)) if matches else np.empty(0, np.int64)
        )
        parts = np.unique(self.parts.of_row[rows])
        return parts[parts != 0]

    # Tensors

    def grad_fn(self, tensor: int, m: int) -> tuple[int, int]:
        """Return the tensor's grad_fn as (node, output number); node 0 for a leaf."""
        table = self.tables.grad_fns
        rows = table.where_at("tensor", tensor, m)
        return (int(table.node[rows[-1]]), int(table.output[rows[-1]])) if len(rows) else (0, 0)

    def outputs(self, node: int, m: int) -> tuple[tuple[int, int], ...]:
        """Return (output, tensor) of the tensors, alive or freed, whose grad_fn is the node."""
        table = self.tables.grad_fns
        rows = table.until_now("node", node, m)
        last = {int(table.output[row]): int(table.tensor[row]) for row in rows}
        return tuple(sorted(last.items()))

    def label(self, tensor: int, m: int) -> str:
        """Return a tensor's name. A node that saves its own result has a separate TensorImpl: it is named for
        the tensor over the same elements."""
        label: str = self.history.label(tensor, m)
        fact = self.history.tensor(tensor, m)
        if not label.startswith("#") or fact is None or not fact.storage:
            return label
        if len(self.history.tables.tensors.where_at("storage", fact.storage, m)) > CROWD:
            return label  # slices of a stack: none of them covers all elements
        same = (
            each.id
            for each in self.history.tensors_on(fact.storage, m)
            if (each.sizes, each.strides, each.offset) == (fact.sizes, fact.strides, fact.offset)
        )
        names = (str(self.history.label(each, m)) for each in same)
        return next((name for name in names if not name.startswith("#")), label)

    def requires_grad(self, tensor: int, m: int) -> bool:
        """Return whether it requires grad, by its own flag or through its grad_fn."""
        row = self.tables.flags.last("tensor", tensor, m)
        return self.grad_fn(tensor, m)[0] > 0 or (row >= 0 and bool(self.tables.flags.value[row]))

    def variable(self, node: int) -> int:
        """Return the leaf of an AccumulateGrad node; 0 for other nodes, or if it was not recorded."""
        row = self.row(node)
        return self._variable(row) if row >= 0 and self.leaf[row] else 0

    def _variable_of(self, row: int) -> int:
        """Return the leaf of a node: the event after its creation retains the leaf."""
        tables, node = self.history.tables, int(self.tables.nodes.id[row])
        moments = tables.numbers("TENSOR_RETAIN")
        index, saved = (
            np.searchsorted(moments, self.tables.nodes.since[row]),
            HOLDERS.index("SAVED"),
        )
        if index < len(moments):
            fields = fields_of(tables.events[moments[index]])
            if (fields["holder_kind"], fields["holder"]) == (saved, node):
                return fields["tensor"]
        references = tables.uses.where("holder", node)
        references = references[tables.uses.kind[references] == saved]
        return int(tables.uses.id[references[0]]) if len(references) else 0

    def accumulators(self, tensor: int, m: int) -> tuple[int, ...]:
        """Return the living AccumulateGrad nodes of a leaf (there is one at most)."""
        return tuple(node for node in self.accumulators_ever(tensor, m) if self.node(node, m))

    def accumulators_ever(self, tensor: int, m: int) -> tuple[int, ...]:
        """Return every AccumulateGrad node that the leaf has had up to the moment, oldest first."""
        uses = self.history.tables.uses
        rows = uses.until_now("id", tensor, m)
        references = dict.fromkeys(
            uses.holder[rows[uses.kind[rows] == HOLDERS.index("SAVED")]].tolist()
        )
        return tuple(node for node in references if self.variable(node) == tensor)

    # Saved tensors

    def saved_by(self, node: int, m: int) -> tuple[SavedFact, ...]:
        """Return the tensors that the node saved up to the moment, by slot, released ones included."""
        rows = self.tables.saves.until_now("node", node, m)
        return tuple(sorted((self._saved(int(row)) for row in rows), key=lambda fact: fact.slot))

    def savers(self, tensor: int, m: int) -> tuple[SavedFact, ...]:
        """Return the nodes that have saved the tensor."""
        return tuple(
            self._saved(int(row)) for row in self.tables.saves.where_at("tensor", tensor, m)
        )

    def stale(self, m: int) -> tuple[SavedFact, ...]:
        """Return every saved tensor that was written since it was saved."""
        table = self.tables.saves
        rows = table.at(m)
        return tuple(self._saved(int(row)) for row in rows[table.stale[rows] <= m])

    def slot_name(self, node: int, slot: int) -> str:
        """Return the name of a node's saved tensor: `_saved_self`."""
        table = self.tables.saves
        rows = table.where("node", node)
        rows = rows[table.slot[rows] == slot]
        return (
            self.history.string(int(table.name[rows[-1]])) if len(rows) else f"saved tensor {slot}"
        )

    def _saved(self, row: int) -> SavedFact:
        table = self.tables.saves
        names = ("node", "slot", "tensor", "version", "storage", "counter", "stale")
        columns = {name: int(table.columns[name][row]) for name in names}
        name = self.history.string(int(table.name[row]))
        return SavedFact(int(table.since[row]), int(table.until[row]), name=name, **columns)

    def writes_after(self, saved: SavedFact, m: int) -> tuple[VersionFact, ...]:
        """Return the in-place writes to a saved tensor since it was saved, oldest first."""
        versions = self.history.versions(saved.counter, m)
        return tuple(fact for fact in versions if fact.version > saved.version)

    # Gradients

    def grad(self, tensor: int, m: int) -> GradFact | None:
        """Return the tensor's .grad, and since when; None if it was never set."""
        table = self.tables.grads
        rows = table.where_at("tensor", tensor, m)
        if not len(rows):
            return None
        row = int(rows[-1])
        return GradFact(int(table.since[row]), int(table.until[row]), tensor, int(table.grad[row]))

    def last_accumulation(self, tensor: int, m: int, grad: int = 0) -> AccumulationFact | None:
        """Return the newest accumulation into .grad of the tensor; with `grad`, while that was .grad."""
        table = self.tables.accumulations
        rows = table.until_now("tensor", tensor, m)
        if grad:
            rows = rows[table.grad[rows] == grad]
        if not len(rows):
            return None
        row = int(rows[-1])
        fields = (int(table.columns[name][row]) for name in ("incoming", "grad", "mode", "run"))
        return AccumulationFact(int(table.since[row]), tensor, *fields)

    @cached_property
    def releases(self) -> Ints:
        """The events that released a saved tensor, a node or a tensor."""
        return self.history.tables.numbers("RELEASE", "NODE_FREE", "TENSOR_FREE")

    # Backward passes

    def runs_at(self, m: int) -> tuple[BackwardPass, ...]:
        """Return the backward passes that are running."""
        return tuple(self._run(int(row)) for row in self.tables.runs.at(m))

    def run(self, run: int) -> BackwardPass | None:
        rows = self.tables.runs.where("id", run)
        return self._run(int(rows[0])) if len(rows) else None

    def run_at(self, m: int) -> BackwardPass | None:
        """Return the pass that the event belongs to; else the innermost of its thread; else the newest."""
        if not 0 <= m < self.history.end:
            return None
        table = self.tables.runs
        record = self.tables.tables.events[m]
        named = self.run(fields_of(record).get("run", 0))
        if named is not None:
            return named
        rows = table.at(m)
        own = rows[table.thread[rows] == int(record["thread"])]
        rows = own if len(own) else rows
        newest = int(rows[-1]) if len(rows) else table.started_by(m) - 1
        return self._run(newest) if newest >= 0 else None
