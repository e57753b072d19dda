"""`unique` and `unique_consecutive`: they return a tensor, or a tuple with the requested ones.

The source is scriptable: each branch returns a tuple of fixed length.
"""

from __future__ import annotations

from typing import Any

from engine._generated import ops
from engine.overloads import both
from engine.tensor import Tensor


@both
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the distinct elements in ascending order, or with `dim` the distinct slices.

    `return_inverse` adds each element's index in the result, `return_counts` the number of its
    occurrences; the result is then a tuple. Memory: new tensors. Every NaN is distinct.

    >>> import engine
    >>> engine.unique(engine.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    # Checked here, as the operator's messages would name a private function.
    if not isinstance(input, Tensor):
        raise TypeError(f"unique(): argument 'input' must be Tensor, not {type(input).__name__}")
    if not isinstance(sorted, bool):
        raise TypeError(f"unique(): argument 'sorted' must be bool, not {type(sorted).__name__}")
    if dim is None:
        values, inverse, counts = ops._unique2(input, sorted, return_inverse, return_counts)
    else:
        values, inverse, counts = ops.unique_dim(input, dim, sorted, return_inverse, return_counts)
    if return_inverse and return_counts:
        return values, inverse, counts
    if return_inverse:
        return values, inverse
    if return_counts:
        return values, counts
    return values


@both
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the elements, or with `dim` the slices, that differ from their predecessor.

    `return_inverse` adds each element's index in the result, `return_counts` the length of its run;
    the result is then a tuple. Memory: new tensors.

    >>> import engine
    >>> engine.unique_consecutive(engine.tensor([1, 1, 2, 1]), return_counts=True)
    (tensor([1, 2, 1]), tensor([2, 1, 1]))
    """
    values, inverse, counts = ops.unique_consecutive(input, return_inverse, return_counts, dim)
    if return_inverse and return_counts:
        return values, inverse, counts
    if return_inverse:
        return values, inverse
    if return_counts:
        return values, counts
    return values
