"""Marshalling: Python values to the C ABI's numbers and back.

The functions of `_CONVERTERS` convert the arguments of operators that c_function.c does not convert itself: None and
the values that most calls have never come here.
"""

from __future__ import annotations

import numbers
import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any

from engine._native.library import lib
from engine.dtypes import as_dtype
from engine.dtypes import device as _device
from engine.tensor import Tensor

_INT64 = 1 << 63
_BITS, _DOUBLE = struct.Struct("<q"), struct.Struct("<d")


def numpy_operand(value: Any, arrays: bool = False) -> Any:
    """Convert NumPy's bool to a float, as PyTorch's operators do, and if `arrays` is true an array to a tensor.

    Returns NotImplemented for any other value.
    """
    if type(value).__module__ != "numpy":
        return NotImplemented
    if type(value).__name__ in ("bool", "bool_"):
        return float(value)
    if not arrays or type(value).__name__ != "ndarray":
        return NotImplemented
    from engine.numpy_bridge import from_numpy

    return from_numpy(value)


def number(value: Any) -> tuple[int, int, float]:
    """Convert a Python number to (kind, integer, real).

    For a complex number the integer holds the bits of the imaginary part.

    Raises: TypeError for anything that is not a number, OverflowError beyond 64 bits.
    """
    if value.__class__ is float:
        return 2, 0, value
    if value.__class__ is int and -_INT64 <= value < _INT64:
        return 1, value, 0.0
    if value.__class__ is bool:
        return 0, int(value), 0.0
    if isinstance(value, numbers.Integral):
        integer = int(value)
        if not -_INT64 <= integer < _INT64:
            raise OverflowError(f"{integer} does not fit into 64 bits")
        return (0 if type(value).__name__ in ("bool", "bool_") else 1), integer, 0.0
    if isinstance(value, numbers.Real):
        return 2, 0, float(value)
    if isinstance(value, numbers.Complex):
        return complex_number(complex(value))
    if isinstance(value, Tensor):
        return number(constant(value))
    if type(value).__module__ == "numpy" and hasattr(value, "item") and value.ndim == 0:
        return number(value.item())
    raise TypeError(f"expected a number, got {type(value).__name__}")


def constant(value: Tensor) -> bool | int | float | complex:
    """Convert a tensor without dimensions to the number that an operator takes.

    Raises: TypeError for one that has dimensions, or requires grad: its gradient would be lost.
    """
    if value.dim():
        raise TypeError(f"expected a number, got a Tensor of {value.dim()} dimensions")
    if value.requires_grad:
        raise TypeError(
            "expected a number, got a Tensor that requires grad, whose gradient would be lost: pass x.item()"
        )
    return value.item()


def python_number(value: Any) -> Any:
    """Convert a tensor as `constant` does; anything else is returned."""
    return constant(value) if isinstance(value, Tensor) else value


def complex_number(value: complex) -> tuple[int, int, float]:
    """Convert a complex number to (kind, bits of the imaginary part, real part)."""
    return 3, _BITS.unpack(_DOUBLE.pack(value.imag))[0], value.real


def complex_value(real: float, imag_bits: int) -> complex:
    """Return the inverse of `complex_number`."""
    return complex(real, _DOUBLE.unpack(_BITS.pack(imag_bits))[0])


def operand(value: Any) -> tuple[int, int, int, float]:
    """Convert a pointwise operator's tensor or number to (handle, kind, integer, real)."""
    if isinstance(value, Tensor):
        return value._h, 0, 0, 0.0
    if value is None:
        raise TypeError("expected a tensor or a number, got None")
    return (0, *number(value))


def packed(code: str, values: Sequence[Any]) -> bytes:
    """Pack numbers of 8 bytes, "q", "Q" or "d", for a C function's `const void*`: cffi copies no bytes object.

    Raises: OverflowError for an int beyond 64 bits.
    """
    return array(code, values).tobytes()


def ints(value: Any) -> tuple[bytes, int]:
    """Convert a list or tuple of ints to (array, length)."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"expected a tuple of ints, got {type(value).__name__}")
    if value and isinstance(value[0], bool):  # as in PyTorch: True as the second item is 1
        raise TypeError("expected a tuple of ints, got a bool as the first")
    values = [v.__index__() for v in value]
    return packed("q", values), len(values)


def ints_or_int(value: Any) -> tuple[bytes, int]:
    """Convert as `ints` does; a single int stands for one or for several, as `int[2]` in a schema says."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return packed("q", (int(value),)), 1
    if isinstance(value, Tensor):
        return packed("q", (value.__index__(),)), 1
    return ints(value)


def floats(value: Any) -> tuple[bytes, int]:
    """Convert a sequence of floats, or a single float, to (array, length)."""
    if isinstance(value, (numbers.Real, Tensor)):
        return packed("d", (float(python_number(value)),)), 1
    values = [float(python_number(v)) for v in value]
    return packed("d", values), len(values)


def optional_number(value: Any) -> tuple[int, Any]:
    """Convert a number that may be absent, and is not, to (is present, value)."""
    return 1, python_number(value)


def handles(tensors: Sequence[Tensor]) -> tuple[bytes, int]:
    """Convert a list or tuple of tensors to (handles, length).

    Other iterables are rejected: an iterator that creates its items would free each one at once.
    """
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"expected a sequence of tensors, got {type(tensors).__name__}")
    values = [t._h for t in tensors]
    return packed("Q", values), len(values)


def maybe_handles(tensors: Sequence[Tensor | None]) -> tuple[bytes, int]:
    """Convert tensors as `handles` does; None becomes handle 0."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f"expected a sequence of tensors, got {type(tensors).__name__}")
    values = [0 if t is None else t._h for t in tensors]
    return packed("Q", values), len(values)


def dtype_code(dtype: Any) -> int:
    """Return the code of a dtype."""
    return as_dtype(dtype, "dtype").code  # Python's float, int, bool and complex name dtypes too


def device_code(device: Any) -> int:
    """Return the code of a device or of its name."""
    return (device if isinstance(device, _device) else _device(device)).code


def format_code(memory_format: Any) -> int:
    """Return the operators' number of a memory format."""
    return int(memory_format.__index__())


_CONVERTERS = {
    "o": operand,
    "n": number,
    "l": ints,
    "k": ints_or_int,
    "d": floats,
    "m": handles,
    "M": maybe_handles,
    "f": python_number,
    "I": optional_number,
    "B": optional_number,
    "F": optional_number,
    "y": dtype_code,
    "v": device_code,
    "c": format_code,
}
lib.uh_set_converters(id(_CONVERTERS))


def c_function(name: str, results: type = tuple, *, plain: bool = False) -> Callable[..., Any]:
    """Return the C function of an operator: c_function.h says what it takes and returns.

    `results` is the class of several results. Raises: AttributeError if there is no such operator.
    """
    functions: list[Callable[..., Any]] = []
    if lib.uh_c_function(name.encode(), plain, id(results), id(functions)):
        raise AttributeError(f"there is no C function uh_{name}")
    return functions[0]
