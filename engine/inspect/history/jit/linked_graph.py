"""A graph with linked lines: the cost of an edit does not depend on the length of the graph.

`LinkedGraph` applies edits as `IrGraph` does, and keeps its lines in a linked list.
After a rewrite `take` returns the lines that were inserted, removed and changed; the others need not be read.
Invariant: a line is in the list once, and the list has an end. A damaged trace may contain edits that
would break it: they raise before anything is linked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from engine.inspect.history.jit.ir import IrGraph, IrLine, Json, subgraph_lines


class LinkedLine:
    """A line of the text. `mark` belongs to the caller of `take`; None: the caller has not seen the line."""

    __slots__ = ("after", "before", "key", "mark")

    def __init__(self, key: int) -> None:
        self.key = key
        self.before: LinkedLine | None = None
        self.after: LinkedLine | None = None
        self.mark: Any = None


def _tie(first: LinkedLine | None, two: LinkedLine | None) -> None:
    if first is not None:
        first.after = two
    if two is not None:
        two.before = first


class LinkedGraph(IrGraph):
    """One graph, line by line. `fresh`: inserted lines, `loose`: marks of removed lines, `dirty`:
    keys of lines that may have changed; each since the last `take`."""

    def __init__(self, snapshot: Json) -> None:
        self.linked_lines: dict[int, LinkedLine] = {}  # by the node of a line
        self._ends: dict[int, Json] = {}  # the first and the last line of a block -> the block
        self._owner: dict[int, int] = {}  # a block -> the node that has it
        self._maker: dict[int, int] = {}  # a Value -> the line that declares it
        self._users: dict[int, set[int]] = {}  # a Value -> lines that read it, or once did
        self._sections: dict[
            int, Json
        ] = {}  # a node -> the graph that it holds, in the text's order
        self._graph_index: dict[
            int, int
        ] = {}  # a node that holds a graph -> the index of that graph
        self._inner: dict[int, IrLine] = {}  # lines of the graphs that are held
        self._lines_of: dict[int, tuple[Json, list[IrLine]]] = {}  # and these, graph by graph
        self._hung: dict[int, None] = {}  # nodes and heads of blocks that were inserted
        self._regroup = False  # the graphs that nodes hold may have changed
        self.loose: list[Any] = []
        self.dirty: dict[int, None] = {}
        super().__init__(snapshot)
        block = self.graph["block"]
        self.head, self.last = LinkedLine(block["param"]), LinkedLine(block["return"])
        self._new(self.head.key)
        self.linked_lines[self.head.key] = self.head
        self._new(self.last.key)
        self.linked_lines[self.last.key] = self.last
        _tie(self.head, self.last)
        for key in self._keys(block):
            self._new(key)
            self._put(LinkedLine(key), self.last)
        self._regroup = True
        self.regroup()
        self.take()

    # Inserted and removed lines

    def take(self) -> tuple[list[LinkedLine], list[Any], list[int]]:
        """Return the inserted lines, the marks of removed lines, the keys of lines that may have changed."""
        self.regroup()
        fresh = [
            linked for key in self._hung for linked in self._segment(key) if linked.mark is None
        ]
        loose, dirty = self.loose, [*self.dirty, *(linked.key for linked in fresh)]
        self._hung, self.loose, self.dirty = {}, [], {}
        return fresh, loose, dirty

    def chain(self) -> Iterator[LinkedLine]:
        """Yield all lines in order."""
        linked: LinkedLine | None = self.head
        while linked is not None:
            yield linked
            linked = linked.after

    def line(self, key: int) -> IrLine | None:
        """Return the present text of a line; None if it is not in the text."""
        if key in self._inner:
            return self._inner[key]
        block = self._ends.get(key)
        if block is not None:
            return self._end_line(key, block)
        block = self.block_of.get(key)
        if block is None:
            return None
        line = self._node_line(self.nodes[key], self._depth(block))
        return self._named(line)

    def _named(self, line: IrLine) -> IrLine:
        index = self._graph_index.get(line.node)
        return line if index is None else replace(line, kind=f"{line.kind}_{index}")

    def _end_line(self, key: int, block: Json) -> IrLine | None:
        owner = self._owner.get(block["id"])
        if owner is None:
            if key == block["return"]:
                return self._end("return", 1, block)
            return IrLine("head", 0, key, self._declared(block["params"]), "", "", (), None)
        above = self.block_of.get(owner)
        if above is None:
            return None
        depth = self._depth(above)
        if key == block["return"]:
            return self._end("yield", depth + 2, block)
        return self._block_head(block, self.nodes[owner]["blocks"].index(block), depth + 1)

    def _depth(self, block: Json) -> int:
        depth = 1
        while (owner := self._owner.get(block["id"])) is not None:
            block, depth = self.block_of[owner], depth + 2
        return depth

    def settle(self) -> None:
        """Rebuild the blocks' lists of nodes in the order of the lines."""
        for block in self.blocks.values():
            block["nodes"] = []
        for linked in self.chain():
            if linked.key in self.block_of:
                self.block_of[linked.key]["nodes"].append(self.nodes[linked.key])

    # The linked list

    def _keys(self, block: Json) -> Iterator[int]:
        for node in block["nodes"]:
            yield node["id"]
            for inner in node["blocks"]:
                yield inner["param"]
                yield from self._keys(inner)
                yield inner["return"]

    def _new(self, key: int) -> None:
        if key in self.linked_lines:
            raise ValueError(f"two lines have the number {key}")

    def _put(self, linked: LinkedLine, before: LinkedLine) -> None:
        self.linked_lines[linked.key] = linked
        _tie(before.before, linked)
        _tie(linked, before)

    def _end_of(self, key: int) -> LinkedLine:
        """Return the last line of the node or block whose first line has this key."""
        block = self._ends.get(key)
        if block is not None:
            return self.linked_lines[block["return"]]
        blocks = self.nodes[key]["blocks"]
        return self.linked_lines[blocks[-1]["return"] if blocks else key]

    def _is_linked(self, key: int) -> bool:
        """Return whether a node or the head of a block is in the text, and every block around it."""
        block = self._ends.get(key) or self.block_of.get(key)
        while block is not None:
            owner = self._owner.get(block["id"])
            if owner is None:
                return True
            block = self.block_of.get(owner)
        return False

    def _segment(self, key: int) -> Iterator[LinkedLine]:
        """Yield the lines of a node or a block, if it is in the text."""
        linked = self.linked_lines.get(key)
        if key in self._inner:
            end = linked
        elif linked is not None and self._is_linked(key):
            end = self._end_of(key)
        else:
            return
        while linked is not None:
            yield linked
            linked = linked.after if linked is not end else None

    def _cut(self, first: LinkedLine, end: LinkedLine) -> None:
        """Cut a run of lines out of the list; they stay linked."""
        _tie(first.before, end.after)
        first.before = end.after = None
        linked: LinkedLine | None = first
        while linked is not None:
            if linked.mark is not None:
                self.loose.append(linked.mark)
                linked.mark = None
            linked = linked.after

    # Graphs that nodes hold: below the others, in the order of their nodes

    def regroup(self) -> None:
        """Update the text of the graphs that nodes hold."""
        if not self._regroup:
            return
        self._regroup = False
        matches = self._holders()
        if list(matches.items()) == list(self._sections.items()):
            return
        self.dirty |= dict.fromkeys([*self._sections, *matches])
        self._sections = matches
        self._graph_index = {node: at for at, node in enumerate(matches)}
        lines = [line for node, graph in matches.items() for line in self._text_of(node, graph)]
        old = []
        linked = self.last.after
        while linked is not None:
            old.append(linked)
            linked = linked.after
        same = 0
        while same < min(len(old), len(lines)) and old[same].key == lines[same].node:
            same += 1
        if same < len(old):
            self._cut(old[same], old[-1])
            for linked in old[same:]:
                del self.linked_lines[linked.key]
        above = old[same - 1] if same else self.last
        for line in lines[same:]:
            linked = self.linked_lines[line.node] = LinkedLine(line.node)
            _tie(above, linked)
            above = linked
            self._hung[line.node] = None
        before, self._inner = self._inner, {line.node: line for line in lines}
        self.dirty |= {
            key: None for key, line in self._inner.items() if before.get(key) is not line
        }

    def _text_of(self, node: int, graph: Json) -> list[IrLine]:
        """Return the text of a graph that is held, under the name of its node."""
        name = f"{self.nodes[node]['kind']}_{self._graph_index[node]}"
        known = self._lines_of.get(node)
        if known is None or known[0] is not graph:
            known = self._lines_of[node] = graph, subgraph_lines(IrGraph(graph), name)
        lines = known[1]
        if lines[0].kind != name:
            lines[0] = replace(lines[0], kind=name)
        return lines

    def _holders(self) -> dict[int, Json]:
        """Return the nodes of the text that hold a graph, and it."""
        matches = {}
        linked: LinkedLine | None = self.head
        while linked is not None and linked is not self.last:
            graphs = self.nodes[linked.key].get("graphs")
            if graphs:
                matches[linked.key] = list(graphs.values())[-1]
            linked = linked.after
        return matches

    def _may_hold(self, key: int) -> bool:
        """Return whether a graph is held by a node, or perhaps by one in its blocks."""
        node = self.nodes[key]
        return "graphs" in node or bool(self._sections and node["blocks"])

    # Edits

    def _enter(self, block: Json) -> None:
        super()._enter(block)
        self._ends[block["param"]] = self._ends[block["return"]] = block
        self._reads(block["return"], block["returns"])
        self._maker |= {value["id"]: block["param"] for value in block["params"]}
        for node in block["nodes"]:
            self._maker |= {value["id"]: node["id"] for value in node["outputs"]}
            self._reads(node["id"], node["inputs"])
            self._owner |= {inner["id"]: node["id"] for inner in node["blocks"]}

    def _reads(self, key: int, values: list[int]) -> None:
        for value in values:
            self._users.setdefault(value, set()).add(key)

    def _create(self, a: int, *others: Any) -> None:
        self._new(a)
        super()._create(a, *others)
        self.linked_lines[a] = LinkedLine(a)

    def _insert(self, a: int, b: int, c: int, *_: Any) -> None:
        block = self.blocks[b]
        first, end, before = self.linked_lines[a], self._end_of(a), self.linked_lines[c]
        at: LinkedLine | None = first
        while at is not None and at is not end and at is not before:
            at = at.after
        apart = a not in self.block_of and not first.before and not end.after and at is end
        if (
            not apart
            or before is end
            or (c != block["return"] and self.block_of.get(c) is not block)
        ):
            raise ValueError(f"node {a} is put where it cannot stand")
        self.block_of[a] = block
        _tie(before.before, first)
        _tie(end, before)
        self._hung[a] = None
        self._regroup |= self._may_hold(a)

    def _unlink(self, a: int, *_: Any) -> None:
        del self.block_of[a]
        self._cut(self.linked_lines[a], self._end_of(a))
        self._regroup |= self._may_hold(a)

    def _destroy(self, a: int, *_: Any) -> None:
        if a in self.block_of:
            raise ValueError(f"node {a} is destroyed where it stands")
        super()._destroy(a)
        self._hung.pop(a, None)
        del self.linked_lines[a]

    def _set_input(self, a: int, b: int, c: int, *_: Any) -> None:
        super()._set_input(a, b, c)
        self._reads(a, [c])
        self.dirty[a] = None

    def _insert_input(self, a: int, b: int, c: int, *_: Any) -> None:
        super()._insert_input(a, b, c)
        self._reads(a, [c])
        self.dirty[a] = None

    def _drop_input(self, a: int, *others: Any) -> None:
        super()._drop_input(a, *others)
        self.dirty[a] = None

    def _add_output(self, a: int, b: int, *others: Any) -> None:
        super()._add_output(a, b, *others)
        self._maker[b] = a
        self.dirty[a] = None

    def _drop_output(self, a: int, *others: Any) -> None:
        super()._drop_output(a, *others)
        self.dirty[a] = None

    def _add_block(self, a: int, b: int, c: int, d: int, *others: Any) -> None:
        above = self._end_of(a)
        self._new(c)
        self._new(d)
        if c == d or b in self.blocks:
            raise ValueError(f"block {b} is added to node {a} with numbers of others")
        super()._add_block(a, b, c, d, *others)
        self._owner[b] = a
        head, end = self.linked_lines[c], self.linked_lines[d] = LinkedLine(c), LinkedLine(d)
        below = above.after
        _tie(above, head)
        _tie(head, end)
        _tie(end, below)
        self._hung[c] = None

    def _drop_block(self, a: int, b: int, *others: Any) -> None:
        block = self.nodes[a]["blocks"][b]
        head, end = self.linked_lines[block["param"]], self.linked_lines[block["return"]]
        if head.after is not end:
            raise ValueError(f"block {block['id']} is dropped before its nodes")
        block["nodes"] = []
        super()._drop_block(a, b, *others)
        self._cut(head, end)
        for key in (head.key, end.key):
            del self.linked_lines[key], self._ends[key]
            self._hung.pop(key, None)
        del self._owner[block["id"]]
        self.dirty |= {first["param"]: None for first in self.nodes[a]["blocks"]}

    def _set_type(self, a: int, *others: Any) -> None:
        super()._set_type(a, *others)
        self.dirty[self._maker[a]] = None

    def _set_name(self, a: int, *others: Any) -> None:
        super()._set_name(a, *others)
        self.dirty |= dict.fromkeys([self._maker[a], *self._users.get(a, ())])

    def _origin(self, a: int, b: int, *others: Any) -> None:
        super()._origin(a, b, *others)
        self.dirty[self._maker[a]] = None

    def _set_attribute(self, a: int, *others: Any) -> None:
        super()._set_attribute(a, *others)
        self.dirty[a] = None
        self._regroup |= "graphs" in self.nodes[a]

    def _drop_attribute(self, a: int, *others: Any) -> None:
        self._regroup |= "graphs" in self.nodes[a]
        super()._drop_attribute(a, *others)
        self.dirty[a] = None

    def _set_kind(self, a: int, *others: Any) -> None:
        super()._set_kind(a, *others)
        self.dirty[a] = None
        if a in self._sections:  # its name is another one
            self._sections, self._regroup = {}, True

    def _span(self, a: int, *others: Any) -> None:
        super()._span(a, *others)
        self.dirty[a] = None
