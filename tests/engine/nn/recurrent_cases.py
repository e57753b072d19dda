"""Recurrent layers with options, and the formulas of their steps in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

SIZES = (3, 4)  # input, hidden

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "rnn": ("RNN", {}),
    "rnn relu": ("RNN", {"nonlinearity": "relu"}),
    "rnn of two layers": ("RNN", {"num_layers": 2, "bidirectional": True}),
    "lstm": ("LSTM", {}),
    "lstm without bias": ("LSTM", {"bias": False}),
    "lstm batch first": ("LSTM", {"batch_first": True, "num_layers": 2}),
    "lstm both ways": ("LSTM", {"bidirectional": True, "num_layers": 2}),
    "lstm projected": ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True}),
    "lstm projected without bias": ("LSTM", {"proj_size": 2, "bias": False}),
    "gru": ("GRU", {}),
    "gru without bias": ("GRU", {"bias": False, "batch_first": True}),
    "gru both ways": ("GRU", {"bidirectional": True, "num_layers": 3}),
}


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def step(
    kind: str, options: dict[str, Any], w: dict[str, np.ndarray], x: np.ndarray, state: Any
) -> tuple[np.ndarray, Any]:
    """(output, next state) of one step."""
    h = state[0]
    of_x = x @ w["weight_ih"].T + w.get("bias_ih", 0)
    of_h = h @ w["weight_hh"].T + w.get("bias_hh", 0)
    if kind == "RNN":
        both = of_x + of_h
        new = np.maximum(both, 0) if options.get("nonlinearity") == "relu" else np.tanh(both)
        return new, (new,)
    if kind == "GRU":
        x_r, x_z, x_n = np.split(of_x, 3, axis=1)
        h_r, h_z, h_n = np.split(of_h, 3, axis=1)
        z = sigmoid(x_z + h_z)
        n = np.tanh(x_n + sigmoid(x_r + h_r) * h_n)
        new = (1 - z) * n + z * h
        return new, (new,)
    i, f, g, o = np.split(of_x + of_h, 4, axis=1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    new = sigmoid(o) * np.tanh(c)
    new = new @ w["weight_hr"].T if "weight_hr" in w else new
    return new, (new, c)


def network(
    kind: str, options: dict[str, Any], weights: dict[str, np.ndarray], x: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Output and last states of (steps, batch, size), from zeros."""
    hidden = SIZES[1]
    batch = x.shape[1]
    last: list[list[np.ndarray]] = []
    for layer in range(options.get("num_layers", 1)):
        sides = []
        for suffix in ("", "_reverse")[: 1 + options.get("bidirectional", False)]:
            ending = f"_l{layer}{suffix}"
            w = {k.removesuffix(ending): v for k, v in weights.items() if k.endswith(ending)}
            zeros = np.zeros((batch, options.get("proj_size", 0) or hidden))
            state: Any = (zeros, np.zeros((batch, hidden)))
            order = range(len(x)) if not suffix else range(len(x) - 1, -1, -1)
            outputs: dict[int, np.ndarray] = {}
            for t in order:
                outputs[t], state = step(kind, options, w, x[t], state)
            sides.append(np.stack([outputs[t] for t in range(len(x))]))
            last.append(list(state))
        x = np.concatenate(sides, axis=-1)
    return x, [np.stack(parts) for parts in zip(*last, strict=True)]
