"""Products of matrices."""

from __future__ import annotations

from typing import Any

from engine.onnx.builder import Builder
from engine.onnx.registry import symbolic
from engine.onnx.values import Value


@symbolic("linear")
def linear(g: Builder, input: Value, weight: Value, bias: Value | None = None) -> Any:
    """Returns x W^T + b: for matrices a Gemm with the weight unchanged, else a product and a sum."""
    if input.rank == 2 and weight.rank == 2:
        return g.op("Gemm", input, weight, bias, transB_i=1)
    columns = g.transpose(weight, 1, 0) if weight.rank == 2 else weight
    product = g.op("MatMul", input, columns)
    return product if bias is None else product + bias


@symbolic("matmul", "mm", "bmm", "mv", "dot")
def matmul(
    g: Builder,
    self: Value,
    other: Any = None,
    mat2: Any = None,
    vec: Any = None,
    tensor: Any = None,
) -> Any:
    """Returns the product of matrices, batches or vectors."""
    right = next(x for x in (other, mat2, vec, tensor) if x is not None)
    return g.op("MatMul", self, right)


@symbolic("addmm")
def addmm(g: Builder, self: Value, mat1: Value, mat2: Value, beta: Any = 1, alpha: Any = 1) -> Any:
    """Returns a product of matrices and a sum."""
    return g.op("Gemm", mat1, mat2, self, beta_f=beta, alpha_f=alpha)


@symbolic("baddbmm")
def baddbmm(
    g: Builder, self: Value, batch1: Value, batch2: Value, beta: Any = 1, alpha: Any = 1
) -> Any:
    """Returns a product of batches and a sum."""
    product = g.op("MatMul", batch1, batch2)
    product = product if alpha == 1 else product * alpha
    return product + (self if beta == 1 else self * beta)


@symbolic("bilinear")
def bilinear(
    g: Builder, input1: Value, input2: Value, weight: Value, bias: Value | None = None
) -> Any:
    """Returns x1^T W x2 of each output."""
    result = g.op("Einsum", input1, weight, input2, equation_s="...i,oij,...j->...o")
    return result if bias is None else result + bias


@symbolic("einsum")
def einsum(g: Builder, equation: str, tensors: list[Value], path: Any = None) -> Any:
    """Returns a sum of products by letters."""
    return g.op("Einsum", *tensors, equation_s=equation.replace(" ", ""))


@symbolic("outer", "ger")
def outer(g: Builder, self: Value, vec2: Value) -> Any:
    """Returns all products of two vectors."""
    return g.unsqueeze(self, 1) * g.unsqueeze(vec2, 0)
