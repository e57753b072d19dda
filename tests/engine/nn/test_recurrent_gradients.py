"""First and second derivatives of recurrent layers against differences, without PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from recurrent_cases import CASES

import engine
from engine import nn
from engine.autograd import gradcheck, gradgradcheck
from engine.nn.utils import rnn

INPUT, HIDDEN = 2, 3


def drawn(*shape: int) -> Any:
    return (engine.randn(*shape, dtype=engine.float64) * 0.5).requires_grad_()


def layer_of(name: str) -> tuple[Any, Any, list[Any]]:
    """Return a layer, a function of (input, weights...), and these."""
    engine.manual_seed(4)
    kind, options = CASES[name]
    layer = getattr(nn, kind)(INPUT, HIDDEN, dtype=engine.float64, **options)
    weights = [p.detach().clone().requires_grad_() for p in layer.parameters()]
    names = [key for key, _ in layer.named_parameters()]

    def call(x: Any, *weights: Any) -> Any:
        for key, value in zip(names, weights, strict=True):
            layer._parameters[key] = value
        output, state = layer(x)
        parts = state if isinstance(state, tuple) else (state,)
        rows = output.data if isinstance(output, rnn.PackedSequence) else output
        return (rows, *parts)

    return layer, call, weights


@pytest.mark.parametrize(
    "name", ["rnn", "lstm both ways", "lstm projected", "gru both ways", "gru"]
)
def test_first_derivatives(name: str) -> None:
    _, call, weights = layer_of(name)
    assert gradcheck(call, (drawn(3, 2, INPUT), *weights))


@pytest.mark.parametrize("name", ["lstm both ways", "gru both ways", "lstm projected"])
def test_first_derivatives_of_packed_sequences(name: str) -> None:
    _, call, weights = layer_of(name)

    def packed(x: Any, *weights: Any) -> Any:
        return call(rnn.pack_padded_sequence(x, [1, 4, 3], enforce_sorted=False), *weights)

    assert gradcheck(packed, (drawn(4, 3, INPUT), *weights))


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_second_derivatives(name: str) -> None:
    _, call, weights = layer_of(name)
    assert gradgradcheck(lambda *inputs: call(*inputs)[0], (drawn(3, 1, INPUT), *weights))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_steps_alone_are_differentiable_twice(kind: str) -> None:
    engine.manual_seed(1)
    from engine._generated import ops

    blocks, operator = (4, ops._fused_lstm_cell) if kind == "lstm" else (3, ops._fused_gru_cell)
    arguments = (drawn(2, blocks * HIDDEN), drawn(2, blocks * HIDDEN), drawn(2, HIDDEN))
    assert gradcheck(lambda *inputs: operator(*inputs), arguments)
    assert gradgradcheck(lambda *inputs: operator(*inputs)[0], arguments)


def test_only_what_is_asked_for_gets_a_gradient() -> None:
    layer = nn.LSTM(INPUT, HIDDEN)
    x = engine.randn(4, 2, INPUT, requires_grad=True)
    for p in layer.parameters():
        p.requires_grad_(False)
    output, _ = layer(x)
    output.sum().backward()
    assert x.grad.shape == x.shape
    assert all(p.grad is None for p in layer.parameters())
    with engine.no_grad():
        assert layer(x)[0].grad_fn is None
