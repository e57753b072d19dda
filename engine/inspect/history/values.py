"""The bytes of a storage at a moment, as far as the trace kept them.

Walk back from the moment over what was kept and what was written; the newest record over a byte
says what it is, or that nobody knows. A region written again and again counts once, by its newest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.events import DTYPES
from engine.inspect.history.facts import WriteFact

if TYPE_CHECKING:
    from engine.inspect.history import History

_SAMPLE_HEADER = 64  # bytes: dtype, numel, nan, inf, min, max, mean, step


class Bytes:
    """Answers about the contents of storages."""

    def __init__(self, history: History):
        self.history = history
        self.tables = history.tables
        self._last: tuple[tuple[int, int, int, int], tuple[bytes, np.ndarray]] | None = None

    def read(self, storage: int, m: int, lo: int, hi: int | None) -> tuple[bytes, np.ndarray]:
        fact = self.history.storage(storage, m)
        size = fact.nbytes if fact else 0
        lo = min(max(lo, 0), size)
        hi = size if hi is None else max(lo, min(hi, size))
        asked = (storage, m, lo, hi)
        if self._last is None or self._last[0] != asked:
            self._last = (asked, self._read(storage, m, lo, hi))
        return self._last[1]

    def _read(self, storage: int, m: int, lo: int, hi: int) -> tuple[bytes, np.ndarray]:
        out = np.zeros(hi - lo, np.uint8)
        known = np.zeros(hi - lo, bool)
        settled = np.zeros(hi - lo, bool)
        table = self.tables.values
        for row in self._newest_first(storage, m, lo, hi):
            first, last = max(lo, int(table.lo[row])), min(hi, int(table.hi[row]))
            place = slice(first - lo, last - lo)
            fresh = ~settled[place]
            if not fresh.any():
                continue
            region = slice(first - int(table.lo[row]), last - int(table.lo[row]))
            data, sure = self._kept(row)
            if data is not None and sure is not None:
                out[place] = np.where(fresh, data[region], out[place])
                known[place] |= fresh & sure[region]
            settled[place] = True
            if settled.all():
                break
        return out.tobytes(), known

    def _newest_first(self, storage: int, m: int, lo: int, hi: int) -> Iterator[int]:
        """Records over [lo, hi), newest first, each region only once."""
        table = self.tables.values
        rows = table.until_now("storage", storage, m)
        rows = rows[(table.lo[rows] < hi) & (table.hi[rows] > lo)][::-1]
        if len(rows) > 64:
            regions = np.stack([table.lo[rows], table.hi[rows]], axis=1)
            _, newest = np.unique(regions, axis=0, return_index=True)
            rows = rows[np.sort(newest)]
        return (int(row) for row in rows)

    def _kept(self, row: int) -> tuple[np.ndarray | None, np.ndarray | None]:
        """(bytes, which of them are known) of one record; (None, None) when nothing was kept."""
        table = self.tables.values
        mode, size = int(table.mode[row]), int(table.hi[row]) - int(table.lo[row])
        if mode not in (0, 1):
            return None, None
        blob = self.history.trace.blob(int(table.event[row]))
        if mode == 0:
            raw = np.frombuffer(blob[:size], np.uint8)
            data = np.zeros(size, np.uint8)
            data[: len(raw)] = raw
            return data, np.arange(size) < len(raw)
        return _spread_sample(blob, size)

    # Writes

    def last_write(self, storage: int, byte: int, m: int) -> WriteFact | None:
        table = self.tables.writes
        rows = table.until_now("storage", storage, m)
        rows = rows[(table.lo[rows] <= byte) & (byte < table.hi[rows])]
        return self._write_row(int(rows[-1])) if len(rows) else None

    def writes(self, storage: int, m: int, byte: int) -> tuple[WriteFact, ...]:
        table = self.tables.writes
        rows = table.until_now("storage", storage, m)
        if byte >= 0:
            rows = rows[(table.lo[rows] <= byte) & (byte < table.hi[rows])]
        return tuple(self._write_row(int(row)) for row in rows)

    def _write_row(self, row: int) -> WriteFact:
        table = self.tables.writes
        return WriteFact(
            moment=int(table.since[row]),
            storage=int(table.storage[row]),
            tensor=int(table.tensor[row]),
            lo=int(table.lo[row]),
            hi=int(table.hi[row]),
            call=int(table.call[row]),
        )


def _spread_sample(blob: bytes, size: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Every step-th element, put back where it was taken from; the elements between are unknown."""
    if len(blob) < _SAMPLE_HEADER:
        return None, None
    dtype, step = (int.from_bytes(blob[at : at + 8], "little") for at in (0, 56))
    if not 0 <= dtype < len(DTYPES) or step < 1:
        return None, None
    width = DTYPES[dtype][1]
    sample = np.frombuffer(blob[_SAMPLE_HEADER:], np.uint8)
    sample = sample[: len(sample) // width * width].reshape(-1, width)
    data = np.zeros((size // width, width), np.uint8)
    sure = np.zeros((size // width, width), bool)
    there = data[::step][: len(sample)]
    there[:] = sample[: len(there)]
    sure[::step][: len(sample)] = True
    rest = size - size // width * width
    return (
        np.concatenate([data.ravel(), np.zeros(rest, np.uint8)]),
        np.concatenate([sure.ravel(), np.zeros(rest, bool)]),
    )
