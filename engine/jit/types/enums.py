"""Enums as types: members are values of graphs, and are converted back to the Python members."""

from __future__ import annotations

from enum import Enum, EnumMeta
from typing import Any
from weakref import WeakValueDictionary

from engine._native import ffi, lib
from engine._native.errors import raise_last
from engine.jit.c_results import c_string
from engine.jit.types.ivalues import BOXERS, ENUM_MEMBER, UNBOXERS, BoxedArgs, ObjectBox, to_python
from engine.jit.types.jit_type import FLOAT, INT, STR, Type, UnknownType
from engine.jit.types.qualified_names import class_name, free_name

_MARK = "__script_enum__"
_VALUES = {int: INT, float: FLOAT, str: STR}
# Enums by their names in graphs; the Python class holds the reference.
ENUMS: WeakValueDictionary[str, ScriptEnum] = WeakValueDictionary()


class ScriptEnum:
    """One Enum: the Python class, the type, and a box of each member."""

    def __init__(self, python: type[Enum], value: Type, name: str, handle: int) -> None:
        if not handle:
            raise_last()
        self.python = python
        self.handle = handle
        self.type = Type("Enum", (value,), name)
        names = [member.name for member in python]
        self.boxes = {
            name: ObjectBox(lib.uh_enum_member(handle, i)) for i, name in enumerate(names)
        }
        ENUMS[name] = self

    def __del__(self) -> None:
        if lib is not None:  # while Python ends, modules are cleared first
            lib.uh_enum_release(getattr(self, "handle", 0))


def enum_of(kind: EnumMeta) -> ScriptEnum:
    """Returns the native Enum of a Python Enum. Raises: UnknownType for values of several types."""
    script_enum = vars(kind).get(_MARK)
    if script_enum is None:
        script_enum = _new_enum(kind)
        setattr(kind, _MARK, script_enum)
    return script_enum


def _new_enum(kind: EnumMeta) -> ScriptEnum:
    listed: list[Any] = list(kind)
    if not listed:
        raise UnknownType(f"Enum '{kind.__name__}' has no members. Hint: give it some")
    types = {type(member.value) for member in listed}
    if len(types) > 1 or not types <= set(_VALUES):
        type_names = ", ".join(sorted(type.__name__ for type in types))
        raise UnknownType(
            f"Enum '{kind.__name__}' has values of the types {type_names}. Hint: give all members "
            "ints, all floats, or all strings"
        )
    name = free_name(class_name(kind))
    names = [ffi.new("char[]", member.name.encode()) for member in listed]
    values = BoxedArgs([member.value for member in listed])
    handle = lib.uh_enum_new(name.encode(), ffi.new("char *[]", names), values.array, len(names))
    python: Any = kind
    return ScriptEnum(python, _VALUES[types.pop()], name, handle)


def enum_type(kind: EnumMeta) -> Type:
    """Returns the type of an Enum's members."""
    return enum_of(kind).type


def enum_named(name: str) -> ScriptEnum:
    """Returns an Enum by its name in graphs; creates a Python class for one from a file."""
    script_enum = ENUMS.get(name)
    if script_enum is None:
        handle = lib.uh_enum_find(name.encode())
        if not handle:
            raise UnknownType(f"there is no Enum '{name}'")
        pairs = [_pair(handle, i) for i in range(lib.uh_enum_size(handle))]
        kind: Any = Enum(name.rpartition(".")[2], pairs)  # type: ignore[misc]
        script_enum = ScriptEnum(kind, _VALUES[type(pairs[0][1])], name, handle)
        setattr(kind, _MARK, script_enum)
    return script_enum


def _pair(handle: int, i: int) -> tuple[str, Any]:
    box = ObjectBox(lib.uh_enum_member(handle, i))
    slot = ffi.new("uh_value *")
    parts = []
    for at in range(2):
        if lib.uh_box_item(box.handle, at, slot) != 0:
            raise_last()
        parts.append(to_python(slot))
    return parts[0], parts[1]


def _box(value: Any) -> ObjectBox | None:
    """Returns the core's value for a member; None for any other value."""
    return enum_of(type(value)).boxes[value.name] if isinstance(value, Enum) else None


def _member(handle: int) -> Enum:
    """Converts a box of the type `Enum<...>` to its member; takes ownership of the box."""
    box = ObjectBox(handle)
    slot = ffi.new("uh_value *")
    if lib.uh_box_item(box.handle, 0, slot) != 0:
        raise_last()
    name = c_string(lib.uh_box_type(handle))[len("Enum<") : -1]
    return enum_named(name).python[to_python(slot)]


BOXERS.append(_box)
UNBOXERS[ENUM_MEMBER] = _member
