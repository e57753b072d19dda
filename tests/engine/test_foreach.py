"""`_foreach_*`: an operator on every tensor of a list."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import pytest

import engine
from engine import foreach

NAMES = [
    *(name + ending for name in foreach._BOTH_FORMS for ending in ("", "_")),
    *foreach._FUNCTIONAL,
    *(f"{name}_" for name in foreach._IN_PLACE),
]


def tensors(of: ModuleType = engine) -> list[Any]:
    return [of.tensor([1.5, 2.0]), of.tensor([[3.0, 0.25, 7.0]])]


def test_forms() -> None:
    x, y = tensors(), tensors()
    assert [t.tolist() for t in engine._foreach_add(x, y, alpha=2)] == [
        [4.5, 6.0],
        [[9.0, 0.75, 21.0]],
    ]
    assert engine._foreach_mul_(x, [2, 3]) is x
    assert [t.tolist() for t in x] == [[3.0, 4.0], [[9.0, 0.75, 21.0]]]
    engine._foreach_lerp_(x, y, weight=0.5)
    engine._foreach_addcmul_(x, y, y, value=-1)
    assert [t.tolist() for t in x] == [[0.0, -1.0], [[-3.0, 0.4375, -35.0]]]
    powers = engine._foreach_pow(2.0, [engine.tensor([3.0])])
    assert type(powers) is tuple
    assert powers[0].tolist() == [8.0]


def test_gradients_pass() -> None:
    x = [t.requires_grad_() for t in tensors()]
    engine.stack(engine._foreach_norm(engine._foreach_mul(x, 3.0), 1)).sum().backward()
    assert [t.grad.tolist() for t in x] == [[3.0, 3.0], [[3.0, 3.0, 3.0]]]


@pytest.mark.parametrize(
    ("name", "arguments", "error", "message"),
    [
        ("add", lambda x: (x[:1],), RuntimeError, "must have the same number of tensors, got 2 and 1"),
        ("sub", lambda x: ([1.0],), RuntimeError, "must have same number of elements as scalar list"),
        ("mul", lambda x: (x[0],), RuntimeError, "expected to be 0 dim but it has 1 dimensions and 2 elements"),
        ("addcdiv", lambda x: (x, x, engine.ones(3)), RuntimeError, "input of length 2 but got 3 instead"),
        ("abs", lambda x: (1,), TypeError, "_foreach_abs: cannot be called with (list of Tensor, int); there are"),
        ("copy", lambda x: (x,), AttributeError, "module 'engine' has no attribute '_foreach_copy'"),
    ],
)  # fmt: skip
def test_errors(name: str, arguments: Any, error: type[Exception], message: str) -> None:
    x = tensors()
    with pytest.raises(error, match=re.escape(message)):
        getattr(engine, f"_foreach_{name}")(x, *arguments(x))


def test_an_empty_list_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="Tensor list must have at least one tensor"):
        engine._foreach_sqrt_([])


@pytest.mark.parametrize("name", NAMES)
def test_results_and_errors_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")

    def answers(of: ModuleType) -> list[str]:
        x, y = tensors(of), tensors(of)
        calls: list[tuple[Any, ...]] = [
            (), (2,), ([2, 0.5],), (y,), (of.tensor(2.0),), (y, 2), (y, [0.5, 2]), (y, y), (y, of.tensor(2.0)),
            (y, y, 2.0), (y, y, [1, 2]), (y, y, of.tensor([1.0, 3.0])), (y[:1],), ([1],), (y[0],),
            (y, y, of.ones(3)), (y, y[:1]),
        ]  # fmt: skip
        reprs = []
        for args in calls:
            try:
                reprs.append(repr(getattr(of, f"_foreach_{name}")(x, *args)))
            except (RuntimeError, TypeError) as error:
                reprs.append(type(error).__name__)
        return reprs

    assert answers(engine) == answers(torch)


def test_tensors_in_groups_of_one_dtype() -> None:
    from engine.utils._foreach_utils import _group_tensors_by_device_and_dtype

    x = [engine.ones(1), engine.ones(2, dtype=engine.float64), engine.ones(3)]
    groups = _group_tensors_by_device_and_dtype([x, [1, 2, 3], []], with_indices=True)
    assert groups[x[0].device, engine.float32] == ([[x[0], x[2]], [1, 3], []], [0, 2])
    assert groups[x[0].device, engine.float64] == ([[x[1]], [2], []], [1])
