"""Types from Python annotations, evaluated.

Classes are compiled where an annotation first names one: the compiler of classes registers itself in
`CLASS_RESOLVERS`, by the metaclass, as generic classes do in `GENERICS`.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from enum import EnumMeta
from types import NoneType, UnionType
from typing import Any

from engine.dtypes import Size
from engine.dtypes import device as device_class
from engine.dtypes import dtype as dtype_class
from engine.jit.types.enums import enum_type
from engine.jit.types.jit_type import (
    ANY,
    BOOL,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    STR,
    TENSOR,
    Type,
    UnknownType,
    dict_of,
    list_of,
    tuple_of,
    union,
    wrong_key,
)
from engine.tensor import Tensor

CLASS_RESOLVERS: dict[type, Callable[[Any], Type]] = {EnumMeta: enum_type}
GENERICS: dict[Any, Callable[[Type], Type]] = {list: list_of}

_PLAIN: dict[Any, Type] = {
    Tensor: TENSOR,
    int: INT,
    float: FLOAT,
    complex: COMPLEX,
    bool: BOOL,
    str: STR,
    None: NONE,
    NoneType: NONE,
    device_class: DEVICE,
    dtype_class: INT,
    Size: list_of(INT),
    Any: ANY,
    typing.Any: ANY,
}


def from_object(annotation: Any) -> Type:
    """Returns the type of an evaluated annotation. Raises: UnknownType."""
    try:
        if annotation in _PLAIN:
            return _PLAIN[annotation]
    except TypeError:
        pass  # not hashable: not in the table
    if isinstance(annotation, Type):
        return annotation
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Final, typing.Annotated) or origin is typing.ClassVar:
        return from_object(args[0])
    if origin in GENERICS and len(args) == 1:
        return GENERICS[origin](from_object(args[0]))
    if origin is dict and len(args) == 2:
        key = from_object(args[0])
        if reason := wrong_key(key):
            raise UnknownType(reason)
        return dict_of(key, from_object(args[1]))
    if origin is tuple:
        if Ellipsis in args:
            raise UnknownType("Tuple[T, ...] has no fixed length. Hint: write List[T]")
        return tuple_of(*[from_object(arg) for arg in args if arg != ()])
    if origin in (typing.Union, UnionType):
        return _union(args)
    if (
        isinstance(annotation, type)
        and issubclass(annotation, tuple)
        and hasattr(annotation, "_fields")
    ):
        return named_tuple(annotation)
    if annotation in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple):  # noqa: UP006
        name = getattr(annotation, "__name__", str(annotation))
        raise UnknownType(
            f"{name} needs its element types. Hint: write List[int], Dict[str, int], "
            "Tuple[int, str]"
        )
    name = getattr(annotation, "__name__", annotation)
    if isinstance(annotation, type) and annotation.__module__ != "builtins":
        for metaclass in inspect.getmro(type(annotation)):
            if metaclass in CLASS_RESOLVERS:
                return CLASS_RESOLVERS[metaclass](annotation)
    raise UnknownType(f"Unknown type name '{name}'")


def _union(args: tuple[Any, ...]) -> Type:
    return union(from_object(arg) for arg in args)


def named_tuple(python_class: Any) -> Type:
    """Returns the type of a NamedTuple class; fields without annotation are Tensors."""
    notes = typing.get_type_hints(python_class) if hasattr(python_class, "__annotations__") else {}
    inner = [from_object(notes.get(name, Tensor)) for name in python_class._fields]
    return Type("Tuple", tuple(inner), "", tuple(python_class._fields), python_class.__name__)
