"""Operators in place on views: the gradients of what one writes by hand with scatter operators."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import engine
from engine import Tensor

ROWS = engine.tensor([2, 0])
PLACES = engine.tensor([[0, 2, 1, 0], [2, 1, 0, 2]])
MASK = engine.tensor([[True, False, True, False], [False, True, True, False], [False] * 4])

# In place on a (3, 4) view; the second argument is another tensor that requires gradients.
WRITES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cumsum_": lambda v, y: v.cumsum_(1),
    "cumprod_": lambda v, y: v.cumprod_(0),
    "tril_": lambda v, y: v.tril_(1),
    "triu_": lambda v, y: v.triu_(-1),
    "renorm_": lambda v, y: v.renorm_(2, 0, 1.0),
    "scatter_ src": lambda v, y: v.scatter_(0, PLACES, y[:2]),
    "scatter_ value": lambda v, y: v.scatter_(0, PLACES, 2.0),
    "scatter_add_": lambda v, y: v.scatter_add_(0, PLACES, y[:2]),
    "scatter_reduce_ prod": lambda v, y: v.scatter_reduce_(0, PLACES, y[:2], "prod"),
    "scatter_reduce_ amax": lambda v, y: v.scatter_reduce_(0, PLACES, y[:2], "amax"),
    "scatter_reduce_ mean": lambda v, y: v.scatter_reduce_(
        0, PLACES, y[:2], "mean", include_self=False
    ),
    "index_add_": lambda v, y: v.index_add_(0, ROWS, y[:2], alpha=3),
    "index_copy_": lambda v, y: v.index_copy_(0, ROWS, y[:2]),
    "index_fill_": lambda v, y: v.index_fill_(0, ROWS, 2.0),
    "index_fill_ tensor": lambda v, y: v.index_fill_(0, ROWS, y[0, 0]),
    "index_reduce_": lambda v, y: v.index_reduce_(0, ROWS, y[:2], "amin"),
    "index_put_": lambda v, y: v.index_put_((ROWS,), y[:2]),
    "index_put_ added": lambda v, y: v.index_put_((ROWS, ROWS), y[0, :2], accumulate=True),
    "put_": lambda v, y: v.put_(ROWS, y[0, :2]),
    "masked_fill_": lambda v, y: v.masked_fill_(MASK, 2.0),
    "masked_fill_ tensor": lambda v, y: v.masked_fill_(MASK, y[0, 0]),
    "masked_scatter_": lambda v, y: v.masked_scatter_(MASK, y),
}
VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "slice": lambda x: x[1:4],
    "columns": lambda x: x.t()[:4].t()[:3],
    "part": lambda x: x.view(-1)[4:16].view(3, 4),
    "steps": lambda x: x[::2],
    "whole": lambda x: x.narrow(0, 0, 3),
}


def leaves() -> tuple[Tensor, Tensor]:
    engine.manual_seed(5)
    x = engine.randn(5, 4, dtype=engine.float64).requires_grad_()
    return x, engine.randn(3, 4, dtype=engine.float64).requires_grad_()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", WRITES)
def test_writes(write: str, view: str) -> None:
    x, y = leaves()
    weights = engine.randn(5, 4, dtype=engine.float64)

    base = x * 1
    WRITES[write](VIEWS[view](base), y)
    wanted_values = base.detach().clone()
    (base * base * weights).sum().backward()
    actual = x.grad, y.grad

    # The same without a view: the part is taken out, written, and put back by its indices.
    x.grad = y.grad = None
    positions = VIEWS[view](engine.arange(20).view(5, 4)).reshape(-1)
    part = WRITES[write]((x * 1).reshape(-1)[positions].view(3, 4), y)
    again = (x * 1).reshape(-1).index_copy(0, positions, part.reshape(-1)).view(5, 4)
    assert engine.equal(again.detach(), wanted_values)
    (again * again * weights).sum().backward()
    for item, other in zip(actual, (x.grad, y.grad), strict=True):
        assert (item is None) == (other is None)
        if item is not None and other is not None:
            assert engine.allclose(item, other)


DRAWS: list[Callable[[Tensor], Tensor]] = [
    Tensor.uniform_,
    Tensor.normal_,
    Tensor.random_,
    Tensor.bernoulli_,
    Tensor.exponential_,
    Tensor.cauchy_,
    Tensor.log_normal_,
    lambda t: t.geometric_(0.5),
    lambda t: t.bernoulli_(engine.full((4,), 0.5)),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_what_was_drawn_depends_on_nothing(draw: Callable[[Tensor], Tensor]) -> None:
    x, _ = leaves()
    z = x * 2
    draw(z[1])
    z.sum().backward()
    assert x.grad is not None
    expected = engine.full((5, 4), 2.0, dtype=engine.float64)
    expected[1] = 0
    assert engine.equal(x.grad, expected)


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_copy_into_a_view_of_running_sums_of_real_parts(requires_grad: bool) -> None:
    x = engine.arange(6.0).view(2, 3).requires_grad_(requires_grad)
    wide = x.double()
    assert wide.real is wide
    sums = wide.real.cumsum(0)
    row = sums[1]
    row.copy_(engine.tensor([7.0, 8.0, 9.0]))
    assert sums.tolist() == [[0, 1, 2], [7, 8, 9]]
    assert (sums._version, row._version, wide._version, x._version) == (1, 1, 0, 0)
    assert sums.requires_grad is row.requires_grad is requires_grad
    if requires_grad:
        sums.sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_filled_diagonals() -> None:
    x, _ = leaves()
    z = x * 2
    z.fill_diagonal_(7.0)
    z.sum().backward()
    assert x.grad is not None
    assert engine.equal(x.grad, 2 - 2 * engine.eye(5, 4, dtype=engine.float64))


def test_dropout_in_place() -> None:
    x, _ = leaves()
    z = x * 1
    saved = engine.nn.functional.dropout(z, 0.5, True, inplace=True)
    saved.sum().backward()
    assert x.grad is not None
    assert engine.allclose(x.grad * x, saved)
    assert set(x.grad.reshape(-1).tolist()) == {0.0, 2.0}


# Views in which one element of the base is several.
REPEATING: dict[str, Callable[[Tensor], Tensor]] = {
    "expand": lambda b: b.expand(2, 5, 4),
    "unfold": lambda b: b.unfold(1, 2, 1),
    "windows": lambda b: b.as_strided((4, 4), (2, 1)),
    "complex": lambda b: engine.view_as_complex(b.view(5, 2, 2)).expand(3, 5, 2).real,
}


@pytest.mark.parametrize("view", REPEATING)
def test_the_base_of_a_view_that_repeats_is_written(view: str) -> None:
    def written(x: Tensor) -> Tensor:
        b = x * 1
        seen = REPEATING[view](b)
        b.mul_(x)  # what is seen has another history from now on
        return seen

    x, _ = leaves()
    weights = engine.arange(float(written(x).numel()), dtype=x.dtype).reshape(written(x).shape)
    (actual,) = engine.autograd.grad((written(x) * weights).sum(), x)
    (expected,) = engine.autograd.grad((REPEATING[view](x * x) * weights).sum(), x)
    assert engine.allclose(actual, expected)
    assert engine.autograd.gradgradcheck(written, (x,))
