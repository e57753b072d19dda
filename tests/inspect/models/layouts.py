"""Random legal as_strided layouts over a storage, and what walking them one by one says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from engine.inspect.models._numbers import BY_NAME

DTYPES = ("uint8", "int16", "float32", "float64", "bfloat16", "bool")


@dataclass(frozen=True)
class Layout:
    """as_strided(sizes, strides, offset) of a dtype; counted in elements."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    dtype: str

    @property
    def itemsize(self) -> int:
        return BY_NAME[self.dtype].itemsize

    def walk(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Yield every index and the first byte of its element, in the order of the indices."""
        for index in product(*map(range, self.sizes)):
            steps = sum(i * s for i, s in zip(index, self.strides, strict=True))
            yield index, (self.offset + steps) * self.itemsize

    def bytes(self) -> set[int]:
        """Return every byte that belongs to an element."""
        return {byte for _, at in self.walk() for byte in range(at, at + self.itemsize)}

    @property
    def end(self) -> int:
        """The byte after the last one; 0 when there is no element."""
        return max((at + self.itemsize for _, at in self.walk()), default=0)


def random_layout(rng: np.random.Generator) -> Layout:
    """Any rank up to 6, few elements; size 0, stride 0 and overlaps occur."""
    rank = int(rng.integers(0, 7))
    maximum = (1, 12, 5, 4, 3, 2, 2)[rank]
    minimum = 0 if rng.random() < 0.05 else 1
    sizes = tuple(int(n) for n in rng.integers(minimum, maximum + 1, rank))
    reach = int(rng.choice([1, 2, 5, 9]))
    strides = tuple(int(s) for s in rng.integers(0, reach + 1, rank))
    return Layout(sizes, strides, int(rng.integers(0, 5)), str(rng.choice(DTYPES)))
