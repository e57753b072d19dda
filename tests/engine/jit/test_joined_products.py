"""Several linears of one x become one product: where nothing is written in between, and only there."""

import pytest

import engine
from engine import jit, nn
from engine.nn.functional import linear

SIZE = 256  # weights of 65,536 elements: from there on they are joined
WEIGHTS = [engine.linspace(-1.0, 1.0, SIZE * SIZE).reshape(SIZE, SIZE) * k for k in (1.0, 0.5)]
X = engine.linspace(-2.0, 2.0, 3 * SIZE).reshape(3, SIZE)


def apart(x, first, second):
    return linear(x, first), linear(x, second)


def weight_written(x, first, second):
    actual = linear(x, first), linear(x, second)
    first.add_(1.0)
    return actual


@pytest.mark.parametrize(("fn", "products"), [(apart, 1), (weight_written, 2)])
def test_products_of_one_x(fn, products):
    own, other = ([element.clone() for element in WEIGHTS] for _ in range(2))
    traced = jit.trace(lambda x: fn(x, *own), X.clone(), check_trace=False)
    for current, before in zip(own, other, strict=True):
        current.copy_(before)  # tracing ran it once
    for _ in range(5):
        x, y = X.clone(), X.clone()
        for item, expected in zip(traced(x), fn(y, *other), strict=True):
            assert engine.allclose(item, expected, rtol=1e-4, atol=1e-3)
        assert engine.equal(x, y)
    graph = traced.graph_for(X.clone())
    assert len(graph.findAllNodes("aten::linear")) == products


class Between(nn.Module):
    """Two products, and perhaps a write to what both read in between."""

    def __init__(self, writes: bool):
        super().__init__()
        self.first = nn.Linear(SIZE, SIZE, bias=False)
        self.second = nn.Linear(SIZE, SIZE, bias=False)
        self.writes = writes

    def forward(self, x):
        a = self.first(x)
        if self.writes:
            x.view(-1).add_(1.0)
        return a, self.second(x)


@pytest.mark.parametrize(("writes", "products"), [(False, 1), (True, 2)])
def test_products_of_one_x_that_is_written_in_between(writes, products):
    module = Between(writes).eval()
    frozen = jit.freeze(jit.script(module))
    with engine.no_grad():
        for _ in range(5):
            for item, expected in zip(frozen(X.clone()), module(X.clone()), strict=True):
                assert engine.allclose(item, expected, rtol=1e-4, atol=1e-4)
        graph = frozen.graph_for(X.clone())
    assert len(graph.findAllNodes("aten::linear")) == products
