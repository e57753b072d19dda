"""Layouts of any rank: every answer equals brute force over all elements."""

from __future__ import annotations

import itertools
import time
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.inspect.layout import (
    element_addresses,
    holes,
    indices_at,
    is_contiguous,
    overlap,
    overlaps_itself,
    runs,
    span,
)

size = st.sampled_from([0, *([1, 2, 2, 3, 3] * 8)])
dimension = st.tuples(size, st.integers(0, 12))
layout = st.tuples(st.lists(dimension, max_size=6), st.integers(0, 20)).map(
    lambda drawn: ([n for n, _ in drawn[0]], [s for _, s in drawn[0]], drawn[1])
)
width = st.sampled_from([1, 2, 4, 8])


def brute(sizes, strides, offset):
    """{address: [indices]} by walking every index."""
    found: dict[int, list] = {}
    for index in itertools.product(*map(range, sizes)):
        address = offset + sum(i * s for i, s in zip(index, strides, strict=True))
        found.setdefault(address, []).append(index)
    return found


@settings(max_examples=2000, deadline=None)
@given(layout)
def test_one_layout_equals_brute_force(drawn):
    sizes, strides, offset = drawn
    found = brute(sizes, strides, offset)
    addresses = element_addresses(sizes, strides, offset)
    assert addresses.shape == tuple(sizes)
    assert sorted(set(addresses.ravel().tolist())) == sorted(found)
    assert [a for lo, hi in runs(*drawn) for a in range(lo, hi)] == sorted(found)
    assert overlaps_itself(sizes, strides) == any(len(at) > 1 for at in found.values())
    lo, hi = span(*drawn)
    assert (lo, hi) == ((min(found), max(found) + 1) if found else (offset, offset))
    empty = [a for first, last in holes(*drawn) for a in range(first, last)]
    assert empty == sorted(set(range(lo, hi)) - set(found))
    for address in {*list(found)[:5], lo - 1, hi, (lo + hi) // 2, *empty[:3]}:
        assert list(indices_at(*drawn, address, most=10**6)) == found.get(address, [])


@settings(max_examples=1500, deadline=None)
@given(layout, width, layout, width)
def test_two_tensors_meet_exactly_when_their_bytes_do(one, one_width, two, two_width):
    def touched(drawn, size):
        return {address * size + byte for address in brute(*drawn) for byte in range(size)}

    met = bool(touched(one, one_width) & touched(two, two_width))
    assert overlap((*one, one_width), (*two, two_width)) == met
    assert overlap((*two, two_width), (*one, one_width)) == met


@given(layout)
def test_contiguous_is_when_addresses_count_up(drawn):
    sizes, strides, offset = drawn
    addresses = element_addresses(*drawn).ravel()
    expected = bool((addresses == offset + np.arange(prod(sizes))).all())
    assert is_contiguous(sizes, strides) == expected


@pytest.mark.parametrize(
    ("one", "two", "met"),
    [
        (((4000, 5000), (10000, 2), 0, 4), ((4000, 5000), (10000, 2), 1, 4), False),
        (((4000, 5000), (10000, 2), 0, 4), ((4000, 5000), (10000, 3), 1, 4), True),
        (((10**6,), (0,), 7, 4), ((10**6,), (3,), 0, 4), False),
        (((10**6,), (0,), 9, 4), ((10**6,), (3,), 0, 4), True),
        (((10**6,), (1,), 0, 8), ((10**6,), (1,), 10**6 * 2, 4), False),
        (((10**6,), (1,), 0, 8), ((10**6,), (1,), 10**6 * 2 - 1, 4), True),
        (((99, 98, 97), (7919, 104729, 1299709), 0, 4), ((50, 60), (611953, 15485863), 1, 4), None),
    ],
)
def test_large_layouts_are_decided_at_once(one, two, met):
    start = time.perf_counter()
    decided = overlap(one, two)
    assert time.perf_counter() - start < 2.0
    if met is None:
        both = [element_addresses(*drawn[:3]).ravel() for drawn in (one, two)]
        met = bool(np.isin(*both).any())
    assert decided == met


def test_an_address_under_an_expanded_tensor_gives_its_first_indices():
    assert indices_at((10**9, 2), (0, 1), 0, 1, most=3) == ((0, 1), (1, 1), (2, 1))
