"""The parts of the graph as they are drawn; built once per history and shared by all moments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.declarations import may_be_view
from engine.inspect.events import full_op
from engine.inspect.history.paths import parameter_path
from engine.inspect.history.table import Ints
from engine.inspect.models.autograd.boxes import Edge, NodeFact, Part

if TYPE_CHECKING:
    from engine.inspect.history import History

COPY_SLICES = "CopySlices"
_BACKWARD = re.compile(r"Backward\d*$")


def short_name(name: str) -> str:
    """Return `Mul` of `MulBackward0`, `Scale` of `ScaleBackward`."""
    return _BACKWARD.sub("", name) or name


class PartMaker:
    """Builds the parts of one history from whole columns."""

    def __init__(self, history: History):
        self.history = history
        self.autograd = history.autograd
        self.nodes = self.autograd.tables.nodes
        memoise = history.cache.memoise
        self.part = memoise(self._part, 512)
        self.rows_of = memoise(self._rows_of, 64)
        self._facts_of = memoise(self._by_id, 512)
        self._leaf_names = memoise(self._names_of_leaf, 65536)
        edges = self.autograd.tables.edges
        order = np.lexsort([edges.index, edges.node])
        self._edges = edges.node[order], edges.index[order], edges.next[order], edges.input[order]

    def _rows_of(self, parts: tuple[int, ...]) -> Ints:
        """Return the rows of all nodes of these parts, in the order of node ids."""
        members = [self.autograd.parts.members(part) for part in parts]
        rows = np.unique(np.concatenate(members)) if members else np.empty(0, np.int64)
        return rows[np.argsort(self.nodes.id[rows], kind="stable")]

    def _part(self, part: int) -> Part:
        rows = self.autograd.parts.members(part)
        facts = tuple(self._facts(rows))
        return Part(part, facts, (part, len(facts), self.autograd.parts.edges(part)))

    def fact(self, row: int) -> NodeFact:
        """Return the facts of one node, as in its part."""
        parts = self.autograd.parts.of(row)
        return self._facts_of(int(parts[0]))[int(self.nodes.id[row])]

    def label(self, node: int) -> str:
        """Return a node's short label, or its number if nothing else is known."""
        row = self.autograd.row(node)
        return self.fact(row).label if row >= 0 else str(node)

    def _by_id(self, part: int) -> dict[int, NodeFact]:
        return {fact.id: fact for fact in self.part(part).nodes}

    def _facts(self, rows: Ints) -> list[NodeFact]:
        table, string = self.nodes, self.history.string
        ids = table.id[rows]
        edges = self._edges_of(ids)
        frames, files, lines = (column[rows].tolist() for column in self.autograd.source_lines)
        leaves = self.autograd.leaf[rows].tolist()
        schemas, functions = self._schemas(table.call[rows]), self._functions(frames)
        operators = {schema: (full_op(schema), may_be_view(schema)) for schema in set(schemas)}
        names = {number: string(number) for number in np.unique(table.name[rows]).tolist()}
        variables = {
            node: self.autograd.variable(node)
            for node, leaf in zip(ids.tolist(), leaves, strict=True)
            if leaf
        }
        columns = zip(
            ids.tolist(),
            table.name[rows].tolist(),
            table.call[rows].tolist(),
            table.sequence[rows].tolist(),
            table.since[rows].tolist(),
            table.until[rows].tolist(),
            schemas,
            files,
            lines,
            frames,
            leaves,
            strict=True,
        )
        leaf_names = {
            node: self._leaf_names(variable, self.autograd.since(node))
            for node, variable in variables.items()
        }
        modules = {node: module for node, (_, module) in leaf_names.items()}
        short_names = {number: short_name(text) for number, text in names.items()}
        inside, results = self._inside(rows, names), []
        for node, name, call, sequence, since, until, schema, file, line, frame, leaf in columns:
            op, is_view = operators[schema]
            out, variable = edges.get(node, ()), variables.get(node, 0)
            if leaf:
                label, module = leaf_names[node]
            else:
                label, module = short_names[name], self._module(out, modules)
                if len(out) == 1 and out[0].next in leaf_names:  # a parameter, seen transposed
                    modules[node] = module
            results.append(
                NodeFact(
                    node,
                    names[name],
                    label,
                    op,
                    call,
                    file,
                    line,
                    frame,
                    functions[frame],
                    is_view,
                    module,
                    leaf,
                    variable,
                    sequence,
                    out,
                    since,
                    until,
                    inside.get(node, 0),
                )
            )
        return results

    def _inside(self, rows: Ints, names: dict[int, str]) -> dict[int, int]:
        """Return the nodes of in-place writes to views: each is run by the CopySlices of the same call."""
        table = self.nodes
        complete = [number for number, name in names.items() if name == COPY_SLICES]
        slices = np.isin(table.name[rows], complete) & (table.call[rows] > 0)
        calls = dict(
            zip(table.call[rows[slices]].tolist(), table.id[rows[slices]].tolist(), strict=True)
        )
        others = rows[~slices & np.isin(table.call[rows], list(calls))]
        led = set(
            self.autograd.tables.edges.next[
                np.isin(self.autograd.tables.edges.next, table.id[others])
            ].tolist()
        )
        return {
            node: calls[call]
            for node, call in zip(
                table.id[others].tolist(), table.call[others].tolist(), strict=True
            )
            if node not in led and node < calls[call]
        }

    def _edges_of(self, ids: Ints) -> dict[int, tuple[Edge, ...]]:
        """Return the edges that leave each node."""
        node, index, end, number = self._edges
        lo, hi = np.searchsorted(node, ids), np.searchsorted(node, ids, "right")
        last = np.cumsum(hi - lo)
        first = last - (hi - lo)
        rows = np.arange(last[-1] if len(last) else 0) + np.repeat(lo - first, hi - lo)
        results = list(map(Edge, index[rows].tolist(), end[rows].tolist(), number[rows].tolist()))
        bounds = zip(ids.tolist(), first.tolist(), last.tolist(), strict=True)
        return {label_a: tuple(results[a:b]) for label_a, a, b in bounds}

    def _schemas(self, calls: Ints) -> list[str]:
        """Return the schema of the operator of each call."""
        table = self.history.tables.calls
        if not len(table):
            return [""] * len(calls)
        order = np.argsort(table.id, kind="stable")
        index = np.minimum(np.searchsorted(table.id[order], calls), len(order) - 1)
        row = order[index]
        number = np.where(table.id[row] == calls, table.op[row], 0)
        schemas = {each: self.history.string(each) for each in np.unique(number).tolist()}
        return [schemas[each] for each in number.tolist()]

    def _functions(self, frames: list[int]) -> dict[int, str]:
        table, matches = self.history.tables.frames, {0: ""}
        for frame in set(frames) - {0}:
            row = table.where("id", frame)
            matches[frame] = self.history.string(int(table.function[row[0]])) if len(row) else ""
        return matches

    def _names_of_leaf(self, variable: int, moment: int) -> tuple[str, str]:
        """Return (label of the leaf, its module), from the names that it has when it is first used,
        else from any."""
        if not variable:
            return "?", ""
        table = self.history.tables.names
        names = self.history.names_of(variable, moment)
        label = self.history.label(variable, moment)
        rows = table.where("tensor", variable)
        all_names = [
            (int(table.frame[row]), self.history.string(int(table.name[row]))) for row in rows
        ]
        if not names:
            if not all_names:
                return f"#{variable}", ""
            label = parameter_path(all_names[0][1])
        current = [(name.frame, name.name) for name in names]
        # An optimizer has the parameters too, and none of its names is a module's.
        modules = sorted(each for each in current if "._parameters[" in each[1]) or sorted(
            each for each in all_names if "._parameters[" in each[1]
        )
        plain = sorted(each for each in current if "." in each[1] and not each[1].endswith("]"))
        path = next((parameter_path(name) for _, name in (*modules, *plain)), "")
        return label, path.rpartition(".")[0]

    def _module(self, edges: tuple[Edge, ...], modules: dict[int, str]) -> str:
        """Return the module that has its parameters as attributes."""
        matches = (modules[edge.next] for edge in edges if edge.next in modules)
        return next((module for module in matches if module), "")
