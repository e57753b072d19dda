"""Other features of scripts than classes: interfaces, backward(), numbers from tensors, hash()."""

import pytest

import engine
from engine import Tensor, jit, nn

X = engine.tensor([1.0, 2.0])


@jit.interface
class Scores(nn.Module):
    def forward(self, x: Tensor) -> Tensor: ...


class Doubles(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


class Scored(nn.Module):
    scorer: Scores

    def __init__(self, scorer):
        super().__init__()
        self.scorer = scorer

    def forward(self, x):
        return self.scorer(x)


def _takes_scores(x, scorer: Scores):
    return scorer(x)


def test_interfaces_say_what_a_submodule_has():
    assert engine.equal(jit.script(Scored(Doubles()))(X), X * 2)
    with pytest.raises(RuntimeError, match="has no method 'forward' of the interface Scores"):
        jit.script(Scored(nn.Module()))
    with pytest.raises(RuntimeError, match="only a submodule can have an interface as its type"):
        jit.script(_takes_scores)


def test_backward_in_a_script():
    @jit.script
    def trained(x, w) -> Tensor:
        (x * w).sum().backward()
        first = w.grad
        assert first is not None
        y = x * w
        y.backward(gradient=engine.ones_like(y), retain_graph=True)
        y.backward(y)
        return w.grad

    w = engine.ones(2, requires_grad=True)
    assert engine.equal(trained(X, w), X * 2 + X * X)
    assert "aten::backward" in str(trained.graph)


def test_a_tensor_where_a_number_is_declared():
    @jit.script
    def total(x) -> float:
        return x.sum()

    @jit.script
    def item(x) -> float:
        return x.sum().item()

    assert (total(X), item(X)) == (3.0, 3.0)
    assert "aten::FloatImplicit" in str(total.graph)
    assert "aten::Float(" in str(item.graph)
    with pytest.raises(RuntimeError, match="dimension other than 0"):
        jit.script(_all_elements)(X)


def _all_elements(x) -> float:
    return x


def test_hash():
    @jit.script
    def hashes(n: int, s: str) -> tuple[int, bool]:
        return hash(n), hash(s) == hash(s + "")

    assert hashes(5, "a") == (5, True)


def test_a_rule_belongs_to_the_object_that_is_called():
    """Not to its name: an alias of isinstance narrows, and a function named like a word is a function."""
    is_a = isinstance

    def is_scripting() -> bool:
        return False

    def fn(x: int | str) -> int:
        if is_a(x, int):
            return x + 1
        return 1 if is_scripting() else 2

    scripted = jit.script(fn)
    assert (scripted(4), scripted("a")) == (5, 2)
