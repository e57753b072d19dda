"""Modules that are scripted, traced or loaded already, inside of modules that are scripted."""

import pytest

import engine
from engine import jit, nn
from engine.jit.frontend import CompileError


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        return -x


class Cell(nn.Module):
    def __init__(self, gate):
        super().__init__()
        self.gate = gate
        self.linear = nn.Linear(4, 4)

    def forward(self, x, h, scale: float = 1.0):
        new = engine.tanh(self.gate(self.linear(x)) + h * scale)
        return new, new

    @jit.export
    def reset(self, h, value: float = 0.0):
        return engine.full_like(h, value)


class Loop(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, xs):
        h, y = engine.zeros(3, 4), engine.zeros(3, 4)
        for i in range(xs.size(0)):
            y, h = self.cell(xs[i], h)
        return y, h


class Resetting(Loop):
    def forward(self, xs):
        return self.cell.reset(xs[0]) + self.cell.linear.bias, self.cell(xs[0], xs[1], scale=2.0)[0]


def loaded(module, tmp_path):
    jit.save(jit.script(module), str(tmp_path / "m.st"))
    return jit.load(str(tmp_path / "m.st"))


@pytest.mark.parametrize("steps", [2, 5])
@pytest.mark.parametrize("mode", ["scripted", "traced", "loaded"])
def test_a_compiled_cell_in_a_scripted_loop(mode, steps, tmp_path):
    cell = Cell(nn.Tanh() if mode == "traced" else Gate())
    x, h = engine.rand(3, 4), engine.rand(3, 4)
    ready = {
        "scripted": lambda: jit.script(cell),
        "traced": lambda: jit.trace(cell, (x, h)),
        "loaded": lambda: loaded(cell, tmp_path),
    }[mode]()
    xs = engine.rand(steps, 3, 4)
    scripted = jit.script(Loop(ready))
    assert scripted.cell is ready
    for other in (
        Loop(cell)(xs),
        Loop(ready)(xs),
    ):  # Python's loop over Python's cell, and over this
        for item, two in zip(scripted(xs), other, strict=True):
            assert engine.allclose(item, two)


@pytest.mark.parametrize("mode", ["scripted", "loaded"])
def test_exported_methods_attributes_and_defaults_of_a_compiled_module(mode, tmp_path):
    cell = Cell(Gate())
    ready = jit.script(cell) if mode == "scripted" else loaded(cell, tmp_path)
    xs = engine.rand(2, 3, 4)
    scripted = jit.script(Resetting(ready))
    reset, y = scripted(xs)
    assert engine.allclose(reset, cell.linear.bias.expand(3, 4))
    assert engine.allclose(y, cell(xs[0], xs[1], 2.0)[0])


def test_the_tensors_are_shared_and_train(tmp_path):
    ready = jit.script(Cell(Gate()))
    scripted = jit.script(Loop(ready))
    scripted(engine.rand(3, 3, 4))[0].sum().backward()
    assert ready.linear.weight.grad is not None
    assert {name for name, _ in scripted.named_parameters()} == {
        "cell.linear.weight",
        "cell.linear.bias",
    }


def test_it_is_saved_with_the_outer_module(tmp_path):
    ready = jit.trace(Cell(nn.Tanh()), (engine.rand(3, 4), engine.rand(3, 4)))
    scripted = jit.script(Loop(ready))
    xs = engine.rand(4, 3, 4)
    again = loaded(scripted, tmp_path)
    assert (again.original_name, again.cell.original_name) == ("Loop", "Cell")
    assert engine.equal(again(xs)[0], scripted(xs)[0])


def test_a_method_that_a_compiled_module_does_not_have(tmp_path):
    class Asks(Loop):
        def forward(self, xs):
            return self.cell.missing(xs)

    with pytest.raises(CompileError, match="missing"):
        jit.script(Asks(loaded(Cell(Gate()), tmp_path)))
