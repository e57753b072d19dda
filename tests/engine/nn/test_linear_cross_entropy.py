"""`linear_cross_entropy` is linear and cross_entropy, at once or in chunks of rows."""

from __future__ import annotations

import math
from typing import Any

import pytest

import engine
from engine.nn import LinearCrossEntropyOptions as Options
from engine.nn import functional as F

ROWS, FEATURES, CLASSES = 7, 3, 5
TARGET = [0, 4, 1, -100, 2, 2, 3]


def inputs(dtype: Any = engine.float64) -> list[Any]:
    engine.manual_seed(1)
    shapes = ((ROWS, FEATURES), (CLASSES, FEATURES), (CLASSES,))
    return [engine.randn(*shape, dtype=dtype).requires_grad_() for shape in shapes]


def grads(loss: Any, tensors: list[Any]) -> list[Any]:
    engine.manual_seed(2)
    return list(engine.autograd.grad(loss, tensors, engine.rand_like(loss)))


def close(a: Any, b: Any, atol: float = 1e-12) -> bool:
    return bool(engine.allclose(a, b, atol=atol))


@pytest.mark.parametrize(
    "options", [None, Options(), Options(batch_chunk_size=2), Options(batch_chunk_size=100)]
)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_cross_entropy_of_a_linear_layer(
    options: Any, reduction: str, weighted: bool
) -> None:
    x, w, b = inputs()
    target = engine.tensor(TARGET)
    weight = engine.tensor([1.0, 2.0, 0.5, 3.0, 1.5], dtype=engine.float64) if weighted else None
    settings: dict[str, Any] = {"weight": weight, "reduction": reduction}
    expected = F.cross_entropy(F.linear(x, w, b), target, **settings)
    loss = F.linear_cross_entropy(x, w, target, linear_bias=b, options=options, **settings)
    assert close(loss, expected)
    for got, want in zip(grads(loss, [x, w, b]), grads(expected, [x, w, b]), strict=True):
        assert close(got, want)


def test_probabilities_more_dimensions_and_one_row() -> None:
    x, w, _ = inputs()
    probabilities = engine.softmax(engine.ones(ROWS, CLASSES, dtype=engine.float64), 1)
    assert close(
        F.linear_cross_entropy(x, w, probabilities), F.cross_entropy(F.linear(x, w), probabilities)
    )
    deep = engine.ones(CLASSES, 2, FEATURES, dtype=engine.float64)
    loss = F.linear_cross_entropy(x, deep, engine.zeros(ROWS, 2, dtype=engine.int64))
    assert loss.item() == pytest.approx(math.log(CLASSES))
    row = F.linear_cross_entropy(x[0], w, engine.tensor(1), options=Options())
    assert close(row, F.cross_entropy(F.linear(x[0], w), engine.tensor(1)))


def test_no_row_that_counts_has_the_mean_nan() -> None:
    x, w, _ = inputs()
    ignored = engine.full((ROWS,), 2)
    assert math.isnan(
        F.linear_cross_entropy(x, w, ignored, ignore_index=2, options=Options()).item()
    )


def test_a_second_backward_needs_the_option() -> None:
    x, w, _ = inputs()
    target = engine.tensor(TARGET)
    loss = F.linear_cross_entropy(x, w, target, options=Options())
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="called twice"):
        loss.backward()
    loss = F.linear_cross_entropy(x, w, target, options=Options(allow_retain_graph=True))
    first = engine.autograd.grad(loss, x, retain_graph=True)[0]
    assert close(engine.autograd.grad(loss, x)[0], first)


def test_sixteen_bits_are_summed_in_float32() -> None:
    x, w, _ = inputs(engine.bfloat16)
    loss = F.linear_cross_entropy(x, w, engine.tensor(TARGET), options=Options(batch_chunk_size=2))
    assert loss.dtype == engine.bfloat16
    wide = F.linear_cross_entropy(x.float(), w.float(), engine.tensor(TARGET))
    assert loss.item() == wide.to(engine.bfloat16).item()
    assert engine.autograd.grad(loss, w)[0].dtype == engine.bfloat16


def test_what_chunks_cannot_do_is_computed_at_once_with_a_warning() -> None:
    x, w, _ = inputs()
    target = engine.tensor(TARGET)
    with pytest.warns(UserWarning, match="options`` ignored"):
        loss = F.linear_cross_entropy(x, w, target, label_smoothing=0.1, options=Options())
    assert close(loss, F.cross_entropy(F.linear(x, w), target, label_smoothing=0.1))


@pytest.mark.parametrize(
    ("options", "rows", "size"),
    [
        (Options(), 64, 8),  # aspect_ratio:2: 64 / ceil(32 / 8) = 16, halved
        (Options(chunking_method="aspect_ratio"), 64, 16),
        (Options(chunking_method="aspect_ratio:8"), 64, 2),
        (Options(chunking_method=None), 64, 64),
        (Options(batch_chunk_size=100), 64, 64),
        (Options(chunking_method="aspect_ratio:100"), 64, 1),
    ],
)
def test_the_size_of_a_chunk(options: Any, rows: int, size: int) -> None:
    assert options.chunk_size(rows, 8, 32, engine.float32) == size


@pytest.mark.parametrize(
    "options",
    [{"acc_policy": "fast"}, {"chunking_method": "aspect_ratio:0"}, {"chunking_method": "rows"},
     {"batch_chunk_size": 0}, {"acc_dtype": engine.int64}],
)  # fmt: skip
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Options(**options)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (((2, 2, 3), (4, 3)), {}, "dimensionality 1 or 2"),
        (((2, 3), (3,)), {}, "at least 2"),
        (((2, 3), (4, 2)), {}, "in_features"),
        (((3,), (4, 2, 3)), {}, "requires batched input"),
        (((2, 3), (4, 3)), {"linear_bias": (3,)}, "linear_bias shape"),
    ],
)
def test_shapes_that_do_not_go_together(arguments: Any, options: Any, message: str) -> None:
    x, w = (engine.ones(*shape) for shape in arguments)
    named = {name: engine.ones(*shape) for name, shape in options.items()}
    with pytest.raises(RuntimeError, match=message):
        F.linear_cross_entropy(x, w, engine.zeros(2, dtype=engine.int64), **named)
