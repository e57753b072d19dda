"""Attention of several heads against its parts, and the way through blocks against the way step by step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tools import values

import engine
import engine.nn.functional as F

HEADS, WIDTH = 2, 6


@pytest.fixture(autouse=True)
def _seeded() -> None:
    engine.manual_seed(3)


def forward(x: engine.Tensor, **options: object) -> tuple[engine.Tensor, engine.Tensor | None]:
    packed, out = engine.randn(3 * WIDTH, WIDTH), engine.randn(WIDTH, WIDTH)
    arguments = (WIDTH, HEADS, packed, engine.randn(3 * WIDTH), None, None, False, 0.0, out, None)
    return F.multi_head_attention_forward(x, x, x, *arguments, **options)


def by_hand(x: np.ndarray, hidden: np.ndarray | None) -> np.ndarray:
    """Return the same weights as `forward` draws, head by head."""
    engine.manual_seed(3)
    packed, out = values(engine.randn(3 * WIDTH, WIDTH)), values(engine.randn(WIDTH, WIDTH))
    bias = values(engine.randn(3 * WIDTH))
    result = np.zeros_like(x)
    for n in range(x.shape[1]):
        q, k, v = np.split(x[:, n] @ packed.T + bias, 3, axis=1)
        parts = []
        for columns in np.split(np.arange(WIDTH), HEADS):
            scores = q[:, columns] @ k[:, columns].T / np.sqrt(WIDTH / HEADS)
            if hidden is not None:
                scores[hidden] = -np.inf
            weights = np.exp(scores - scores.max(1, keepdims=True))
            parts.append(weights / weights.sum(1, keepdims=True) @ v[:, columns])
        result[:, n] = np.concatenate(parts, 1) @ out.T
    return result


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_heads_one_by_one(need_weights: bool, masked: bool) -> None:
    data = np.random.default_rng(0).normal(size=(5, 2, WIDTH)).astype("float32")
    hidden = np.triu(np.ones((5, 5), bool), 1) if masked else None
    mask = None if hidden is None else engine.tensor(hidden)
    out, weights = forward(engine.tensor(data), need_weights=need_weights, attn_mask=mask)
    assert np.allclose(values(out), by_hand(data, hidden), atol=1e-4)
    assert (weights is None) is not need_weights
    if weights is not None:
        assert np.allclose(values(weights).sum(-1), 1, atol=1e-5)


def numbers(lib: Any, *shape: int, step: int = 7) -> Any:
    every = lib.arange(math.prod(shape), dtype=lib.float64)
    return (every * step % 11 / 11 - 0.4).view(*shape)


OPTIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "each head's weights": lambda lib: {"average_attn_weights": False},
    "a zero for all": lambda lib: {"add_zero_attn": True},
    "a bias for all": lambda lib: {
        "bias_k": numbers(lib, 1, 1, WIDTH, step=4), "bias_v": numbers(lib, 1, 1, WIDTH, step=9),
    },
    "hidden keys": lambda lib: {"key_padding_mask": lib.eye(2, 4, dtype=lib.bool)},
    "a mask of numbers": lambda lib: {"attn_mask": numbers(lib, 3, 4)},
    "a mask per head": lambda lib: {"attn_mask": numbers(lib, 2 * HEADS, 3, 4)},
    "both masks and a zero": lambda lib: {
        "attn_mask": lib.ones(3, 4, dtype=lib.bool).triu(2),
        "key_padding_mask": lib.eye(2, 4, dtype=lib.bool), "add_zero_attn": True,
    },
    "causal": lambda lib: {
        "attn_mask": lib.ones(3, 4, dtype=lib.bool).triu(2),
        "is_causal": True, "need_weights": False,
    },
    "causal without a mask": lambda lib: {"is_causal": True},
    "fixed keys": lambda lib: {
        "static_k": numbers(lib, 2 * HEADS, 5, 3),
        "static_v": numbers(lib, 2 * HEADS, 5, 3, step=4),
    },
    "a mask of integers": lambda lib: {"attn_mask": lib.ones(3, 4, dtype=lib.int64)},
    "a mask of another shape": lambda lib: {"attn_mask": lib.ones(2, 2, dtype=lib.bool)},
    "too many hidden keys": lambda lib: {"key_padding_mask": lib.ones(3, 3, dtype=lib.bool)},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_the_heads_are_pytorchs(name: str) -> None:
    torch = pytest.importorskip("torch")

    def results(lib: Any) -> list[Any]:
        tensors = [numbers(lib, n, 2, WIDTH, step=step) for n, step in ((3, 7), (4, 3), (4, 5))]
        packed, out = numbers(lib, 3 * WIDTH, WIDTH), numbers(lib, WIDTH, WIDTH, step=3)
        arguments: dict[str, Any] = {
            "bias_k": None, "bias_v": None, "add_zero_attn": False, "dropout_p": 0.0,
        }  # fmt: skip
        biases = (numbers(lib, 3 * WIDTH, step=5), numbers(lib, WIDTH, step=2))
        arguments |= {"in_proj_bias": biases[0], "out_proj_bias": biases[1]}
        arguments |= {"in_proj_weight": packed, "out_proj_weight": out} | OPTIONS[name](lib)
        function = lib.nn.functional.multi_head_attention_forward
        try:
            saved = function(*tensors, WIDTH, HEADS, **arguments)
        except (RuntimeError, AssertionError) as error:
            return [type(error)]
        return [None if t is None else t.tolist() for t in saved]

    for ours, theirs in zip(results(engine), results(torch), strict=True):
        if isinstance(theirs, list):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        else:
            assert ours is theirs


def test_heads_refuse_what_does_not_divide() -> None:
    x = engine.ones(2, 1, 5)
    w = engine.ones(15, 5)
    with pytest.raises(AssertionError, match="not divisible by num_heads"):
        F.multi_head_attention_forward(x, x, x, 5, 2, w, None, None, None, False, 0.0, w[:5], None)


@pytest.mark.parametrize("dtype", [engine.float32, engine.float64])
def test_blocks_give_what_the_steps_give(dtype: engine.dtype) -> None:
    q = engine.randn(2, 3, 70, 16, dtype=dtype)
    k, v = engine.randn(2, 3, 600, 16, dtype=dtype), engine.randn(2, 3, 600, 8, dtype=dtype)
    aten = engine.ops.aten
    for mask in (None, engine.randn(70, 600, dtype=dtype), engine.rand(2, 1, 70, 600) > 0.5):
        out, logs = aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, attn_mask=mask)
        want, _ = aten._scaled_dot_product_attention_math(q, k, v, mask)
        assert engine.allclose(out, want, atol=1e-5), "blocks differ from steps"
        scores = q @ k.transpose(-2, -1) / 4
        if mask is not None:
            scores = scores + mask if mask.is_floating_point() else scores.masked_fill(~mask, -1e30)
        assert engine.allclose(logs, scores.logsumexp(-1), atol=1e-4)


def test_gradients_of_large_scores_are_as_near_as_floats_can_be() -> None:
    """Probabilities made again from a rounded logsumexp of 80 would be off by 4e-6."""
    parts = [engine.randn(4, n, 8) * 4 for n in (3, 6, 6)]
    wide = [part.double().requires_grad_() for part in parts]
    narrow = [part.requires_grad_() for part in parts]
    weights = engine.randn(4, 3, 8)
    actual = engine.autograd.grad((F.scaled_dot_product_attention(*narrow) * weights).sum(), narrow)
    loss = (F.scaled_dot_product_attention(*wide) * weights.double()).sum()
    for ours, exact in zip(actual, engine.autograd.grad(loss, wide), strict=True):
        assert float((ours.double() - exact).abs().max()) <= 2e-7 * float(exact.abs().max())


def test_threads_change_nothing() -> None:
    q = engine.randn(4, 200, 32)
    before, actual = engine.get_num_threads(), []
    for n in (1, 2, 3):
        engine.set_num_threads(n)
        actual.append(F.scaled_dot_product_attention(q, q, q, is_causal=True))
    engine.set_num_threads(before)
    assert all(engine.equal(actual[0], other) for other in actual[1:])


def test_dropout_keeps_the_mean_of_attention() -> None:
    q, v = engine.zeros(1, 2000, 4), engine.ones(1, 50, 1)
    result = F.scaled_dot_product_attention(q, engine.zeros(1, 50, 4), v, dropout_p=0.5)
    assert abs(float(result.mean()) - 1) < 0.02
    assert float(result.std()) > 0.05


@pytest.mark.parametrize("boolean", [True, False])
@pytest.mark.parametrize("differentiable", [True, False])
def test_a_mask_together_with_is_causal(boolean: bool, differentiable: bool) -> None:
    """As in PyTorch: batches of equal heads take both, whatever the implementation of the gradient."""
    query, key, value = (engine.randn(2, 3, 4, 5, requires_grad=True) for _ in range(3))
    mask = engine.rand(4, 4) > 0.3 if boolean else engine.randn(4, 4)
    causal = engine.ones(4, 4, dtype=engine.bool).tril()
    both = mask & causal if boolean else mask.masked_fill(~causal, -engine.inf)
    inputs = (query, key, value)
    results = [
        F.scaled_dot_product_attention(*inputs, mask, is_causal=True),
        F.scaled_dot_product_attention(*inputs, both),
    ]
    gradients = [
        engine.autograd.grad(r.pow(2).sum(), inputs, create_graph=differentiable) for r in results
    ]
    assert engine.allclose(*results, atol=1e-6)
    for gradient, expected in zip(*gradients, strict=True):
        assert engine.allclose(gradient, expected, atol=1e-5)
    with pytest.raises(RuntimeError, match="should not be set when is_causal=True"):
        F.scaled_dot_product_attention(query[0], key[0], value[0], mask, is_causal=True)
