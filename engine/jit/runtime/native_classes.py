"""Classes and objects of the JIT: what a module is, once it is scripted, traced or loaded.

An object holds the module's own tensors, so an optimizer's step and `load_state_dict` are seen by both.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine._native import lib
from engine._native.errors import raise_last
from engine.jit.c_results import c_integer, c_string
from engine.jit.runtime.function import NativeFunction
from engine.jit.types.ivalues import ObjectBox

KINDS = {"attribute": 0, "module": 0, "parameter": 1, "buffer": 2}
_mangled = itertools.count()


@dataclass(frozen=True)
class Slot:
    """One attribute of a class. kind: attribute, module, parameter or buffer."""

    name: str
    type: str
    kind: str = "attribute"


class NativeClass:
    """One reference on a class: attributes, then methods."""

    def __init__(self, handle: int) -> None:
        if not handle:
            raise_last()
        self.handle = handle

    @classmethod
    def new(cls, name: str, slots: Iterable[Slot]) -> NativeClass:
        """A class of this name; one that is taken is made unique, as PyTorch does it."""
        name = free_name(name)
        made = cls(lib.uh_class_new(name.encode()))
        for slot in slots:
            kind = KINDS[slot.kind]
            c_integer(
                lib.uh_class_add_attribute(
                    made.handle, slot.name.encode(), slot.type.encode(), kind
                )
            )
        return made

    @classmethod
    def of(cls, box: ObjectBox) -> NativeClass:
        """The class of an object."""
        return cls(lib.uh_object_class(box.handle))

    def __del__(self) -> None:
        if lib is not None:  # while Python ends, modules are cleared first
            lib.uh_class_release(getattr(self, "handle", 0))

    def add_method(self, name: str, function: NativeFunction) -> None:
        """Adds a method; its first parameter is the object."""
        c_integer(lib.uh_class_add_method(self.handle, name.encode(), function.handle))

    def method(self, name: str) -> NativeFunction | None:
        """The function of a method; None when there is none."""
        found = lib.uh_class_method(self.handle, name.encode())
        return NativeFunction(found) if found else None

    def describe(self) -> dict[str, Any]:
        """name, attributes (name, type, kind) and the names of the methods."""
        found: dict[str, Any] = json.loads(c_string(lib.uh_class_describe(self.handle)))
        return found

    def instance(self, values: dict[str, Any]) -> ObjectBox:
        """An object with these attributes. Raises: TypeError for a value of another type."""
        box = ObjectBox(lib.uh_object_new(self.handle))
        for name, value in values.items():
            box.set(name, value)
        return box


def is_module_class(type: str) -> bool:
    """Whether a type of an attribute is the class of a module."""
    found = lib.uh_class_find(type.encode()) if type.startswith("__torch__") else 0
    return bool(found) and not NativeClass(found).describe()["plain"]


def _is_taken(name: bytes) -> bool:
    """Whether there is a class or an Enum of that name."""
    found, listed = lib.uh_class_find(name), lib.uh_enum_find(name)
    lib.uh_class_release(found)
    lib.uh_enum_release(listed)
    return bool(found or listed)


def free_name(name: str) -> str:
    """The name, or PyTorch's next mangled one where a class has it already."""
    head, _, last = name.rpartition(".")
    while _is_taken(name.encode()):
        name = f"{head}.___torch_mangle_{next(_mangled)}.{last}"
    return name


def class_name(kind: type) -> str:
    """PyTorch's name for a class: `__torch__.package.Name`, `__torch__.Name` in a script."""
    path = "" if kind.__module__ == "__main__" else f"{kind.__module__}."
    return f"__torch__.{path}{kind.__name__}"
