"""Bytes as numbers: every dtype of the engine decoded, and written short or exactly.

A trace keeps bytes, not numbers. What they mean depends on the tensor that looks at them, so the
same four bytes are one float32 for one tensor and two float16 for another (see `view(dtype)`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


_WHOLE = 1_000_000  # whole floats below this are written with all their digits


@dataclass(frozen=True, slots=True)
class Dtype:
    """An element type: its number in the event stream, its name, its bytes and what it holds."""

    code: int
    name: str
    itemsize: int
    numpy: str  # how NumPy reads the bytes; bfloat16 has no NumPy type and is widened by hand
    kind: str  # "bool" | "int" | "float" | "complex"


_ALL = (
    Dtype(0, "bool", 1, "u1", "bool"),
    Dtype(1, "uint8", 1, "u1", "int"),
    Dtype(2, "int8", 1, "i1", "int"),
    Dtype(3, "int16", 2, "<i2", "int"),
    Dtype(4, "int32", 4, "<i4", "int"),
    Dtype(5, "int64", 8, "<i8", "int"),
    Dtype(6, "float16", 2, "<f2", "float"),
    Dtype(7, "bfloat16", 2, "<u2", "float"),
    Dtype(8, "float32", 4, "<f4", "float"),
    Dtype(9, "float64", 8, "<f8", "float"),
    Dtype(10, "complex64", 8, "<c8", "complex"),
    Dtype(11, "complex128", 16, "<c16", "complex"),
)
BY_CODE = {dtype.code: dtype for dtype in _ALL}
BY_NAME = {dtype.name: dtype for dtype in _ALL}


def dtype_of(key: int | str) -> Dtype:
    """The element type with this code or name; one that a damaged trace made up is read as bytes."""
    matches = BY_CODE.get(key) if isinstance(key, int) else BY_NAME.get(key.removeprefix("torch."))
    return matches or Dtype(-1, str(key), 1, "|u1", "int")


def decode(dtype: Dtype, data: Any) -> np.ndarray:
    """The elements in `data` (bytes whose length is a multiple of the item size)."""
    import numpy as np

    raw = np.frombuffer(data, dtype=dtype.numpy)
    if dtype.name == "bfloat16":  # the upper half of a float32: put the lower half back as zeros
        return (raw.astype("<u4") << 16).view("<f4")
    return raw != 0 if dtype.kind == "bool" else raw


def magnitude(dtype: Dtype, values: Any) -> Any:
    """Return what statistics and shades are about: the numbers, of complex ones the absolute values."""
    return abs(values) if dtype.kind == "complex" else values


def _parts(real: str, imag: str) -> str:
    """`1.+2.j` of the texts of both parts."""
    return f"{real}{'' if imag[0] in '+-' else '+'}{imag}j"


def short(dtype: Dtype, value: Any, digits: int = 4) -> str:
    """A number for a cell: about `digits` digits; a float always shows a point or an exponent."""
    if dtype.kind == "complex":
        part = BY_NAME["float64"]
        return _parts(short(part, value.real, digits - 1), short(part, value.imag, digits - 1))
    if dtype.kind == "bool":
        return "True" if value else "False"
    if dtype.kind == "int":
        return str(int(value))
    number = float(value)
    if not math.isfinite(number):
        return "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"
    if number == int(number) and abs(number) < _WHOLE:
        return f"{number:.0f}."
    text = f"{number:.{digits}g}"
    if "e" in text:
        mantissa, exponent = text.split("e")
        return f"{mantissa}e{int(exponent)}"
    return text if "." in text else text + "."


def exact(dtype: Dtype, value: Any) -> str:
    """A number written so that reading it back gives the same bits."""
    if dtype.kind == "complex":
        part = BY_NAME["float32" if dtype.itemsize == 8 else "float64"]
        return _parts(exact(part, value.real), exact(part, value.imag))
    if dtype.kind != "float":
        return short(dtype, value)
    number = float(value)
    if not math.isfinite(number):
        return short(dtype, value)
    # the fewest digits that tell it from its neighbours of the same dtype
    return repr(number) if dtype.itemsize == 8 else repr(float(str(value)))
