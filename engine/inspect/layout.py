"""Where a tensor's elements lie: exact answers about as_strided layouts of any rank.

A layout is (sizes, strides, offset), all counted in elements. Element (i0, i1, ...) lies at address
`offset + i0*strides[0] + i1*strides[1] + ...`, which is counted in elements of the storage too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

Layout = tuple[Sequence[int], Sequence[int], int, int]
"""(sizes, strides, offset, bytes of an element)."""


def element_addresses(sizes: Sequence[int], strides: Sequence[int], offset: int) -> np.ndarray:
    """The address of every element, in an array of the tensor's shape."""
    addresses = np.full((), offset, np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        addresses = addresses[..., None] + np.arange(size, dtype=np.int64) * stride
    return addresses


def span(sizes: Sequence[int], strides: Sequence[int], offset: int) -> tuple[int, int]:
    """(lowest address, one past the highest); (offset, offset) for a tensor without elements."""
    if prod(sizes) == 0:
        return (offset, offset)
    reach = sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    return (offset, offset + reach + 1)


def is_contiguous(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether elements follow each other in memory in the order of their indices (PyTorch's rule)."""
    if prod(sizes) == 0:
        return True
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def overlap(one: Layout, two: Layout) -> bool:
    """Whether two tensors over one storage share at least one byte."""
    bytes_of_one = _bytes(one)
    return bool(np.isin(bytes_of_one, _bytes(two)).any())


def _bytes(layout: Layout) -> np.ndarray:
    sizes, strides, offset, width = layout
    addresses = np.unique(element_addresses(sizes, strides, offset)) * width
    return (addresses[:, None] + np.arange(width)).ravel()
