"""`engine.signal.windows` against their formulas, symmetric and periodic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from engine.signal import windows


def _cosines(*a: float) -> Callable[[np.ndarray, int], np.ndarray]:
    return lambda n, last: np.asarray(
        sum((-1) ** i * w * np.cos(2 * np.pi * i * n / last) for i, w in enumerate(a))
    )


# name, options: the window at the points n of a symmetric one whose last point is `last`.
FORMULAS: list[tuple[str, dict[str, Any], Callable[[np.ndarray, int], np.ndarray]]] = [
    ("exponential", {"tau": 2.0}, lambda n, last: np.exp(-np.abs(n - last / 2) / 2)),
    ("cosine", {}, lambda n, last: np.sin(np.pi * (n + 0.5) / (last + 1))),
    ("gaussian", {"std": 1.5}, lambda n, last: np.exp(-(((n - last / 2) / 1.5) ** 2) / 2)),
    ("kaiser", {"beta": 7.0},
     lambda n, last: np.i0(7 * np.sqrt(1 - (2 * n / last - 1) ** 2)) / np.i0(7)),
    ("bartlett", {}, lambda n, last: 1 - np.abs(2 * n / last - 1)),
    ("general_cosine", {"a": [0.3, 0.4, 0.2]}, _cosines(0.3, 0.4, 0.2)),
    ("general_hamming", {"alpha": 0.7}, _cosines(0.7, 0.3)),
    ("hamming", {}, _cosines(0.54, 0.46)),
    ("hann", {}, _cosines(0.5, 0.5)),
    ("blackman", {}, _cosines(0.42, 0.5, 0.08)),
    ("nuttall", {}, _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411)),
]  # fmt: skip
NAMES = [name for name, *_ in FORMULAS]


@pytest.mark.parametrize(("name", "options", "formula"), FORMULAS, ids=NAMES)
@pytest.mark.parametrize("sym", [True, False])
@pytest.mark.parametrize("M", [2, 5, 8])
def test_a_window_is_its_formula(
    name: str, options: dict[str, Any], formula: Any, sym: bool, M: int
) -> None:
    result = getattr(windows, name)(M, sym=sym, dtype=engine.float64, **options)
    assert result.dtype == engine.float64
    expected = formula(np.arange(M, dtype=float), M - 1 if sym else M)
    np.testing.assert_allclose(result.tolist(), expected, atol=1e-12)


def test_every_window_of_the_namespace_is_tried() -> None:
    assert set(NAMES) == set(windows.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_no_points_one_point_and_what_is_refused(name: str) -> None:
    extra = {"a": [0.5, 0.5]} if name == "general_cosine" else {}
    window = getattr(windows, name)
    assert window(0, **extra).shape == (0,)
    assert window(1, **extra).tolist() == pytest.approx([1.0])
    assert window(4, requires_grad=True, **extra).requires_grad
    with pytest.raises(ValueError, match="requires non-negative window length, got M=-1"):
        window(-1, **extra)
    with pytest.raises(ValueError, match="expects float32 or float64 dtypes"):
        window(3, dtype=engine.int64, **extra)


@pytest.mark.parametrize(
    ("name", "options", "error"),
    [
        ("exponential", {"tau": 0}, ValueError),
        ("exponential", {"center": 1.0}, ValueError),
        ("gaussian", {"std": -1}, ValueError),
        ("kaiser", {"beta": -1}, ValueError),
        ("general_cosine", {"a": []}, ValueError),
        ("general_cosine", {"a": 0.5}, TypeError),
    ],
)
def test_settings_that_no_window_has(name: str, options: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        getattr(windows, name)(3, **options)
