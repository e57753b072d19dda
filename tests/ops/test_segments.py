"""segment_reduce: every reduction, by lengths and by offsets, along any axis, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import engine

REDUCTIONS = ["sum", "mean", "max", "min", "prod"]
REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max, "min": np.min, "prod": np.prod}
LENGTHS = [2, 0, 3, 1]


def data(dtype: Any = engine.float64) -> engine.Tensor:
    return (engine.arange(12) % 5 - 1.5).view(6, 2).to(dtype)


def expected(reduce: str, initial: float | None) -> np.ndarray:
    values, rows, start_row = data().numpy(), [], 0
    for length in LENGTHS:
        piece, start_row = values[start_row : start_row + length], start_row + length
        start = {"max": -np.inf, "min": np.inf, "prod": 1.0}.get(reduce, 0.0)
        first = np.full((1, 2), start if initial is None else initial)
        operands = np.concatenate([first, piece])
        if reduce == "mean":
            empty = np.nan if initial is None else initial
            rows.append(operands.sum(0) / length if length else np.full(2, empty))
        else:
            rows.append(REDUCE[reduce](operands, axis=0))
    return np.stack(rows)


@pytest.mark.parametrize("initial", [None, 2.0])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_values(reduce: str, initial: float | None) -> None:
    lengths = engine.tensor(LENGTHS)
    offsets = engine.tensor([0, *np.cumsum(LENGTHS).tolist()])
    expected_values = expected(reduce, initial)
    for output in ({"lengths": lengths}, {"offsets": offsets}, {"lengths": lengths.int()}):
        actual = engine.segment_reduce(data(), reduce, **output, initial=initial)
        assert np.allclose(actual.numpy(), expected_values, equal_nan=True)
    rows = lengths.expand(2, 4)
    transposed = engine.segment_reduce(data().t(), reduce, lengths=rows, axis=1, initial=initial)
    assert np.allclose(transposed.t().numpy(), expected_values, equal_nan=True)
    half = engine.segment_reduce(data(engine.float16), reduce, lengths=lengths, initial=initial)
    assert half.dtype == engine.float16
    assert np.allclose(half.numpy(), expected_values, rtol=2e-3, equal_nan=True)


@pytest.mark.parametrize("initial", [None, 1.5])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_gradient(reduce: str, initial: float | None) -> None:
    x = (data() + engine.arange(12).view(6, 2) * 0.01).requires_grad_()  # no ties
    lengths = engine.tensor([2, 3, 1])
    assert engine.autograd.gradcheck(
        lambda t: engine.segment_reduce(t, reduce, lengths=lengths, initial=initial), x
    )


def test_ties_share_and_zeros_have_the_product_of_the_others() -> None:
    x = engine.tensor([2.0, 0.0, 3.0, 5.0, 5.0, 1.0], requires_grad=True)
    lengths = engine.tensor([3, 3])
    for reduce, grad in (("max", [0, 0, 1, 0.5, 0.5, 0]), ("prod", [0, 6, 0, 5, 5, 25])):
        (actual,) = engine.autograd.grad(engine.segment_reduce(x, reduce, lengths=lengths).sum(), x)
        assert actual.tolist() == grad


def test_rows_after_the_last_segment_have_no_gradient() -> None:
    x = engine.ones(5, requires_grad=True)
    out = engine.segment_reduce(x, "sum", lengths=engine.tensor([2, 1]), unsafe=True)
    (actual,) = engine.autograd.grad(out.sum(), x)
    assert actual.tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({"lengths": engine.tensor([2, 3])}, "sum to"),
        ({"lengths": engine.tensor([2, 5])}, "sum to"),
        ({"lengths": engine.tensor([7, -1])}, "sum to|negative"),
        ({"lengths": engine.tensor([-1, 7])}, "negative"),
        ({"lengths": engine.tensor([3, 3]), "axis": 1}, "last dimension"),
        ({"lengths": engine.tensor([[3, 3]]), "axis": 1}, "do not go with"),
        ({"offsets": engine.tensor([0, 9])}, "sum to"),
        ({"offsets": engine.tensor([0, 4, 2])}, "decrease"),
        ({"offsets": engine.tensor([-2, 6])}, "sum to"),
        ({}, "Either lengths or offsets"),
        ({"indices": engine.tensor([1]), "lengths": engine.tensor([6])}, "not supported"),
    ],
)
def test_arguments_that_do_not_fit(options: dict[str, Any], pattern: str) -> None:
    with pytest.raises(RuntimeError, match=pattern):
        engine.segment_reduce(data(), "sum", **options)
    with pytest.raises(RuntimeError, match="got median"):
        engine.segment_reduce(data(), "median", lengths=engine.tensor([6]))
    with pytest.raises(NotImplementedError, match="Long"):
        engine.segment_reduce(data().long(), "sum", lengths=engine.tensor([6]))


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_as_torch(reduce: str) -> None:
    torch = pytest.importorskip("torch")

    def value_and_gradient(module: Any) -> list[Any]:
        x = module.tensor([2.0, 0, 0, 5, 5, 1, 7], dtype=module.float64, requires_grad=True)
        out = module.segment_reduce(x, reduce, lengths=module.tensor([3, 0, 4]), initial=5.0)
        return [out.tolist(), module.autograd.grad(out.sum(), x)[0].tolist()]

    for ours, other in zip(value_and_gradient(engine), value_and_gradient(torch), strict=True):
        assert np.allclose(ours, other)
