"""Recurrent layers and cells, as they are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import engine
from engine._generated import ops
from engine.nn.modules import rnn, rnn_cells
from engine.tensor import Tensor

# ruff: noqa: UP045  (as annotations of the language are usually written)


def _cell_step(self: Any, input: Tensor, hx: Tensor) -> Tensor:
    if hasattr(self, "nonlinearity"):
        if self.nonlinearity == "tanh":
            return ops.rnn_tanh_cell(input, hx, *self._weights())
        return ops.rnn_relu_cell(input, hx, *self._weights())
    return ops.gru_cell(input, hx, *self._weights())


def _cell_forward(self: Any, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
    self._check(input, "input")
    batched = input.dim() == 2
    if hx is not None:
        self._check(hx, "hidden")
        hx = hx if batched else hx.unsqueeze(0)
    if not batched:
        input = input.unsqueeze(0)
    state = self._zeros(input) if hx is None else hx
    made = _cell_step(self, input, state)
    return made if batched else made.squeeze(0)


def _lstm_cell_forward(
    self: Any, input: Tensor, hx: Optional[tuple[Tensor, Tensor]] = None
) -> tuple[Tensor, Tensor]:
    self._check(input, "input")
    batched = input.dim() == 2
    if not batched:
        input = input.unsqueeze(0)
    if hx is None:
        zeros = self._zeros(input)
        state = [zeros, zeros]
    else:
        h, c = hx
        self._check(h, "hx[0]")
        self._check(c, "hx[1]")
        state = [h, c] if batched else [h.unsqueeze(0), c.unsqueeze(0)]
    h, c = ops.lstm_cell(input, state, *self._weights())
    return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


def _flat_weights(self: Any) -> list[Tensor]:
    return [self._parameters[name] for name in self._flat_weights_names]


def _checked_input(self: Any, input: Tensor) -> Tensor:
    """With a dimension for the batch."""
    if input.dim() not in (2, 3):
        raise ValueError(f"Expected input to be 2D or 3D, got {input.dim()}D instead")
    return input if input.dim() == 3 else input.unsqueeze(0 if self.batch_first else 1)


def _rnn_operator(self: Any, input: Tensor, hx: Tensor) -> tuple[Tensor, Tensor]:
    if self.mode == "RNN_TANH":
        return ops.rnn_tanh_input(input, hx, self._flat_weights, *self._options(), self.batch_first)
    if self.mode == "RNN_RELU":
        return ops.rnn_relu_input(input, hx, self._flat_weights, *self._options(), self.batch_first)
    return ops.gru_input(input, hx, self._flat_weights, *self._options(), self.batch_first)


def _rnn_forward(self: Any, input: Tensor, hx: Optional[Tensor] = None) -> tuple[Tensor, Tensor]:
    batched = input.dim() == 3
    x = _checked_input(self, input)
    state = self._first_hidden(x, None) if hx is None else self._with_batch(hx, batched)
    self.check_forward_args(x, state, None)
    output, last = _rnn_operator(self, x, state)
    if not batched:
        output = output.squeeze(0 if self.batch_first else 1)
        last = last.squeeze(1)
    return output, last


def lstm_forward(
    self: Any, input: Tensor, hx: Optional[tuple[Tensor, Tensor]] = None
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    batched = input.dim() == 3
    x = _checked_input(self, input)
    if hx is None:
        sizes = self.get_expected_hidden_size(x, None)
        h = engine.zeros(sizes, dtype=x.dtype, device=x.device)
        c = engine.zeros(self.get_expected_cell_size(x, None), dtype=x.dtype, device=x.device)
    else:
        h, c = hx
        if h.dim() != input.dim() or c.dim() != input.dim():
            raise RuntimeError(
                f"For {input.dim()}-D input, hx and cx should also be {input.dim()}-D but got "
                f"({h.dim()}-D, {c.dim()}-D) tensors"
            )
        if not batched:
            h, c = h.unsqueeze(1), c.unsqueeze(1)
    self.check_input(x, None)
    self.check_hidden_size(h, self.get_expected_hidden_size(x, None))
    self.check_hidden_size(c, self.get_expected_cell_size(x, None))
    weights = self._flat_weights
    output, h, c = ops.lstm_input(x, [h, c], weights, *self._options(), self.batch_first)
    if not batched:
        output = output.squeeze(0 if self.batch_first else 1)
        h, c = h.squeeze(1), c.squeeze(1)
    return output, (h, c)


SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    rnn_cells.RNNCellBase.forward: _cell_forward,
    rnn_cells.LSTMCell.forward: _lstm_cell_forward,
    rnn.RNNBase.forward: _rnn_forward,
    vars(rnn.RNNBase)["_flat_weights"].fget: _flat_weights,
}


def of_module(fn: Any, module: Any) -> Any:
    """The LSTM has RNNBase's forward, but two states."""
    if fn is rnn.RNNBase.forward and isinstance(module, rnn.LSTM):
        return lstm_forward
    return None
