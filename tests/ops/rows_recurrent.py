"""Recurrent networks and their single steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from rows_activation import sigmoid
from table import Array, Bad, Row, Sample, array

WIDE = ("float32", "float64")
INPUT, HIDDEN, BATCH = 3, 2, 4
GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}


def step(kind: str, x: Any, state: Any, w_ih: Any, w_hh: Any, b_ih: Any = 0, b_hh: Any = 0) -> Any:
    """Return the next (h,) or (h, c)."""
    a, b = x @ w_ih.T + b_ih, state[0] @ w_hh.T + b_hh
    if kind == "rnn_tanh":
        return (np.tanh(a + b),)
    if kind == "rnn_relu":
        return (np.maximum(a + b, 0),)
    if kind == "gru":
        (a_r, a_z, a_n), (b_r, b_z, b_n) = np.split(a, 3, 1), np.split(b, 3, 1)
        z = sigmoid(a_z + b_z)
        return ((1 - z) * np.tanh(a_n + sigmoid(a_r + b_r) * b_n) + z * state[0],)
    i, f, g, o = np.split(a + b, 4, 1)
    c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def weights(kind: str, dtype: str, biases: bool, size: int = INPUT, seed: int = 0) -> list[Array]:
    rows = GATES[kind] * HIDDEN
    shapes: list[tuple[int, ...]] = [(rows, size), (rows, HIDDEN)]
    shapes += [(rows,), (rows,)] if biases else []
    return [array(dtype, *shape, seed=seed + i, low=-1, high=1) for i, shape in enumerate(shapes)]


def state_of(kind: str, dtype: str, *lead: int) -> Any:
    parts = [array(dtype, *lead, BATCH, HIDDEN, seed=s, low=-1, high=1) for s in (7, 8)]
    return parts if kind == "lstm" else parts[0]


def cell(kind: str) -> Row:
    def samples(dtype: str) -> Iterator[Sample]:
        for biases in (True, False):
            x = array(dtype, BATCH, INPUT, seed=9, low=-1, high=1)
            args = (x, state_of(kind, dtype), *weights(kind, dtype, biases))
            yield Sample(args, name="with biases" if biases else "without")

    def reference(x: Any, hx: Any, *w: Any) -> Any:
        result = step(kind, x, hx if kind == "lstm" else (hx,), *w)
        return result if kind == "lstm" else result[0]

    def call(input_size: int = INPUT, batch: int = BATCH) -> Callable[[Any], Any]:
        def run(m: Any) -> Any:
            h = m.zeros(batch, HIDDEN)
            w = m.zeros(GATES[kind] * HIDDEN, INPUT), m.zeros(GATES[kind] * HIDDEN, HIDDEN)
            hx = [h, h] if kind == "lstm" else h
            return getattr(m, f"{kind}_cell")(m.zeros(BATCH, input_size), hx, *w)

        return run

    bad = (
        Bad(call(input_size=5), RuntimeError, "inconsistent input_size: got 5 expected 3"),
        Bad(call(batch=3), RuntimeError, r"batch size 4 doesn't match hidden(0)? batch size 3"),
    )
    return Row(f"{kind}_cell", reference, samples, WIDE, bad=bad)


def network(kind: str) -> Row:
    def samples(dtype: str) -> Iterator[Sample]:
        for layers, both, biases, batch_first in (
            (1, False, True, False),
            (2, True, True, False),
            (2, False, False, True),
        ):
            sides = 2 if both else 1
            params = [
                item
                for layer in range(layers)
                for side in range(sides)
                for item in weights(
                    kind, dtype, biases, HIDDEN * sides if layer else INPUT, 10 * layer + side
                )
            ]
            shape = (BATCH, 5, INPUT) if batch_first else (5, BATCH, INPUT)
            x = array(dtype, *shape, seed=9, low=-1, high=1)
            hx = state_of(kind, dtype, layers * sides)
            options = (biases, layers, 0.0, False, both, batch_first)
            yield Sample((x, hx, params, *options), name=f"{layers} {both} {biases} {batch_first}")

    def reference(
        x: Any,
        hx: Any,
        params: Any,
        biases: Any,
        layers: int,
        _: Any,
        __: Any,
        both: Any,
        first: Any,
    ) -> Any:
        x = x.swapaxes(0, 1) if first else x
        each, last = 4 if biases else 2, []
        parts = hx if kind == "lstm" else [hx]
        for layer in range(layers):
            outputs = []
            for side in range(1 + both):
                i = layer * (1 + both) + side
                w = params[i * each : (i + 1) * each]
                state, seen = tuple(part[i] for part in parts), {}
                for t in range(len(x))[:: -1 if side else 1]:
                    state = step(kind, x[t], state, *w)
                    seen[t] = state[0]
                outputs.append(np.stack([seen[t] for t in range(len(x))]))
                last.append(state)
            x = np.concatenate(outputs, -1)
        states = (np.stack(part) for part in zip(*last, strict=True))
        return (x.swapaxes(0, 1) if first else x, *states)

    def no_steps(m: Any) -> Any:
        h = m.zeros(1, BATCH, HIDDEN)
        w = [m.zeros(GATES[kind] * HIDDEN, INPUT), m.zeros(GATES[kind] * HIDDEN, HIDDEN)]
        hx = [h, h] if kind == "lstm" else h
        options = (False, 1, 0.0, False, False, False)
        return getattr(m, kind)(m.zeros(0, BATCH, INPUT), hx, w, *options)

    bad = (Bad(no_steps, RuntimeError, "Expected sequence length to be larger than 0 in RNN"),)
    return Row(kind, reference, samples, WIDE, bad=bad)


ROWS = [*map(cell, GATES), *map(network, GATES)]
