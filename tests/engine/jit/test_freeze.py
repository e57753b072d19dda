"""`jit.freeze`: what becomes constant, what stays, what is refused."""

import pytest

import engine
from engine import jit, nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.factor = 2.0
        self.calls = 0

    def forward(self, x):
        return self.linear(x) * self.factor

    @jit.export
    def label(self, x, offset: int = 1):
        return self.forward(x).argmax(1) + offset

    @jit.export
    def counted(self, x):
        self.calls += 1
        return x


X = engine.randn(4, 3)


def test_the_attributes_are_constants():
    module = Scaled().eval()
    frozen = jit.freeze(jit.script(module))
    assert "GetAttr" not in str(frozen.graph)
    assert "CallMethod" not in str(frozen.graph)
    wanted = module(X)
    with engine.no_grad():
        module.linear.weight.zero_()
    assert engine.equal(frozen(X), wanted) is False  # the memory is the module's own
    assert not list(frozen.parameters())
    assert frozen.original_name == "Scaled"


def test_methods_and_attributes_are_preserved_by_name():
    module = Scaled().eval()
    frozen = jit.freeze(jit.script(module), preserved_attrs=["label", "factor"])
    assert engine.equal(frozen.label(X), module.label(X))
    assert engine.equal(frozen.label(X, offset=3), module.label(X) + 2)
    frozen.factor = 10.0
    assert engine.allclose(frozen(X), module(X) * 5)
    assert "CallMethod" not in str(frozen.label.graph)


def test_without_being_named_they_go():
    frozen = jit.freeze(jit.script(Scaled().eval()))
    with pytest.raises(AttributeError, match="label"):
        frozen.label(X)


def test_a_method_that_sets_an_attribute():
    scripted = jit.script(Scaled().eval())
    with pytest.raises(
        RuntimeError, match="sets its attribute 'calls'; name it in preserved_attrs"
    ):
        jit.freeze(scripted, preserved_attrs=["counted"])
    frozen = jit.freeze(scripted, preserved_attrs=["counted", "calls"])
    frozen.counted(X)
    frozen.counted(X)
    assert frozen.calls == 2


def test_refusals():
    with pytest.raises(RuntimeError, match="eval mode"):
        jit.freeze(jit.script(Scaled()))
    with pytest.raises(RuntimeError, match="no attribute or method 'nothing' to preserve"):
        jit.freeze(jit.script(Scaled().eval()), preserved_attrs=["nothing"])
    with pytest.raises(ValueError, match="expected a ScriptModule, got Scaled"):
        jit.freeze(Scaled().eval())
