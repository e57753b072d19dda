"""Samples of the cases of slow tests: other cases in each run, the same ones in all processes of a run.

A failure prints the seed; `UNDERHOOD_TEST_SEED=N` repeats the samples of a run, `UNDERHOOD_TEST_ALL=1` takes every
case.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import TypeVar

SEED_VARIABLE, ALL_VARIABLE = "UNDERHOOD_TEST_SEED", "UNDERHOOD_TEST_ALL"
# In the environment, as the workers of pytest-xdist have to collect the same tests.
SEED = os.environ.setdefault(SEED_VARIABLE, str(random.SystemRandom().randrange(2**32)))
ALL = bool(os.environ.get(ALL_VARIABLE))

T = TypeVar("T")


def sampled(cases: Sequence[T], count: int, name: str = "") -> list[T]:
    """Return `count` of the cases, in their order; the last case is always one of them.

    `name` distinguishes samples that should not choose alike.
    """
    if ALL or len(cases) <= count:
        return list(cases)
    indices = random.Random(f"{SEED} {name}").sample(range(len(cases) - 1), count - 1)
    return [cases[i] for i in [*sorted(indices), len(cases) - 1]]


def seeds(count: int, name: str = "") -> list[int]:
    """Return `count` seeds of random cases, other ones in each run."""
    chooser = random.Random(f"{SEED} {name}")
    return [chooser.randrange(2**32) for _ in range(count)]
