"""The recorded bytes of a storage at a moment, decoded to numbers.

Not every byte is known: large writes are sampled, a budget can run out, and memory that was only
allocated was never recorded. An unknown byte is never shown as a zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine._generated.codes import DTypeInfo
from engine.inspect.layout import Extent
from engine.inspect.models._numbers import decode

if TYPE_CHECKING:
    import numpy as np

    from engine.inspect.history import History

BUDGET = 1 << 16  # elements of one tensor that are read for its statistics
COUNTED = 1 << 22  # bytes of a storage that are read to count how many are known
SPREAD = 1 << 26  # elements further than this from the first one (in bytes) stay unknown
_PAGE = 1 << 16


class _Pages:
    """Bytes with a mask of the known ones, read from the history a page at a time."""

    def __init__(self, history: History, storage: int, moment: int) -> None:
        self._history = history
        self._storage = storage
        self._moment = moment
        self._read: dict[int, tuple[bytes, np.ndarray]] = {}

    def stretch(self, lo: int, hi: int) -> tuple[bytes, np.ndarray]:
        """Return the bytes [lo, hi); those that were not recorded are unknown."""
        import numpy as np

        data, known = self._history.bytes_of(self._storage, self._moment, lo, hi)
        missing = max(0, hi - lo - len(data))
        if missing:
            data += bytes(missing)
            known = np.concatenate([known, np.zeros(missing, dtype=bool)])
        return data, known

    def page(self, number: int) -> tuple[bytes, np.ndarray]:
        if number not in self._read:
            self._read[number] = self.stretch(number * _PAGE, (number + 1) * _PAGE)
        return self._read[number]


@dataclass(frozen=True, eq=False)
class Contents:
    """The bytes of one storage. Its JSON has their number and the number of known ones."""

    nbytes: int
    known: int | None  # None if the storage is too large to count

    @classmethod
    def of(
        cls, history: History, storage: int, moment: int, nbytes: int, count: bool = True
    ) -> Contents:
        """Return the contents of a storage; `count` also counts the known bytes, which reads all of it."""
        pages = _Pages(history, storage, moment)
        known = None
        if count and nbytes <= COUNTED:
            known = sum(int(pages.page(n)[1].sum()) for n in range(-(-nbytes // _PAGE)))
        contents = cls(nbytes, known)
        object.__setattr__(contents, "_pages", pages)  # not a field: not part of the JSON
        return contents

    def value(self, dtype: DTypeInfo, byte: int) -> Any | None:
        """Return the element that starts at `byte`, or nothing if one of its bytes is unknown."""
        end = byte + dtype.itemsize
        if byte < 0 or end > self.nbytes:
            return None
        pages: _Pages = self.__dict__["_pages"]
        lo = byte % _PAGE
        if lo + dtype.itemsize > _PAGE:  # a misaligned element across two pages
            data, known = pages.stretch(byte, end)
            return decode(dtype, data)[0] if known.all() else None
        data, known = pages.page(byte // _PAGE)
        if not known[lo : lo + dtype.itemsize].all():
            return None
        return decode(dtype, data[lo : lo + dtype.itemsize])[0]

    def values(self, dtype: DTypeInfo, byte: int, stride: int, count: int) -> Sequence[Any | None]:
        """Return `count` elements, each `stride` bytes after the one before."""
        import numpy as np

        lo, size = byte % _PAGE, dtype.itemsize
        reach = stride * (count - 1) + size
        if count and byte >= 0 and byte + reach <= self.nbytes and lo + reach <= _PAGE:
            pages: _Pages = self.__dict__["_pages"]
            data, known = pages.page(byte // _PAGE)
            elements = np.ndarray((count,), f"V{size}", data, lo, (stride,))
            complete = np.ndarray((count, size), bool, known.data, lo, (stride, 1))
            sure: np.ndarray = np.all(complete, axis=1)
            decoded = decode(dtype, elements.tobytes())
            return [
                value if is_known else None
                for value, is_known in zip(decoded, sure.tolist(), strict=True)
            ]
        return [self.value(dtype, byte + number * stride) for number in range(count)]

    def elements(self, dtype: DTypeInfo, extent: Extent) -> tuple[np.ndarray, np.ndarray]:
        """Return (values, mask of known ones) of the first BUDGET elements of `once(extent)`, in
        order."""
        import numpy as np

        sizes = once(extent)
        lo, hi = extent.span
        at = np.zeros(0 if 0 in sizes else 1, dtype=np.int64)
        if lo < 0 or hi > self.nbytes:
            raise ValueError(f"bytes {lo} to {hi} are not in a storage of {self.nbytes} bytes")
        for size, stride in zip(sizes, extent.strides, strict=True):
            # in order: the first BUDGET elements are within the first few steps of each dimension
            steps = np.arange(min(size, BUDGET), dtype=np.int64) * (
                stride if size > 1 and at.size else 0
            )
            at = (at[: -(-BUDGET // max(1, size)), None] + steps).ravel()[:BUDGET]
        near = at < SPREAD
        at = np.where(near, at, 0)
        hi = lo + (int(at.max()) + dtype.itemsize if at.size else 0)
        pages: _Pages = self.__dict__["_pages"]
        data, known = pages.stretch(lo, hi)
        if not at.size:
            return decode(dtype, b""), known
        # both as arrays of overlapping elements, one per byte, which `at` can index
        last, size = len(data) - dtype.itemsize + 1, dtype.itemsize
        elements = np.ndarray((last,), f"V{size}", data, strides=(1,))
        sure = np.ndarray((last, size), bool, known.tobytes(), strides=(1, 1))
        return decode(dtype, elements[at].tobytes()), np.asarray(sure[at].all(axis=1) & near)


def once(extent: Extent) -> Sequence[int]:
    """Return the extent with size 1 for each stride-0 dimension, whose elements are all equal."""
    return [n if s else min(n, 1) for n, s in zip(extent.sizes, extent.strides, strict=True)]
