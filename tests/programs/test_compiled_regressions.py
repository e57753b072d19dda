"""Scripts and traces that the search (search.py) found, reduced, with PyTorch's result."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from tests.programs import compiled


def script(body: str) -> Any:
    return engine.jit.script(compiled.function_of(engine, f"def f(x):\n    return {body}\n"))


@pytest.mark.parametrize(
    "call",
    [
        "zeros(2, 3, out=x)",
        "zeros([2], out=x)",
        "ones(2, out=x)",
        "full((2, 2), 1.5, out=x)",
        "arange(4, out=x)",
        "arange(1, 4, out=x)",
        "arange(1, 4, 2, out=x)",
        "linspace(0, 1, 5, out=x)",
        "eye(3, out=x)",
        "eye(3, 2, out=x)",
    ],
)
def test_a_script_writes_a_new_tensor_into_out(call: str) -> None:
    x = engine.tensor([], dtype=engine.float64)
    out = script(f"lib.{call}")(x)
    expected = eval(f"lib.{call}", {"lib": engine, "x": engine.empty(0, dtype=engine.float64)})
    assert out.dtype is engine.float64
    assert out.equal(expected)
    assert x.equal(expected)


@pytest.mark.parametrize(
    ("expression", "operator"),
    [
        ("2 < x", "gt"),
        ("2.5 <= x", "ge"),
        ("2 > x", "lt"),
        ("2 >= x", "le"),
        ("-0.25 == x", "eq"),
        ("2j == x", "eq"),
        ("2 != x", "ne"),
    ],
)
def test_a_number_compared_with_a_tensor_is_a_tensor(expression: str, operator: str) -> None:
    scripted = script(expression)
    assert f"Tensor = aten::{operator}(%x.1, " in str(scripted.graph)
    x = engine.tensor([1.0, 2.0, -0.25])
    assert scripted(x).equal(eval(expression, {"x": x}))


def test_every_operator_of_self_is_a_method_in_a_script() -> None:
    x = engine.tensor([-3.0, 0.5])
    assert script("x.clone().hardtanh_()")(x).tolist() == [-1.0, 0.5]
    assert script("x.leaky_relu(0.5)")(x).tolist() == [-1.5, 0.5]
    with pytest.raises(RuntimeError, match="no attribute or method 'linear'"):
        script("x.linear(x)")


def test_a_gradient_through_an_index_by_a_mask_without_dimensions() -> None:
    x = engine.ones(3, requires_grad=True)
    y = script("x[:, lib.tensor(True)]")(x)
    assert y.shape == (3, 1)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_view_across_broken_strides_raises_as_in_python() -> None:
    scripted = script("x.t().view(6)")
    for _ in range(4):
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            scripted(engine.ones(2, 3))


def test_an_empty_list_selects_nothing_in_a_script() -> None:
    assert script("x[[]]")(engine.ones(3, 2)).shape == (0, 2)


def test_detach_in_place_is_a_detach_in_a_trace() -> None:
    def f(x: engine.Tensor) -> engine.Tensor:
        v = x * 2
        v.detach_()
        return v * 3

    traced = engine.jit.trace(f, (engine.ones(2, requires_grad=True),))
    assert "requires_grad=0, device=cpu) = aten::detach(%v.1)" in str(traced.graph)
    assert not traced(engine.ones(2, requires_grad=True)).requires_grad


def test_a_constant_of_a_trace_that_gets_another_shape() -> None:
    def f(x: engine.Tensor) -> engine.Tensor:
        return x.data.unsqueeze_(0)

    traced = engine.jit.trace(f, (engine.ones(2),), check_trace=False)
    assert [traced(engine.ones(2)).dim() for _ in range(4)] == [3, 4, 5, 6]


def test_a_fused_result_is_row_major_whatever_the_strides_of_single_rows() -> None:
    def f(x: engine.Tensor) -> engine.Tensor:
        return x.mul(2).add(x)

    x = engine.ones(2, 1)[::2]
    traced = engine.jit.trace(f, (x,))
    assert x.stride() == (2, 1)
    assert [traced(x).stride() for _ in range(4)] == [(1, 1)] * 4


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("lib.abs(x0, out=lib.zeros(2))\nv1 = x0", "v1 = x0"),
        ("lib.abs(x0, out=x0)", "lib.abs(x0, out=x0)"),
        ("lib.abs(x0, out=x0.contiguous())", "lib.abs(x0, out=x0.contiguous())"),
    ],
)
def test_only_writes_of_new_tensors_are_dead(text: str, part: str) -> None:
    assert compiled.without_dead_writes(text) == part


def test_set_without_a_source_empties_the_tensor_in_a_script() -> None:
    def f(x: engine.Tensor) -> engine.Tensor:
        x.set_()
        return x

    x = engine.ones(2, 3)
    assert engine.jit.script(f)(x).shape == (0,)
    assert x.shape == (0,)
    assert x.untyped_storage().nbytes() == 0
