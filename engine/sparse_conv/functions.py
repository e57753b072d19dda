"""Gather, GEMM, scatter-add as autograd Functions over the library's operators, and max pooling."""

from __future__ import annotations

from typing import Any

import engine
from engine.autograd import Function
from engine.sparse_conv.library import operators
from engine.sparse_conv.rulebook import Rulebook
from engine.tensor import Tensor


class GatherGemmScatter(Function):
    """The convolution: for each offset, rows of features times the offset's matrix, added to rows of the result."""

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        weight: Tensor,
        in_rows: Tensor,
        out_rows: Tensor,
        starts: Tensor,
        n_out: int,
    ) -> Tensor:
        ctx.save_for_backward(features, weight, in_rows, out_rows, starts)
        result: Tensor = operators().gather_gemm_scatter(
            features,
            weight,
            in_rows,
            out_rows,
            starts,
            int(n_out),  # a Tensor while it is traced
        )
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        features, weight, in_rows, out_rows, starts = ctx.saved_tensors
        grad_features = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_features = GatherGemmScatter.apply(
                grad, weight.transpose(1, 2), out_rows, in_rows, starts, features.size(0)
            )
        if ctx.needs_input_grad[1]:
            grad_weight = WeightGradient.apply(features, grad, in_rows, out_rows, starts)
        return grad_features, grad_weight, None, None, None, None

    @staticmethod
    def symbolic(
        g: Any, features: Any, weight: Any, in_rows: Any, out_rows: Any, starts: Any, n_out: Any
    ) -> Any:
        """Write the convolution as ONNX nodes: Gather, MatMul and ScatterND (opset 16) for each kernel offset."""
        sizes = weight.type().sizes()
        if not sizes or sizes[0] is None or sizes[2] is None:
            raise RuntimeError(
                f"sparse_conv: exporting needs the weight's sizes, got {sizes}; export a traced model"
            )

        def constant(values: Any, dtype: Any = engine.int64) -> Any:
            return g.op("Constant", value_t=engine.tensor(values, dtype=dtype))

        rows = constant([n_out]) if type(n_out) is int else g.op("Reshape", n_out, constant([-1]))
        shape = g.op("Concat", rows, constant([sizes[2]]), axis_i=0)
        dtype = weight.type().dtype() or engine.float32
        result = g.op("ConstantOfShape", shape, value_t=engine.zeros(1, dtype=dtype))
        for k in range(sizes[0]):
            first = g.op("Slice", starts, constant([k]), constant([k + 1]))
            last = g.op("Slice", starts, constant([k + 1]), constant([k + 2]))
            gathered = g.op("Gather", features, g.op("Slice", in_rows, first, last), axis_i=0)
            product = g.op("MatMul", gathered, g.op("Gather", weight, constant(k), axis_i=0))
            to = g.op("Unsqueeze", g.op("Slice", out_rows, first, last), constant([1]))
            result = g.op("ScatterND", result, to, product, reduction_s="add")
        return result


class WeightGradient(Function):
    """For each offset, the sum of outer products of features and arriving gradients over its pairs."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, grad: Tensor, in_rows: Tensor, out_rows: Tensor, starts: Tensor
    ) -> Tensor:
        ctx.save_for_backward(features, grad, in_rows, out_rows, starts)
        result: Tensor = operators().weight_gradient(features, grad, in_rows, out_rows, starts)
        return result

    @staticmethod
    def backward(ctx: Any, grad_weight: Tensor) -> tuple[Any, ...]:
        features, grad, in_rows, out_rows, starts = ctx.saved_tensors
        grad_features = grad_grad = None
        if ctx.needs_input_grad[0]:
            grad_features = GatherGemmScatter.apply(
                grad, grad_weight.transpose(1, 2), out_rows, in_rows, starts, features.size(0)
            )
        if ctx.needs_input_grad[1]:
            grad_grad = GatherGemmScatter.apply(
                features, grad_weight, in_rows, out_rows, starts, grad.size(0)
            )
        return grad_features, grad_grad, None, None, None


def gather_gemm_scatter(features: Tensor, weight: Tensor, rulebook: Rulebook) -> Tensor:
    """Return the convolution of the features of active sites with a weight of shape (offsets, in, out).

    The features of output site o are the sum of `features[i] @ weight[k]` over its pairs (i, o) of each offset k.
    """
    result: Tensor = GatherGemmScatter.apply(
        features,
        weight,
        rulebook.in_rows,
        rulebook.out_rows,
        rulebook.starts,
        rulebook.out_indices.size(0),
    )
    return result


def max_pool(features: Tensor, rulebook: Rulebook) -> Tensor:
    """Return for each output site and channel the largest feature among the input sites that feed it.

    Cells without a site take no part. Of equal features the gradient goes to that of the first kernel offset.
    """
    rows = operators().max_pool_rows(
        features.detach(),
        rulebook.in_rows,
        rulebook.out_rows,
        rulebook.starts,
        rulebook.out_indices.size(0),
    )
    return features.gather(0, rows)
