"""The arguments of `Tensor.to`, which come in any order and by any name."""

from __future__ import annotations

from typing import Any

from engine.dtypes import as_device, as_dtype, device, dtype, memory_format
from engine.tensor import Tensor

_OPTIONS = {"device", "dtype", "other", "non_blocking", "copy", "memory_format"}


def parse_to(
    args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[dtype | None, device | None, bool, memory_format | None]:
    """(dtype, device, copy, memory format) of `to(...)`; None for what was not given."""
    unknown = options.keys() - _OPTIONS
    if unknown:
        raise TypeError(f"to: unknown arguments {sorted(unknown)}; there are {sorted(_OPTIONS)}")
    kind = _optional(as_dtype, options.get("dtype"))
    place = _optional(as_device, options.get("device"))
    other = options.get("other")
    flags = [options.get("non_blocking", False), options.get("copy", False)]
    if other is not None:
        kind, place = other.dtype, other.device
    seen = 0
    for position, arg in enumerate(args):
        if isinstance(arg, Tensor):
            kind, place = arg.dtype, arg.device
        elif isinstance(arg, (device, str)):
            place = as_device(arg, "to")
        elif isinstance(arg, dtype) or arg in (float, int, bool):
            kind = as_dtype(arg, "to")
        elif isinstance(arg, bool) and position > 0 and seen < 2:
            flags[seen] = arg
            seen += 1
        elif arg is not None:
            raise TypeError(
                "to: expected a dtype, a device or a tensor, "
                f"got {type(arg).__name__} at position {position + 1}"
            )
    return kind, place, bool(flags[1]), options.get("memory_format")


def _optional(convert: Any, value: Any) -> Any:
    return None if value is None else convert(value, "to")
