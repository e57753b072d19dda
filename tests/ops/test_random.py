"""Random numbers: distribution, reproduction, independence of threads and layout."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tools import values

import engine


@pytest.fixture(autouse=True)
def _seeded() -> None:
    engine.manual_seed(1234)


def moments(x: np.ndarray) -> tuple[float, float, float]:
    x = x.astype(np.float64)
    return float(x.mean()), float(x.std()), float(((x - x.mean()) ** 4).mean() / x.var() ** 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_randn_is_normal(dtype: str) -> None:
    x = values(engine.randn(400_000, dtype=getattr(engine, dtype)))
    mean, std, kurtosis = moments(x)
    assert np.allclose((mean, std, kurtosis), (0, 1, 3), atol=0.03)
    below = [float((x < z).mean()) for z in (-2, -1, 0, 1, 2)]
    want = [0.5 * (1 + math.erf(z / math.sqrt(2))) for z in (-2, -1, 0, 1, 2)]
    assert np.allclose(below, want, atol=0.004), f"distribution {below}, expected {want}"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_rand_is_even(dtype: str) -> None:
    x = values(engine.rand(200_000, dtype=getattr(engine, dtype)))
    assert x.min() >= 0
    assert x.max() <= 1
    counts = np.histogram(x, bins=10, range=(0, 1))[0] / len(x)
    assert np.allclose(counts, 0.1, atol=0.01), f"a tenth of [0, 1) gets {counts}"


def test_the_same_seed_gives_the_same_numbers() -> None:
    first = engine.randn(1000)
    other = engine.randn(1000)
    engine.manual_seed(1234)
    assert engine.equal(engine.randn(1000), first), "the seed does not reproduce the numbers"
    assert engine.equal(engine.randn(1000), other)
    assert not engine.equal(first, other), "two draws gave the same numbers"


def test_threads_do_not_matter() -> None:
    before = engine.get_num_threads()
    actual = []
    for n in (1, 2, 5):
        engine.set_num_threads(n)
        engine.manual_seed(5)
        actual.append(
            (engine.randn(300_001), engine.randn(300_001).sum(), engine.rand(3, 100_001).sum(1))
        )
    engine.set_num_threads(before)
    for other in actual[1:]:
        for a, b in zip(actual[0], other, strict=True):
            assert engine.equal(a, b), "the number of threads changed a result"


def test_state_is_saved_and_restored() -> None:
    state = engine.get_rng_state()
    first = engine.rand(10)
    engine.set_rng_state(state)
    assert engine.equal(engine.rand(10), first)


def test_randint_covers_its_range() -> None:
    x = values(engine.randint(-2, 3, (10_000,)))
    assert sorted(set(x.tolist())) == [-2, -1, 0, 1, 2]
    wide = values(engine.randint(-(2**62), 2**62, (1000,)))
    assert wide.min() < -(2**60)
    assert wide.max() > 2**60
    with pytest.raises(RuntimeError, match="from=3 >= to=3"):
        engine.randint(3, 3, (2,))


def test_randperm_is_a_permutation() -> None:
    assert sorted(engine.randperm(100).tolist()) == list(range(100))
    assert engine.randperm(0).shape == (0,)


def test_inplace_draws_keep_to_their_layout() -> None:
    x = engine.zeros(4, 6)
    x[:, ::2].uniform_(2, 3)
    assert float(x[:, 1::2].abs().sum()) == 0, "a strided uniform_ wrote between its elements"
    assert bool(((x[:, ::2] >= 2) & (x[:, ::2] < 3)).all())
    y = engine.empty(1000).normal_(10, 0.1)
    assert abs(float(y.mean()) - 10) < 0.05
    with pytest.raises(RuntimeError, match=r"normal expects std >= 0\.0, but found std -1"):
        y.normal_(0, -1)
    with pytest.raises(RuntimeError, match="from=2 > to=1"):
        y.uniform_(2, 1)


def test_only_floats_are_drawn() -> None:
    with pytest.raises(NotImplementedError, match="not implemented for 'Long'"):
        engine.randn(2, dtype=engine.int64)
