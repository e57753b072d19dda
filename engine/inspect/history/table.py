"""Facts with lifetimes, in columns.

A Table is a set of NumPy columns of one length. Row r holds in [since[r], until[r]); rows are
sorted by `since`. `at(m)` returns the rows that hold at a moment, without replaying events.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from engine.inspect.events import FOREVER

if TYPE_CHECKING:
    from engine.inspect.index import Arrays, Index

Ints = NDArray[np.int64]

_BLOCK = 4096  # rows between two stored cuts


class Table:
    """Columns as attributes: `table.since`, `table.until`, and those of the facts."""

    def __init__(self, since: Ints, until: Ints, **columns: Ints):
        self.since = since
        self.until = until
        self.columns = columns
        self._by: dict[str, tuple[Ints, Ints]] = {}
        self._index: Index | None = None
        self._index_name = ""

    def __len__(self) -> int:
        return len(self.since)

    def __getattr__(self, name: str) -> Ints:
        try:
            column: Ints = self.__dict__["columns"][name]
        except KeyError:
            raise AttributeError(f"the table has no column {name!r}") from None
        return column

    @classmethod
    def indexed(cls, index: Index, name: str, build: Callable[[], Table]) -> Table:
        """Return the table of this name in the index, built if necessary."""

        def arrays() -> Arrays:
            table = build()
            return {"since": table.since, "until": table.until, **table.columns}

        table = cls(**index.arrays(name, arrays))
        table._index, table._index_name = index, name
        return table

    def _derived(self, name: str, compute: Callable[[], Arrays]) -> Arrays:
        """Return arrays computed from the columns, which the index stores too."""
        if self._index is None:
            return compute()
        return self._index.arrays(f"{self._index_name}.{name}", compute)

    def started_by(self, moment: int) -> int:
        """Return the number of rows that started at the moment or before."""
        return int(self.since.searchsorted(moment, "right"))

    def at(self, moment: int) -> Ints:
        """Return the rows that hold at the moment, oldest first."""
        end = self.started_by(moment)
        cuts, bounds, alive = self._cuts
        cut = int(cuts.searchsorted(end, "right")) - 1
        rows = np.arange(cuts[cut], end)
        if bounds[cut] < bounds[cut + 1]:
            rows = np.concatenate([alive[bounds[cut] : bounds[cut + 1]], rows])
        return rows[self.until[rows] > moment]

    @cached_property
    def _cuts(self) -> tuple[Ints, Ints, Ints]:
        arrays = self._derived("cuts", self._make_cuts)
        return arrays["cuts"], arrays["bounds"], arrays["alive"]

    def _make_cuts(self) -> Arrays:
        """Store at regular rows which earlier rows still hold, so that a cut reads few rows.

        The distance grows with the number of living rows: all cuts together stay linear in size.
        """
        cuts, alive = [0], [np.empty(0, np.int64)]
        while (position := cuts[-1] + max(_BLOCK, 2 * len(alive[-1]))) < len(self):
            rows = np.concatenate([alive[-1], np.arange(cuts[-1], position)])
            alive.append(rows[self.until[rows] > self.since[position]])
            cuts.append(position)
        bounds = np.cumsum([0, *map(len, alive)])
        return {"cuts": np.array(cuts), "bounds": bounds, "alive": np.concatenate(alive)}

    def where(self, column: str, value: int) -> Ints:
        """Return the rows with this value in the column, oldest first."""
        order, keys = self._order(column)
        # Not a search for value + 1: the largest number has no successor.
        return order[keys.searchsorted(value) : keys.searchsorted(value, "right")]

    def where_at(self, column: str, value: int, moment: int) -> Ints:
        """Return the rows with this value in the column that hold at the moment."""
        rows = self.until_now(column, value, moment)
        return rows[self.until[rows] > moment]

    def until_now(self, column: str, value: int, moment: int) -> Ints:
        """Return the rows with this value in the column that began at the moment or before it."""
        rows = self.where(column, value)
        return rows[: self.since[rows].searchsorted(moment, "right")]

    def last(self, column: str, value: int, moment: int) -> int:
        """Return the newest of `until_now`, or -1."""
        rows = self.until_now(column, value, moment)
        return int(rows[-1]) if len(rows) else -1

    def last_of_each(self, column: str, values: Ints, moment: int) -> Ints:
        """Return `last` of many values at once."""
        order, keys = self._order(column)
        low, high = keys.searchsorted(values), keys.searchsorted(values, "right")
        first = low
        while len(low) and (low < high).any():  # binary search of all at once
            middle = np.minimum((low + high) // 2, len(order) - 1)
            started = (self.since[order[middle]] <= moment) & (low < high)
            low, high = (
                np.where(started, middle + 1, low),
                np.where(started, high, np.minimum(middle, high)),
            )
        return np.where(low > first, order[np.maximum(low - 1, 0)], -1) if len(order) else low - 1

    def _order(self, column: str) -> tuple[Ints, Ints]:
        """Return the rows sorted by a column, and the column so sorted."""
        if column not in self._by:
            arrays = self._derived(f"by_{column}", lambda: _sorted(self.columns[column]))
            self._by[column] = arrays["order"], arrays["keys"]
        return self._by[column]


def indexed(build: Callable[[Any], Table]) -> cached_property[Table]:
    """Declare a table of a history that is built on its first use, or comes from the index of the trace."""

    @wraps(build)
    def table(tables: Any) -> Table:
        if tables.index is None:
            return build(tables)
        return Table.indexed(tables.index, build.__qualname__, lambda: build(tables))

    return cached_property(table)


def indexed_array(build: Callable[[Any], np.ndarray]) -> cached_property[np.ndarray]:
    """Return the same for a single array."""

    @wraps(build)
    def array(tables: Any) -> np.ndarray:
        if tables.index is None:
            return build(tables)
        return tables.index.arrays(build.__qualname__, lambda: {"": build(tables)})[""]

    return cached_property(array)


def _sorted(keys: Ints) -> Arrays:
    order = np.argsort(keys, kind="stable")
    return {"order": order, "keys": keys[order]}


def ends_of(ids: Ints, closed: Ints, when: Ints) -> Ints:
    """Return the moment at which each id, which is never reused, was closed, else FOREVER."""
    until = np.full(len(ids), FOREVER, np.int64)
    if len(closed) == 0 or len(ids) == 0:
        return until
    order = np.argsort(closed, kind="stable")
    closed = closed[order]
    index = np.minimum(np.searchsorted(closed, ids), len(closed) - 1)
    matches = closed[index] == ids
    until[matches] = when[order][index[matches]]
    return until


def look_up(keys: Ints, known: Ints, values: Ints) -> Ints:
    """Return values[i] where known[i] == key, for each key; 0 where the key is not known."""
    if len(known) == 0:
        return np.zeros(len(keys), np.int64)
    order = np.argsort(known, kind="stable")
    known = known[order]
    index = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    return np.where(known[index] == keys, values[order][index], 0)


def pair(
    keys: tuple[Ints, ...],
    opened: Ints,
    close_keys: tuple[Ints, ...],
    closed: Ints,
) -> Ints:
    """Return the moment at which each opening was closed; openings and closings have keys.

    Openings and closings of one key nest like brackets. Sorted by key, depth and moment, an opening
    is right before its closing, and a closing without an opening is alone.
    """
    count = len(opened)
    moment = np.concatenate([opened, closed])
    step = np.concatenate([np.ones(count, np.int64), np.full(len(closed), -1, np.int64)])
    columns = [np.concatenate(both) for both in zip(keys, close_keys, strict=True)]
    order = np.lexsort([moment, *reversed(columns)])
    depth = np.empty(len(moment), np.int64)
    running = np.cumsum(step[order])
    depth[order] = running - (step[order] == 1)  # a running sum over all keys: only changes matter
    order = np.lexsort([moment, depth, *reversed(columns)])
    until = np.full(count, FOREVER, np.int64)
    if len(order) < 2:
        return until
    first, second = order[:-1], order[1:]
    matched = (step[first] == 1) & (step[second] == -1) & (depth[first] == depth[second])
    for column in columns:
        matched &= column[first] == column[second]
    until[first[matched]] = moment[second[matched]]
    return until


def next_of_same(*columns: Ints, since: Ints) -> Ints:
    """Return the start of the next fact with the same key, which replaces it, else FOREVER."""
    until = np.full(len(since), FOREVER, np.int64)
    order = np.lexsort([since, *reversed(columns)])
    first, second = order[:-1], order[1:]
    same = np.ones(len(first), bool)
    for column in columns:
        same &= column[first] == column[second]
    until[first[same]] = since[second[same]]
    return until


def rows_before(known: Ints, since: Ints, keys: Ints, moments: Ints) -> Ints:
    """Return for each (key, moment) the row of the newest (known, since) with that key which started at the
    moment or before; -1: no such row."""
    count = len(known)
    is_query = np.concatenate([np.zeros(count, np.int8), np.ones(len(keys), np.int8)])
    key, moment = np.concatenate([known, keys]), np.concatenate([since, moments])
    order = np.lexsort([is_query, moment, key])
    newest = np.maximum.accumulate(np.where(order < count, np.arange(len(order)), -1))
    out = np.full(len(keys), -1, np.int64)
    index = np.flatnonzero((order >= count) & (newest >= 0))
    row = order[newest[index]]
    same = key[row] == key[order[index]]
    out[order[index[same]] - count] = row[same]
    return out
