"""Faults that random programs showed, each reduced as far as possible."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import pytest

import engine
from engine import Tensor, jit


@jit.script
def masked(x: Tensor, mask: Tensor) -> Tensor:
    return x[mask]


@jit.script
def filled(x: Tensor, mask: Tensor, values: Tensor) -> Tensor:
    x[mask] = values
    return x


@pytest.mark.parametrize("flag", [True, False])
def test_a_mask_without_dimensions(flag: bool) -> None:
    x, mask = engine.arange(6.0).reshape(2, 3), engine.tensor(flag)
    actual = masked(x, mask)
    assert actual.shape == ((1, 2, 3) if flag else (0, 2, 3))
    assert actual.tolist() == x[mask].tolist()
    expected, values = x.clone(), engine.tensor([7.0, 8.0, 9.0])
    expected[mask] = values
    assert filled(x.clone(), mask, values).tolist() == expected.tolist()


def test_a_mask_without_dimensions_among_others() -> None:
    x, yes = engine.arange(24.0).reshape(2, 3, 4), engine.tensor(True)
    rows, position = engine.tensor([True, False, True]), engine.tensor([0, 1])
    for indices in (
        [None, yes],
        [yes, None, rows],
        [position, yes, position],
        [None, None, yes, position],
    ):
        actual = engine.ops.aten.index(x, indices)
        keys = tuple(slice(None) if item is None else item for item in indices)
        assert actual.shape == x[keys].shape, indices
        assert actual.tolist() == x[keys].tolist(), indices


def test_gradients_go_through_a_mask_without_dimensions() -> None:
    x = engine.arange(6.0).reshape(2, 3).requires_grad_()
    (gradient,) = engine.autograd.grad((masked(x, engine.tensor(True)) * x).sum(), x)
    assert gradient.tolist() == (x * 2).tolist()


@pytest.mark.parametrize("shape", [(0, 2), (2, 0), (0,), (2, 0, 3)])
def test_the_strides_of_nothing(shape: tuple[int, ...]) -> None:
    @jit.script
    def chain(x: Tensor, y: Tensor) -> Tensor:
        return (x * 2 + y).tanh() * 3

    # Strides that a slice leaves: nothing is there, so they say nothing.
    x = engine.as_strided(engine.zeros(64), shape, tuple(range(4, 4 + len(shape))))
    for y in (x, engine.zeros(1), engine.zeros(shape)):
        expected = ((x * 2 + y).tanh() * 3).stride()
        assert [chain(x, y).stride() for _ in range(4)] == [expected] * 4


def test_what_is_none_may_become_something() -> None:
    @jit.script
    def f(x: Tensor, o: Optional[Tensor], p: bool) -> tuple[Tensor, Optional[Tensor]]:  # noqa: UP045
        if o is None:
            x = x + 1
            if p:
                o = x
        return x, o

    x = engine.ones(2)
    assert f(x, None, False)[1] is None
    assert f(x, None, True)[1] is not None
    assert f(x, x, True)[0].tolist() == [1, 1]


def interpolated(x: Tensor) -> Tensor:
    return engine.nn.functional.interpolate(x, scale_factor=2.0)


def contracted(x: Tensor) -> Tensor:
    return engine.tensordot(x, x, 2)


def test_functions_that_ask_for_any_list() -> None:
    x = engine.arange(4.0).reshape(1, 1, 4)
    for f in (interpolated, contracted):
        inputs = x if f is interpolated else x[0].t()
        assert jit.script(f)(inputs).tolist() == f(inputs).tolist()


# PyTorch's second names of methods, and what they are called with.
SECOND_NAMES = {
    "absolute": "", "negative": "", "fix": "", "arcsin": "", "arccos": "", "arctan": "", "arcsinh": "",
    "arctanh": "", "arctan2": "x", "multiply": "x", "subtract": "0.5", "divide": "2", "true_divide": "2",
    "greater": "0", "greater_equal": "x", "less": "0.25", "less_equal": "0", "not_equal": "x",
    "clip": "-0.5, 0.5", "swapaxes": "0, 1", "swapdims": "-1, 0",
}  # fmt: skip


@pytest.mark.parametrize("form", ["", "_"])
@pytest.mark.parametrize("name", SECOND_NAMES)
def test_second_names_of_methods(name: str, form: str, tmp_path: Path) -> None:
    call = f"x.clone().{name}{form}({SECOND_NAMES[name]})"
    path = tmp_path / "second.py"
    path.write_text(f"def f(x):\n    return {call}\n")
    namespace: dict[str, Any] = {"__name__": "second"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    x = engine.tensor([[0.5, -0.25, 0.75], [-1.0, 0.0, 0.125]])
    assert jit.script(namespace["f"])(x).tolist() == namespace["f"](x).tolist()
