"""Multi-head attention, as `nn.MultiheadAttention` computes it."""

from __future__ import annotations

import math
import warnings

from engine._generated import ops
from engine.dtypes import bool_
from engine.tensor import Tensor


def _expect(ok: bool, message: str) -> None:
    if not ok:
        raise AssertionError(f"multi_head_attention_forward: {message}")


def _added(mask: Tensor, like: Tensor, name: str) -> Tensor:
    """Convert a mask to numbers that are added to scores: minus infinity where a bool mask is True."""
    if mask.dtype is not bool_:
        _expect(mask.is_floating_point(), f"only bool and floating types of {name} are supported")
        return mask
    nothing = ops.zeros(mask.shape, dtype=like.dtype, device=like.device)
    return ops.masked_fill_Scalar(nothing, mask, -math.inf)


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None
) -> None:
    rank = query.dim()
    _expect(rank in (2, 3), f"query should be unbatched 2D or batched 3D, but is {rank}-D")
    _expect(
        key.dim() == value.dim() == rank,
        f"expected key and value to be {rank}-D as query is, got {key.dim()}-D and {value.dim()}-D",
    )
    if padding is not None:
        _expect(
            padding.dim() == rank - 1,
            f"expected key_padding_mask to be None or {rank - 1}-D, got {padding.dim()}-D",
        )
    if mask is not None:
        _expect(mask.dim() in (2, 3), f"expected attn_mask 2-D or 3-D, got {mask.dim()}-D")


