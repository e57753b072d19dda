"""RNN, LSTM, GRU and their cells against formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from recurrent_cases import CASES, SIZES, network, step

import engine
from engine import nn
from engine.nn.utils import rnn

INPUT, HIDDEN = SIZES


def seeded(kind: str, options: dict[str, Any]) -> Any:
    engine.manual_seed(3)
    return getattr(nn, kind)(INPUT, HIDDEN, dtype=engine.float64, **options)


def arrays(module: Any) -> dict[str, np.ndarray]:
    return {name: np.array(p.tolist()) for name, p in module.named_parameters()}


def drawn(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape)


def states(state: Any) -> list[Any]:
    return list(state) if isinstance(state, tuple) else [state]


def close(actual: Any, expected: np.ndarray) -> None:
    np.testing.assert_allclose(np.array(actual.tolist()), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_every_step_follows_the_formula(name: str) -> None:
    kind, options = CASES[name]
    layer = seeded(kind, options)
    x = drawn(5, 2, INPUT)
    expected, last = network(kind, options, arrays(layer), x)
    first = options.get("batch_first", False)
    output, state = layer(
        engine.tensor((x.swapaxes(0, 1) if first else x).tolist(), dtype=engine.float64)
    )
    close(output, expected.swapaxes(0, 1) if first else expected)
    for item, element in zip(states(state), last, strict=True):
        close(item, element)


@pytest.mark.parametrize("name", CASES)
def test_packed_sequences_are_each_as_if_alone(name: str) -> None:
    kind, options = CASES[name]
    layer = seeded(kind, options)
    lengths = [2, 5, 1, 5]
    sequences = [drawn(9, INPUT)[i : i + n] for i, n in enumerate(lengths)]
    packed = rnn.pack_sequence(
        [engine.tensor(s.tolist(), dtype=engine.float64) for s in sequences], enforce_sorted=False
    )
    output, state = layer(packed)
    outputs = rnn.unpack_sequence(output)
    for i, sequence in enumerate(sequences):
        expected, last = network(kind, options, arrays(layer), sequence[:, None])
        close(outputs[i], expected[:, 0])
        for item, element in zip(states(state), last, strict=True):
            close(item[:, i], element[:, 0])


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_a_state_goes_on_where_it_ended(kind: str) -> None:
    layer = seeded(kind, {"num_layers": 2})
    x = engine.tensor(drawn(6, 2, INPUT).tolist(), dtype=engine.float64)
    full, last = layer(x)
    first, state = layer(x[:2])
    second, after = layer(x[2:], state)
    close(engine.cat([first, second]), np.array(full.tolist()))
    for a, b in zip(states(after), states(last), strict=True):
        close(a, np.array(b.tolist()))


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_a_sequence_without_a_batch(kind: str) -> None:
    layer = seeded(kind, {"bidirectional": True})
    x = engine.tensor(drawn(6, INPUT).tolist(), dtype=engine.float64)
    output, state = layer(x)
    batched, batched_state = layer(x.unsqueeze(1))
    assert output.shape == (6, 2 * HIDDEN)
    close(output, np.array(batched[:, 0].tolist()))
    for a, b in zip(states(state), states(batched_state), strict=True):
        close(a, np.array(b[:, 0].tolist()))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("RNN", {}),
        ("RNN", {"nonlinearity": "relu", "bias": False}),
        ("LSTM", {}),
        ("LSTM", {"bias": False}),
        ("GRU", {}),
        ("GRU", {"bias": False}),
    ],
)
def test_cells_are_single_steps(kind: str, options: dict[str, Any]) -> None:
    cell = seeded(f"{kind}Cell", options)
    x, h, c = drawn(2, INPUT), drawn(2, HIDDEN), drawn(2, HIDDEN) * 2
    inputs = [engine.tensor(value.tolist(), dtype=engine.float64) for value in (x, h, c)]
    state = tuple(inputs[1:]) if kind == "LSTM" else inputs[1]
    _, reference = step(kind, options, arrays(cell), x, (h, c))
    for item, expected in zip(states(cell(inputs[0], state)), reference, strict=True):
        close(item, expected)
    alone = cell(inputs[0][0], tuple(s[0] for s in state) if kind == "LSTM" else state[0])
    for item, expected in zip(states(alone), reference, strict=True):
        close(item, expected[0])
    _, from_zero = step(kind, options, arrays(cell), x, (h * 0, c * 0))
    close(states(cell(inputs[0]))[0], from_zero[0])


def test_dropout_between_layers_only_in_training() -> None:
    layer = seeded("LSTM", {"num_layers": 2, "dropout": 0.5})
    x = engine.tensor(drawn(3, 2, INPUT).tolist(), dtype=engine.float64)
    layer.eval()
    plain = layer(x)[0].tolist()
    assert plain == layer(x)[0].tolist()
    layer.train()
    assert plain != layer(x)[0].tolist()


def test_names_and_repr() -> None:
    lstm = nn.LSTM(3, 4, 2, bidirectional=True, proj_size=2, batch_first=True)
    assert repr(lstm) == (
        "LSTM(3, 4, proj_size=2, num_layers=2, batch_first=True, bidirectional=True)"
    )
    assert list(lstm.state_dict())[:6] == [
        "weight_ih_l0",
        "weight_hh_l0",
        "bias_ih_l0",
        "bias_hh_l0",
        "weight_hr_l0",
        "weight_ih_l0_reverse",
    ]
    assert lstm.weight_ih_l1.shape == (16, 4)
    assert [len(weights) for weights in lstm.all_weights] == [5, 5, 5, 5]
    assert repr(nn.GRU(3, 4, bias=False)) == "GRU(3, 4, bias=False)"
    assert repr(nn.RNNCell(3, 4, nonlinearity="relu")) == "RNNCell(3, 4, nonlinearity=relu)"
    bound = 1 / np.sqrt(64)
    weight = np.array(nn.GRU(8, 64).weight_hh_l0.tolist())
    assert np.abs(weight).max() <= bound
    assert np.abs(weight).max() > 0.98 * bound


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="dropout should be a number in range"):
        nn.LSTM(3, 4, dropout=2)
    with pytest.raises(ValueError, match="hidden_size must be greater than zero"):
        nn.LSTM(3, 0)
    with pytest.raises(TypeError, match="input_size should be of type int, got: float"):
        nn.GRU(3.0, 4)
    with pytest.raises(ValueError, match="only supported for LSTM"):
        nn.GRU(3, 4, proj_size=2)
    with pytest.raises(ValueError, match="proj_size has to be smaller than hidden_size"):
        nn.LSTM(3, 4, proj_size=4)
    with pytest.raises(ValueError, match="Unknown nonlinearity 'sin'"):
        nn.RNN(3, 4, nonlinearity="sin")
    with pytest.warns(UserWarning, match="non-zero dropout expects"):
        nn.LSTM(3, 4, dropout=0.5)
    lstm = nn.LSTM(3, 4)
    with pytest.raises(RuntimeError, match=r"Expected 3, got 2"):
        lstm(engine.ones(5, 1, 2))
    with pytest.raises(ValueError, match="does not match weight dtype"):
        lstm(engine.ones(5, 1, 3, dtype=engine.float64))
    with pytest.raises(ValueError, match="Expected input to be 2D or 3D, got 1D"):
        lstm(engine.ones(3))
    with pytest.raises(
        RuntimeError, match=r"Expected hidden\[0\] size \(1, 2, 4\), got \[1, 3, 4\]"
    ):
        lstm(engine.ones(5, 2, 3), (engine.ones(1, 3, 4), engine.ones(1, 2, 4)))
    with pytest.raises(RuntimeError, match="larger than 0"):
        lstm(engine.ones(0, 2, 3))
    with pytest.raises(ValueError, match="GRUCell: Expected input to be 1D or 2D, got 3D"):
        nn.GRUCell(3, 4)(engine.ones(1, 2, 3))
