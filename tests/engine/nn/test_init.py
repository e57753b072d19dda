"""First values: their distribution, and what each function promises exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.nn import init


def values(tensor: Any) -> np.ndarray:
    return np.array(tensor.tolist())


@pytest.fixture(autouse=True)
def _seed() -> None:
    engine.manual_seed(7)


FANS = {"fan_in": 300 * 4, "fan_out": 50 * 4}  # of (50, 300, 2, 2)


def bound_of_kaiming(mode: str = "fan_in", a: float = 0) -> float:
    return math.sqrt(2 / (1 + a * a)) * math.sqrt(3 / FANS[mode])


UNIFORM: dict[str, tuple[Callable[[Any], Any], float]] = {
    "uniform": (lambda x: init.uniform_(x, -0.3, 0.3), 0.3),
    "xavier": (lambda x: init.xavier_uniform_(x, 2.0), 2 * math.sqrt(6 / sum(FANS.values()))),
    "kaiming": (lambda x: init.kaiming_uniform_(x, a=math.sqrt(5)), 1 / math.sqrt(FANS["fan_in"])),
    "kaiming out": (
        lambda x: init.kaiming_uniform_(x, mode="fan_out", nonlinearity="relu"),
        bound_of_kaiming("fan_out"),
    ),
}
NORMAL: dict[str, tuple[Callable[[Any], Any], float]] = {
    "normal": (lambda x: init.normal_(x, 0, 0.3), 0.3),
    "xavier": (lambda x: init.xavier_normal_(x), math.sqrt(2 / sum(FANS.values()))),
    "kaiming": (lambda x: init.kaiming_normal_(x), math.sqrt(2 / FANS["fan_in"])),
    "kaiming tanh": (
        lambda x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="tanh"),
        5 / 3 / math.sqrt(FANS["fan_out"]),
    ),
}


@pytest.mark.parametrize("name", UNIFORM)
def test_even_draws(name: str) -> None:
    draw, bound = UNIFORM[name]
    x = engine.empty(50, 300, 2, 2)
    assert draw(x) is x
    actual = values(x)
    assert np.abs(actual).max() <= bound * (1 + 1e-6)
    assert np.abs(actual).max() > 0.999 * bound
    assert actual.std() == pytest.approx(bound / math.sqrt(3), rel=0.01)
    assert abs(actual.mean()) < 0.02 * bound


@pytest.mark.parametrize("name", NORMAL)
def test_normal_draws(name: str) -> None:
    draw, std = NORMAL[name]
    actual = values(draw(engine.empty(50, 300, 2, 2)))
    assert actual.std() == pytest.approx(std, rel=0.02)
    assert abs(actual.mean()) < 0.02 * std
    assert np.mean(np.abs(actual) > 2 * std) == pytest.approx(0.0455, rel=0.1)


@pytest.mark.parametrize(("a", "b"), [(-2.0, 2.0), (-0.5, 1.0), (2.0, 2.5)])
def test_truncated_draws(a: float, b: float) -> None:
    """A wide interval is drawn again and again, a narrow or far one accepted by its density."""
    actual = values(init.trunc_normal_(engine.empty(60_000), 0.0, 1.0, a, b))
    assert actual.min() >= a
    assert actual.max() <= b
    grid = np.linspace(a, b, 20_001)
    density = np.exp(-grid * grid / 2)
    assert actual.mean() == pytest.approx((grid * density).sum() / density.sum(), abs=0.02)
    assert actual.std() == pytest.approx(
        math.sqrt(np.average((grid - np.average(grid, weights=density)) ** 2, weights=density)),
        rel=0.02,
    )
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(engine.empty(3), 0.0, 0.1, 1.0, 2.0)


def test_the_same_seed_draws_the_same() -> None:
    first = init.normal_(engine.empty(10)).tolist()
    engine.manual_seed(7)
    assert init.normal_(engine.empty(10)).tolist() == first
    own = engine.Generator().manual_seed(3)
    other = engine.Generator().manual_seed(3)
    assert (
        init.uniform_(engine.empty(4), generator=own).tolist()
        == init.uniform_(engine.empty(4), generator=other).tolist()
    )


def test_constants() -> None:
    x = engine.empty(2, 3)
    assert init.constant_(x, 2.5).tolist() == [[2.5] * 3] * 2
    assert init.ones_(x).tolist() == [[1.0] * 3] * 2
    assert init.zeros_(x).tolist() == [[0.0] * 3] * 2
    assert init.eye_(x).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_passes_channels_through(groups: int) -> None:
    weight = init.dirac_(engine.empty(4, 4 // groups, 3), groups)
    x = engine.arange(20.0).view(1, 4, 5)
    actual = engine.nn.functional.conv1d(x, weight, padding=1, groups=groups)
    assert actual.tolist() == x.tolist()


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (3, 2, 4)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    actual = values(init.orthogonal_(engine.empty(shape, dtype=engine.float64), gain=2))
    matrix = actual.reshape(shape[0], -1)
    product = matrix @ matrix.T if shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-12)


def test_sparse_columns() -> None:
    actual = values(init.sparse_(engine.empty(10, 6), 0.25, std=1.0))
    assert (actual == 0).sum(0).tolist() == [3] * 6


def test_nothing_is_recorded() -> None:
    x = engine.empty(3, 3, requires_grad=True)
    for fill in (init.normal_, init.orthogonal_, init.eye_, init.xavier_uniform_, init.zeros_):
        assert fill(x) is x
        assert x.is_leaf
        assert x.grad_fn is None


def test_gains() -> None:
    assert init.calculate_gain("conv_transpose3d") == init.calculate_gain("sigmoid") == 1
    assert init.calculate_gain("tanh") == 5 / 3
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu") == math.sqrt(2 / (1 + 0.01**2))
    assert init.calculate_gain("leaky_relu", 2) == math.sqrt(2 / 5)
    assert init.calculate_gain("selu") == 0.75


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="Unsupported nonlinearity sine"):
        init.calculate_gain("sine")
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        init.calculate_gain("leaky_relu", True)
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_uniform_(engine.empty(3))
    with pytest.raises(ValueError, match="Mode fan_both not supported"):
        init.kaiming_uniform_(engine.empty(3, 3), mode="fan_both")
    with pytest.raises(ValueError, match="Only tensors with 2 dimensions"):
        init.eye_(engine.empty(3))
    with pytest.raises(ValueError, match="dim 0 must be divisible by groups"):
        init.dirac_(engine.empty(3, 3, 3), 2)
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(engine.empty(0, 3))
    with pytest.warns(FutureWarning, match=r"deprecated in favor of `nn.init.uniform_`"):
        init.uniform(engine.empty(3))
