"""The gallery's networks, trained here and in PyTorch from the same weights, have the same losses."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

import engine
from lessons._runner.loader import LESSONS

torch = pytest.importorskip("torch")

NETWORKS = ("mlp_on_iris", "lenet", "char_transformer")
TOLERANCE = 1e-4


@pytest.fixture
def one_thread():
    """Both libraries with one thread, as the scripts run: sums are then added in a fixed order."""
    before = engine.get_num_threads(), torch.get_num_threads()
    engine.set_num_threads(1)
    torch.set_num_threads(1)
    yield
    engine.set_num_threads(before[0])
    torch.set_num_threads(before[1])


def twins(script: dict[str, Any]) -> tuple[Any, Any]:
    """The script's network in both libraries, with the weights of ours in both."""
    engine.manual_seed(0)
    ours, other = script["network"](engine.nn), script["network"](torch.nn)
    weights = {name: torch.tensor(t.numpy()) for name, t in ours.state_dict().items()}
    other.load_state_dict(weights, strict=True)
    return ours, other


@pytest.mark.parametrize("name", NETWORKS)
def test_losses_are_pytorchs(name: str, one_thread: None, record_property: Any) -> None:
    script = runpy.run_path(str(LESSONS / "gallery" / f"{name}.py"))
    ours, other = twins(script)
    own, expected = script["train"](engine, ours), script["train"](torch, other)
    assert len(own) == len(expected) > 50
    assert own[-1] < own[0] / 2, "nothing was learned"
    apart = [abs(a - b) for a, b in zip(own, expected, strict=True)]
    record_property("largest deviation", max(apart))
    worst = apart.index(max(apart))
    assert max(apart) < TOLERANCE, f"step {worst}: {own[worst]} here, {expected[worst]} there"


def test_a_different_weight_is_noticed(one_thread: None) -> None:
    """The comparison can fail: a hundredth in one weight shows in the losses."""
    script = runpy.run_path(str(LESSONS / "gallery" / "mlp_on_iris.py"))
    ours, other = twins(script)
    with torch.no_grad():
        other[0].weight[0, 0] += 1e-2
    own, expected = script["train"](engine, ours), script["train"](torch, other)
    assert max(abs(a - b) for a, b in zip(own, expected, strict=True)) > TOLERANCE
