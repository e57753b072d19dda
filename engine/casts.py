"""Conversions: the arguments of `Tensor.to`, and `x.float()`, `x.int()` and similar methods."""

from __future__ import annotations

import warnings
from typing import Any

from engine._native import lib
from engine._native.namespace import namespace
from engine.dtypes import (
    DTYPES,
    as_device,
    as_dtype,
    bool_,
    check_format,
    device,
    dtype,
    memory_format,
    preserve_format,
)
from engine.tensor import Tensor

_OPTIONS = {"device", "dtype", "other", "non_blocking", "copy", "memory_format"}


def parse_to(
    args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[dtype | None, device | None, bool, memory_format | None, bool]:
    """Parse the arguments of `to(...)` into (dtype, device, copy, memory format, non-blocking).

    Options that were not passed are None or False.
    """
    unknown = options.keys() - _OPTIONS
    if unknown:
        raise TypeError(f"to: unknown arguments {sorted(unknown)}; there are {sorted(_OPTIONS)}")
    kind = _optional(as_dtype, options.get("dtype"))
    target_device = _optional(as_device, options.get("device"))
    other = options.get("other")
    flags = [options.get("non_blocking", False), options.get("copy", False)]
    if other is not None:
        kind, target_device = other.dtype, other.device
    seen = 0
    for position, arg in enumerate(args):
        if isinstance(arg, Tensor):
            kind, target_device = arg.dtype, arg.device
        elif isinstance(arg, (device, str)) or (position == 0 and type(arg) is int):
            target_device = as_device(arg, "to")
        elif isinstance(arg, dtype) or arg in (float, int, bool, complex):
            kind = as_dtype(arg, "to")
        elif isinstance(arg, bool) and position > 0 and seen < 2:
            flags[seen] = arg
            seen += 1
        elif arg is not None:
            raise TypeError(
                "to: expected a dtype, a device or a tensor, "
                f"got {type(arg).__name__} at position {position + 1}"
            )
    return kind, target_device, bool(flags[1]), options.get("memory_format"), bool(flags[0])


def _optional(convert: Any, value: Any) -> Any:
    return None if value is None else convert(value, "to")


def is_channels_last(x: Tensor, rank: int = 4) -> bool:
    """Return True if a (N, C, H, W) tensor is stored as (N, H, W, C); rank 5: as (N, D, H, W, C)."""
    if x.dim() != rank:
        return False
    expected, sizes, strides = 1, x.shape, x.stride()
    for dim in (1, *range(rank - 1, 1, -1), 0):
        if sizes[dim] != 1 and strides[dim] != expected:
            return False
        expected *= sizes[dim]
    return True


def has_format(x: Tensor, memory_format: memory_format | None) -> bool:
    """Return True if a conversion to a memory format returns the tensor itself: if its strides suggest that
    format, not only if it is dense."""
    if memory_format is None or memory_format is preserve_format:
        return True
    return memory_format.__index__() == int(lib.uh_suggested_format(x._h))


def warn_of_lost_parts(target: dtype | None, source: dtype) -> None:
    """Warn, as PyTorch does, that a cast drops imaginary parts; a cast to bool reads both parts."""
    if source.is_complex and not (target is None or target.is_complex or target is bool_):
        warnings.warn(
            "Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3
        )


def _cast(name: str, kind: dtype) -> Any:
    def cast(self: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
        check_format(name, memory_format)
        if self.dtype is kind and has_format(self, memory_format):
            return self
        return self._copied(kind, None, memory_format)

    cast.__name__, cast.__qualname__ = name, f"Tensor.{name}"
    cast.__doc__ = f"The tensor converted to {kind}; the tensor itself if it has that dtype."
    return cast


def _type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Return the name of the tensor type, or with an argument the tensor converted to that dtype."""
    if dtype is None:
        if self.is_sparse_csr:
            raise RuntimeError("Unimplemented backend SparseCsrCPU")
        package = "sparse." if self.is_sparse else "opencl." if self.is_opencl else ""
        return f"{namespace()}.{package}{self.dtype.title}Tensor"
    if isinstance(dtype, str):
        title = dtype.rpartition(".")[2].removesuffix("Tensor")
        matches = [candidate for candidate in DTYPES if candidate.title == title]
        if not matches:
            raise ValueError(f"type: invalid type: {dtype!r}")
        if ".cuda." in f".{dtype}":
            return self.cuda()
        dtype = matches[0]
    from engine.typed_tensors import as_type

    return self.to(as_type(dtype))


def _type_as(self: Tensor, other: Tensor) -> Tensor:
    """Convert the tensor to the dtype of another."""
    if isinstance(other, Tensor) and other.dtype is self.dtype:
        return self
    from engine.arguments import check_tensor

    check_tensor("type_as", "other", other)
    return self.to(other.dtype)


def _cpu(self: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """Copy the tensor to main memory; a CPU tensor is returned itself."""
    check_format("cpu", memory_format)
    if memory_format is None and self.is_cpu:
        return self
    return self.to("cpu", memory_format=memory_format)


# x.float(), x.int(), ...: PyTorch's names of the dtypes.
CASTS = {
    "bool": "bool",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "float": "float32",
    "double": "float64",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
METHODS = {
    name: _cast(name, next(d for d in DTYPES if d.name == kind)) for name, kind in CASTS.items()
}
METHODS.update(type=_type, type_as=_type_as, cpu=_cpu)
for _name, _method in METHODS.items():
    _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"
