"""DLPack: memory shared without a copy with any array library that implements the protocol.

A producer's `__dlpack__` returns a capsule with {pointer, sizes, strides, dtype, deleter}. Its consumer calls
the deleter when done; the destructor of a capsule that was never consumed calls it.
"""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING, Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)

if TYPE_CHECKING:
    from engine.tensor import Tensor

_CPU = 1
_FAILED_TO_HOLD = -2  # of uh_dlpack_export: the engine's error has the reason
# (type code, bits) of the DLPack ABI.
_TYPES: dict[tuple[int, int], dtype] = {
    (0, 8): int8,
    (0, 16): int16,
    (0, 32): int32,
    (0, 64): int64,
    (1, 8): uint8,
    (2, 16): float16,
    (2, 32): float32,
    (2, 64): float64,
    (4, 16): bfloat16,
    (5, 64): complex64,
    (5, 128): complex128,
    (6, 8): bool_,
}
_CODES = {d: pair for pair, d in _TYPES.items()}
_holders = itertools.count(1)


def to_capsule(
    tensor: Tensor, stream: Any, max_version: Any, dl_device: Any, copy: bool | None
) -> Any:
    """Return the capsule of `Tensor.__dlpack__`."""
    if stream is not None:
        raise RuntimeError(f"__dlpack__: cpu tensors have no streams, got stream={stream!r}")
    if tensor.is_meta:
        raise BufferError("__dlpack__: a meta tensor has no memory to share")
    if lib.uh_layout_kind(tensor._h):
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if not tensor.is_cpu:
        raise BufferError(
            f"__dlpack__: the memory is on {tensor.device}; copy the tensor to the cpu"
        )
    if dl_device is not None and tuple(dl_device) != (_CPU, 0):
        raise BufferError(f"__dlpack__: the memory is on device (1, 0), not {tuple(dl_device)}")
    shared = tensor.clone() if copy else tensor
    code, bits = _CODES[tensor.dtype]
    capsule: list[Any] = []
    versioned = max_version is not None and tuple(max_version) >= (1, 0)
    failed = lib.uh_dlpack_export(shared._h, next(_holders), code, bits, versioned, id(capsule))
    if failed == _FAILED_TO_HOLD:
        raise_last()
    if failed:
        raise MemoryError("__dlpack__: no memory for the capsule")
    return capsule[0]


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of an array of any library that has `__dlpack__`.

    Memory: shared; a write on either side is visible on the other, and each side keeps the memory alive.
    `copy=True` copies it. A capsule is accepted as well, once.
    Raises: TypeError for an object without `__dlpack__`, BufferError for memory that cannot be
    shared (another device, a dtype the engine does not have).

    >>> import engine, numpy
    >>> a = numpy.zeros(2); x = engine.from_dlpack(a); a[0] = 7; x
    tensor([7., 0.], dtype=engine.float64)
    """
    if device is not None and str(device) != "cpu":
        raise ValueError(f"from_dlpack: can only share memory on the cpu, got device={device!r}")
    if type(ext_tensor).__name__ == "PyCapsule":
        capsule = ext_tensor
    elif hasattr(ext_tensor, "__dlpack__"):
        try:
            capsule = ext_tensor.__dlpack__(max_version=(1, 0))
        except TypeError:  # a producer from before version 1 of the protocol
            capsule = ext_tensor.__dlpack__()
    else:
        kind = type(ext_tensor).__name__
        raise TypeError(f"from_dlpack: expected an array with __dlpack__ or a capsule, got {kind}")
    shared = _from_capsule(capsule)
    return shared.clone() if copy else shared


def _from_capsule(capsule: Any) -> Tensor:
    from engine.tensor import wrap

    view = ffi.new("uh_dlpack_view *")
    if lib.uh_dlpack_import(id(capsule), view) != 0:
        raise RuntimeError("from_dlpack: not a DLPack capsule, or one that was taken already")
    try:
        kind, sizes, strides = _checked(view)
    except BaseException:
        view.release(view.managed)
        raise
    if view.read_only:
        warnings.warn(
            "from_dlpack: the memory is read-only, and tensors do not know read-only memory: "
            "writing to this tensor would change it all the same; copy=True avoids that",
            UserWarning,
            stacklevel=3,
        )
    last = sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))
    nbytes = 0 if 0 in sizes else (last + 1) * kind.itemsize
    handle = lib.uh_from_foreign(
        ffi.cast("void *", view.data),
        nbytes,
        sizes,
        strides,
        len(sizes),
        kind.code,
        view.release,
        view.managed,
    )
    if not handle:
        raise_last()
    return wrap(handle)


def _checked(view: Any) -> tuple[dtype, list[int], list[int]]:
    """Return dtype, sizes and strides. Raises: BufferError for memory that tensors cannot describe."""
    kind = _TYPES.get((view.code, view.bits)) if view.lanes == 1 else None
    if kind is None:
        raise BufferError(
            f"from_dlpack: no dtype for DLPack type code {view.code} with {view.bits} bits "
            f"and {view.lanes} lanes"
        )
    if view.major_version > 1:
        raise BufferError(f"from_dlpack: version {view.major_version} of DLPack is not known")
    if view.device_type != _CPU:
        raise BufferError(
            f"from_dlpack: the memory is on DLPack device type {view.device_type}, not the cpu"
        )
    sizes = ffi.unpack(view.shape, view.ndim) if view.ndim else []
    strides = _strides(view, sizes)
    if any(step < 0 for step in strides):
        raise BufferError(f"from_dlpack: negative strides are not supported, got {strides}")
    return kind, sizes, strides


def _strides(view: Any, sizes: list[int]) -> list[int]:
    if view.strides:
        return list(ffi.unpack(view.strides, view.ndim)) if view.ndim else []
    strides, step = [], 1
    for size in reversed(sizes):
        strides.append(step)
        step *= size
    return strides[::-1]
