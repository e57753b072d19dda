"""Conversion of Python values to the JIT's values and back.

Lists, tuples and dictionaries are copied in both directions, as in TorchScript: the caller does not
see what a scripted function appends to an argument. Tensors are shared.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.boxed import (
    BOOL,
    COMPLEX,
    DEVICE,
    DTYPE,
    FLOAT,
    FLOATS,
    INT,
    INTS,
    NONE,
    STRING,
    TENSOR,
    TENSORS,
    unbox,
)
from engine.dtypes import device, dtype
from engine.marshal import complex_number
from engine.tensor import Tensor

BOX = COMPLEX + 1  # a list, tuple, dictionary or object
_LIST, _TUPLE, _DICT, OBJECT, ENUM_MEMBER = range(5)  # kinds of boxes
# Converters of objects and Enum members, registered by the modules that have the classes. A boxer
# returns None for other values; an unboxer takes ownership of the box.
BOXERS: list[Callable[[Any], ObjectBox | None]] = []
UNBOXERS: dict[int, Callable[[int], Any]] = {}
_INT64 = 1 << 63


class BoxedArgs:
    """`uh_value`s of Python values, and the memory that they point to, which C reads.

    Raises: TypeError for a value that the JIT has no type for.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self.count = len(values)
        self.array = ffi.new("uh_value[]", max(self.count, 1))
        self._buffers: list[Any] = []
        self._boxes: list[int] = []
        for i, value in enumerate(values):
            self._fill(self.array[i], value)

    def _fill(self, slot: Any, value: Any) -> None:
        kind = value.__class__
        if isinstance(value, Tensor):
            slot.tag, slot.i = TENSOR, value._h
        elif value is None:
            slot.tag = NONE
        elif kind is bool:
            slot.tag, slot.i = BOOL, value
        elif kind is float:
            slot.tag, slot.d = FLOAT, value
        elif isinstance(value, Enum):
            self._object(slot, value)
        elif isinstance(value, int):
            if not -_INT64 <= value < _INT64:
                raise OverflowError(f"{value} does not fit in an int64")
            slot.tag, slot.i = INT, value
        elif isinstance(value, str):
            text = value.encode()
            buffer = ffi.new("char[]", text)
            self._buffers.append(buffer)
            slot.tag, slot.i, slot.p = STRING, len(text), buffer
        elif isinstance(value, dict):
            keys, values = BoxedArgs(list(value)), BoxedArgs(list(value.values()))
            self._box(slot, lib.uh_box_dict(keys.array, values.array, len(value)))
        elif isinstance(value, tuple):
            items = BoxedArgs(value)
            self._box(slot, lib.uh_box_tuple(items.array, items.count))
        elif isinstance(value, list):
            items = BoxedArgs(value)
            self._box(slot, lib.uh_box_list(items.array, items.count))
        elif isinstance(value, dtype):
            slot.tag, slot.i = DTYPE, value.code
        elif isinstance(value, device):
            slot.tag, slot.i = DEVICE, value.code
        elif kind is complex:
            _, slot.i, slot.d = complex_number(value)
            slot.tag = COMPLEX
        elif (box := getattr(value, "_script_object", None)) is not None:
            slot.tag, slot.i = BOX, box.handle
        else:
            self._object(slot, value)

    def _object(self, slot: Any, value: Any) -> None:
        """Packs a member of an Enum, or an object of a scripted class."""
        box = next(
            (object_box for box_of in BOXERS if (object_box := box_of(value)) is not None), None
        )
        if box is None:
            raise TypeError(
                f"a value of the type {type(value).__name__} cannot go into a scripted function: it "
                "takes tensors, numbers, strings, None, lists, tuples, dicts, dtypes, devices, "
                "members of Enums, scripted modules and objects of scripted classes"
            )
        self._buffers.append(box)
        slot.tag, slot.i = BOX, box.handle

    def _box(self, slot: Any, handle: int) -> None:
        if not handle:
            raise_last()
        self._boxes.append(handle)
        slot.tag, slot.i = BOX, handle

    def __del__(self) -> None:
        if lib is not None:  # while Python ends, modules are cleared first
            for handle in self._boxes:
                lib.uh_box_release(handle)


class ObjectBox:
    """One reference to an object of the JIT: a module's attributes."""

    def __init__(self, handle: int) -> None:
        if not handle:
            raise_last()
        self.handle = handle

    def get(self, name: str) -> Any:
        """Returns the value of an attribute. Raises: RuntimeError for an unknown name."""
        value = ffi.new("uh_value *")
        if lib.uh_object_get(self.handle, name.encode(), value) != 0:
            raise_last()
        return to_python(value)

    def set(self, name: str, value: Any) -> None:
        """Sets an attribute. Raises: TypeError when the value is not of the attribute's type."""
        native = BoxedArgs([value])
        if lib.uh_object_set(self.handle, name.encode(), native.array) != 0:
            raise_last()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of the core is not copied; a ScriptModule is")

    def __del__(self) -> None:
        if lib is not None:
            lib.uh_box_release(getattr(self, "handle", 0))


class NamedResults:
    """Conversion of results to named tuples: the core has tuples without field names.

    `of` is a Type of the front end; a type read from a graph has no class names.
    """

    def __init__(self, of: Any) -> None:
        self.of = of
        self.inner: list[NamedResults] = [NamedResults(inner) for inner in of.inner]
        name = of.label or "NamedTuple"
        self.kind = namedtuple(name, of.fields) if of.fields else None
        self.needed: bool = self.kind is not None or any(inner.needed for inner in self.inner)

    def __call__(self, value: Any) -> Any:
        """Converts tuples in the value to named tuples."""
        if not self.needed or value is None:
            return value
        if self.of.kind == "Tuple":
            parts = [convert(x) for convert, x in zip(self.inner, value, strict=True)]
            return self.kind(*parts) if self.kind is not None else tuple(parts)
        if self.of.kind == "List":
            return [self.inner[0](x) for x in value]
        if self.of.kind == "Dict":
            return {key: self.inner[1](x) for key, x in value.items()}
        return self.inner[0](value)


def to_python(value: Any) -> Any:
    """Converts a `uh_value` that C returned to a Python value; takes ownership of its references."""
    if value.tag != BOX:
        unboxed = unbox(value)
        return list(unboxed) if value.tag in (INTS, FLOATS, TENSORS) else unboxed
    return _box_to_python(value.i)


def _box_to_python(handle: int) -> Any:
    kind = lib.uh_box_kind(handle)
    if kind in UNBOXERS:
        return UNBOXERS[kind](handle)
    try:
        slot = ffi.new("uh_value *")

        def items(read: Any) -> list[Any]:
            items = []
            for i in range(lib.uh_box_size(handle)):
                if read(handle, i, slot) != 0:
                    raise_last()
                items.append(to_python(slot))
            return items

        values = items(lib.uh_box_item)
        if kind == _DICT:
            return dict(zip(items(lib.uh_box_key), values, strict=True))
        return tuple(values) if kind == _TUPLE else values
    finally:
        lib.uh_box_release(handle)
