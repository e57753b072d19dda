"""The layout of a tensor in bytes: from elements to bytes, and from bytes to elements.

The byte of an element is a sum of products. The reverse is a search: with stride 0 (expand) or
overlapping windows (unfold) one byte belongs to many elements, and in a hole it belongs to none. The
search walks the dimensions from the largest stride down, and enters only steps from which the requested
bytes can be reached. So a query for one row of cells costs the same in a storage of ten elements and of
ten million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MAX_MARKED = 1 << 18  # maximum runs of bytes that are marked one by one to count gaps and overlaps
MAX_HITS = 4096  # elements that are listed over one stretch of bytes
MAX_WORK = 1_000_000  # steps NumPy may take to decide whether two layouts have a byte in common
_ARTIFICIAL_ADDRESS = 1 << 20


@dataclass(frozen=True, slots=True)
class Hit:
    """An element that is stored at byte `start`; `times` > 1 when stride-0 dimensions repeat it there."""

    start: int
    index: tuple[int, ...]
    times: int


@dataclass(frozen=True, slots=True)
class Extent:
    """The elements of one tensor as bytes: element `i` is at `start + sum(i[d] * strides[d])`."""

    start: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]  # in bytes
    itemsize: int

    @classmethod
    def of(
        cls,
        offset: int,
        sizes: Sequence[int],
        strides: Sequence[int],
        itemsize: int,
    ) -> Extent:
        """Convert an offset and strides in elements, as PyTorch has them."""
        in_bytes = tuple(stride * itemsize for stride in strides)
        return cls(offset * itemsize, tuple(sizes), in_bytes, itemsize)

    @classmethod
    def stretch(cls, lo: int, hi: int) -> Extent:
        """Return all bytes of [lo, hi), as one element."""
        return cls(lo, (), (), hi - lo)

    def moved(self, by: int) -> Extent:
        """Return the extent moved by this number of bytes."""
        return replace(self, start=self.start + by)

    @property
    def numel(self) -> int:
        return prod(self.sizes)

    @property
    def span(self) -> tuple[int, int]:
        """The first byte of the tensor and the one after its last; (start, start) when empty."""
        if self.numel == 0:
            return self.start, self.start
        reach = sum((n - 1) * s for n, s in zip(self.sizes, self.strides, strict=True))
        return self.start, self.start + reach + self.itemsize

    def byte(self, index: Sequence[int]) -> int:
        """Return the first byte of the element at `index`."""
        return self.start + sum(i * s for i, s in zip(index, self.strides, strict=True))

    def elements(self, lo: int, hi: int) -> Iterator[Hit]:
        """Yield the elements with a byte in [lo, hi). Stride-0 dimensions only add to `times`."""
        if self.numel == 0 or lo >= hi:
            return
        order = sorted(
            (d for d, n in enumerate(self.sizes) if n > 1 and self.strides[d]),
            key=lambda d: (-self.strides[d], d),
        )
        reach = [0]  # the largest distance that the remaining dimensions can add
        for d in reversed(order):
            reach.append(reach[-1] + (self.sizes[d] - 1) * self.strides[d])
        reach.reverse()
        index = [0] * len(self.sizes)
        repeated = (n for n, s in zip(self.sizes, self.strides, strict=True) if not s)
        times, first = prod(repeated), lo - self.itemsize + 1

        def walk(depth: int, at: int) -> Iterator[Hit]:
            if depth == len(order):
                yield Hit(at, tuple(index), times)
                return
            d = order[depth]
            stride, remaining = self.strides[d], reach[depth + 1]
            lowest = max(0, -((at + remaining - first) // stride))
            highest = min(self.sizes[d] - 1, (hi - 1 - at) // stride)
            for i in range(lowest, highest + 1):
                index[d] = i
                yield from walk(depth + 1, at + i * stride)
            index[d] = 0

        if self.start < hi and self.start + reach[0] >= first:
            yield from walk(0, self.start)

    def hits(self, lo: int, hi: int) -> tuple[list[Hit], bool]:
        """Return the first MAX_HITS of `elements`, and true if these are all."""
        matches = list(islice(self.elements(lo, hi), MAX_HITS + 1))
        return matches[:MAX_HITS], len(matches) <= MAX_HITS

    @property
    def nested(self) -> bool:
        """True if each stride exceeds the extent of the smaller dimensions: then no byte has two elements."""
        end = self.itemsize
        for stride, size in sorted(zip(self.strides, self.sizes, strict=True)):
            if size > 1:
                if stride < end:
                    return False
                end += (size - 1) * stride
        return True

    def merged(self) -> Extent:
        """Return the same bytes as longer and fewer runs: dimensions that leave no gap are absorbed."""
        run = self.itemsize
        merged: list[tuple[int, int]] = []
        for stride, size in sorted(zip(self.strides, self.sizes, strict=True)):
            if size == 0:
                return Extent(self.start, (0,), (run,), run)
            if stride <= run and not merged:
                run += (size - 1) * stride
            elif size > 1:
                merged.append((size, stride))
        return Extent(self.start, tuple(n for n, _ in merged), tuple(s for _, s in merged), run)

    def starts(self) -> np.ndarray | None:
        """Return the distinct starts of elements, ascending; None if there are too many to compute."""
        import numpy as np

        at = np.array([self.start] if self.numel else [], dtype=np.int64)
        for size, stride in zip(self.sizes, self.strides, strict=True):
            if size > 1 and stride:
                if at.size * size > MAX_MARKED:
                    return None
                at = np.unique((at[:, None] + np.arange(size, dtype=np.int64) * stride).ravel())
        return at

    def distinct(self) -> int | None:
        """Return the number of distinct bytes of the tensor, or None if there are too many to count."""
        return _distinct(self)

    @property
    def repeats(self) -> bool | None:
        """Return true if a byte belongs to more than one element, or None if that is unknown."""
        if self.numel == 0 or self.nested:
            return False
        distinct = self.distinct()
        return None if distinct is None else distinct < self.numel * self.itemsize

    def meets(self, other: Extent) -> bool | None:
        """Return true if the two share a byte, or None if that would take too long to decide."""
        (lo, hi), (other_lo, other_hi) = self.span, other.span
        return max(lo, other_lo) < min(hi, other_hi) and _meet(self, other)


@lru_cache(maxsize=4096)
def _distinct(extent: Extent) -> int | None:
    runs = extent.merged()
    if runs.nested:
        return runs.numel * runs.itemsize
    starts = runs.starts()
    return None if starts is None else covered(starts, starts + runs.itemsize)


@lru_cache(maxsize=4096)
def _meet(first: Extent, other: Extent) -> bool | None:
    import numpy as np

    low = min(first.start, other.start)
    current, present = (np.asarray(_Nowhere(extent.merged(), low)) for extent in (first, other))
    try:
        # NumPy's stubs allow only two special limits; any number of steps is valid
        return bool(np.shares_memory(current, present, MAX_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return None


class _Nowhere:
    """An array interface with artificial addresses, from which NumPy computes overlap without reading memory.

    The bytes of a run are a dimension, because an item cannot be longer than 2 GiB.
    """

    def __init__(self, runs: Extent, low: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (_ARTIFICIAL_ADDRESS + runs.start - low, True),
            "typestr": "|u1",
            "shape": (*runs.sizes, runs.itemsize),
            "strides": (*runs.strides, 1),
        }


def covered(starts: np.ndarray, ends: np.ndarray) -> int:
    """Return the number of bytes in the union of the ranges [start, end), which are sorted by start."""
    import numpy as np

    if not len(starts):
        return 0
    reached = np.maximum.accumulate(ends)  # the largest end of the ranges up to each
    gaps = (starts[1:] - reached[:-1]).clip(min=0)
    return int(reached[-1] - starts[0] - gaps.sum())
