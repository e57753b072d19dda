"""Recurrent layers as ONNX's RNN, GRU and LSTM, and single cells as formulas."""

from __future__ import annotations

from typing import Any

from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value

# The order of the gates: ONNX's from the engine's.
_GATES = {"RNN": (0,), "GRU": (1, 0, 2), "LSTM": (0, 3, 1, 2)}


def _ordered(g: Builder, weight: Value, kind: str, size: int) -> Value:
    gates = _GATES[kind]
    if len(gates) == 1:
        return weight
    parts = g.split(weight, 0, [size] * len(gates))
    result: Value = g.op("Concat", *(parts[i] for i in gates), axis_i=0)
    return result


def _layers(
    g: Builder,
    kind: str,
    input: Value,
    states: list[Value],
    params: list[Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    **options: Any,
) -> Any:
    if train and dropout:
        raise SymbolicValueError("draws random numbers while it is training; export it with eval()")
    directions = 2 if bidirectional else 1
    count = 4 if has_biases else 2
    hidden_size = g.known_size(params[1], 1, "a recurrent layer")
    if len(params) != num_layers * directions * count:
        raise SymbolicValueError("projections (proj_size) have no form in ONNX")
    x = g.transpose(input, 1, 0, 2) if batch_first else input
    last: list[list[Value]] = [[] for _ in states]
    for layer in range(num_layers):
        rows = [
            params[(layer * directions + d) * count : (layer * directions + d + 1) * count]
            for d in range(directions)
        ]
        stacked = [
            _concat(g, [g.unsqueeze(_ordered(g, row[i], kind, hidden_size), 0) for row in rows], 0)
            for i in (0, 1)
        ]
        biases = None
        if has_biases:
            pairs = [
                g.op("Concat", *(_ordered(g, row[i], kind, hidden_size) for i in (2, 3)), axis_i=0)
                for row in rows
            ]
            biases = _concat(g, [g.unsqueeze(pair, 0) for pair in pairs], 0)
        start = [
            state
            if num_layers == 1
            else g.slice(state, 0, layer * directions, (layer + 1) * directions)
            for state in states
        ]
        written = g.op(
            kind,
            x,
            *stacked,
            biases,
            None,
            *start,
            outputs=1 + len(states),
            hidden_size_i=hidden_size,
            direction_s="bidirectional" if bidirectional else "forward",
            **options,
        )
        y, ends = written[0], written[1:]
        for row, end in zip(last, ends, strict=True):
            row.append(end)
        length, batch = (
            g.size_of(input, 1 if batch_first else 0),
            g.size_of(input, 0 if batch_first else 1),
        )
        if bidirectional:
            x = g.reshape(g.transpose(y, 0, 2, 1, 3), [length, batch, 2 * hidden_size])
        else:
            x = g.squeeze(y, 1)
    output = g.transpose(x, 1, 0, 2) if batch_first else x
    return (output, *(_concat(g, row, 0) for row in last))


def _concat(g: Builder, parts: list[Value], axis: int) -> Value:
    if len(parts) == 1:
        return parts[0]
    result: Value = g.op("Concat", *parts, axis_i=axis)
    return result


def _activations(kind: str, bidirectional: bool) -> dict[str, Any]:
    return {"activations_s": [kind] * (2 if bidirectional else 1)}


@symbolic("lstm")
def lstm(g: Builder, input: Value, hx: list[Value], **options: Any) -> Any:
    """Writes long short-term memory."""
    _refuse_packed(options)
    return _layers(g, "LSTM", input, hx, **options)


@symbolic("gru")
def gru(g: Builder, input: Value, hx: Value, **options: Any) -> Any:
    """Writes gated recurrent units."""
    _refuse_packed(options)
    return _layers(g, "GRU", input, [hx], **options, linear_before_reset_i=1)


@symbolic("rnn_tanh")
def rnn_tanh(g: Builder, input: Value, hx: Value, **options: Any) -> Any:
    """Returns a plain recurrent layer of tanh."""
    _refuse_packed(options)
    kinds = _activations("Tanh", options["bidirectional"])
    return _layers(g, "RNN", input, [hx], **options, **kinds)


@symbolic("rnn_relu")
def rnn_relu(g: Builder, input: Value, hx: Value, **options: Any) -> Any:
    """Returns a plain recurrent layer of relu."""
    _refuse_packed(options)
    kinds = _activations("Relu", options["bidirectional"])
    return _layers(g, "RNN", input, [hx], **options, **kinds)


def _refuse_packed(options: dict[str, Any]) -> None:
    if "batch_sizes" in options or "data" in options:
        raise SymbolicValueError("packed sequences have no form in ONNX")


def _both(
    g: Builder, x: Value, h: Value, w_ih: Value, w_hh: Value, b_ih: Value | None, b_hh: Value | None
) -> tuple[Value, Value]:
    a, b = (g.op("MatMul", v, g.transpose(w, 1, 0)) for v, w in ((x, w_ih), (h, w_hh)))
    return (a if b_ih is None else a + b_ih), (b if b_hh is None else b + b_hh)


@symbolic("lstm_cell")
def lstm_cell(
    g: Builder,
    input: Value,
    hx: list[Value],
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Any:
    """Returns one step of an LSTM."""
    h, c = hx
    size = g.known_size(w_hh, 1, "lstm_cell")
    a, b = _both(g, input, h, w_ih, w_hh, b_ih, b_hh)
    i, f, cell, o = g.split(a + b, g.rank_of(input) - 1, [size] * 4)
    c = g.op("Sigmoid", f) * c + g.op("Sigmoid", i) * g.op("Tanh", cell)
    return g.op("Sigmoid", o) * g.op("Tanh", c), c


@symbolic("gru_cell")
def gru_cell(
    g: Builder,
    input: Value,
    hx: Value,
    w_ih: Value,
    w_hh: Value,
    b_ih: Value | None = None,
    b_hh: Value | None = None,
) -> Any:
    """Returns one step of a GRU."""
    size, axis = g.known_size(w_hh, 1, "gru_cell"), g.rank_of(input) - 1
    a, b = (g.split(x, axis, [size] * 3) for x in _both(g, input, hx, w_ih, w_hh, b_ih, b_hh))
    reset, update = g.op("Sigmoid", a[0] + b[0]), g.op("Sigmoid", a[1] + b[1])
    new = g.op("Tanh", a[2] + reset * b[2])
    return new + update * (hx - new)


def _plain_cell(name: str, operator: str) -> None:
    @symbolic(name)
    def write(
        g: Builder,
        input: Value,
        hx: Value,
        w_ih: Value,
        w_hh: Value,
        b_ih: Value | None = None,
        b_hh: Value | None = None,
    ) -> Any:
        a, b = _both(g, input, hx, w_ih, w_hh, b_ih, b_hh)
        return g.op(operator, a + b)


_plain_cell("rnn_tanh_cell", "Tanh")
_plain_cell("rnn_relu_cell", "Relu")
