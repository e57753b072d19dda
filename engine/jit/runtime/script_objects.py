"""Objects of scripted classes and members of Enums, between Python and the core.

An object is copied attribute by attribute, as in PyTorch: the caller does not see a program's writes
to an argument, and a result is a new object of the Python class.
"""

from __future__ import annotations

from typing import Any

from engine._native import lib
from engine.jit.c_results import c_string
from engine.jit.runtime.futures import from_program
from engine.jit.runtime.native_classes import CLASSES, NativeClass
from engine.jit.types.ivalues import BOXERS, OBJECT, UNBOXERS, ObjectBox


class ScriptObject:
    """An object loaded from a file whose class does not exist in Python. It has the attributes and
    methods of the file's class."""

    def __init__(self, box: ObjectBox) -> None:
        native = NativeClass.of(box)
        described = native.describe()
        self.__dict__.update(_script_object=box, _class=native, _name=described["name"])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        method = self._class.method(name)
        if method is not None:
            return lambda *args: method.call([self, *args])
        try:
            return self._script_object.get(name)
        except RuntimeError as error:
            raise AttributeError(str(error)) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self._script_object.set(name, value)

    def __repr__(self) -> str:
        return f"<{self._name} object of a loaded program>"


def box_of(value: Any) -> ObjectBox | None:
    """Converts a Python object to one of the core; returns None if its class is not compiled. Raises:
    AttributeError for a missing attribute, TypeError for one of another type."""
    script_class = vars(type(value)).get("__script_class__")
    if script_class is None:
        return None
    return script_class.native.instance(
        {name: _as(getattr(value, name), of.kind) for name, of in script_class.attributes.items()}
    )


def _as(value: Any, kind: str) -> Any:
    return float(value) if kind == "float" and isinstance(value, int) else value


def to_python(handle: int) -> Any:
    """Converts a box that holds an object to its Python object; takes ownership of the box."""
    of = c_string(lib.uh_box_type(handle))
    if of.startswith("Future["):
        return from_program(handle)
    box = ObjectBox(handle)
    owner: Any = CLASSES.get(of)
    if owner is None:
        return _from_file(box)
    return _instance(owner, box) if owner.plain else box


def _instance(script_class: Any, box: ObjectBox) -> Any:
    instance = script_class.python.__new__(script_class.python)
    for name in script_class.attributes:
        setattr(instance, name, box.get(name))
    return instance


def _from_file(box: ObjectBox) -> Any:
    """Wraps a module, or an object of a class from a file; uses the Python class of that name if
    there is one."""
    described = NativeClass.of(box).describe()
    if not described["plain"]:
        return box
    parts = [
        part for part in described["name"].split(".") if not part.startswith("___torch_mangle_")
    ]
    known: Any = CLASSES.get(".".join(parts))
    named = {attribute["name"] for attribute in described["attributes"]}
    same = known is not None and known.plain and set(known.attributes) == named
    return _instance(known, box) if same else ScriptObject(box)


BOXERS.append(box_of)
UNBOXERS[OBJECT] = to_python
