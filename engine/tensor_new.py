"""Tensors from nested Python data: sizes, dtype, then the elements in row-major order.

Three passes, as in PyTorch's internal_new_from_data: the sizes are those of the first element of the
first element...; all other rows must agree with them; the dtype is the one that every element's
type is promoted to.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.dtypes import (
    bool_,
    complex128,
    dtype,
    float64,
    get_default_dtype,
    iinfo,
    int64,
    promote_types,
)
from engine.marshal import packed
from engine.tensor import Tensor, wrap

_MAX_DIMS = 64
_NUMBERS = {float, int, bool}


def is_array(data: object) -> bool:
    """Return True if `data` is a NumPy array or scalar; never imports NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(data, (numpy.ndarray, numpy.generic))


def is_sequence(data: object) -> bool:
    """Return True if `data` counts as a dimension: it has a length and items by position."""
    if isinstance(data, (list, tuple)):
        return True
    if isinstance(data, (str, bytes, dict)):
        return False
    if not hasattr(data, "__len__") or not hasattr(data, "__getitem__"):
        return False
    return getattr(data, "ndim", 1) > 0  # a 0-d tensor or array is one element


def from_array(array: Any, dtype: dtype | None, function: str) -> Tensor:
    """Copy a NumPy array or scalar into a tensor."""
    import numpy as np

    from engine.numpy_bridge import dtype_of_array, element_strides

    array = np.asarray(array)
    kind = dtype_of_array(array, function)
    element_strides(array, kind.itemsize, function)  # raises the errors of from_numpy
    array = np.ascontiguousarray(array).reshape(array.shape)
    target = kind if dtype is None else dtype
    address = ffi.cast("void *", array.__array_interface__["data"][0])
    handle = lib.uh_from_data(address, kind.code, array.shape, array.ndim, target.code)
    if not handle:
        raise_last()
    return wrap(handle)


def from_bytes(data: bytes, kind: dtype, sizes: Sequence[int]) -> Tensor:
    """Create a row-major tensor from the bytes of its elements."""
    needed = math.prod(sizes) * kind.itemsize
    if len(data) != needed:
        raise ValueError(
            f"from_bytes: {kind} of sizes {tuple(sizes)} is {needed} bytes, got {len(data)}"
        )
    handle = lib.uh_from_data(ffi.from_buffer(data), kind.code, tuple(sizes), len(sizes), kind.code)
    if not handle:
        raise_last()
    return wrap(handle)


def from_nested(data: Any, dtype: dtype | None, function: str) -> Tensor:
    """Create a tensor of the numbers in nested sequences; a number alone gives 0 dimensions."""
    types = set(map(type, data)) if data.__class__ is list else set()
    if types and types <= _NUMBERS:
        sizes, flat = [len(data)], data  # the usual case, which this makes three times as fast
    else:
        sizes, flat = _sizes(data, function), []
        _flatten(data, 0, sizes, flat, function)
        types = set(map(type, flat))
    try:
        kind = infer_dtype(flat, types, function)
    except RuntimeError as error:
        if dtype is None:
            raise
        raise TypeError(f"{function}: elements must be numbers: {error}") from None
    kind = kind if dtype is None else dtype
    source, buffer = _buffer(flat, types, kind, function)
    handle = lib.uh_from_data(buffer, source.code, sizes, len(sizes), kind.code)
    if not handle:
        raise_last()
    return wrap(handle)


def _sizes(data: Any, function: str) -> list[int]:
    sizes: list[int] = []
    while is_sequence(data):
        sizes.append(len(data))
        if len(sizes) > _MAX_DIMS:
            raise ValueError(f"{function}: more than {_MAX_DIMS} nested sequences")
        if not sizes[-1]:
            break
        data = data[0]
    if isinstance(data, str):
        if sizes:
            raise ValueError(f"{function}: too many dimensions 'str': {data!r} is not a number")
        raise TypeError(f"{function}: invalid data type 'str': {data!r}")
    return sizes


