"""dim_order: the dimensions of a tensor in the order of memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from engine.dtypes import channels_last, memory_format

if TYPE_CHECKING:
    from engine.tensor import Tensor


def dim_order(tensor: Tensor, ambiguity_check: bool | list[memory_format]) -> tuple[int, ...]:
    """Return the dimensions, the slowest first.

    Raises: RuntimeError if `ambiguity_check` is not False, the order is ambiguous, and not exactly one of the given
    memory formats describes the tensor.
    """
    formats = ambiguity_check if isinstance(ambiguity_check, list) else []
    if not isinstance(ambiguity_check, (bool, list)) or not all(
        isinstance(format_, memory_format) for format_ in formats
    ):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    if tensor.is_sparse:
        raise AttributeError(
            f"Can't get dim order on sparse type: {tensor.type()} "
            "Use Tensor.to_dense() to convert to a dense tensor first."
        )
    is_ambiguous = ambiguity_check is not False and _has_several_orders(tensor)
    if is_ambiguous and sum(tensor.is_contiguous(memory_format=each) for each in formats) != 1:
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return _in_order_of_memory(tensor)


def _has_several_orders(tensor: Tensor) -> bool:
    """Return True if dimensions of size 1, or with the same stride, may change places."""
    return 1 in tensor.shape or any(a == b for a, b in pairwise(tensor.stride()))


def _in_order_of_memory(tensor: Tensor) -> tuple[int, ...]:
    """Sort by strides, the larger sizes first where they are equal; dimensions of stride 0 stay where they are."""
    is_row_major = tensor.is_contiguous()
    is_channels_last = tensor.dim() == 4 and tensor.is_contiguous(memory_format=channels_last)
    if is_row_major and not is_channels_last:
        return tuple(range(tensor.dim()))
    if is_channels_last and not is_row_major:
        return (0, 2, 3, 1)
    sizes, strides = tensor.shape, tensor.stride()

    def is_slower(a: int, b: int) -> bool | None:
        """Return None where the strides do not say."""
        if strides[a] and strides[b] and strides[a] != strides[b]:
            return bool(strides[a] > strides[b])
        return True if sizes[a] > sizes[b] and strides[a] and strides[b] else None

    fastest_first = list(reversed(range(tensor.dim())))
    for end in range(1, len(fastest_first)):
        at = end
        for before in reversed(range(end)):
            order = is_slower(fastest_first[before], fastest_first[at])
            if order:
                fastest_first[before], fastest_first[at] = fastest_first[at], fastest_first[before]
                at = before
            elif order is False:
                break
    return tuple(reversed(fastest_first))
