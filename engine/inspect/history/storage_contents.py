"""The bytes of a storage at a moment, as far as the trace recorded them.

The search goes back from the moment over recorded values and writes; the newest record over a byte
has its value, or shows that it is unknown. Of a region written repeatedly only the newest record counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from engine.inspect.events import DTYPES
from engine.inspect.history.facts import WriteFact
from engine.inspect.layout import Extent

if TYPE_CHECKING:
    from engine.inspect.history import History

MAX_BYTES = 1 << 28
"""The bytes that one read returns at most; `lo` selects a later part."""

_SAMPLE_HEADER = 64  # bytes: dtype, numel, nan, inf, min, max, mean, step
_SORT_REGIONS = 64  # with more records than this, duplicates of a region are dropped first


class StorageContents:
    """Answers about the contents of storages."""

    def __init__(self, history: History):
        self.history = history
        self.tables = history.tables
        self._key: tuple[int, ...] = ()
        self._answer: tuple[bytes, np.ndarray] = (b"", np.zeros(0, bool))

    def read(self, storage: int, m: int, lo: int, hi: int | None) -> tuple[bytes, np.ndarray]:
        """Read bytes [lo, hi). The last answer is cached: between two writes it does not change."""
        fact = self.history.storage(storage, m)
        size = fact.nbytes if fact and fact.device != "meta" else 0
        lo = min(max(lo, 0), size)
        hi = min(max(lo, size if hi is None else hi), size, lo + MAX_BYTES)
        rows = self.tables.values.until_now("storage", storage, m)
        key = (storage, len(rows), lo, hi)
        if self._key != key:
            self._key, self._answer = key, self._read(rows, lo, hi)
        return self._answer

    def _read(self, rows: np.ndarray, lo: int, hi: int) -> tuple[bytes, np.ndarray]:
        out = np.zeros(hi - lo, np.uint8)
        known = np.zeros(hi - lo, bool)
        settled = np.zeros(hi - lo, bool)
        table = self.tables.values
        for row in self._newest_first(rows, lo, hi):
            first, last = max(lo, int(table.lo[row])), min(hi, int(table.hi[row]))
            window = slice(first - lo, last - lo)
            fresh = ~settled[window]
            if not fresh.any():
                continue
            data, sure = self._recorded(row, first, last)
            out[window][fresh] = data[fresh]
            known[window][fresh] = sure[fresh]
            settled[window] = True
            if settled.all():
                break
        known.setflags(write=False)
        return out.tobytes(), known

    def _newest_first(self, rows: np.ndarray, lo: int, hi: int) -> Iterator[int]:
        """Records over [lo, hi), newest first, each region only once."""
        table = self.tables.values
        rows = rows[(table.lo[rows] < hi) & (table.hi[rows] > lo)][::-1]
        if len(rows) > _SORT_REGIONS:
            order = np.lexsort([np.arange(len(rows)), table.hi[rows], table.lo[rows]])
            first, last = table.lo[rows[order]], table.hi[rows[order]]
            newest = np.ones(len(rows), bool)
            newest[1:] = (first[1:] != first[:-1]) | (last[1:] != last[:-1])
            rows = rows[np.sort(order[newest])]
        return (int(row) for row in rows)

    def _recorded(self, row: int, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Return (bytes, mask of known bytes) of [first, last), which is inside the record."""
        table = self.tables.values
        data, sure = np.zeros(last - first, np.uint8), np.zeros(last - first, bool)
        mode, start = int(table.mode[row]), first - int(table.lo[row])
        if mode == 0:
            blob = self.history.trace.blob(int(table.event[row]))
            raw = np.frombuffer(blob, np.uint8)[start : start + last - first]
            data[: len(raw)], sure[: len(raw)] = raw, True
        elif mode == 1:
            sample, positions = _sample(self.history.trace.blob(int(table.event[row])))
            inside = (positions >= start) & (positions < start + last - first)
            data[positions[inside] - start] = sample[inside]
            sure[positions[inside] - start] = True
        return data, sure

    # Writes

    def writes(self, storage: int, m: int, region: Extent | None) -> Iterator[WriteFact]:
        """Return the writes to a storage, or to one of these bytes of it; newest first."""
        table = self.tables.writes
        rows = table.until_now("storage", storage, m)
        if region is not None:
            lo, hi = region.span
            rows = rows[(table.lo[rows] < hi) & (table.hi[rows] > lo)]
        for row in rows[::-1]:
            write = self._write_row(int(row))
            if region is None or write.reaches(region):
                yield write

    def _write_row(self, row: int) -> WriteFact:
        table = self.tables.writes
        moment, tensor = int(table.since[row]), int(table.tensor[row])
        lo, hi = int(table.lo[row]), int(table.hi[row])
        writer = self.history.tensor(tensor, moment) if tensor else None
        return WriteFact(
            moment=moment,
            storage=int(table.storage[row]),
            tensor=tensor,
            lo=lo,
            hi=hi,
            call=int(table.call[row]),
            extent=writer.extent if writer else Extent.stretch(lo, hi),
        )


def _sample(blob: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Return every step-th element: its bytes, and the position of each byte in the region."""
    dtype, step = (int.from_bytes(blob[at : at + 8], "little", signed=True) for at in (0, 56))
    if not 0 <= dtype < len(DTYPES) or not 0 < step < 1 << 40:
        return np.zeros(0, np.uint8), np.zeros(0, np.int64)
    width = DTYPES[dtype].itemsize
    sample = np.frombuffer(blob[_SAMPLE_HEADER:], np.uint8)
    byte = np.arange(len(sample), dtype=np.int64)
    return sample, byte // width * step * width + byte % width
