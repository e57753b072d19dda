"""Index to byte and byte to index: the search against walking every element, on random layouts."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

import numpy as np
import pytest

from engine.inspect.layout import Extent, covered

LAYOUTS = 5000


def random_extent(rng: np.random.Generator) -> Extent:
    """Any rank up to 6, at most about 500 elements; zero sizes, zero strides and overlaps occur."""
    rank = int(rng.integers(0, 7))
    maximum = {0: 1, 1: 40, 2: 12, 3: 7, 4: 5, 5: 3, 6: 3}[rank]
    sizes = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.06 else 1, maximum + 1, rank))
    step = int(rng.choice([1, 2, 4, 9, 30]))
    strides = tuple(int(s) for s in rng.integers(0, step + 1, rank))
    itemsize = int(rng.choice([1, 2, 4, 8]))
    return Extent.of(int(rng.integers(0, 6)), sizes, strides, itemsize).moved(
        int(rng.integers(-3, 9))
    )


def walked(extent: Extent) -> dict[tuple[int, ...], int]:
    """Return every index and its first byte, one by one."""
    return {
        index: extent.start + sum(i * s for i, s in zip(index, extent.strides, strict=True))
        for index in product(*map(range, extent.sizes))
    }


def touched_bytes(extent: Extent) -> set[int]:
    """Return every byte of every element, one by one."""
    return {
        byte for start in walked(extent).values() for byte in range(start, start + extent.itemsize)
    }


def first_index(extent: Extent, index: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index that stands for all that differ from it in stride-0 dimensions only."""
    return tuple(i if s else 0 for i, s in zip(index, extent.strides, strict=True))


def test_random_layouts_equal_brute_force() -> None:
    rng = np.random.default_rng(20)
    for _ in range(LAYOUTS):
        extent = random_extent(rng)
        bytes_of_index = walked(extent)
        repeats = Counter(first_index(extent, index) for index in bytes_of_index)
        owners = defaultdict(set)
        for index, start in bytes_of_index.items():
            for byte in range(start, start + extent.itemsize):
                owners[byte].add(first_index(extent, index))
        lo, hi = extent.span
        assert (lo, hi) == ((min(owners), max(owners) + 1) if owners else (extent.start,) * 2)
        assert extent.distinct() == len(owners), extent
        touched = sum(times * extent.itemsize for times in repeats.values())
        assert extent.repeats is (touched > len(owners)), extent
        other = random_extent(rng)
        assert extent.meets(other) is bool(owners.keys() & touched_bytes(other)), (extent, other)
        if extent.nested and owners:
            assert all(len(value) == 1 for value in owners.values()), extent
        for byte in {*rng.integers(lo - 3, hi + 4, 6).tolist(), lo, hi - 1, hi}:
            hits = list(extent.elements(byte, byte + 1))
            assert {hit.index for hit in hits} == owners.get(byte, set()), (extent, byte)
            assert len(hits) == len({hit.index for hit in hits})
            assert all(hit.times == repeats[hit.index] for hit in hits)
            assert all(hit.start == extent.byte(hit.index) for hit in hits)
        span = lo + (hi - lo) // 3, hi - (hi - lo) // 4
        row = {hit.index for hit in extent.elements(*span)}
        assert row == set().union(*(owners.get(byte, set()) for byte in range(*span)))


def test_a_row_of_a_huge_tensor_costs_nothing() -> None:
    extent = Extent.of(0, (10_000, 1_000), (1_000, 1), 4)
    hits = list(extent.elements(20_000_000, 20_000_064))
    assert [hit.index for hit in hits] == [(5_000, j) for j in range(16)]
    assert extent.distinct() == 40_000_000


def test_what_is_too_much_to_count_is_not_guessed() -> None:
    assert Extent.of(0, (3_000, 3_000), (2, 3), 4).distinct() is None
    assert Extent.of(0, (3_000, 3_000), (1, 1), 4).distinct() == 4 * 5_999  # one run: no counting
    assert Extent.of(0, (5, 1 << 40), (1, 0), 4).distinct() == 20  # broadcasting is free


def test_interleaved_halves_of_ten_million_elements_do_not_meet() -> None:
    even, odd = (Extent.of(offset, (5_000_000,), (2,), 4) for offset in (0, 1))
    assert even.meets(odd) is False
    assert even.meets(Extent.of(0, (10_000_000,), (1,), 4)) is True


@pytest.mark.parametrize(("starts", "itemsize", "bytes_"), [([0, 4, 6], 4, 10), ([], 4, 0)])
def test_covered_counts_shared_bytes_once(starts: list[int], itemsize: int, bytes_: int) -> None:
    assert covered(np.array(starts), np.array(starts) + itemsize) == bytes_


@pytest.mark.parametrize(
    ("first", "second", "met"),
    [
        ((0, (4000, 5000), (10000, 2), 4), (1, (4000, 5000), (10000, 2), 4), False),
        ((0, (4000, 5000), (10000, 2), 4), (1, (4000, 5000), (10000, 3), 4), True),
        ((7, (10**6,), (0,), 4), (0, (10**6,), (3,), 4), False),
        ((9, (10**6,), (0,), 4), (0, (10**6,), (3,), 4), True),
        ((0, (10**6,), (1,), 8), (2 * 10**6, (10**6,), (1,), 4), False),
        ((0, (10**6,), (1,), 8), (2 * 10**6 - 1, (10**6,), (1,), 4), True),
    ],
)
def test_large_layouts_are_decided_at_once(first: tuple, second: tuple, met: bool) -> None:
    assert Extent.of(*first).meets(Extent.of(*second)) is met
