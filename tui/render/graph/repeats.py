"""Blocks that follow each other unchanged: the layers of a network, the steps of a loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

MAX_PERIOD = 512  # things in one block
MIN_LENGTH = 3  # times that a block occurs


@dataclass(frozen=True, slots=True)
class Run:
    """Items [start, start + period * times): `times` blocks of `period` items, each like the first."""

    start: int
    period: int
    times: int

    @property
    def stop(self) -> int:
        return self.start + self.period * self.times


def repeats(items: Sequence[Hashable], min_length: int = MIN_LENGTH) -> list[Run]:
    """Return the runs that together spare most items, in their order; none overlaps another."""
    codes: dict[Hashable, int] = {}
    tokens = [codes.setdefault(item, len(codes)) for item in items]
    runs: list[Run] = []
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
            if times >= min_length:
                runs.append(Run(start, period, times))
    runs.sort(key=lambda run: (run.period - run.period * run.times, run.period, run.start))
    covered = bytearray(len(tokens))
    selected = []
    for run in runs:
        if not any(covered[run.start : run.stop]):
            covered[run.start : run.stop] = b"\1" * (run.stop - run.start)
            selected.append(run)
    return sorted(selected, key=lambda run: run.start)


def _periods(tokens: list[int]) -> list[int]:
    """Return distances at which the same thing comes again often enough to be worth a look."""
    seen: dict[int, tuple[int, int]] = {}
    distances: Counter[int] = Counter()
    for at, token in enumerate(tokens):
        last, before = seen.get(token, (-1, -1))
        for earlier in (last, before):
            if earlier >= 0 and at - earlier <= MAX_PERIOD:
                distances[at - earlier] += 1
        seen[token] = (at, last)
    return sorted(period for period, times in distances.items() if times >= 2)
