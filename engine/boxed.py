"""Boxed calls: Python values as tagged values and back."""

from __future__ import annotations

from typing import Any

from engine._native import ffi, lib
from engine.arguments import INTEGER, SCALAR, accepts, rejected_word, wanted_word
from engine.dtypes import DTYPES, as_device, as_dtype, device_from_code
from engine.function_schema import FunctionSchema, SchemaType
from engine.marshal import complex_number, complex_value
from engine.tensor import Tensor, wrap

# The tags of uh_value.
NONE, TENSOR, INT, FLOAT, BOOL, INTS, STRING, TENSORS, DTYPE, DEVICE, FLOATS, COMPLEX = range(12)


def check(schema: FunctionSchema, values: list[Any]) -> None:
    """Raise TypeError for the first value that does not match its argument's type."""
    for argument, value in zip(schema.arguments, values, strict=True):
        one_for_all = argument.type.one_for_all and accepts(INTEGER, value)  # int[2] padding=0
        number = argument.takes_number and accepts(SCALAR, value)
        if not (accepts(argument.type, value) or one_for_all or number):
            raise TypeError(
                f"{schema.full_name}: argument {argument.name!r} must be "
                f"{wanted_word(argument.type)}, got {rejected_word(argument.type, value)}; the schema is {schema.text}"
            )


def box(values: list[Any], schema: FunctionSchema) -> tuple[Any, list[Any]]:
    """Return the values as an array of uh_value, and the objects that must outlive the call."""
    check(schema, values)
    return box_values([argument.type for argument in schema.arguments], values)


def box_values(types: list[SchemaType], values: list[Any]) -> tuple[Any, list[Any]]:
    """Box values without a check of their types."""
    boxed = ffi.new("uh_value[]", len(values) or 1)
    alive: list[Any] = []
    for slot, type_, value in zip(boxed, types, values, strict=False):
        _fill(slot, type_.without_optional, value, alive)
    return boxed, alive


def _fill(slot: Any, type_: SchemaType, value: Any, alive: list[Any]) -> None:
    kind = type_.inner[0].without_optional.kind if type_.kind == "List" else type_.kind
    listed = type_.kind == "List"
    if value is None:
        slot.tag = NONE
    elif kind == "Tensor" and listed:
        slot.tag, slot.i = TENSORS, len(value)
        slot.p = _keep(
            ffi.new("uh_handle[]", [0 if item is None else item._h for item in value]), alive
        )
    elif isinstance(value, Tensor):
        slot.tag, slot.i = TENSOR, value._h
    elif kind == "ScalarType":
        slot.tag, slot.i = DTYPE, as_dtype(value, "dtype").code
    elif kind == "Device":
        slot.tag, slot.i = DEVICE, as_device(value, "device").code
    elif kind == "int" and listed:
        numbers = [value] if isinstance(value, int) else [int(item) for item in value]
        slot.tag, slot.i = INTS, len(numbers)
        slot.p = _keep(ffi.new("int64_t[]", numbers), alive)
    elif kind == "float" and listed:
        slot.tag, slot.i = FLOATS, len(value)
        slot.p = _keep(ffi.new("double[]", [float(item) for item in value]), alive)
    elif isinstance(value, str):
        raw = value.encode()
        slot.tag, slot.i = STRING, len(raw)
        slot.p = _keep(ffi.new("char[]", raw), alive)
    elif isinstance(value, bool):
        slot.tag, slot.i = BOOL, value
    elif isinstance(value, complex):
        _, slot.i, slot.d = complex_number(value)
        slot.tag = COMPLEX
    elif isinstance(value, float) or kind == "float":
        slot.tag, slot.d = FLOAT, float(value)
    else:
        slot.tag, slot.i = INT, value.__index__()


def _keep(memory: Any, alive: list[Any]) -> Any:
    alive.append(memory)
    return memory


def unbox(value: Any) -> Any:
    """Convert a returned uh_value to a Python value; the reference to a tensor moves into its
    Python object."""
    match value.tag:
        case 1:
            return wrap(value.i)
        case 2:
            return int(value.i)
        case 3:
            return float(value.d)
        case 4:
            return bool(value.i)
        case 5:
            return tuple(ffi.unpack(ffi.cast("int64_t *", value.p), value.i)) if value.i else ()
        case 6:
            return ffi.unpack(ffi.cast("char *", value.p), value.i).decode()
        case 9:
            return device_from_code(value.i) if value.i >= 0 else None
        case 10:
            return tuple(ffi.unpack(ffi.cast("double *", value.p), value.i)) if value.i else ()
        case 7:
            tensors_list = ffi.cast("uh_list *", value.p)
            tensors = (
                tuple(map(wrap, ffi.unpack(tensors_list.items, tensors_list.n)))
                if tensors_list.n
                else ()
            )
            lib.uh_list_free(tensors_list)
            return tensors
        case 8:
            return DTYPES[value.i] if value.i >= 0 else None
        case 11:
            return complex_value(value.d, value.i)
        case _:
            return None
