"""The formulas of fused optimizer steps are evaluated with the recorded numbers: they yield the recorded results."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import pytest

import engine
from engine.inspect import live
from engine.inspect.history import History
from engine.inspect.models.microscope import MicroscopeModel, project
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader
from tests.inspect.selections import select

OPTIMIZERS = {
    "sgd": (engine.optim.SGD, {}),
    "sgd_decay_maximize": (engine.optim.SGD, {"weight_decay": 0.3, "maximize": True}),
    "momentum": (engine.optim.SGD, {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}),
    "nesterov": (engine.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    "adam": (engine.optim.Adam, {}),
    "adam_all": (engine.optim.Adam, {"weight_decay": 0.2, "amsgrad": True, "maximize": True}),
    "adamw": (engine.optim.AdamW, {"weight_decay": 0.2}),
    "adagrad": (engine.optim.Adagrad, {"lr_decay": 0.1, "weight_decay": 0.1}),
}
STATE = ("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "sum")


def evaluated(model: MicroscopeModel) -> tuple[float, float]:
    """Return the result of a cell, and the value of its formula."""
    value, _, formula = model.numeric.partition(" = ")
    functions = {"sqrt": sqrt, "max": max, "norm": lambda *xs: sqrt(sum(x * x for x in xs))}
    return float(value), eval(formula, {"__builtins__": {}}, functions)  # numbers, from this test


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_the_formula_of_a_step_yields_what_the_step_wrote(tmp_path: Path, name: str) -> None:
    kind, options = OPTIMIZERS[name]
    with record(tmp_path / "t.uht"):
        w = engine.tensor([[0.5, -2.0], [1.0, 0.25]], requires_grad=True)
        b = engine.tensor([-0.75], requires_grad=True)
        optimizer = kind([w, b], lr=0.1, **options)
        for step in range(3):
            optimizer.zero_grad()
            ((w * (step + 1.5)).sum() * b).sum().backward()
            optimizer.step()
    history = History(TraceReader.open(tmp_path / "t.uht"))
    moment = history.end - 1
    state = optimizer.state[b]
    cells = [(w, (1, 0)), (b, (0,))] + [(state[key], (0,)) for key in STATE if key in state]
    for tensor, index in cells:
        id = live.tensor_id(tensor)
        fact = history.tensor(id, moment)
        assert fact is not None
        write = history.last_write(fact.storage, fact.extent, moment)
        assert write is not None
        model = project(history, moment, select(tensor=id, index=index, call=write.call))
        assert model.out is not None
        assert model.out.tensor == id
        result, computed = evaluated(model)
        assert result == pytest.approx(computed, rel=2e-3), model.numeric
