"""Classes and objects of the core, for modules that are scripted, traced or loaded.

An object shares the module's tensors, so an optimizer's step and `load_state_dict` affect both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from engine._native import lib
from engine._native.errors import raise_last
from engine.jit.c_results import c_integer, c_string
from engine.jit.runtime.function import NativeFunction
from engine.jit.types.ivalues import ObjectBox
from engine.jit.types.qualified_names import free_name

# The front end's ModuleClass or ScriptClass of each class, by its name in graphs.
CLASSES: WeakValueDictionary[str, Any] = WeakValueDictionary()
KINDS = {"attribute": 0, "module": 0, "parameter": 1, "buffer": 2}
"""The number that the core has for each kind of attribute."""


@dataclass(frozen=True)
class Slot:
    """One attribute of a class. kind: attribute, module, parameter or buffer."""

    name: str
    type: str
    kind: str = "attribute"


class NativeClass:
    """One reference to a class: attributes, then methods."""

    def __init__(self, handle: int) -> None:
        if not handle:
            raise_last()
        self.handle = handle

    @classmethod
    def new(cls, name: str, slots: Iterable[Slot]) -> NativeClass:
        """Creates a class of this name, mangled as in PyTorch if the name is taken."""
        name = free_name(name)
        created = cls(lib.uh_class_new(name.encode()))
        for slot in slots:
            kind = KINDS[slot.kind]
            c_integer(
                lib.uh_class_add_attribute(
                    created.handle, slot.name.encode(), slot.type.encode(), kind
                )
            )
        return created

    @classmethod
    def of(cls, box: ObjectBox) -> NativeClass:
        """Returns the class of an object."""
        return cls(lib.uh_object_class(box.handle))

    def __del__(self) -> None:
        if lib is not None:  # while Python ends, modules are cleared first
            lib.uh_class_release(getattr(self, "handle", 0))

    def add_method(self, name: str, function: NativeFunction) -> None:
        """Adds a method; its first parameter is the object."""
        c_integer(lib.uh_class_add_method(self.handle, name.encode(), function.handle))

    def method(self, name: str) -> NativeFunction | None:
        """Returns the function of a method; None for an unknown name."""
        method = lib.uh_class_method(self.handle, name.encode())
        return NativeFunction(method) if method else None

    def describe(self) -> dict[str, Any]:
        """Returns name, attributes (name, type, kind) and the names of the methods."""
        described: dict[str, Any] = json.loads(c_string(lib.uh_class_describe(self.handle)))
        return described

    def instance(self, values: dict[str, Any]) -> ObjectBox:
        """Creates an object with these attributes. Raises: TypeError for a value of another type."""
        box = ObjectBox(lib.uh_object_new(self.handle))
        for name, value in values.items():
            box.set(name, value)
        return box


def is_module_class(type: str) -> bool:
    """Returns whether an attribute's type is the class of a module."""
    handle = lib.uh_class_find(type.encode()) if type.startswith("__torch__") else 0
    return bool(handle) and not NativeClass(handle).describe()["plain"]
