"""A fusion group is differentiable, with the gradients that eager gives; so are they themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings

import engine
from engine import nn
from engine.jit import Graph
from engine.jit.runtime.function import NativeFunction
from tests.engine.jit.graph_programs import Program, as_one, evaluate, programs

ROOT = Path(__file__).resolve().parents[3]
Fn = Callable[..., Any]


def fused(fn: Fn, *inputs: Any) -> Any:
    """The traced function, run until it is specialised; its graph holds a group."""
    traced = engine.jit.trace(fn, tuple(x.detach() for x in inputs), check_trace=False)
    for _ in range(4):
        traced(*inputs)
    assert "prim::FusionGroup" in str(traced.graph_for(*inputs)), traced.graph_for(*inputs)
    return traced


def leaves(*shapes: tuple[int, ...], seed: int = 0) -> list[Any]:
    generator = engine.Generator().manual_seed(seed)
    return [engine.randn(shape, generator=generator).requires_grad_() for shape in shapes]


def exactly(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all())


CASES: dict[str, tuple[Fn, tuple[tuple[int, ...], ...]]] = {
    "a chain": (lambda x, y: (x * y + x).tanh().sigmoid() * y, ((5,), (5,))),
    "a broadcast row": (lambda x, y: ((x + y).tanh() * y).exp(), ((4, 3), (3,))),
    "a number without dimensions": (lambda x, y: (x * y).sin() + y, ((4, 3), ())),
    "one used twice": (lambda x, y: x * x * y + x, ((6,), (6,))),
    "a mask": (lambda x, y: engine.where(x > 0, x * y, y.exp()) * 2, ((7,), (7,))),
    "saved results": (lambda x, y: (x.exp() / (1 + y.exp())).sqrt(), ((7,), (7,))),
    "activations": (
        lambda x, y: nn.functional.gelu(x) * nn.functional.silu(y),
        ((3, 4), (3, 4)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_eagers(name: str) -> None:
    fn, shapes = CASES[name]
    inputs = leaves(*shapes)
    traced = fused(fn, *inputs)
    expected = engine.autograd.grad(fn(*inputs).sum(), inputs)
    for _ in range(3):  # traced, then fused
        result = traced(*inputs)
        assert type(result.grad_fn).__name__ == "FusionGroupBackward"
        actual = engine.autograd.grad(result.sum(), inputs)
        assert all(map(exactly, actual, expected)) or all(
            engine.allclose(a, b, rtol=1e-5, atol=1e-6)
            for a, b in zip(actual, expected, strict=True)
        )


def _folded() -> list[str]:
    """Return the operators whose entries declare a fold."""
    entries = yaml.safe_load((ROOT / "csrc/ops/reduce.yaml").read_text())
    return [entry["schema"].partition("(")[0] for entry in entries if "fold" in entry]


@pytest.mark.parametrize("op", _folded())
def test_a_reduction_with_a_fold_ends_a_group(op: str) -> None:
    reduce = getattr(engine, op)
    fn = lambda x, y: reduce(x * y + x, -1)  # noqa: E731
    inputs = leaves((4, 5), (4, 5), seed=3)
    traced = fused(fn, *inputs)
    expected = engine.autograd.grad(fn(*inputs).sum(), inputs)
    result = traced(*inputs)
    assert type(result.grad_fn).__name__ == "FusionGroupBackward"
    assert engine.allclose(result, fn(*inputs))
    for a, b in zip(engine.autograd.grad(result.sum(), inputs), expected, strict=True):
        assert engine.allclose(a, b)


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_gradients(name: str) -> None:
    fn, shapes = CASES[name]
    inputs = leaves(*shapes)
    traced = fused(fn, *inputs)

    def twice(f: Fn) -> tuple[Any, ...]:
        first = engine.autograd.grad(f(*inputs).sum(), inputs, create_graph=True)
        assert all(g.requires_grad for g in first)
        return engine.autograd.grad(sum((g * g).sum() for g in first), inputs)

    for item, expected in zip(twice(traced), twice(fn), strict=True):
        assert engine.allclose(item, expected, rtol=1e-4, atol=1e-5)


def test_a_sum_at_the_end() -> None:
    def fn(x: Any, y: Any) -> Any:
        return ((x * y).tanh() * x).sum(-1)

    inputs = leaves((4, 5), (4, 5))
    traced = fused(fn, *inputs)
    for _ in range(3):
        actual = engine.autograd.grad(traced(*inputs).sum(), inputs)
    expected = engine.autograd.grad(fn(*inputs).sum(), inputs)
    assert all(engine.allclose(a, b) for a, b in zip(actual, expected, strict=True))


def test_only_what_requires_a_gradient_gets_one() -> None:
    x, y = leaves((5,), (5,))
    fixed = y.detach()
    traced = fused(lambda a, b: (a * b).tanh() * b, x, fixed)
    result = traced(x, fixed)
    result.sum().backward()
    assert x.grad is not None
    assert fixed.grad is None
    with engine.no_grad():
        assert traced(x, fixed).grad_fn is None


def test_results_that_no_gradient_reaches() -> None:
    def fn(x: Any, y: Any) -> Any:
        a = x * 2 + 1
        b = y * 3 + 1
        return a, b, (a > b) & (a > 0)

    x, y = leaves((5,), (5,))
    traced = fused(fn, x, y.detach())
    a, b, mask = traced(x, y.detach())
    assert a.requires_grad
    assert not b.requires_grad
    assert not mask.requires_grad


def test_other_sizes_have_gradients_of_their_own() -> None:
    def fn(x: Any, y: Any) -> Any:
        return (x * y).tanh() + y

    traced = fused(fn, *leaves((4, 3), (4, 3)))
    for shapes in (((4, 3), (4, 3)), ((2, 7), (2, 7)), ((4, 1), (4, 3)), ((4, 3), (1, 3))):
        inputs = leaves(*shapes, seed=len(shapes[0]))
        expected = engine.autograd.grad(fn(*inputs).sum(), inputs)
        for _ in range(2):
            actual = engine.autograd.grad(traced(*inputs).sum(), inputs)
            assert all(engine.allclose(a, b) for a, b in zip(actual, expected, strict=True)), shapes


def test_other_memory_orders_have_the_same_gradients() -> None:
    def fn(x: Any, y: Any) -> Any:
        return (x * y).tanh() + y

    traced = fused(fn, *leaves((4, 3), (4, 3)))
    x, y = leaves((3, 4), (4, 3))
    for _ in range(3):
        actual = engine.autograd.grad(traced(x.t(), y).sum(), (x, y))
    expected = engine.autograd.grad(fn(x.t(), y).sum(), (x, y))
    assert all(map(exactly, actual, expected))
    grad = engine.randn(3, 4).t()
    actual = engine.autograd.grad(traced(x.t(), y), (x, y), grad)
    expected = engine.autograd.grad(fn(x.t(), y), (x, y), grad)
    assert all(map(exactly, actual, expected))


def test_the_same_tensor_twice() -> None:
    (x,) = leaves((5,))
    traced = fused(lambda a, b: (a * b).tanh() * a, *leaves((5,), (5,)))
    for _ in range(3):
        (actual,) = engine.autograd.grad(traced(x, x).sum(), x)
    (expected,) = engine.autograd.grad(((x * x).tanh() * x).sum(), x)
    assert engine.allclose(actual, expected)


def test_a_written_input_is_found_out() -> None:
    x, y = leaves((5,), (5,))
    traced = fused(lambda a, b: (a * b).tanh() * b, x, y)
    z = y * 1
    result = traced(x, z)
    with engine.no_grad():
        z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_going_back_twice_needs_the_graph() -> None:
    x, y = leaves((5,), (5,))
    traced = fused(lambda a, b: (a * b).tanh() * b, x, y)
    result = traced(x, y).sum()
    result.backward(retain_graph=True)
    first = x.grad.clone()
    result.backward()
    assert exactly(x.grad, first * 2)
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


def test_a_module_trains_as_it_does_eagerly() -> None:
    def losses(run: Callable[[Any], Any]) -> list[float]:
        engine.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())
        call = run(model)
        optimizer = engine.optim.SGD(model.parameters(), lr=0.5)
        x, y = engine.randn(16, 6), engine.rand(16, 1)
        actual = []
        for _ in range(10):
            optimizer.zero_grad()
            result = call(x)
            loss = ((result * 2 - y).square() * 0.5).mean()
            loss.backward()
            optimizer.step()
            actual.append(float(loss))
        return actual

    eager = losses(lambda model: model)
    traced = losses(lambda model: engine.jit.trace(model, engine.ones(16, 6)))
    assert eager == pytest.approx(traced, rel=1e-4)


@engine.jit.script
def of_three(w, b, d):  # type: ignore[no-untyped-def]
    c = w.relu() + b.sigmoid()
    return c, (d - c).tanh() * d


@pytest.mark.parametrize("first_alike", [True, False])
def test_a_gradient_traced_where_two_are_one_is_not_taken_for_others(first_alike: bool) -> None:
    def gradients(fn: Any, inputs_alike: bool, gradients_alike: bool) -> list[Any]:
        w, b, d = leaves((3, 2), (3, 2), (3, 2))
        one = b * 1
        c, a = fn(w, one, one if inputs_alike else d * 1)
        scale = 1 if gradients_alike else 3
        ones = engine.ones(3, 2)
        actual = engine.autograd.grad(
            [c, a],
            [w, b, d],
            [ones * scale, ones] if scale > 1 else [ones, ones],
            allow_unused=True,
        )
        return list(actual)

    def eager(w: Any, b: Any, d: Any) -> Any:
        c = w.relu() + b.sigmoid()
        return c, (d - c).tanh() * d

    for inputs_alike in (first_alike, not first_alike):
        for gradients_alike in (first_alike, not first_alike):
            for _ in range(4):
                result = gradients(of_three, inputs_alike, gradients_alike)
                expected = gradients(eager, inputs_alike, gradients_alike)
                for item, other in zip(result, expected, strict=True):
                    assert (item is None) == (other is None)
                    assert item is None or nearly(item, other)


def test_saved_inputs_are_seen_and_freed() -> None:
    x, y = leaves((5,), (5,))
    traced = fused(lambda a, b: (a * b).tanh() * b, x, y)
    result = traced(x, y)
    assert [exactly(a, b) for a, b in zip(result.grad_fn._saved_inputs, (x, y), strict=True)]
    result.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        _ = result.grad_fn._saved_inputs


@settings(max_examples=60, deadline=None)
@given(program=programs(typed=False))
def test_random_programs_have_eagers_gradients(program: Program) -> None:
    # Sums of 16-bit gradients that cancel depend on their order.
    assume(program.dtype is not engine.bfloat16)
    graph = Graph.parse(program.text)
    snapshot = graph.snapshot()
    as_one(graph)
    function = NativeFunction.of("f", graph._handle)

    def gradients(run: Callable[[list[Any]], list[Any]]) -> list[Any] | str:
        inputs = program.inputs()
        expected = [item.requires_grad_() for item in inputs if isinstance(item, engine.Tensor)]
        # A tensor that is written is not a leaf.
        results = run(
            [element * 1 if isinstance(element, engine.Tensor) else element for element in inputs]
        )
        total = sum((result * result).sum() for result in results if result.requires_grad)
        if not isinstance(total, engine.Tensor):
            return "none"
        try:
            return list(engine.autograd.grad(total, expected, allow_unused=True))
        except RuntimeError as error:
            return str(error).split(":")[0]

    eager = gradients(lambda inputs: evaluate(snapshot, inputs))
    for _ in range(4):
        actual = gradients(lambda inputs: list(function.call(inputs)))
        if isinstance(eager, str):
            # A group saves its inputs: results that were written do not matter to it.
            assert actual == eager or "modified by an inplace operation" in eager, program.text
            continue
        assert not isinstance(actual, str), program.text
        for a, b in zip(actual, eager, strict=True):
            assert (a is None) == (b is None), program.text
            assert a is None or nearly(a, b), program.text


def nearly(a: Any, b: Any) -> bool:
    scale = max(1.0, float(b.abs().max())) if b.numel() else 1.0
    tolerance = 0.05 if b.dtype is engine.bfloat16 else 1e-4
    return a.shape == b.shape and bool(
        engine.allclose(a, b, rtol=10 * tolerance, atol=tolerance * scale, equal_nan=True)
    )
