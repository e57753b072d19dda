"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from engine import dtypes
from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value


@symbolic("scaled_dot_product_attention")
def scaled_dot_product_attention(
    g: Builder,
    query: Value,
    key: Value,
    value: Value,
    attn_mask: Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Returns softmax(q k^T / sqrt(d) + mask) v."""
    if dropout_p:
        raise SymbolicValueError("draws random numbers while it is training; export it with eval()")
    if enable_gqa:
        raise SymbolicValueError("enable_gqa has no form here; repeat the heads before the call")
    rank = g.rank_of(query)
    if scale is None:
        scale = 1.0 / math.sqrt(g.known_size(query, rank - 1, "attention"))
    order = [*range(rank - 2), rank - 1, rank - 2]
    scores = g.op("MatMul", query * float(scale), g.transpose(key, *order))
    if is_causal:
        sizes = g.vector([g.size_of(query, rank - 2), g.size_of(key, rank - 2)])
        ones = g.op("Expand", g.constant(np.ones((1, 1), dtype=np.int64)), sizes)
        g.require(14, "Trilu")
        visible = g.cast(g.op("Trilu", ones, upper_i=0), dtypes.bool_)
        scores = g.op("Where", visible, scores, g.constant(-math.inf, query.dtype))
    if attn_mask is not None:
        if attn_mask.dtype == dtypes.bool_:
            scores = g.op("Where", attn_mask, scores, g.constant(-math.inf, query.dtype))
        else:
            scores = scores + attn_mask
    return g.op("MatMul", g.op("Softmax", scores, axis_i=-1), value)
