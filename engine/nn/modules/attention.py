"""Multi-head attention and its masks."""

from __future__ import annotations

from typing import Any

from engine.nn import init
from engine.nn.functional.attention import multi_head_attention_forward
from engine.nn.module import Module
from engine.nn.modules.linear import Linear
from engine.nn.modules.utils import new_parameter
from engine.tensor import Tensor

__all__ = ["MultiheadAttention"]


class NonDynamicallyQuantizableLinear(Linear):
    """PyTorch's name for the last linear map of `MultiheadAttention`: a Linear."""


class MultiheadAttention(Module):
    """Multi-head attention: `num_heads` heads between linear maps of query, key, value and output.

    `in_proj_weight` stacks the maps of query, key and value; if `kdim` or `vdim` differ from `embed_dim`, they
    are `q_proj_weight`, `k_proj_weight` and `v_proj_weight`.
    `add_bias_kv` adds a learned key and value to each sequence, `add_zero_attn` a key and value of zeros;
    `dropout` applies to the weights.
    Raises: ValueError for sizes below 1, AssertionError if `num_heads` does not divide `embed_dim`.

    >>> import engine
    >>> attention = MultiheadAttention(8, 2, batch_first=True)
    >>> x = engine.ones(3, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (engine.Size([3, 5, 8]), engine.Size([3, 5, 5]))
    """

    __constants__ = ("batch_first", "_qkv_same_embed_dim")

    in_proj_weight: Any
    in_proj_bias: Any
    q_proj_weight: Any
    k_proj_weight: Any
    v_proj_weight: Any
    bias_k: Any
    bias_v: Any

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, "
                f"got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        separate = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = new_parameter((3 * embed_dim, embed_dim), device, dtype)
            for name in separate:
                self.register_parameter(name, None)
        else:
            for name, size in zip(separate, (embed_dim, self.kdim, self.vdim), strict=True):
                setattr(self, name, new_parameter((embed_dim, size), device, dtype))
            self.register_parameter("in_proj_weight", None)
        if bias:
            self.in_proj_bias = new_parameter(3 * embed_dim, device, dtype)
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        if add_bias_kv:
            self.bias_k = new_parameter((1, 1, embed_dim), device, dtype)
            self.bias_v = new_parameter((1, 1, embed_dim), device, dtype)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            for weight in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return (output, weights); weights are None unless `need_weights`, and per head unless averaged.

        Shape: query (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim); with `batch_first` N comes first;
        without a batch there is no N. `attn_mask` (L, S) or (N * heads, L, S) and `key_padding_mask` (N, S) are
        bool (True hides) or are added to the scores. `is_causal`: `attn_mask` is the causal mask.
        """
        transposed = self.batch_first and query.dim() == 3
        if transposed:  # transpose a tensor that is passed twice once: one product projects it
            key_is_query, value_is_key = key is query, value is key
            query = query.transpose(0, 1)
            key = query if key_is_query else key.transpose(0, 1)
            value = key if value_is_key else value.transpose(0, 1)
        output, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if transposed else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Merge both masks into (N, heads, L, L) and return it with 2; return a single one unchanged, with 1 or 0.

        `query` is (N, L, embed_dim).
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            padding = key_padding_mask.view(batch, 1, 1, length)
            merged = merged + padding.expand(-1, self.num_heads, -1, -1)
        return merged, 2
