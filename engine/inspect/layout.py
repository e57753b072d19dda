"""Where a tensor's elements lie: exact answers about as_strided layouts of any rank.

Element (i0, i1, ...) lies at address `offset + i0*strides[0] + i1*strides[1] + ...`, counted in
elements of the storage. Strides are never negative. Questions such as "do these two tensors meet?"
are equations with bounded unknowns (`_reaches`), so they cost the same for ten elements and for ten
million.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from math import gcd, prod

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
    """Whether elements follow each other in the order of their indices (PyTorch's rule)."""
    if prod(sizes) == 0:
        return True
    expected = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def runs(sizes: Sequence[int], strides: Sequence[int], offset: int) -> list[tuple[int, int]]:
    """The addresses that are used, as rising stretches [lo, hi) that do not touch each other."""
    if prod(sizes) == 0:
        return []
    found = np.array([[offset, offset + 1]], np.int64)
    for stride, size in sorted(zip(strides, sizes, strict=True)):
        if len(found) == 1 and stride <= found[0, 1] - found[0, 0]:
            found[0, 1] += (size - 1) * stride
        elif size > 1 and stride:
            steps = np.arange(size, dtype=np.int64) * stride
            found = _merged((found[None] + steps[:, None, None]).reshape(-1, 2))
    return [(lo, hi) for lo, hi in found.tolist()]


def holes(sizes: Sequence[int], strides: Sequence[int], offset: int) -> list[tuple[int, int]]:
    """The stretches between the first and the last element that no element uses."""
    used = runs(sizes, strides, offset)
    return [(left[1], right[0]) for left, right in pairwise(used)]


def overlaps_itself(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether two different indices lie at the same address (expand, sliding windows)."""
    if prod(sizes) == 0:
        return False
    dims = [(step, size - 1) for size, step in zip(sizes, strides, strict=True) if size > 1]
    for place, (stride, most) in enumerate(dims):
        # Two indices that are equal in the dimensions before this one and differ in it by 1..most:
        # the later ones must bring the address back, each by -most..most.
        rest = dims[place + 1 :]
        middle = sum(step * last for step, last in rest)
        terms = _terms([(stride, most - 1), *((step, 2 * last) for step, last in rest)])
        if _reaches(terms, middle - stride):
            return True
    return False


def overlap(one: Layout, two: Layout) -> bool:
    """Whether two tensors over one storage share at least one byte."""
    if prod(one[0]) == 0 or prod(two[0]) == 0:
        return False
    # A byte of `one` equals a byte of `two`: every index of `two` is counted down from its highest,
    # so that all unknowns add up.
    last = span(*two[:3])[1] * two[3] - 1
    terms = [(1, one[3] - 1), (1, two[3] - 1)]
    for sizes, strides, _, width in (one, two):
        terms += [(step * width, n - 1) for n, step in zip(sizes, strides, strict=True)]
    return _reaches(_terms(terms), last - one[2] * one[3])


def index_of_address(
    sizes: Sequence[int], strides: Sequence[int], offset: int, address: int
) -> Iterator[tuple[int, ...]]:
    """Every index whose element lies at the address, in rising order; there may be very many."""
    if prod(sizes) == 0:
        return
    dims = list(zip(strides, sizes, strict=True))
    terms = [_terms([(step, size - 1) for step, size in dims[d:]]) for d in range(len(dims) + 1)]

    def walk(depth: int, left: int) -> Iterator[tuple[int, ...]]:
        if depth == len(dims):
            yield ()
            return
        stride, size = dims[depth]
        for i in range(size):
            if left < i * stride:
                return
            if _reaches(terms[depth + 1], left - i * stride):
                yield from ((i, *rest) for rest in walk(depth + 1, left - i * stride))

    if _reaches(terms[0], address - offset):
        yield from walk(0, address - offset)


def indices_at(
    sizes: Sequence[int], strides: Sequence[int], offset: int, address: int, most: int = 1000
) -> tuple[tuple[int, ...], ...]:
    """The first `most` indices at the address."""
    return tuple(islice(index_of_address(sizes, strides, offset, address), most))


def _merged(stretches: np.ndarray) -> np.ndarray:
    """Stretches in rising order, those that touch or overlap made into one."""
    stretches = stretches[np.argsort(stretches[:, 0], kind="stable")]
    ends = np.maximum.accumulate(stretches[:, 1])
    first = np.concatenate([[True], stretches[1:, 0] > ends[:-1]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([stretches[first, 0], ends[last]], axis=1)


Terms = tuple[tuple[int, int], ...]
"""(coefficient, highest value of its unknown), coefficients falling, none twice, none zero."""


def _terms(pairs: Sequence[tuple[int, int]]) -> Terms:
    highest: dict[int, int] = {}
    for coefficient, most in pairs:
        if coefficient and most:
            highest[coefficient] = highest.get(coefficient, 0) + most
    return tuple(sorted(highest.items(), reverse=True))


@lru_cache(maxsize=1 << 16)
def _reaches(terms: Terms, target: int) -> bool:
    """Whether coefficient*unknown, summed, can be `target` with each unknown in 0..highest.

    Takes the largest coefficient first: only few of its values leave a rest that the smaller ones
    can still make up, and that their common divisor divides. Ends at once where the smaller ones
    make every multiple of that divisor.
    """
    if target == 0:
        return True
    if not terms or target < 0:
        return False
    reach = sum(coefficient * most for coefficient, most in terms)
    divisor = gcd(*(coefficient for coefficient, _ in terms))
    if target > reach or target % divisor:
        return False
    if _has_no_gap(terms):
        return True
    (coefficient, most), rest = terms[0], terms[1:]
    rest_reach = reach - coefficient * most
    low = max(0, -((rest_reach - target) // coefficient))
    high = min(most, target // coefficient)
    divisor = gcd(*(smaller for smaller, _ in rest))
    # coefficient*x = target (modulo divisor) has one solution in each `period`
    common = gcd(coefficient, divisor)
    if target % common:
        return False
    period = divisor // common
    first = target // common * pow(coefficient // common, -1, period) % period
    start = low + (first - low) % period
    return any(_reaches(rest, target - coefficient * x) for x in range(start, high + 1, period))


def _has_no_gap(terms: Terms) -> bool:
    """Whether the sums are all multiples of the smallest coefficient, from 0 to the highest sum."""
    step, reach = terms[-1][0], 0
    for coefficient, most in reversed(terms):
        if coefficient % step or coefficient > reach + step:
            return False
        reach += coefficient * most
    return True
