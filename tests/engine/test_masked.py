"""`engine.masked`: what is masked out takes no part, against the same elements left out by NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import engine
from engine import masked

VALUES = np.array([[3.0, -1.0, 4.0, 1.0], [-5.0, 9.0, 2.0, 6.0], [5.0, 3.0, -5.0, 8.0]])
MASK = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 0]], dtype=bool)  # the last row has nothing


def tensors(dtype: Any = engine.float64) -> tuple[Any, Any]:
    return engine.tensor(VALUES.tolist(), dtype=dtype), engine.tensor(MASK.tolist())


def rows() -> list[np.ndarray]:
    return [row[keep] for row, keep in zip(VALUES, MASK, strict=True)]


REDUCTIONS: dict[str, tuple[Any, float]] = {
    "sum": (np.sum, 0.0),
    "prod": (np.prod, 1.0),
    "amax": (np.max, -math.inf),
    "amin": (np.min, math.inf),
    "mean": (np.mean, math.nan),
    "logsumexp": (lambda x: np.log(np.exp(x).sum()), -math.inf),
    "norm": (np.linalg.norm, 0.0),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_see_only_what_the_mask_lets_through(name: str) -> None:
    reduce, empty = REDUCTIONS[name]
    x, mask = tensors()
    arguments = (2.0, 1) if name == "norm" else (1,)
    result = getattr(masked, name)(x, *arguments, mask=mask).tolist()
    expected = [reduce(row) if row.size else empty for row in rows()]
    np.testing.assert_allclose(result, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "ddof"), [({}, 1), ({"unbiased": False}, 0), ({"correction": 2}, 2)]
)
def test_var_and_std_divide_by_the_count_less_the_correction(
    options: dict[str, Any], ddof: int
) -> None:
    x, mask = tensors()
    row = rows()[0]
    expected = ((row - row.mean()) ** 2).sum() / (row.size - ddof)
    assert masked.var(x, 1, mask=mask, **options)[0].item() == pytest.approx(expected)
    assert masked.std(x, 1, mask=mask, **options)[0].item() == pytest.approx(math.sqrt(expected))
    assert math.isnan(masked.var(x, 1, mask=mask, **options)[2].item())


def test_both_ways_to_say_the_correction_are_one_too_many() -> None:
    with pytest.raises(AssertionError):
        masked.var(engine.ones(3), unbiased=True, correction=1)


def test_argmax_and_argmin_point_at_what_is_not_masked_out() -> None:
    x, mask = tensors()
    assert masked.argmax(x, 1, mask=mask).tolist()[:2] == [2.0, 1.0]
    assert masked.argmin(x, 1, mask=mask, dtype=engine.int64).tolist()[:2] == [3, 1]


def test_median_is_the_lower_of_two_and_nan_of_nothing() -> None:
    x, mask = tensors()
    result = masked.median(x, 1, mask=mask).tolist()
    assert result[:2] == [3.0, 9.0]
    assert math.isnan(result[2])
    with pytest.raises(ValueError, match="fully masked out rows"):
        masked.median(x.to(engine.int64), 1, mask=mask)


def test_running_sums_and_products_step_over_masked_elements() -> None:
    x, mask = tensors()
    assert masked.cumsum(x, 1, mask=mask)[0].tolist() == [3.0, 3.0, 7.0, 8.0]
    assert masked.cumprod(x, 1, mask=mask)[0].tolist() == [3.0, 3.0, 12.0, 12.0]


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_the_softmax_family_shares_one_between_unmasked_elements(name: str) -> None:
    x, mask = tensors()
    row = rows()[0] * (-1 if name == "softmin" else 1)
    shares = np.exp(row) / np.exp(row).sum()
    expected = np.log(shares) if name == "log_softmax" else shares
    result = np.array(getattr(masked, name)(x, 1, mask=mask).tolist())
    np.testing.assert_allclose(result[0, MASK[0]], expected, rtol=1e-12)
    assert result[0, 1] == (-math.inf if name == "log_softmax" else 0)
    assert np.isnan(result[2]).all()


def test_normalize_and_logaddexp() -> None:
    x, mask = tensors()
    row = rows()[0]
    result = masked.normalize(x, 2.0, 1, mask=mask).tolist()
    np.testing.assert_allclose(np.array(result[0])[MASK[0]], row / np.linalg.norm(row), rtol=1e-12)
    assert result[2] == [0.0] * 4
    zero = engine.zeros(2)
    both = masked.logaddexp(zero, zero, other_mask=engine.tensor([True, False])).tolist()
    assert both == pytest.approx([math.log(2), 0.0])


def test_without_a_mask_they_are_the_plain_operators() -> None:
    x, _ = tensors()
    assert masked.sum(x).item() == VALUES.sum()
    assert masked.mean(x, (0, 1)).item() == pytest.approx(VALUES.mean())
    assert masked.amax(x, -1, keepdim=True).shape == (3, 1)


def test_a_mask_broadcasts_and_integers_have_limits_for_identities() -> None:
    x = engine.tensor([[1, 2], [3, 4]], dtype=engine.int8)
    none = engine.tensor([False])
    assert masked.sum(x, mask=engine.tensor([[True], [False]])).dtype == engine.int64
    assert masked.sum(x, mask=engine.tensor([[True], [False]])).item() == 3
    assert (masked.amax(x, mask=none).item(), masked.amin(x, mask=none).item()) == (-128, 127)


def test_masked_elements_have_no_gradient() -> None:
    x, mask = tensors()
    x.requires_grad_()
    masked.sum(x * x, mask=mask).backward()
    np.testing.assert_array_equal(np.array(x.grad.tolist()), np.where(MASK, 2 * VALUES, 0))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x: masked.sum(x, (0, 0)), RuntimeError),
        (lambda x: masked.sum(x, 2), IndexError),
        (lambda x: masked.sum(x, mask=engine.ones(1, 1, 1)), IndexError),
        (lambda x: masked.mean(x.to(engine.int64)), ValueError),
        (lambda x: masked.amax(x.to(engine.bool_), mask=engine.tensor(True)), NotImplementedError),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call(engine.ones(2, 2))