def _projected(
    inputs: tuple[Tensor, Tensor, Tensor],
    packed: Tensor | None,
    separate: tuple[Tensor | None, Tensor | None, Tensor | None] | None,
    bias: Tensor | None,
) -> list[Tensor]:
    """Multiply query, key and value by their weights: one matrix in three parts, or three matrices."""
    width = inputs[0].size(-1)
    biases = bias.chunk(3) if bias is not None else (None, None, None)
    if separate is None:
        _expect(packed is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        assert packed is not None
        if inputs[0] is inputs[1] is inputs[2]:  # one product instead of three
            return list(ops.linear(inputs[0], packed, bias).chunk(3, -1))
        weights: tuple[Tensor | None, ...] = packed.chunk(3)
    else:
        weights = separate
        for name, weight, x in zip("qkv", weights, inputs, strict=True):
            _expect(
                weight is not None,
                f"use_separate_proj_weight is True but {name}_proj_weight is None",
            )
            assert weight is not None
            expected = (width, x.size(-1))
            _expect(
                tuple(weight.shape) == expected,
                f"expecting {name}_proj_weight of {expected}, got {tuple(weight.shape)}",
            )
    return [ops.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]


def _wider(mask: Tensor | None) -> Tensor | None:
    """Extend the mask by one key, which is visible to every query."""
    if mask is None:
        return None
    more = ops.zeros([*mask.shape[:-1], 1], dtype=mask.dtype, device=mask.device)
    return ops.cat([mask, more], -1)


def _mask_of_heads(mask: Tensor, batch: int, heads: int, queries: int, keys: int) -> Tensor:
    per_head = mask.dim() == 3
    expected = [batch * heads, queries, keys] if per_head else [queries, keys]
    if list(mask.shape) != expected:
        raise RuntimeError(
            f"multi_head_attention_forward: the shape of the {mask.dim()}D attn_mask is "
            f"{tuple(mask.shape)}, but should be {tuple(expected)}."
        )
    return mask.reshape(-1 if per_head else 1, heads if per_head else 1, queries, keys)


def _heads(x: Tensor, sizes: tuple[int, int, int]) -> Tensor:
    """Reshape (length, batch, width) to (batch, heads, length, part)."""
    batch, heads, part = sizes
    return x.reshape(x.size(0), batch, heads, part).permute(1, 2, 0, 3)


def _static(states: Tensor, sizes: tuple[int, int, int], name: str) -> Tensor:
    batch, heads, part = sizes
    _expect(
        states.size(0) == batch * heads and states.size(2) == part,
        f"expecting {name} of ({batch * heads}, S, {part}), got {tuple(states.shape)}",
    )
    return states.reshape(batch, heads, states.size(1), part)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Project query, key and value, apply `scaled_dot_product_attention` per head, and project the result.

    Formula: head_i = attention(q_i, k_i, v_i) of the i-th part of the projected query, key and value;
    out = concat(head_1, ...) @ out_proj_weight.T + out_proj_bias
    Shape: query (L, N, E) or (L, E), key and value (S, N, E) or (S, E) give (L, N, E) or (L, E); the
    weights (N, L, S), or (N, heads, L, S) unless `average_attn_weights`; None unless `need_weights`.
    Dtype: floating. `attn_mask` and `key_padding_mask`: bool (True hides), or added to the scores.
    Memory: new tensors; without `need_weights` the scores are computed in blocks.
    Raises: AssertionError and RuntimeError for shapes that do not match.

    >>> import engine
    >>> x, w = engine.ones(3, 1, 2), engine.eye(2)
    >>> out, weights = engine.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, engine.cat([w, w, w]), None, None, None, False, 0.0, w, None)
    >>> out.shape, weights.shape
    (engine.Size([3, 1, 2]), engine.Size([1, 3, 3]))
    """
    _check_ranks(query, key, value, key_padding_mask, attn_mask)
    batched = query.dim() == 3
    if not batched:
        same = (key is query, value is key)
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    queries, batch, width = query.shape
    keys = key.size(0)
    if key_padding_mask is not None:
        if attn_mask is not None and attn_mask.dtype is not key_padding_mask.dtype:
            warnings.warn(
                "Support for mismatched key_padding_mask and attn_mask is deprecated. "
                "Use same type for both instead.",
                stacklevel=2,
            )
        key_padding_mask = _added(key_padding_mask, query, "key_padding_mask")
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "multi_head_attention_forward: need attn_mask if specifying the is_causal hint"
        )
    hinted = is_causal and key_padding_mask is None and not need_weights
    mask = None if hinted or attn_mask is None else _added(attn_mask, query, "attn_mask")
    _expect(
        width == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}",
    )
    part = width // num_heads
    _expect(part * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}")
    alike = (
        key.shape[:2] == value.shape[:2] if use_separate_proj_weight else key.shape == value.shape
    )
    _expect(alike, f"key shape {tuple(key.shape)} does not match value shape {tuple(value.shape)}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected((query, key, value), in_proj_weight, separate, in_proj_bias)
    if mask is not None:
        mask = _mask_of_heads(mask, batch, num_heads, queries, keys)
    _expect((bias_k is None) == (bias_v is None), "bias_k and bias_v go together")
    if bias_k is not None and bias_v is not None:
        _expect(
            static_k is None and static_v is None, "bias cannot be added to static key or value"
        )
        k = ops.cat([k, ops.expand(bias_k, 1, batch, width)])
        v = ops.cat([v, ops.expand(bias_v, 1, batch, width)])
        mask, key_padding_mask = _wider(mask), _wider(key_padding_mask)

    sizes = (batch, num_heads, part)
    q = _heads(q, sizes)
    k = _heads(k, sizes) if static_k is None else _static(static_k, sizes, "static_k")
    v = _heads(v, sizes) if static_v is None else _static(static_v, sizes, "static_v")
    if add_zero_attn:
        zero = ops.zeros((batch, num_heads, 1, part), dtype=k.dtype, device=k.device)
        k, v = ops.cat([k, zero], 2), ops.cat([v, zero], 2)
        mask, key_padding_mask = _wider(mask), _wider(key_padding_mask)
    if key_padding_mask is not None:
        expected = (batch, k.size(2))
        _expect(
            tuple(key_padding_mask.shape) == expected,
            f"expected key_padding_mask of {expected}, got {tuple(key_padding_mask.shape)}",
        )
        padding = key_padding_mask.reshape(batch, 1, 1, k.size(2))
        mask = padding if mask is None else ops.add(mask, padding)
    p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scores = ops.matmul(ops.mul(q, 1 / math.sqrt(part)), k.transpose(-2, -1))
        weights = ops.softmax(scores if mask is None else ops.add(scores, mask), -1)
        weights = ops.dropout(weights, p, True) if p > 0 else weights
        attended = ops.matmul(weights, v)
    else:
        attended = ops.scaled_dot_product_attention(q, k, v, mask, p, hinted)
    joined = attended.permute(2, 0, 1, 3).reshape(queries * batch, width)
    out = ops.linear(joined, out_proj_weight, out_proj_bias).view(queries, batch, -1)
    if weights is not None and average_attn_weights:
        weights = ops.mean(weights, 1)
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)
