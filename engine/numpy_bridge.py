"""Memory shared with NumPy: from_numpy, numpy(), __array__, the buffer protocol.

Either side keeps the memory alive. A tensor created from an array holds a reference to the array; an
array created from a tensor holds the tensor's Storage, not the tensor itself.
NumPy is imported when one of these functions is first called.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.dtypes import BY_TYPESTR, DTYPES, as_dtype, dtype, strided

if TYPE_CHECKING:
    import numpy as np

    from engine.tensor import Tensor


def dtype_of_array(array: np.ndarray[Any, Any], function: str) -> dtype:
    """Return the engine's dtype for an array. Raises: TypeError or ValueError if there is none."""
    kind = BY_TYPESTR.get(array.dtype.str)
    if kind is not None:
        return kind
    if BY_TYPESTR.get(array.dtype.newbyteorder("=").str) is not None:
        raise ValueError(
            f"{function}: the array's byte order ({array.dtype.str!r}) is not this machine's; "
            "convert it first: array.astype(array.dtype.newbyteorder('='))"
        )
    names = ", ".join(d.name for d in BY_TYPESTR.values())
    raise TypeError(
        f"{function}: can't convert np.ndarray of type {array.dtype}; "
        f"the supported types are: {names}"
    )


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor over the memory of a NumPy array.

    Shape: the array's. Dtype: the array's.
    Memory: shared; `array += 1` changes the tensor, `x.add_(1)` the array. The array lives as
    long as the tensor's Storage. A read-only array causes a UserWarning: writing to the tensor would
    change memory that NumPy promises not to change.
    Raises: TypeError for anything but an ndarray and for dtypes the engine does not have, ValueError
    for negative strides, foreign byte order, or strides that are not whole elements.

    >>> import engine, numpy
    >>> a = numpy.ones(2); x = engine.from_numpy(a); a += 1.0; x
    tensor([2., 2.], dtype=engine.float64)
    """
    return share(array, "from_numpy")


def share(array: Any, function: str) -> Tensor:
    """Do what `from_numpy` does, with the name of another function in error messages."""
    import numpy as np

    from engine.tensor import wrap

    if not isinstance(array, np.ndarray):
        got = type(array)
        name = got.__name__ if got.__module__ == "builtins" else f"{got.__module__}.{got.__name__}"
        raise TypeError(f"{function}: expected np.ndarray (got {name})")
    kind = dtype_of_array(array, function)
    strides = element_strides(array, kind.itemsize, function)
    if not array.flags.writeable:
        warnings.warn(
            f"{function}: the NumPy array is not writable, and tensors do not know read-only memory: "
            "writing to this tensor would change it all the same; array.copy() avoids that",
            UserWarning,
            stacklevel=3,
        )
    sizes = array.shape
    last = sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))
    nbytes = 0 if array.size == 0 else (last + 1) * kind.itemsize
    address = array.__array_interface__["data"][0]
    reference = lib.uh_object_retain(id(array))  # owned by the Storage from here on
    handle = lib.uh_from_foreign(
        ffi.cast("void *", address),
        nbytes,
        sizes,
        strides,
        len(sizes),
        kind.code,
        ffi.addressof(lib, "uh_object_release"),
        reference,
    )
    if not handle:
        raise_last()
    return wrap(handle)


def element_strides(array: np.ndarray[Any, Any], itemsize: int, function: str) -> list[int]:
    """Return the array's strides in elements. Raises: ValueError if tensors cannot have them."""
    strides = []
    for size, step in zip(array.shape, array.strides, strict=True):
        if size < 2 or array.size == 0:
            step = step if step >= 0 and step % itemsize == 0 else itemsize  # never stepped over
        if step < 0:
            raise ValueError(
                f"{function}: at least one stride in the given numpy array is negative "
                f"({array.strides}), and tensors with negative strides are not supported; "
                "make a copy with array.copy()"
            )
        if step % itemsize:
            raise ValueError(
                f"{function}: given numpy array strides {array.strides} not a multiple of the "
                f"element byte size {itemsize}; make a copy with array.copy()"
            )
        strides.append(step // itemsize)
    return strides


_functions: list[Any] = []
_typestrs = tuple(kind.typestr for kind in DTYPES)
if lib.uh_array_functions(id(_typestrs), id(_functions)):
    raise MemoryError("no memory for the type _ArrayMemory")
shared_array, _ArrayMemory = _functions


def to_numpy(tensor: Tensor) -> np.ndarray[Any, Any]:
    """Return the array of `Tensor.numpy()`, over the tensor's memory."""
    array = shared_array(tensor)
    if array is not None:
        return array
    kind = tensor.dtype
    if not tensor.is_cpu or tensor.layout is not strided or not kind.typestr:
        raise TypeError(_why_not(tensor))
    memory = _ArrayMemory(tensor) or raise_last()
    if tensor.numel() == 0:  # no memory to share, but the Storage can no longer be resized
        from numpy import empty

        return empty(tuple(tensor.shape), kind.typestr)
    return memory.array()


def _why_not(tensor: Tensor) -> str:
    if tensor.is_meta:
        return "numpy: can't convert a meta tensor to numpy: it has no data"
    if tensor.layout is not strided:
        layout = "SparseCsr" if tensor.is_sparse_csr else "Sparse"
        return f"can't convert {layout} layout tensor to numpy. Use Tensor.to_dense() first."
    if not tensor.is_cpu:
        return (
            f"can't convert {tensor.device} device type tensor to numpy. Use Tensor.cpu() to "
            "copy the tensor to host memory first."
        )
    return f"numpy: NumPy has no dtype for {tensor.dtype}; use x.float().numpy()"


def to_array(tensor: Tensor, dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """Return the array of `Tensor.__array__`, by NumPy 2's rules for `dtype` and `copy`."""
    array = tensor.numpy()
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__: {array.dtype} to {dtype} needs a copy, got copy=False")
        return array.astype(dtype)
    return array.copy() if copy else array


def numpy_dtype(kind: dtype) -> Any:
    """Convert an engine dtype to NumPy's."""
    import numpy as np

    engine_dtype = as_dtype(kind, "numpy_dtype")
    if not engine_dtype.typestr:
        raise TypeError(f"numpy_dtype: NumPy has no dtype for {engine_dtype}")
    return np.dtype(engine_dtype.typestr)