def _flatten(data: Any, dim: int, sizes: list[int], flat: list[Any], function: str) -> None:
    """Append the elements. Raises: ValueError or TypeError, which name the dimension that does not fit."""
    if dim == len(sizes):
        if is_sequence(data) and getattr(data, "size", 1) != 1:
            raise TypeError(
                f"{function}: expected a number at dim {dim}, got {type(data).__name__} "
                f"of length {len(data)}"
            )
        flat.append(data)
        return
    if not is_sequence(data):
        raise TypeError(
            f"{function}: expected a sequence of length {sizes[dim]} at dim {dim}, not a sequence: "
            f"{type(data).__name__} {data!r}"
        )
    if len(data) != sizes[dim]:
        raise ValueError(
            f"{function}: expected sequence of length {sizes[dim]} at dim {dim} (got {len(data)})"
        )
    if dim == len(sizes) - 1 and isinstance(data, (list, tuple, range)):
        if any(isinstance(item, (list, tuple)) for item in data):
            raise TypeError(f"{function}: expected numbers at dim {dim}, got a nested sequence")
        flat.extend(data)
        return
    for item in data:
        _flatten(item, dim + 1, sizes, flat, function)


def infer_dtype(flat: list[Any], types: set[type], function: str) -> dtype:
    """Return the promoted dtype of Python numbers, NumPy scalars and one-element tensors, which have these types."""
    if not flat:
        return get_default_dtype()
    promoted: dtype | None = None
    for kind in types:
        if kind is float:
            element_dtype = get_default_dtype()
        elif kind is bool:
            element_dtype = bool_
        elif kind is int:
            element_dtype = int64
        else:
            promoted = _promoted_all(kind, flat, promoted, function)
            continue
        promoted = element_dtype if promoted is None else promote_types(promoted, element_dtype)
    assert promoted is not None
    return promoted


def _promoted_all(kind: type, flat: list[Any], promoted: dtype | None, function: str) -> dtype:
    for item in flat:
        if type(item) is kind:
            element_dtype = _dtype_of(item, function)
            promoted = element_dtype if promoted is None else promote_types(promoted, element_dtype)
    assert promoted is not None
    return promoted


def _dtype_of(item: Any, function: str) -> dtype:
    if isinstance(item, Tensor):
        return item.dtype
    if is_array(item):
        from engine.numpy_bridge import dtype_of_array

        return dtype_of_array(item, function)
    if isinstance(item, complex):
        return get_default_dtype().to_complex()
    if isinstance(item, float):
        return get_default_dtype()
    if isinstance(item, int) or hasattr(item, "__index__"):
        return int64
    if hasattr(item, "__float__"):
        return get_default_dtype()
    if isinstance(item, (str, bytes)):
        raise TypeError(f"{function}: invalid data type '{type(item).__name__}': {item!r}")
    raise RuntimeError(f"{function}: could not infer dtype of {type(item).__name__}, got {item!r}")


def _buffer(flat: list[Any], types: set[type], kind: dtype, function: str) -> tuple[dtype, bytes]:
    """Return the elements as C doubles (in pairs for complex numbers) or int64s, and the dtype of that buffer."""
    if kind.is_complex:
        parts = [part for z in map(complex, flat) for part in (z.real, z.imag)]
        return complex128, packed("d", parts)
    if kind.is_floating_point:
        return float64, packed("d", flat)
    if kind is bool_:
        return int64, packed("q", [bool(item) for item in flat])
    if kind is int64 and types == {int}:
        try:
            return int64, packed("q", flat)
        except OverflowError:
            numbers = flat  # the error below says which number
    else:
        numbers = [item if type(item) is int else _truncated(item, kind, function) for item in flat]
    if numbers:
        limits = iinfo(kind)
        # As in PyTorch, -1 becomes the largest unsigned number and -255 becomes 1.
        lowest = limits.min if kind.is_signed else -limits.max
        for value in (min(numbers), max(numbers)):
            if not lowest <= value <= limits.max:
                overflow = RuntimeError if -(2**63) <= value < 2**63 else ValueError
                raise overflow(
                    f"{function}: value {value} cannot be converted to type {kind.name} without "
                    f"overflow; {kind.name} holds {limits.min} to {limits.max}"
                )
    return int64, packed("q", numbers)


def _truncated(item: Any, kind: dtype, function: str) -> int:
    """Truncate a number towards zero, as a cast does. Raises: RuntimeError if it is out of the dtype's range."""
    value = item.item() if hasattr(item, "item") else item
    if isinstance(value, float):
        limits = iinfo(kind)
        if not limits.min <= value <= limits.max:  # NaN, too
            raise RuntimeError(
                f"{function}: value {value} cannot be converted to type {kind.name} without "
                f"overflow; {kind.name} holds {limits.min} to {limits.max}"
            )
    return int(value)


# ---- tensors to nested lists
