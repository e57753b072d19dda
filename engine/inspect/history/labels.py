"""The label of a tensor at a moment: a name of the running frame, else any name, else `w.grad`, else `#17`.

The names of a tensor change at few moments, so each label between two changes is computed once.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.history.facts import NameFact

if TYPE_CHECKING:
    from engine.inspect.history import History

_NAME_ORDER = ("NAME", "CELL", "ATTRIBUTE", "SLOT")
_MAX_TENSORS = 1 << 16  # tensors whose changes are cached


class Labels:
    """The label of every tensor at every moment."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._changes: dict[int, list[int]] = {}
        self._names: dict[tuple[int, int], tuple[NameFact, ...]] = {}
        self._labels: dict[tuple[int, int, int], str] = {}

    def __call__(self, tensor: int, m: int) -> str:
        return self._named(tensor, m) or self._gradient(tensor, m) or f"#{tensor}"

    def _gradient(self, tensor: int, m: int) -> str:
        """Return `w.grad` if the tensor is the .grad of one that has a name, else ""."""
        grads = self._history.autograd.tables.grads
        rows = grads.where_at("grad", tensor, m)
        owner = self._named(int(grads.tensor[rows[-1]]), m) if tensor and len(rows) else ""
        return f"{owner}.grad" if owner else ""

    def _named(self, tensor: int, m: int) -> str:
        """Return the best name of the tensor, "" if it has none."""
        changes = self._changes.get(tensor)
        if changes is None:
            changes = self._learn(tensor)
        if not changes:
            return ""
        stretch = bisect_right(changes, m)
        names = self._names.get((tensor, stretch))
        if names is None:
            names = self._names[tensor, stretch] = self._history.names_of(tensor, m)
        if not names:
            return ""
        if len(names) == 1:
            return names[0].label
        key = tensor, stretch, self._history.frame_at(m)
        label = self._labels.get(key)
        if label is None:
            label = self._labels[key] = self._best(names, m)
        return label

    def _learn(self, tensor: int) -> list[int]:
        """Return the moments at which a name of the tensor is bound or unbound."""
        if len(self._changes) >= _MAX_TENSORS:
            self._changes, self._names, self._labels = {}, {}, {}
        table = self._history.tables.names
        rows = table.where("tensor", tensor)
        moments: list[int] = []
        if len(rows):
            moments = np.unique(np.concatenate([table.since[rows], table.until[rows]])).tolist()
        self._changes[tensor] = moments
        return moments

    def _best(self, names: tuple[NameFact, ...], m: int) -> str:
        """Return the label of the name that the running frame sees first."""
        frames = self._history.frames_at(m)
        depth = {frame.id: up for up, frame in enumerate(reversed(frames))}

        def rank(name: NameFact) -> tuple[int, int, int]:
            rank = _NAME_ORDER.index(name.kind) if name.kind in _NAME_ORDER else len(_NAME_ORDER)
            return (rank, depth.get(name.frame, len(depth)), name.since)

        return min(names, key=rank).label
