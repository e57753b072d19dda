"""Tensor predicates: `is_tensor`, `numel`, `is_floating_point`, `result_type`."""

from __future__ import annotations

from engine._generated import ops
from engine._native import lib
from engine.arguments import check_tensor
from engine.dtypes import DTYPES, dtype
from engine.overloads import Number, function
from engine.tensor import Tensor


@function
def is_tensor(obj: object) -> bool:
    """Return True if `obj` is a tensor."""
    return isinstance(obj, Tensor)


@function
def numel(input: Tensor) -> int:
    """Return the number of elements."""
    check_tensor("numel", "input", input)
    return input.numel()


@function
def is_floating_point(input: Tensor) -> bool:
    """Return True if the dtype is a floating-point type."""
    check_tensor("is_floating_point", "input", input)
    return input.is_floating_point()


@function
def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> dtype:
    """Return the dtype in which an operator of these two computes."""
    from engine.creation import tensor

    if not isinstance(tensor1, Tensor) and not isinstance(tensor2, Tensor):
        return tensor([tensor1, tensor2]).dtype
    if isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor):
        return DTYPES[lib.uh_result_type(tensor1._h, tensor2._h)]
    operand, number = (tensor1, tensor2) if isinstance(tensor1, Tensor) else (tensor2, tensor1)
    assert isinstance(operand, Tensor)
    return ops.mul(ops.empty((0,), dtype=operand.dtype, device="meta"), number).dtype
