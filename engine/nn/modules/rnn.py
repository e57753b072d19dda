"""Recurrent layers: RNN, LSTM and GRU over sequences; rnn_cells.py has single steps."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import engine
from engine._generated import ops
from engine.nn import init
from engine.nn.module import Module
from engine.nn.modules.rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase
from engine.nn.modules.utils import new_parameter
from engine.nn.utils.rnn import PackedSequence
from engine.tensor import Tensor

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

# The operators of each mode, for padded input and for a PackedSequence.
_PADDED: dict[str, Any] = {
    "RNN_TANH": ops.rnn_tanh_input,
    "RNN_RELU": ops.rnn_relu_input,
    "GRU": ops.gru_input,
}
_PACKED: dict[str, Any] = {
    "RNN_TANH": ops.rnn_tanh_data,
    "RNN_RELU": ops.rnn_relu_data,
    "GRU": ops.gru_data,
    "LSTM": ops.lstm_data,
}
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """The base of RNN, LSTM and GRU: weights, checks, and packed sequences.

    Every layer and direction has `weight_ih_l{k}`, `weight_hh_l{k}` and, with `bias`,
    `bias_ih_l{k}` and `bias_hh_l{k}`; those of the reverse direction end in `_reverse`; with `proj_size` there
    is `weight_hr_l{k}`. All are drawn uniformly from [-1/sqrt(hidden_size), 1/sqrt(hidden_size)).
    """

    __constants__ = (
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    )

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        _check_dropout(dropout, num_layers)
        _check_sizes(bias, batch_first, input_size, hidden_size, num_layers, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._directions]:
                shapes = self._weight_shapes(layer)
                names = [f"{kind}_l{layer}{suffix}" for kind in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, new_parameter(shape, device, dtype))
                self._all_weights.append(names)
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _weight_shapes(self, layer: int) -> dict[str, Any]:
        gates = _GATES[self.mode] * self.hidden_size
        output = self.proj_size or self.hidden_size
        size = self.input_size if layer == 0 else output * self._directions
        shapes: dict[str, Any] = {"weight_ih": (gates, size), "weight_hh": (gates, output)}
        if self.bias:
            shapes |= {"bias_ih": gates, "bias_hh": gates}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    @property
    def _flat_weights(self) -> list[Tensor]:
        """Return all weights in the order of the operators' `params`."""
        parameters = self._parameters
        return [  # a plain tensor or a property may have replaced a parameter
            parameters[name] if name in parameters else getattr(self, name)  # type: ignore[misc]
            for name in self._flat_weights_names
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_flat_weights": self._flat_weights}  # PyTorch stores them

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: state[name] for name in state if name != "_flat_weights"})

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of every layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: on the CPU weights need not be contiguous in memory."""

    def reset_parameters(self) -> None:
        """Draw new values for all weights."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # ---- checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise ValueError for another dtype than the weights', RuntimeError for other sizes."""
        expected = self._flat_weights[0].dtype
        if input.dtype != expected:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({expected}). "
                f"Convert input: input.to({expected}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.shape[-1]:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _batch(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.shape[0 if self.batch_first else 1]

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the sizes of the hidden state for this input."""
        layers = self.num_layers * self._directions
        return layers, self._batch(input, batch_sizes), self.proj_size or self.hidden_size

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise RuntimeError with `msg` for other sizes."""
        if hx.shape != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise an error for an input or a hidden state that does not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Permute the sequences of the hidden state."""
        return hx if permutation is None else hx.index_select(1, permutation)

    def _first_hidden(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        """Return the default first state: zeros."""
        sizes = self.get_expected_hidden_size(input, batch_sizes)
        return engine.zeros(sizes, dtype=input.dtype, device=input.device)

    # ---- forward

    def _options(self) -> tuple[Any, ...]:
        return self.bias, self.num_layers, self.dropout, self.training, self.bidirectional

    def forward(self, input: Any, hx: Tensor | None = None) -> Any:
        """Return (output, state): the last layer's outputs of all steps, and the last state of all layers.

        `input` is (steps, batch, input_size), with `batch_first` (batch, steps, input_size),
        without a batch (steps, input_size), or a PackedSequence; `hx` is the first state, zeros if None.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        batched = input.dim() == 3
        batch = self._batch_of(input)
        state = self._first_hidden(batch, None) if hx is None else self._with_batch(hx, batched)
        self.check_forward_args(batch, state, None)
        output, last = self._run(batch, state)
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), last.squeeze(1)
        return output, last

    def _batch_of(self, input: Tensor) -> Tensor:
        """Return the input with a batch dimension. Raises: ValueError."""
        if input.dim() not in (2, 3):
            tensor = " tensor" if self.mode.startswith("RNN") else ""
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, "
                f"got {input.dim()}D{tensor} instead"
            )
        return input if input.dim() == 3 else input.unsqueeze(0 if self.batch_first else 1)

    def _run(self, input: Tensor, hx: Tensor) -> tuple[Tensor, Tensor]:
        return _PADDED[self.mode](input, hx, self._flat_weights, *self._options(), self.batch_first)

    def _forward_packed(self, sequence: PackedSequence, hx: Any) -> Any:
        data, batch_sizes, sorted_indices, unsorted_indices = sequence
        if hx is None:
            hx = self._first_hidden(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, *last = _PACKED[self.mode](
            data, batch_sizes, hx, self._flat_weights, *self._options()
        )
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        state = last[0] if len(last) == 1 else tuple(last)
        return packed, self.permute_hidden(state, unsorted_indices)

    def _with_batch(self, hx: Any, batched: bool) -> Any:
        """Return the state with a batch dimension. Raises: RuntimeError for other ranks."""
        kind, expected = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
        if hx.dim() != expected:
            raise RuntimeError(
                f"For {kind} input, hx should also be {expected}-D but got {hx.dim()}-D tensor"
            )
        return hx if batched else hx.unsqueeze(1)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        for name, value in usual.items():
            if getattr(self, name) != value:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu, at every step.

    `dropout` applies between layers; `bidirectional` runs a second network in reverse and concatenates the
    outputs. Shape: (steps, batch, input_size) gives (steps, batch, hidden_size) and the last states
    (layers, batch, hidden_size); two directions double both.

    >>> rnn = RNN(3, 5)
    >>> output, h = rnn(engine.ones(4, 2, 3))
    >>> output.shape, h.shape
    (engine.Size([4, 2, 5]), engine.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory: gates control what enters, stays in and leaves the cell state c.

    i, f, o = sigmoid(W x + b + V h + d) and g = tanh(...), in rows i f g o of the weights;
    c = f * c + i * g; h = o * tanh(c). With `proj_size` h is W_hr h. The state is a pair (h, c).
    Arguments and shapes as of `RNN`.

    >>> lstm = LSTM(3, 5, batch_first=True)
    >>> output, (h, c) = lstm(engine.ones(2, 4, 3))
    >>> output.shape, c.shape
    (engine.Size([2, 4, 5]), engine.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """Return the sizes of the cell state for this input."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise an error for an input or a state that does not fit."""
        self.check_input(input, batch_sizes)
        expected = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for i, sizes in enumerate(expected):
            self.check_hidden_size(hidden[i], sizes, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Permute the sequences of both states."""
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)

    def _first_hidden(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        sizes = self.get_expected_cell_size(input, batch_sizes)
        cell = engine.zeros(sizes, dtype=input.dtype, device=input.device)
        return super()._first_hidden(input, batch_sizes), cell

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:  # type: ignore[override]
        """Return (output, (h, c)), as RNNBase's `forward`."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        batched = input.dim() == 3
        batch = self._batch_of(input)
        state = self._first_hidden(batch, None) if hx is None else self._with_batch(hx, batched)
        self.check_forward_args(batch, state, None)
        weights, options = self._flat_weights, self._options()
        output, h, c = ops.lstm_input(batch, list(state), weights, *options, self.batch_first)
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            h, c = h.squeeze(1), c.squeeze(1)
        return output, (h, c)

    def _with_batch(self, hx: Any, batched: bool) -> Any:
        kind, expected = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
        if hx[0].dim() != expected or hx[1].dim() != expected:
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {expected}-D "
                f"but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        return (hx[0], hx[1]) if batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))


class GRU(RNNBase):
    """Gated recurrent units: r, z = sigmoid(W x + b + V h + d), n = tanh(W x + b + r * (V h + d)),
    h = (1 - z) * n + z * h, in rows r z n of the weights. Arguments and shapes as of `RNN`.

    >>> gru = GRU(3, 5, num_layers=2, bidirectional=True)
    >>> output, h = gru(engine.ones(4, 2, 3))
    >>> output.shape, h.shape
    (engine.Size([4, 2, 10]), engine.Size([4, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


def _refuse_projection(options: dict[str, Any]) -> None:
    if "proj_size" in options:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


def _check_dropout(dropout: Any, num_layers: int) -> None:
    if (
        not isinstance(dropout, numbers.Number)
        or isinstance(dropout, bool)
        or not 0 <= dropout <= 1  # type: ignore[operator]
    ):
        raise ValueError(
            "dropout should be a number in range [0, 1] "
            "representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=4,
        )


def _check_sizes(
    bias: Any,
    batch_first: Any,
    input_size: Any,
    hidden_size: Any,
    num_layers: int,
    proj_size: int,
) -> None:
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
