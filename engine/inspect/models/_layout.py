"""Descriptions of sizes and strides: the pattern, the effect of each stride, contiguity, flatness."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod

from engine.inspect.layout import Extent


@dataclass(frozen=True, slots=True)
class Dim:
    """One dimension, with a description of one step along it."""

    dim: int
    size: int
    stride: int
    expected: int  # the stride it would have if the tensor were contiguous
    description: str


@dataclass(frozen=True, slots=True)
class Layout:
    pattern: str  # one word or two
    sentence: str  # the meaning of the pattern for this tensor
    dims: tuple[Dim, ...]
    contiguous: bool
    why: str  # why it is or is not contiguous
    flat: bool  # whether view(-1) is possible
    why_flat: str


@lru_cache(maxsize=1024)
def describe(
    sizes: tuple[int, ...], strides: tuple[int, ...], base_strides: tuple[int, ...] = ()
) -> Layout:
    """Return the layout in words. `base_strides` (of the tensor it was viewed from) distinguish a diagonal."""
    sizes, strides = tuple(sizes), tuple(strides)
    pattern, sentence = _pattern(sizes, strides, base_strides)
    expected = contiguous_strides(sizes)
    dims = tuple(
        Dim(d, sizes[d], strides[d], expected[d], _step(d, sizes, strides, expected))
        for d in range(len(sizes))
    )
    contiguous, why = _contiguity(sizes, strides, expected)
    return Layout(pattern, sentence, dims, contiguous, why, *_flatness(sizes, strides))


def contiguous_strides(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a new tensor: each is the number of elements in the later dimensions."""
    return tuple(prod(max(n, 1) for n in sizes[d + 1 :]) for d in range(len(sizes)))


def _pattern(
    sizes: tuple[int, ...], strides: tuple[int, ...], base_strides: tuple[int, ...]
) -> tuple[str, str]:
    numel = prod(sizes)
    if numel == 0:
        return "empty", "a size is 0, so there is no element"
    if numel == 1:
        return "one element", "only one index exists, so no stride is ever used"
    used = [(n, s) for n, s in zip(sizes, strides, strict=True) if n > 1]
    if strides_match(sizes, strides, contiguous_strides(sizes)):
        return (
            "contiguous",
            "its elements follow each other in the order of their indices",
        )
    if any(s == 0 for _, s in used):
        copies = prod(n for n, s in used if s == 0)
        return "broadcast", f"stride 0 shows every element {copies} times without copying it"
    falling = sorted(used, key=lambda pair: -pair[1])
    if _dense(falling):
        word = "transposed" if len(used) == 2 else "permuted"
        return word, "all elements side by side, in another order than their indices"
    if not Extent.of(0, sizes, strides, 1).nested:
        return _overlapping(sizes, strides, used)
    if len(used) == 1:
        step = used[0][1]
        if len(base_strides) > 1 and step == sum(base_strides[-2:]):
            return (
                "diagonal",
                "each step goes one row and one column on: "
                + " + ".join(map(str, base_strides[-2:]))
                + f" = {step} elements",
            )
        return f"step {step}", f"takes every {_ordinal(step)} element"
    gaps = "a part of longer rows: memory between its rows is skipped"
    if falling != used:
        return "permuted part", gaps + ", and its dimensions are swapped"
    return ("sliced", gaps) if used[-1][1] == 1 else (f"step {used[-1][1]}", "elements are skipped")


def _overlapping(
    sizes: tuple[int, ...], strides: tuple[int, ...], used: list[tuple[int, int]]
) -> tuple[str, str]:
    if Extent.of(0, sizes, strides, 1).repeats is False:
        return "interleaved", "its rows are threaded between each other and share no element"
    if len(used) >= 2:
        return "sliding window", "neighbouring windows share elements; nothing was copied"
    return "overlapping", "some elements share memory"


def _dense(falling: list[tuple[int, int]]) -> bool:
    """Return whether (size, stride) pairs, largest stride first, leave no gap: only their order differs."""
    step = 1
    for size, stride in reversed(falling):
        if stride != step:
            return False
        step *= size
    return True


def strides_match(sizes: Sequence[int], strides: Sequence[int], expected: Sequence[int]) -> bool:
    return all(n <= 1 or s == e for n, s, e in zip(sizes, strides, expected, strict=True))


def _step(
    d: int, sizes: tuple[int, ...], strides: tuple[int, ...], expected: tuple[int, ...]
) -> str:
    size, stride = sizes[d], strides[d]
    if size == 0:
        return "no index exists"
    if size == 1:
        return "one index only: its stride is never used"
    if stride == 0:
        return "nowhere: it stays on the same element (broadcast)"
    if stride == 1:
        return "to the next element in memory"
    if stride == expected[d]:
        return f"over the {stride} elements of the dimensions after it"
    return f"{stride} elements on"


def _contiguity(
    sizes: tuple[int, ...], strides: tuple[int, ...], expected: tuple[int, ...]
) -> tuple[bool, str]:
    if prod(sizes) == 0:
        return True, "a tensor without elements is contiguous"
    for d in reversed(range(len(sizes))):
        if sizes[d] > 1 and strides[d] != expected[d]:
            return False, f"dim {d} should step by {expected[d]}, but steps by {strides[d]}"
    if all(n == 1 for n in sizes):
        return True, "a single element is contiguous"
    return True, "every stride equals the product of the sizes after it"


def _flatness(sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[bool, str]:
    """Return whether one stride can iterate over all elements in order, as view(-1) requires."""
    if prod(sizes) == 0:
        return True, "there is no element to step to"
    used = [(d, n, s) for d, (n, s) in enumerate(zip(sizes, strides, strict=True)) if n > 1]
    for (d, _, stride), (after, size, step) in pairwise(used):
        if stride != size * step:
            return False, (
                f"after {size} steps of {step} along dim {after} one more would be {size * step} on, "
                f"but dim {d} goes {stride} on: no single stride fits, so reshape would copy"
            )
    step = used[-1][2] if used else 1
    return True, f"one stride of {step} walks all elements in order"


def _ordinal(number: int) -> str:
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{suffix or 'th'}"
