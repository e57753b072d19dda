"""RNN, LSTM, GRU, attention and transformers against PyTorch with the same weights: values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recurrent_cases import CASES, SIZES

import engine
from engine import nn

torch = pytest.importorskip("torch")


def both(kind: str, *sizes: int, **options: Any) -> tuple[Any, Any]:
    """Return a layer of ours and one of PyTorch's with the same weights."""
    other = getattr(torch.nn, kind)(*sizes, dtype=torch.float64, **options)
    own = getattr(nn, kind)(*sizes, dtype=engine.float64, **options)
    assert list(own.state_dict()) == list(other.state_dict())
    state = other.state_dict()
    own.load_state_dict(
        {k: engine.tensor(v.tolist(), dtype=engine.float64) for k, v in state.items()}
    )
    return own, other


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def leaf(library: Any, values: np.ndarray) -> Any:
    return library.tensor(values.tolist(), dtype=library.float64, requires_grad=True)


def flat(nested: Any) -> list[Any]:
    if isinstance(nested, (tuple, list)):
        return [item for part in nested for item in flat(part)]
    return [] if nested is None else [nested]


def same(mine: list[Any], theirs: list[Any]) -> None:
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(
            np.array(a.tolist()), np.array(b.tolist()), rtol=1e-9, atol=1e-11
        )


def compare(mine: Any, theirs: Any, inputs: list[np.ndarray], call: Any) -> None:
    """Results and all gradients of a weighted sum of them."""
    actual = []
    for library, module in ((engine, mine), (torch, theirs)):
        arguments = [leaf(library, values) for values in inputs]
        outputs = flat(call(library, module, *arguments))
        weights = [library.tensor(drawn(*o.shape, seed=9).tolist(), dtype=o.dtype) for o in outputs]
        sum((o * w).sum() for o, w in zip(outputs, weights, strict=True)).backward()
        grads = [p.grad for p in (*arguments, *module.parameters()) if p.grad is not None]
        actual.append((outputs, grads))
    same(actual[0][0], actual[1][0])
    same(actual[0][1], actual[1][1])


@pytest.mark.parametrize("name", CASES)
def test_recurrent_layers(name: str) -> None:
    kind, options = CASES[name]
    own, other = both(kind, *SIZES, **options)
    assert repr(own) == repr(other)
    compare(own, other, [drawn(5, 4, SIZES[0])], lambda _, module, x: module(x))


@pytest.mark.parametrize("name", CASES)
def test_packed(name: str) -> None:
    kind, options = CASES[name]
    own, other = both(kind, *SIZES, **options)
    first = options.get("batch_first", False)
    x = drawn(4, 6, SIZES[0]) if first else drawn(6, 4, SIZES[0])

    def call(library: Any, module: Any, inputs: Any) -> Any:
        tools = library.nn.utils.rnn
        packed = tools.pack_padded_sequence(inputs, [3, 6, 1, 4], first, enforce_sorted=False)
        output, state = module(packed)
        padded, lengths = tools.pad_packed_sequence(
            output, first, padding_value=0.5, total_length=7
        )
        assert lengths.tolist() == [3, 6, 1, 4]
        assert output.batch_sizes.tolist() == [4, 3, 3, 2, 1, 1]
        return padded, state

    compare(own, other, [x], call)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bias": False},
        {"add_bias_kv": True, "add_zero_attn": True},
        {"kdim": 5, "vdim": 3},
        {"batch_first": True},
    ],
)
@pytest.mark.parametrize("need_weights", [True, False])
def test_attention(options: dict[str, Any], need_weights: bool) -> None:
    own, other = both("MultiheadAttention", 8, 2, **options)
    assert repr(own) == repr(other)
    shape = (3, 4) if options.get("batch_first") else (4, 3)
    inputs = [
        drawn(*shape, size, seed=size)
        for size in (8, options.get("kdim", 8), options.get("vdim", 8))
    ]
    hidden = [[False] * 4, [False, False, True, True], [False] * 3 + [True]]

    def call(library: Any, module: Any, q: Any, k: Any, v: Any) -> Any:
        mask = library.triu(library.full((4, 4), float("-inf"), dtype=library.float64), 1)
        padding = library.where(library.tensor(hidden), float("-inf"), 0.0).to(library.float64)
        return [
            module(q, k, v, need_weights=need_weights),
            module(q, k, v, attn_mask=mask, need_weights=need_weights, average_attn_weights=False),
            module(q, k, v, attn_mask=mask, is_causal=True, need_weights=need_weights),
            module(q, k, v, key_padding_mask=padding, attn_mask=mask, need_weights=need_weights),
            module(q, k, v, key_padding_mask=library.tensor(hidden), need_weights=need_weights),
        ]

    compare(own, other, inputs, call)


def test_attention_to_oneself() -> None:
    own, other = both("MultiheadAttention", 8, 2, batch_first=True)
    compare(own, other, [drawn(3, 4, 8)], lambda _, module, x: module(x, x, x))
    compare(own, other, [drawn(4, 8)], lambda _, module, x: module(x, x, x))


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_transformer_layers(norm_first: bool, activation: str) -> None:
    options = {"dropout": 0.0, "norm_first": norm_first, "activation": activation}
    own, other = both("TransformerEncoderLayer", 8, 2, 16, batch_first=True, **options)
    assert repr(own) == repr(other)
    compare(own, other, [drawn(3, 4, 8)], lambda _, module, x: module(x))
    own, other = both("TransformerDecoderLayer", 8, 2, 16, **options)
    assert repr(own) == repr(other)
    inputs = [drawn(4, 3, 8), drawn(5, 3, 8, seed=1)]
    compare(own, other, inputs, lambda _, module, x, memory: module(x, memory))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_transformer() -> None:
    own, other = both("Transformer", 8, 2, 2, 2, 16, dropout=0.0)
    assert repr(own) == repr(other)

    def call(library: Any, module: Any, source: Any, target: Any) -> Any:
        mask = module.generate_square_subsequent_mask(4, dtype=library.float64)
        padding = library.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 5])
        return [
            module(source, target),
            module(source, target, tgt_mask=mask),
            module(source, target, tgt_mask=mask, src_key_padding_mask=padding),
        ]

    compare(own, other, [drawn(5, 3, 8), drawn(4, 3, 8, seed=1)], call)
