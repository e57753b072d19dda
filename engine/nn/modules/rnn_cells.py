"""Recurrent cells, which compute a single step."""

from __future__ import annotations

import math
from typing import Any

import engine
from engine._generated import ops
from engine.nn import init
from engine.nn.module import Module
from engine.nn.modules.utils import new_parameter
from engine.tensor import Tensor

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """The base of the cells: `weight_ih`, `weight_hh`, `bias_ih`, `bias_hh`, drawn uniformly from
    [-1/sqrt(hidden_size), 1/sqrt(hidden_size)).
    """

    __constants__: tuple[str, ...] = ("input_size", "hidden_size", "bias")

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        self.weight_ih = new_parameter((rows, input_size), device, dtype)
        self.weight_hh = new_parameter((rows, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            if bias:
                setattr(self, name, new_parameter(rows, device, dtype))
            else:
                self.register_parameter(name, None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values for all weights."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check(self, tensor: Tensor, role: str) -> None:
        if tensor.dim() not in (1, 2):
            raise ValueError(
                f"{type(self).__name__}: Expected {role} to be 1D or 2D, "
                f"got {tensor.dim()}D instead"
            )

    def _weights(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _zeros(self, input: Tensor) -> Tensor:
        sizes = input.shape[0], self.hidden_size
        zeros: Tensor = engine.zeros(sizes, dtype=input.dtype, device=input.device)
        return zeros

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        """Return the next state of a batch."""
        raise NotImplementedError

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Any:
        """Compute the next state from (batch, input_size) or (input_size,) and the state, zeros if None."""
        self._check(input, "input")
        batched = input.dim() == 2
        batch = input if batched else input.unsqueeze(0)
        if hx is None:
            state = self._zeros(batch)
        else:
            self._check(hx, "hidden")
            state = hx if batched else hx.unsqueeze(0)
        result = self._step(batch, state)
        return result if batched else result.squeeze(0)


class RNNCell(RNNCellBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu.

    >>> RNNCell(3, 5)(engine.ones(2, 3)).shape
    engine.Size([2, 5])
    """

    __constants__ = ("input_size", "hidden_size", "bias", "nonlinearity")

    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        if self.nonlinearity == "tanh":
            return ops.rnn_tanh_cell(input, hx, *self._weights())
        if self.nonlinearity == "relu":
            return ops.rnn_relu_cell(input, hx, *self._weights())
        raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")


class LSTMCell(RNNCellBase):
    """One step of `LSTM`; the state is a pair (h, c), and so is the result.

    >>> h, c = LSTMCell(3, 5)(engine.ones(2, 3))
    >>> h.shape, c.shape
    (engine.Size([2, 5]), engine.Size([2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(  # type: ignore[override]
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        self._check(input, "input")
        batched = input.dim() == 2
        batch = input if batched else input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(batch)
            state = [zeros, zeros]
        else:
            h, c = hx
            self._check(h, "hx[0]")
            self._check(c, "hx[1]")
            state = [h, c] if batched else [h.unsqueeze(0), c.unsqueeze(0)]
        h, c = ops.lstm_cell(batch, state, *self._weights())
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of `GRU`.

    >>> GRUCell(3, 5)(engine.ones(2, 3)).shape
    engine.Size([2, 5])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        return ops.gru_cell(input, hx, *self._weights())
