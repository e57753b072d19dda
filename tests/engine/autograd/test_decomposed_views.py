"""Operators that call others where gradients are required (yaml key `decompose`) run alone where none are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import engine
from engine.inspect.history import History
from engine.inspect.recorder import record
from engine.inspect.trace import TraceReader

F = engine.nn.functional
CALLS = {
    "max_pool1d": lambda x: engine.max_pool1d(x, 2),
    "avg_pool1d": lambda x: F.avg_pool1d(x, 2),
    "linear": lambda x: F.linear(x, engine.ones(5, 6)),
    "nanmean": engine.nanmean,
    "quantile": lambda x: engine.quantile(x, 0.5),
}


def operators_called(path: Path, call: Callable[..., object], x: engine.Tensor) -> list[str]:
    """Return the names of the operators that the call runs, without overloads."""
    with record(path) as recording:
        call(x)
    trace = TraceReader.open(recording.path)
    schemas = [trace.string(int(op)) for op in History(trace).tables.calls.op]
    return [schema.partition("(")[0].partition(".")[0] for schema in schemas]


@pytest.mark.parametrize("name", CALLS)
def test_a_view_without_gradient_is_not_decomposed(name: str, tmp_path: Path) -> None:
    x = engine.randn(24).view(2, 2, 6)
    alone = operators_called(tmp_path / "view.uht", CALLS[name], x)
    assert alone == operators_called(tmp_path / "plain.uht", CALLS[name], x.clone())
    x.requires_grad_()
    assert len(operators_called(tmp_path / "gradient.uht", CALLS[name], x)) > len(alone)
