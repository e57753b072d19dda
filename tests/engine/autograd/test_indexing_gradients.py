"""Gradients through x[...] and x[...] = y: what was read gets what came back, added where it was read twice."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import engine

BASIC = [0, -1, slice(None), slice(1, None), slice(None, None, 2), slice(0, 0), None, ..., True]
TENSORS = [
    np.array([0, 2, 2]),
    np.array([[0, 1], [1, 2]]),
    np.array([True, False, True]),
    np.array([[True, False, True], [False, False, True], [True, True, True]]),
]
PAIRS = [
    pair
    for pair in itertools.product(BASIC, TENSORS + BASIC[:6])
    if not all(i is ... for i in pair)
]


def ours(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(ours(item) for item in index)
    return engine.tensor(index.tolist()) if isinstance(index, np.ndarray) else index


def leaf() -> tuple[np.ndarray, engine.Tensor]:
    values = np.arange(27.0).reshape(3, 3, 3) / 7 - 1
    return values, engine.tensor(values.tolist(), dtype=engine.float64, requires_grad=True)


@pytest.mark.parametrize("index", [*BASIC, *TENSORS, *PAIRS], ids=str)
def test_reading(index: Any) -> None:
    values, x = leaf()
    read = x[ours(index)]
    (read * read).sum().backward()
    expected = np.zeros_like(values)
    np.add.at(expected, index, 2 * values[index])
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected)


@pytest.mark.parametrize("index", [*BASIC, *TENSORS, *PAIRS], ids=str)
@pytest.mark.parametrize("value", ["number", "tensor", "itself"])
def test_writing(index: Any, value: str) -> None:
    values, x = leaf()
    v = engine.tensor(3.0, dtype=engine.float64, requires_grad=True)
    z = x * 1
    at = ours(index)
    z[at] = 5.0 if value == "number" else v if value == "tensor" else z[at] * 2
    (z * z).sum().backward()
    if repeats(index):  # the last of several writes to an element is not defined
        return
    expected = 2 * values
    expected[index] = 8 * values[index] if value == "itself" else 0
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), expected)
    if value == "tensor" and values[index].size:
        assert v.grad is not None
        assert v.grad.item() == pytest.approx(6 * values[index].size)


def repeats(index: Any) -> bool:
    """Return True if an index selects an element twice."""
    hits = np.zeros((3, 3, 3), dtype=int)
    np.add.at(hits, index, 1)
    return bool((hits > 1).any())


def test_a_leaf_is_not_written() -> None:
    _, x = leaf()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[0] = 1.0
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[engine.tensor([0, 1])] = 1.0
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[...] = 1.0
    with engine.no_grad():
        x[0] = 1.0
    assert x[0, 0, 0].item() == 1.0


def test_the_graph_has_the_view_operators() -> None:
    _, x = leaf()
    read = x[1, ::2, engine.tensor([0, 1])]
    names = []
    node = read.grad_fn
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    assert [name.rpartition("::")[2] for name in names] == [
        "IndexBackward0", "SliceBackward0", "SelectBackward0", "AccumulateGrad",
    ]  # fmt: skip


def test_tensors_that_require_gradients_are_not_resized() -> None:
    _, x = leaf()
    for call in (lambda: (x * 1).resize_(3), lambda: (x * 1).resize_as_(x)):
        with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
            call()
