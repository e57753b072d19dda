"""Tensor predicates, answered by a line of other operators or without any."""

from __future__ import annotations

from engine._generated import ops
from engine._native import lib
from engine.arguments import check_tensor
from engine.dtypes import DTYPES, dtype
from engine.overloads import Number, function
from engine.tensor import Tensor


@function
def is_tensor(obj: object) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, Tensor)


@function
def numel(input: Tensor) -> int:
    """The number of elements."""
    check_tensor("numel", "input", input)
    return input.numel()


@function
def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating one."""
    check_tensor("is_floating_point", "input", input)
    return input.is_floating_point()


@function
def result_type(tensor1: Tensor | Number, tensor2: Tensor | Number) -> dtype:
    """The dtype that an operator of these two computes in."""
    from engine.creation import tensor

    if not isinstance(tensor1, Tensor) and not isinstance(tensor2, Tensor):
        return tensor([tensor1, tensor2]).dtype
    if isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor):
        return DTYPES[lib.uh_result_type(tensor1._h, tensor2._h)]
    one, number = (tensor1, tensor2) if isinstance(tensor1, Tensor) else (tensor2, tensor1)
    assert isinstance(one, Tensor)
    return ops.mul(ops.empty((0,), dtype=one.dtype, device="meta"), number).dtype
