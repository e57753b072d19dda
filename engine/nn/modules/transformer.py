"""Transformers: encoder and decoder layers, stacks of them, and both together."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import engine
from engine.nn import functional, init
from engine.nn.containers import ModuleList
from engine.nn.module import Module
from engine.nn.modules.attention import MultiheadAttention
from engine.nn.modules.dropout import Dropout
from engine.nn.modules.linear import Linear
from engine.nn.modules.normalization import LayerNorm
from engine.tensor import Tensor

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def _activation(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    function: Callable[[Tensor], Tensor] = getattr(functional, activation)
    return function


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    full = engine.full((size, size), -math.inf, dtype=dtype, device=device)
    mask: Tensor = engine.triu(full, diagonal=1)
    return mask


def _is_causal(mask: Tensor | None, is_causal: bool | None, length: int) -> bool:
    """Return True if a mask is causal: the caller's `is_causal`, or a comparison if it is None."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = _causal_mask(length, mask.device, mask.dtype)
    return mask.shape == causal.shape and bool((mask == causal).all())


def _length(x: Tensor, batch_first: bool) -> int:
    return x.shape[1 if batch_first and x.dim() == 3 else 0]


class _Layer(Module):
    """The base of encoder and decoder layers: self-attention and two linear maps.

    With `norm_first` each part's input is normalized, else its sum with the input.
    """

    __constants__ = ("norm_first",)

    self_attn: MultiheadAttention
    dropout1: Dropout

    def _add_feedforward(
        self, d_model: int, size: int, dropout: float, bias: bool, factory_kwargs: dict[str, Any]
    ) -> None:
        self.linear1 = Linear(d_model, size, bias=bias, **factory_kwargs)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(size, d_model, bias=bias, **factory_kwargs)

    def _self_attention(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, is_causal: bool
    ) -> Tensor:
        attended, _ = self.self_attn(
            x,
            x,
            x,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout1(attended)

    def _feedforward(self, x: Tensor) -> Tensor:
        result: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return result


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear maps with an activation in between, each added to its input.

    Shape: (steps, batch, d_model), with `batch_first` (batch, steps, d_model), or (steps, d_model).
    The result is the same with and without gradients: there is no separate fast path.

    >>> layer = TransformerEncoderLayer(8, 2, dim_feedforward=16)
    >>> layer(engine.ones(4, 3, 8)).shape
    engine.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **factory_kwargs
        )
        self._add_feedforward(d_model, dim_feedforward, dropout, bias, factory_kwargs)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)
        names = {functional.relu: 1, functional.gelu: 2}  # PyTorch's modules read the number
        self.activation_relu_or_gelu = names.get(self.activation, 0)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        x = src
        masks = src_mask, src_key_padding_mask, is_causal
        if self.norm_first:
            x = x + self._self_attention(self.norm1(x), *masks)
            return x + self.dropout2(self._feedforward(self.norm2(x)))
        x = self.norm1(x + self._self_attention(x, *masks))
        result: Tensor = self.norm2(x + self.dropout2(self._feedforward(x)))
        return result


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to `memory`, then two linear maps, each added to its input.

    Shapes as of `TransformerEncoderLayer`.

    >>> layer = TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> layer(engine.ones(4, 3, 8), engine.ones(5, 3, 8)).shape
    engine.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        for name in ("self_attn", "multihead_attn"):
            attention = MultiheadAttention(
                d_model,
                nhead,
                dropout=dropout,
                bias=bias,
                batch_first=batch_first,
                **factory_kwargs,
            )
            setattr(self, name, attention)
        self._add_feedforward(d_model, dim_feedforward, dropout, bias, factory_kwargs)
        self.norm_first = norm_first
        for name in ("norm1", "norm2", "norm3"):
            setattr(self, name, LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory_kwargs))
        for name in ("dropout1", "dropout2", "dropout3"):
            setattr(self, name, Dropout(dropout))
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        own = tgt_mask, tgt_key_padding_mask, tgt_is_causal
        cross = memory, memory_mask, memory_key_padding_mask, memory_is_causal
        if self.norm_first:
            x = x + self._self_attention(self.norm1(x), *own)
            x = x + self._memory_attention(self.norm2(x), *cross)
            return x + self.dropout3(self._feedforward(self.norm3(x)))
        x = self.norm1(x + self._self_attention(x, *own))
        x = self.norm2(x + self._memory_attention(x, *cross))
        result: Tensor = self.norm3(x + self.dropout3(self._feedforward(x)))
        return result

    def _memory_attention(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        is_causal: bool,
    ) -> Tensor:
        attended, _ = self.multihead_attn(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            need_weights=False,
            is_causal=is_causal,
        )
        return self.dropout2(attended)


class _Stack(Module):
    """A stack of copies of a layer, and a normalization at the end."""

    __constants__ = ("norm",)

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def _length(self, x: Tensor) -> int:
        return _length(x, self.layers[0].self_attn.batch_first)


class TransformerEncoder(_Stack):
    """`num_layers` copies of an encoder layer, and a normalization at the end.

    `enable_nested_tensor` and `mask_check` exist for compatibility with PyTorch and have no effect: the engine
    has no nested tensors.

    >>> encoder = TransformerEncoder(TransformerEncoderLayer(8, 2, dim_feedforward=16), 2)
    >>> encoder(engine.ones(4, 3, 8)).shape
    engine.Size([4, 3, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Encode. `is_causal`: `mask` is the causal one; None: compare it."""
        causal = _is_causal(mask, is_causal, self._length(src))
        x = src
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(_Stack):
    """`num_layers` copies of a decoder layer, and a normalization at the end."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Decode. `tgt_is_causal`: `tgt_mask` is the causal one; None: compare it."""
        causal = _is_causal(tgt_mask, tgt_is_causal, self._length(tgt))
        x = tgt
        for layer in self.layers:
            x = layer(
                x,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return x if self.norm is None else self.norm(x)


class Transformer(Module):
    """An encoder of `src`, and a decoder of `tgt` that attends to the encoder's output.

    >>> transformer = Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> transformer(engine.ones(5, 3, 8), engine.ones(4, 3, 8)).shape
    engine.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer: tuple[Any, ...] = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
        )
        layer += (batch_first, norm_first, bias, device, dtype)
        last = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is None:
            norm = LayerNorm(d_model, **last)
            encoder_layer = TransformerEncoderLayer(*layer)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            norm = LayerNorm(d_model, **last)
            decoder_layer = TransformerDecoderLayer(*layer)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        result: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return result

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """Return the causal mask (sz, sz): minus infinity above the diagonal, 0 elsewhere.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
