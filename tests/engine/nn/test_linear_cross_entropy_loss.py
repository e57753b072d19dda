"""nn.LinearCrossEntropyLoss: a linear layer and CrossEntropyLoss in one module."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine import nn

OPTIONS: list[dict[str, Any]] = [
    {},
    {"bias": True, "reduction": "sum"},
    {"weight": engine.tensor([1.0, 2.0, 0.5, 1.0, 3.0]), "ignore_index": 2},
    {"label_smoothing": 0.2, "reduction": "none"},
    {"options": nn.LinearCrossEntropyOptions(batch_chunk_size=2)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ", ".join(options) or "plain")
def test_it_is_a_linear_layer_and_its_cross_entropy(options: dict[str, Any]) -> None:
    engine.manual_seed(0)
    loss = nn.LinearCrossEntropyLoss(3, 5, **options)
    input, target = engine.randn(6, 3), engine.tensor([0, 1, 2, 3, 4, 2])
    actual = loss(input, target)
    plain = {key: value for key, value in options.items() if key not in ("bias", "options")}
    expected = nn.CrossEntropyLoss(**plain)(loss.linear(input), target)
    assert engine.allclose(actual, expected, atol=1e-6)
    actual.sum().backward()
    gradient = loss.linear.weight.grad.clone()
    loss.zero_grad()
    expected.sum().backward()
    assert engine.allclose(gradient, loss.linear.weight.grad, atol=1e-6)


def test_more_dimensions_of_results() -> None:
    loss = nn.LinearCrossEntropyLoss(5, 10, out_features=(4, 3))
    assert loss.linear.weight.shape == (120, 5)
    target = engine.randint(0, 10, (2, 4, 3))
    assert loss(engine.zeros(2, 5), target).item() == pytest.approx(2.302585)


def test_wrong_options_are_rejected() -> None:
    with pytest.raises(RuntimeError, match=r"expected weight shape to be \(3,\), got \(2,\)"):
        nn.LinearCrossEntropyLoss(2, 3, weight=engine.ones(2))
    with pytest.raises(RuntimeError, match=r"label_smoothing to be in range \[0, 1\], got 2"):
        nn.LinearCrossEntropyLoss(2, 3, label_smoothing=2)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_a_circular_pad_names_the_ranks_that_it_takes(dims: int) -> None:
    pad = getattr(nn, f"CircularPad{dims}d")(1)
    message = rf"expected {dims + 1}D or {dims + 2}D input \(got {dims}D input\)"
    with pytest.raises(ValueError, match=message):
        pad(engine.ones(*[2] * dims))
