"""Attention and transformers, as they are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

from engine._generated import ops
from engine.nn.functional import attention as functional
from engine.nn.modules import attention, transformer
from engine.tensor import Tensor

# ruff: noqa: UP045  (as annotations of the language are usually written)


def _wider(mask: Any) -> Any:
    if mask is None:
        return None
    more = ops.zeros([*mask.shape[:-1], 1], dtype=mask.dtype, device=mask.device)
    return ops.cat([mask, more], -1)


def _mask_of_heads(mask: Tensor, batch: int, heads: int, queries: int, keys: int) -> Tensor:
    wanted = [queries, keys] if mask.dim() == 2 else [batch * heads, queries, keys]
    if list(mask.shape) != wanted:
        raise RuntimeError(
            f"multi_head_attention_forward: the shape of the {mask.dim()}D attn_mask is "
            f"{mask.shape}, but should be {wanted}."
        )
    many = mask.dim() == 3
    return mask.reshape([-1 if many else 1, heads if many else 1, queries, keys])


def _attention_forward(
    self: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Optional[Tensor] = None,
    need_weights: bool = True,
    attn_mask: Optional[Tensor] = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Optional[Tensor]]:
    turned = self.batch_first and query.dim() == 3
    if turned:  # what was one tensor stays one: it is mapped by one product
        first = query
        query = query.transpose(0, 1)
        second = key
        key = query if key is first else key.transpose(0, 1)
        value = key if value is second else value.transpose(0, 1)
    output, weights = functional.multi_head_attention_forward(
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
    return (output.transpose(0, 1) if turned else output), weights


def _encoder_forward(
    self: Any,
    src: Tensor,
    mask: Optional[Tensor] = None,
    src_key_padding_mask: Optional[Tensor] = None,
    is_causal: Optional[bool] = None,
) -> Tensor:
    causal = transformer._is_causal(mask, is_causal, self._length(src))
    x = src
    for layer in self.layers:
        x = layer(x, mask, src_key_padding_mask, causal)
    return x if self.norm is None else self.norm(x)


def _decoder_forward(
    self: Any,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Optional[Tensor] = None,
    memory_mask: Optional[Tensor] = None,
    tgt_key_padding_mask: Optional[Tensor] = None,
    memory_key_padding_mask: Optional[Tensor] = None,
    tgt_is_causal: Optional[bool] = None,
    memory_is_causal: bool = False,
) -> Tensor:
    causal = transformer._is_causal(tgt_mask, tgt_is_causal, self._length(tgt))
    x = tgt
    for layer in self.layers:
        x = layer(
            x,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            causal,
            memory_is_causal,
        )
    return x if self.norm is None else self.norm(x)


SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    functional._wider: _wider,
    functional._mask_of_heads: _mask_of_heads,
    attention.MultiheadAttention.forward: _attention_forward,
    transformer.TransformerEncoder.forward: _encoder_forward,
    transformer.TransformerDecoder.forward: _decoder_forward,
}
