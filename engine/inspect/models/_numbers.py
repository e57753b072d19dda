"""Decoding of bytes to numbers of every dtype, and formatting them short or exactly.

A trace has bytes, not numbers. Their meaning depends on the tensor: the same four bytes are one float32
for one tensor and two float16 for another (see `view(dtype)`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from engine._generated.codes import DTYPES, DTypeInfo

if TYPE_CHECKING:
    import numpy as np


_WHOLE = 1_000_000  # whole floats below this are written with all their digits


BY_NAME = {dtype.name: dtype for dtype in DTYPES}


def dtype_of(name: str) -> DTypeInfo:
    """Return the element type of this name; one that only a damaged trace has is read as bytes."""
    known = BY_NAME.get(name.removeprefix("torch."))
    return known or DTypeInfo(name, name, "uint", 1, "|u1")


def decode(dtype: DTypeInfo, data: Any) -> np.ndarray:
    """Return the elements in `data` (bytes whose length is a multiple of the item size)."""
    import numpy as np

    if not dtype.typestr:  # bfloat16: the upper half of a float32, whose lower half is put back
        return (np.frombuffer(data, "<u2").astype("<u4") << 16).view("<f4")
    if dtype.kind == "bool":
        return np.frombuffer(data, "|u1") != 0
    return np.frombuffer(data, dtype.typestr)


def magnitude(dtype: DTypeInfo, values: Any) -> Any:
    """Return the numbers for statistics and shades; for complex ones the absolute values."""
    return abs(values) if dtype.kind == "complex" else values


def _parts(real: str, imag: str) -> str:
    """Return `1.+2.j` from the strings of both parts."""
    return f"{real}{'' if imag[0] in '+-' else '+'}{imag}j"


def short(dtype: DTypeInfo, value: Any, digits: int = 4) -> str:
    """Return a number for a cell: about `digits` digits; a float always shows a point or an exponent."""
    if dtype.kind == "complex":
        part = BY_NAME["float64"]
        return _parts(short(part, value.real, digits - 1), short(part, value.imag, digits - 1))
    if dtype.kind == "bool":
        return "True" if value else "False"
    if dtype.kind in ("int", "uint"):
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


def exact(dtype: DTypeInfo, value: Any) -> str:
    """Format a number so that parsing it results in the same bits."""
    if dtype.kind == "complex":
        part = BY_NAME["float32" if dtype.itemsize == 8 else "float64"]
        return _parts(exact(part, value.real), exact(part, value.imag))
    if dtype.kind != "float":
        return short(dtype, value)
    number = float(value)
    if not math.isfinite(number):
        return short(dtype, value)
    # the fewest digits that distinguish it from its neighbours of the same dtype
    return repr(number) if dtype.itemsize == 8 else repr(float(str(value)))
