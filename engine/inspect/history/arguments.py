"""The recorded arguments of a call: the int64 stream of Note [Recorded arguments], by name."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from engine.inspect.events import device_name, dtype_name
from engine.inspect.history.facts import Argument


@lru_cache(maxsize=4096)
def parameter_names(schema: str) -> tuple[str, ...]:
    """Return (self, alpha) of `add.Tensor(Tensor self, *, Scalar alpha=1) -> Tensor`."""
    inside = schema[schema.find("(") + 1 : schema.rfind(")", 0, schema.find("->"))]
    names, depth, part = [], 0, ""
    for letter in inside + ",":
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            stream = part.partition("=")[0].split()
            if stream and stream != ["*"]:
                names.append(stream[-1])
            part = ""
        else:
            part += letter
    return tuple(names)


def decode_arguments(
    blob: bytes, count: int, schema: str, string: Callable[[int], str]
) -> tuple[Argument, ...]:
    """Decode the arguments in schema order, up to the last complete one of a truncated stream."""
    stream = iter(np.frombuffer(blob[: len(blob) & ~7], "<i8").tolist())
    names = parameter_names(schema)
    arguments = []
    for index in range(count):
        name = names[index] if index < len(names) else f"argument {index}"
        try:
            kind, value = _decode_one(stream, string)
        except StopIteration:
            break
        arguments.append(Argument(name, kind, value))
    return tuple(arguments)


def _decode_one(stream: Iterator[int], string: Callable[[int], str]) -> tuple[str, Any]:
    tag = next(stream)
    if tag == 0:
        return "none", None
    value = next(stream)
    if tag == 1:
        return ("tensor", value) if value else ("none", None)
    if tag == 2:
        return "int", value
    if tag == 3:
        return "float", _double(value)
    if tag == 4:
        return "bool", bool(value)
    if tag == 5:
        return "ints", _several(stream, value)
    if tag == 6:
        return "string", string(value)
    if tag == 7:
        return "tensors", _several(stream, value)
    if tag == 8:
        return "dtype", dtype_name(value)
    if tag == 9:
        return "device", device_name(value)
    if tag == 10:
        return "floats", tuple(map(_double, _several(stream, value)))
    if tag == 11:
        return "complex", complex(_double(value), _double(next(stream)))
    return f"?{tag}", value


def _several(stream: Iterator[int], count: int) -> tuple[int, ...]:
    items = tuple(islice(stream, max(count, 0)))
    if len(items) != count:
        raise StopIteration
    return items


def _double(bits: int) -> float:
    (value,) = struct.unpack("<d", struct.pack("<q", bits))
    return float(value)


def show_argument(argument: Argument, label: Callable[[int], str]) -> str:
    """Format the value as source code: `x`, `1.5`, `(2, 3)`."""
    if argument.kind == "tensor":
        return label(argument.value)
    if argument.kind == "tensors":
        return "[" + ", ".join(label(t) if t else "None" for t in argument.value) + "]"
    if argument.kind in ("dtype", "device"):
        return str(argument.value)
    return repr(argument.value)
