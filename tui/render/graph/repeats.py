"""Blocks that follow each other unchanged: the layers of a network, the steps of a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

LONGEST = 512  # things in one block
LEAST = 3  # times that a block occurs


@dataclass(frozen=True, slots=True)
class Run:
    """Items [start, start + period * times): `times` blocks of `period` items, each like the first."""

    start: int
    period: int
    times: int

    @property
    def stop(self) -> int:
        return self.start + self.period * self.times


def repeats(items: Sequence[Hashable], least: int = LEAST) -> list[Run]:
    """The runs that together spare most items, in their order; none overlaps another."""
    codes: dict[Hashable, int] = {}
    tokens = [codes.setdefault(item, len(codes)) for item in items]
    found: list[Run] = []
    for period in _periods(tokens):
        at, end = 0, len(tokens) - period
        while at < end:
            if tokens[at] != tokens[at + period]:
                at += 1
                continue
            start = at
            while at < end and tokens[at] == tokens[at + period]:
                at += 1
            times = (at - start) // period + 1
            if times >= least:
                found.append(Run(start, period, times))
    found.sort(key=lambda run: (run.period - run.period * run.times, run.period, run.start))
    taken = bytearray(len(tokens))
    kept = []
    for run in found:
        if not any(taken[run.start : run.stop]):
            taken[run.start : run.stop] = b"\1" * (run.stop - run.start)
            kept.append(run)
    return sorted(kept, key=lambda run: run.start)


def _periods(tokens: list[int]) -> list[int]:
    """Distances at which the same thing comes again often enough to be worth a look."""
    seen: dict[int, tuple[int, int]] = {}
    distances: Counter[int] = Counter()
    for at, token in enumerate(tokens):
        last, before = seen.get(token, (-1, -1))
        for place in (last, before):
            if place >= 0 and at - place <= LONGEST:
                distances[at - place] += 1
        seen[token] = (at, last)
    return sorted(period for period, times in distances.items() if times >= 2)
