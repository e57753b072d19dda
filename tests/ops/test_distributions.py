"""Random operators: moments, shares of the range, edges, and rejected arguments.

Bounds are five standard errors of the measured quantity, with a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tools import name_of, values

import engine

N = 200_000


@pytest.fixture(autouse=True)
def _seeded() -> None:
    engine.manual_seed(99)


def drawn(t: Any) -> np.ndarray:
    return values(t).astype(np.float64)


def check_moments(x: np.ndarray, mean: float, std: float, label: str) -> None:
    """Mean and standard deviation, within what chance allows."""
    count = x.size
    kurtosis = float(((x - x.mean()) ** 4).mean() / max(x.var() ** 2, 1e-300))
    off = abs(x.mean() - mean) / (std / math.sqrt(count))
    assert off < 5, f"{label}: mean {x.mean():.5f}, expected {mean:.5f} ({off:.1f} standard errors)"
    spread = std * math.sqrt(max(kurtosis - 1, 0.1) / count) / 2
    assert abs(x.std() - std) < 6 * spread + 1e-12, (
        f"{label}: std {x.std():.5f}, expected {std:.5f}"
    )


def check_shares(
    x: np.ndarray, below: Callable[[float], float], at: list[float], label: str
) -> None:
    """The share of draws up to some points against the distribution function."""
    for point in at:
        want = below(point)
        actual = float((x <= point).mean())
        allowed = 5 * math.sqrt(max(want * (1 - want), 1e-4) / x.size)
        assert abs(actual - want) < allowed, (
            f"{label}: {actual:.4f} up to {point}, expected {want:.4f}"
        )


# ---- on the line


def test_exponential() -> None:
    for rate in (0.5, 1.0, 4.0):
        x = drawn(engine.empty(N).exponential_(rate))
        assert x.min() >= 0
        check_moments(x, 1 / rate, 1 / rate, f"exponential_({rate})")
        points = [0.1 / rate, 1 / rate, 3 / rate]
        check_shares(x, lambda t, rate=rate: 1 - math.exp(-rate * t), points, f"rate {rate}")


def test_cauchy() -> None:
    x = drawn(engine.empty(N).cauchy_(1.0, 2.0))
    points = [-9.0, -1.0, 1.0, 3.0, 21.0]
    check_shares(x, lambda t: math.atan((t - 1) / 2) / math.pi + 0.5, points, "cauchy_(1, 2)")


def test_log_normal() -> None:
    x = drawn(engine.empty(N, dtype=engine.float64).log_normal_(0.5, 0.75))
    assert x.min() > 0
    check_moments(np.log(x), 0.5, 0.75, "log of log_normal_(0.5, 0.75)")


def test_normal_with_moments_of_each_element() -> None:
    mean = engine.tensor([[-3.0], [10.0]]).expand(2, N)
    std = engine.tensor([[0.5], [2.0]])
    x = drawn(engine.normal(mean, std))
    check_moments(x[0], -3, 0.5, "first row")
    check_moments(x[1], 10, 2, "second row")
    check_moments(drawn(engine.normal(4.0, 3.0, (N,))), 4, 3, "normal(4, 3)")
    check_moments(drawn(engine.normal(mean[0], 2.0)), -3, 2, "normal(tensor, 2)")
    assert drawn(engine.normal(engine.ones(3), engine.zeros(3))).tolist() == [1, 1, 1]


def test_poisson() -> None:
    for rate in (0.25, 3.0, 40.0, 1000.0):
        x = drawn(engine.poisson(engine.full((N,), rate)))
        assert (x >= 0).all()
        assert (x == np.rint(x)).all()
        check_moments(x, rate, math.sqrt(rate), f"poisson({rate})")
    few = drawn(engine.poisson(engine.full((N,), 0.25)))
    check_shares(few, lambda t: math.exp(-0.25) * (1.25 if t >= 1 else 1), [0, 1], "poisson(0.25)")


def test_geometric() -> None:
    for p in (0.1, 0.5, 0.9):
        x = drawn(engine.empty(N).geometric_(p))
        assert x.min() >= 1
        check_moments(x, 1 / p, math.sqrt(1 - p) / p, f"geometric_({p})")
    full = engine.empty(100, dtype=engine.int64).geometric_(0.5)
    assert name_of(full.dtype) == "int64"
    assert int(full.min()) >= 1


def test_random_covers_whole_numbers() -> None:
    x = drawn(engine.empty(N, dtype=engine.int64).random_(-2, 5))
    shares = [float((x == k).mean()) for k in range(-2, 5)]
    assert np.allclose(shares, 1 / 7, atol=0.005), shares
    assert set(drawn(engine.empty(1000, dtype=engine.bool).random_())) == {0.0, 1.0}
    assert drawn(engine.empty(1000, dtype=engine.uint8).random_()).max() > 200


def test_likes() -> None:
    like = engine.empty(N // 10, 10, dtype=engine.float64).t()
    check_moments(drawn(engine.rand_like(like)), 0.5, math.sqrt(1 / 12), "rand_like")
    check_moments(drawn(engine.randn_like(like)), 0, 1, "randn_like")
    full = engine.randint_like(like, 3, 5)
    assert full.stride() == like.stride()
    assert set(drawn(full).reshape(-1)) == {3.0, 4.0}


# ---- trials


def test_bernoulli() -> None:
    chances = engine.tensor([0.0, 0.2, 0.7, 1.0]).unsqueeze(1).expand(4, N // 4)
    for item in (engine.bernoulli(chances), engine.empty(4, N // 4).bernoulli_(chances)):
        rows = drawn(item)
        assert set(rows.reshape(-1)) == {0.0, 1.0}
        assert (rows[0] == 0).all()
        assert (rows[3] == 1).all()
        for row, p in ((rows[1], 0.2), (rows[2], 0.7)):
            check_moments(row, p, math.sqrt(p * (1 - p)), f"bernoulli {p}")
    x = drawn(engine.empty(N).bernoulli_(0.3))
    check_moments(x, 0.3, math.sqrt(0.21), "bernoulli_(0.3)")
    check_moments(drawn(engine.bernoulli(engine.empty(N), 0.9)), 0.9, 0.3, "bernoulli(p=0.9)")


def test_multinomial_with_replacement() -> None:
    weights = engine.tensor([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
    x = drawn(engine.multinomial(weights, N // 2, replacement=True))
    for row, want in zip(x, ((0.25, 0, 0.75), (0.5, 0.5, 0)), strict=True):
        shares = [float((row == k).mean()) for k in range(3)]
        assert np.allclose(shares, want, atol=0.01), f"{shares}, expected {want}"
        assert [s == 0 for s in shares] == [w == 0 for w in want]


def test_multinomial_without_replacement() -> None:
    x = drawn(engine.multinomial(engine.ones(5000, 4), 4))
    assert (np.sort(x, 1) == np.arange(4)).all(), "an index was drawn twice"
    first = drawn(engine.multinomial(engine.tensor([[1.0, 3.0]]).expand(20_000, 2), 1))
    check_moments(first, 0.75, math.sqrt(3 / 16), "first of two")


# ---- dropout


def test_dropout_keeps_the_mean() -> None:
    ones = engine.ones(N)
    for p in (0.1, 0.5, 0.9):
        scale = 1 / (1 - p)
        result, mask = engine.native_dropout(ones, p, True)
        assert engine.equal(result != 0, mask)
        own = engine.ones(N)
        inplace = engine.nn.functional.dropout(own, p, inplace=True)  # dropout_
        assert inplace is own
        for x in (drawn(result), drawn(inplace), drawn(engine.dropout(ones, p, True))):
            assert np.allclose(x[x != 0], scale, rtol=1e-5)
            check_moments(x, 1, scale * math.sqrt(p * (1 - p)), f"dropout {p}")


def test_dropout_of_nothing_and_of_everything() -> None:
    x = engine.randn(10)
    assert engine.dropout(x, 0.5, False) is x
    assert engine.equal(engine.dropout(x, 0.0, True), x)
    assert float(engine.dropout(x, 1.0, True).abs().sum()) == 0


def test_feature_dropout_drops_whole_channels() -> None:
    x = drawn(engine.feature_dropout(engine.ones(400, 50, 3), 0.25, True))
    assert (x == x[:, :, :1]).all(), "a channel was dropped in part"
    check_moments(x[:, :, 0], 1, math.sqrt(0.25 / 0.75), "feature_dropout 0.25")


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    source = engine.randn(N)
    x = drawn(engine.alpha_dropout(source, 0.3, True))
    assert abs(x.mean()) < 0.02
    assert abs(x.std() - 1) < 0.02
    dropped = np.unique(np.round(x, 5), return_counts=True)[1].max() / N
    assert abs(dropped - 0.3) < 0.01, f"{dropped} of the elements have one value"
    channels = drawn(engine.feature_alpha_dropout(engine.ones(400, 50, 3), 0.25, True))
    assert (channels == channels[:, :, :1]).all()
    assert len(np.unique(np.round(channels, 4))) == 2


# ---- what is refused, and reproduction

REFUSED = [
    (lambda: engine.empty(2).exponential_(0), RuntimeError, "lambda > 0"),
    (lambda: engine.empty(2).geometric_(1.0), RuntimeError, r"p to be in \(0, 1\)"),
    (lambda: engine.empty(2).cauchy_(0, -1), RuntimeError, "sigma > 0"),
    (lambda: engine.empty(2).log_normal_(0, 0), RuntimeError, "std > 0"),
    (lambda: engine.poisson(engine.tensor([-1.0])), RuntimeError, "non-negative"),
    (lambda: engine.bernoulli(engine.tensor([1.5])), RuntimeError, "p_in"),
    (lambda: engine.normal(engine.zeros(2), engine.tensor([1.0, -1.0])), RuntimeError, "std >= 0"),
    (lambda: engine.multinomial(engine.tensor([1.0, -1.0]), 1), RuntimeError, "invalid|probab"),
    (lambda: engine.multinomial(engine.zeros(2), 1), RuntimeError, "sum of probabilities"),
    (lambda: engine.multinomial(engine.ones(2), 3), RuntimeError, "cannot sample"),
    (lambda: engine.dropout(engine.ones(2), 1.5, True), RuntimeError, "between 0 and 1"),
]


@pytest.mark.parametrize(("call", "error", "match"), REFUSED)
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


@pytest.mark.parametrize("dtype", [engine.float64, engine.float16, engine.int64, engine.bool_])
def test_bernoulli_draws_into_out_of_any_dtype(dtype: engine.dtype) -> None:
    out = engine.empty(2, dtype=dtype)
    assert engine.bernoulli(engine.tensor([0.0, 1.0]), out=out) is out
    assert out.tolist() == [0, 1]
    assert out.dtype is dtype


DRAWS = [
    lambda g: engine.empty(50).exponential_(generator=g),
    lambda g: engine.empty(50).cauchy_(generator=g),
    lambda g: engine.empty(50).geometric_(0.5, generator=g),
    lambda g: engine.bernoulli(engine.full((50,), 0.5), generator=g),
    lambda g: engine.poisson(engine.full((50,), 7.0), generator=g),
    lambda g: engine.multinomial(engine.ones(50), 20, generator=g),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_a_generator_reproduces(draw: Callable[[Any], Any]) -> None:
    first, again, other = (draw(engine.Generator().manual_seed(seed)) for seed in (5, 5, 6))
    assert engine.equal(first, again)
    assert not engine.equal(first, other)
