"""Annotations for the compiler: the decorators and special forms of `engine.jit`.

In eager Python they only mark the function; the compiler reads the mark with `modifier_of`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, overload

__all__ = [
    "Attribute",
    "Final",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_instance",
    "is_scripting",
    "unused",
]

Made = TypeVar("Made", bound=Callable[..., Any])
T = TypeVar("T")
_NAME = "__jit_mark__"


def export(fn: Made) -> Made:
    """Marks a method that is compiled although `forward` does not call it."""
    setattr(fn, _NAME, "export")
    return fn


@overload
def ignore(fn: Made) -> Made: ...
@overload
def ignore(fn: None = None, *, drop: bool = False) -> Callable[[Made], Made]: ...
def ignore(fn: Any = None, *, drop: bool = False) -> Any:
    """Marks a function that stays Python: compiled code calls it; with `drop` it is `unused`."""
    if fn is None:
        return unused if drop else ignore
    setattr(fn, _NAME, "ignore")
    return fn


def unused(fn: Made) -> Made:
    """Marks a function that compiled code never reaches: a call of it raises."""
    setattr(fn, _NAME, "unused")
    return fn


def _overload(fn: Made) -> Made:
    """Marks a signature of a function that follows, which is the one that is compiled; the signature stays as it is."""
    return fn


_overload_method = _overload


def modifier_of(fn: object) -> str:
    """Returns the mark of a function: "export", "ignore", "unused" or ""."""
    return getattr(fn, _NAME, "")


def annotate(the_type: Any, the_value: T) -> T:
    """Returns `the_value`; compiled code gives it the type `the_type`: `annotate(List[int], [])`."""
    return the_value


def is_instance(obj: Any, target_type: Any) -> bool:
    """Returns whether an object is of a type, and its items, too: `jit.isinstance(x, List[int])`."""
    if isinstance(target_type, tuple):
        return any(is_instance(obj, member) for member in target_type)
    origin, args = get_origin(target_type), get_args(target_type)
    if target_type is None:
        return obj is None
    if origin is None:
        return target_type is Any or isinstance(obj, target_type)
    if origin in (Union, UnionType):
        return any(is_instance(obj, arg) for arg in args)
    if not isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(obj) == len(args) and all(map(is_instance, obj, args))
    if origin is dict:
        pairs = ((key, args[0]) for key in obj), ((value, args[1]) for value in obj.values())
        return all(is_instance(element, of) for part in pairs for element, of in part)
    return all(is_instance(element, args[0]) for element in obj)


def is_scripting() -> bool:
    """Returns True in compiled code, False in Python."""
    return False


def interface(obj: type) -> type:
    """Marks a class that declares a submodule's methods; a module annotates it as `child: Scorer`.

    Compiled code calls the actual submodule's methods. Compiling the module raises RuntimeError for a
    submodule that lacks one of them.
    """
    setattr(obj, _NAME, "interface")
    return obj


class Attribute:
    """The value of a module's attribute, with its type in compiled code."""

    def __init__(self, value: Any, type: Any) -> None:
        self.value = value
        self.type = type
