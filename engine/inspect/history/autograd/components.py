"""Components of the autograd graph: nodes that were connected at any time, other than through a leaf.

All steps of a training loop share the AccumulateGrad nodes of the parameters, and the next step is
often built while the last one is still there. As one graph they would be one picture of the
entire training. So a leaf connects nothing; it is in every part that leads to it.
"""

from __future__ import annotations

import numpy as np

from engine.inspect.history.table import Ints, Table


class Parts:
    """`of_row[r]` is the number of the part of row r of the nodes; 0 for a leaf that nodes lead to.

    A part's number is the id of its first node."""

    def __init__(self, nodes: Table, edges: Table, leaf: np.ndarray):
        self.leaf = leaf
        order = np.argsort(nodes.id, kind="stable")
        self._ids = nodes.id[order]
        start, end = self._rows(edges.node, order), self._rows(edges.next, order)
        retained = (start >= 0) & (end >= 0)
        start, end, row = start[retained], end[retained], np.flatnonzero(retained)
        inner = ~leaf[start] & ~leaf[end]
        label = components(nodes.id, start[inner], end[inner])
        shared = leaf[end] & ~leaf[start]
        self.of_row: Ints = label.copy()
        self.of_row[end[shared]] = 0
        pairs = np.stack([label[start[shared]], end[shared]], axis=1)
        pairs = np.unique(pairs, axis=0) if len(pairs) else pairs
        own = np.flatnonzero(self.of_row)
        part = np.concatenate([self.of_row[own], pairs[:, 0]])
        member = np.concatenate([own, pairs[:, 1]])
        order = np.lexsort([nodes.id[member], part])
        self._part, self._member = part[order], member[order]
        order = np.argsort(member, kind="stable")
        self._of_member = (member[order], part[order])
        edge_part = np.where(leaf[start], label[end], label[start])
        order = np.argsort(edge_part, kind="stable")
        self._edge_part, self._edge_row = edge_part[order], row[order]

    def _rows(self, ids: Ints, order: Ints) -> Ints:
        """Return the rows of the nodes with these ids; -1 for none."""
        if not len(order):
            return np.full(len(ids), -1, np.int64)
        index = np.minimum(np.searchsorted(self._ids, ids), len(order) - 1)
        return np.where(self._ids[index] == ids, order[index], -1)

    def members(self, part: int) -> Ints:
        """Return the rows of the part's nodes, in the order of their ids; its leaves among them."""
        lo, hi = np.searchsorted(self._part, [part, part + 1])
        return self._member[lo:hi]

    def edges(self, part: int) -> int:
        """Return how many edges connect the part's nodes."""
        lo, hi = np.searchsorted(self._edge_part, [part, part + 1])
        return int(hi - lo)

    def of(self, row: int) -> Ints:
        """Return the parts that contain a node or a leaf."""
        members, parts = self._of_member
        lo, hi = np.searchsorted(members, [row, row + 1])
        return np.sort(parts[lo:hi])


def components(ids: Ints, first: Ints, second: Ints) -> Ints:
    """Return for each row the least id that it is connected to.

    Every root is linked to the least root that an edge connects it with, and paths are halved; each
    iteration at least halves the number of roots that can still be joined."""
    rank = np.argsort(np.argsort(ids, kind="stable"), kind="stable")
    by_rank = np.sort(ids)
    label = np.arange(len(ids))
    first, second = rank[first], rank[second]
    while True:
        label_a, two = label[first], label[second]
        apart = label_a != two
        if not apart.any():
            return by_rank[label[rank]]
        first, second, label_a, two = first[apart], second[apart], label_a[apart], two[apart]
        np.minimum.at(label, np.maximum(label_a, two), np.minimum(label_a, two))
        while not np.array_equal(further := label[label], label):
            label = further
