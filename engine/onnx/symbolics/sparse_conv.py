"""The products of sparse convolutions, whose rulebook is constant or an input of the model."""

from __future__ import annotations

from typing import Any

from engine.creation import zeros
from engine.dtypes import float32
from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Value


@symbolic("sparse_conv::gather_gemm_scatter")
def gather_gemm_scatter(
    g: Builder,
    features: Value,
    weight: Value,
    in_rows: Value,
    out_rows: Value,
    starts: Value,
    n_out: Any,
) -> Any:
    """Writes for each kernel offset a Gather, a MatMul and a ScatterND, which adds from opset 16 on."""
    if g.opset < 16:
        raise SymbolicValueError(
            f"sparse_conv adds with ScatterND, which does so from opset 16 on; this is opset {g.opset}"
        )
    offsets, channels = (weight.shape or (None, None, None))[::2]
    if not isinstance(offsets, int) or not isinstance(channels, int):
        raise SymbolicValueError(
            f"sparse_conv needs the weight's sizes, got {weight.shape}; trace the model"
        )
    shape = g.vector([n_out, channels])
    result = g.op("ConstantOfShape", shape, value_t=zeros(1, dtype=features.dtype or float32))
    for k in range(offsets):
        bounds = [g.op("Slice", starts, [at], [at + 1]) for at in (k, k + 1)]
        gathered = g.op("Gather", features, g.op("Slice", in_rows, *bounds), axis_i=0)
        product = g.op("MatMul", gathered, g.op("Gather", weight, g.constant(k), axis_i=0))
        rows = g.op("Unsqueeze", g.op("Slice", out_rows, *bounds), [1])
        result = g.op("ScatterND", result, rows, product, reduction_s="add")
    return result
