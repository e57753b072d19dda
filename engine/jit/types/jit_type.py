"""Types of the language: read from annotations and from graphs, printed as PyTorch prints them."""

from __future__ import annotations

import typing
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import EnumMeta
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any

from engine.dtypes import Size
from engine.dtypes import device as device_class
from engine.dtypes import dtype as dtype_class
from engine.jit.frontend.operators import in_engine
from engine.tensor import Tensor


@dataclass(frozen=True)
class Type:
    """One type. kind: Tensor, int, float, complex, bool, str, NoneType, Scalar, Device, Any,
    Function, Optional, List, Tuple, Dict, Union, Future, class or Enum; `inner` the types within, of an
    Enum that of its values."""

    kind: str
    inner: tuple[Type, ...] = ()
    name: str = ""  # of a class or an Enum
    fields: tuple[str, ...] = ()  # of a named tuple
    label: str = field(default="", compare=False)  # of its class, which graphs do not tell

    @property
    def element(self) -> Type:
        """What a list or an Optional holds."""
        return self.inner[0]

    @property
    def text(self) -> str:
        """As graphs write it: `int[]`, `Tensor?`, `Dict(str, int)`."""
        match self.kind:
            case "Optional":
                return f"{self.element.text}?"
            case "List" if self.inner:  # without: what isinstance(x, list) asks for
                return f"{self.element.text}[]"
            case "Dict" if self.inner:
                return f"Dict({self.inner[0].text}, {self.inner[1].text})"
            case "Tuple" if self.fields:
                pairs = zip(self.fields, self.inner, strict=True)
                return f"NamedTuple({', '.join(f'{name} : {one.text}' for name, one in pairs)})"
            case "Tuple":
                return f"({', '.join(one.text for one in self.inner)})"
            case "Future":
                return f"Future[{self.element.text}]"
            case "Union":
                return f"Union({', '.join(one.text for one in self.inner)})"
            case "Enum":
                return f"Enum<{self.name}>"
            case "class":
                return self.name
        return self.kind

    def __str__(self) -> str:
        """As Python's annotations write it, for messages: `List[int]`."""
        inner = ", ".join(map(str, self.inner))
        match self.kind:
            case "Optional" | "List" | "Dict" | "Tuple" | "Union" | "Future":
                return f"{self.kind}[{inner}]"
            case "class":
                return self.name
            case "Enum":
                return self.text
            case "Scalar":
                return "number"
        return self.kind


TENSOR, INT, FLOAT, BOOL = Type("Tensor"), Type("int"), Type("float"), Type("bool")
STR, NONE, ANY, SCALAR = Type("str"), Type("NoneType"), Type("Any"), Type("Scalar")
COMPLEX, DEVICE, FUNCTION = Type("complex"), Type("Device"), Type("Function")
_NUMBERS = frozenset((INT, FLOAT, COMPLEX, BOOL))


def optional(inner: Type) -> Type:
    """`inner` or None."""
    if inner.kind == "Union":
        return union((inner, NONE))
    return inner if inner.kind in ("Optional", "NoneType", "Any") else Type("Optional", (inner,))


def list_of(inner: Type) -> Type:
    """A list."""
    return Type("List", (inner,))


def future_of(inner: Type) -> Type:
    """What comes of a call that was begun: `jit.fork`."""
    return Type("Future", (inner,))


def dict_of(key: Type, value: Type) -> Type:
    """A dictionary."""
    return Type("Dict", (key, value))


def tuple_of(*inner: Type, fields: tuple[str, ...] = ()) -> Type:
    """A tuple, with names when it is a named one."""
    return Type("Tuple", inner, "", fields)


def is_subtype(one: Type, wanted: Type) -> bool:
    """Whether every value of `one` may stand where `wanted` is asked for."""
    if one == wanted or wanted is ANY or wanted.kind == "Any":
        return True
    if one.kind == "Union":
        return all(is_subtype(member, wanted) for member in one.inner)
    if wanted.kind == "Union":
        if any(is_subtype(one, member) for member in wanted.inner):
            return True
        return one.kind == "Optional" and all(is_subtype(x, wanted) for x in (one.element, NONE))
    if wanted.kind == "Optional":
        if one.kind == "Optional":
            return is_subtype(one.element, wanted.element)
        return one == NONE or is_subtype(one, wanted.element)
    if wanted == SCALAR:
        return one in _NUMBERS
    if one.kind == wanted.kind == "Future":
        return is_subtype(one.element, wanted.element)
    if one.kind == "Tuple" and wanted.kind == "Tuple":
        same = len(one.inner) == len(wanted.inner)
        named = not wanted.fields or wanted.fields == one.fields
        return same and named and all(map(is_subtype, one.inner, wanted.inner))
    return False


def unify(a: Type, b: Type) -> Type | None:
    """The most special type that both are; None where only Any would do."""
    if is_subtype(a, b):
        return b
    if is_subtype(b, a):
        return a
    if a == NONE or b == NONE:
        return optional(b if a == NONE else a)
    if a.kind == "Optional" or b.kind == "Optional":
        inner = unify(
            a.element if a.kind == "Optional" else a, b.element if b.kind == "Optional" else b
        )
        return inner and optional(inner)
    if a.kind == b.kind == "Tuple" and len(a.inner) == len(b.inner):
        inner_types = [unify(x, y) for x, y in zip(a.inner, b.inner, strict=True)]
        found = [one for one in inner_types if one is not None]
        return tuple_of(*found) if len(found) == len(inner_types) else None
    return None


# Where PyTorch puts a kind of type in a Union.
_UNION_ORDER = [
    "Any",
    "Enum",
    "Tensor",
    "Tuple",
    "List",
    "Dict",
    "Scalar",
    "float",
    "complex",
    "int",
    "NoneType",
    "str",
    "bool",
    "Optional",
    "Device",
    "Function",
    "class",
]


def members(of: Type) -> list[Type]:
    """What a Union or an Optional may be, one by one; of another type that type."""
    if of.kind == "Optional":
        return [*members(of.element), NONE]
    return list(of.inner) if of.kind == "Union" else [of]


def union(types: Iterable[Type]) -> Type:
    """One of these types: without what another one covers. Of T and None it is Optional, of int,
    float and complex a number, of one type that type."""
    kept: list[Type] = []
    for one in (member for type in types for member in members(type)):
        if any(is_subtype(one, there) for there in kept):
            continue
        kept = [there for there in kept if not is_subtype(there, one)] + [one]
    kept.sort(key=lambda one: (_UNION_ORDER.index(one.kind), one.text))
    rest = [one for one in kept if one != NONE]
    if set(rest) == {INT, FLOAT, COMPLEX}:
        rest = [SCALAR]
    if len(rest) < 2:
        only = rest[0] if rest else NONE
        return optional(only) if NONE in kept else only
    return Type("Union", tuple(kept))


def wrong_key(key: Type) -> str:
    """Why a Dict has no keys of this type; "" where it may."""
    if key.kind in ("str", "int", "float", "bool", "complex", "Tensor"):
        return ""
    instead = {
        "Enum": "take .name or .value of the member",
        "Tuple": 'make a text of it: f"{a},{b}"',
    }
    return (
        f"keys of a Dict are str, int, float, bool, complex or Tensor, not {key}. "
        f"Instead: {instead.get(key.kind, 'take a number or a text that names it')}"
    )


# ---- from annotations

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


class UnknownType(TypeError):
    """An annotation that names no type of the language."""


def from_object(given: Any) -> Type:
    """The type that an annotation, evaluated, stands for. Raises: UnknownType."""
    try:
        if given in _PLAIN:
            return _PLAIN[given]
    except TypeError:
        pass  # not hashable: no type of the table
    if isinstance(given, Type):
        return given
    origin, args = typing.get_origin(given), typing.get_args(given)
    if origin in (typing.Final, typing.Annotated) or origin is typing.ClassVar:
        return from_object(args[0])
    if origin is list and len(args) == 1:
        return list_of(from_object(args[0]))
    if origin is dict and len(args) == 2:
        key = from_object(args[0])
        if why := wrong_key(key):
            raise UnknownType(why)
        return dict_of(key, from_object(args[1]))
    if in_engine(origin) and getattr(origin, "__name__", "") == "Future":
        return future_of(from_object(args[0]))
    if origin is tuple:
        if Ellipsis in args:
            raise UnknownType("Tuple[T, ...] has no fixed length. Instead: write List[T]")
        return tuple_of(*[from_object(one) for one in args if one != ()])
    if origin in (typing.Union, UnionType):
        return _union(args)
    if isinstance(given, type) and issubclass(given, tuple) and hasattr(given, "_fields"):
        return named_tuple(given)
    if given in (list, dict, tuple, typing.List, typing.Dict, typing.Tuple):  # noqa: UP006
        name = getattr(given, "__name__", str(given))
        raise UnknownType(
            f"{name} needs the types of what it holds. Instead: write List[int], Dict[str, int], "
            "Tuple[int, str]"
        )
    name = getattr(given, "__name__", given)
    if isinstance(given, EnumMeta):
        from engine.jit.types.enums import enum_type

        return enum_type(given)
    if isinstance(given, type) and given.__module__ != "builtins":
        from engine.jit.frontend.classes import class_type

        return class_type(given)
    raise UnknownType(f"Unknown type name '{name}'")


def _union(args: tuple[Any, ...]) -> Type:
    return union(from_object(one) for one in args)


def named_tuple(given: Any) -> Type:
    """The type of a NamedTuple class; fields without annotation are Tensors."""
    notes = typing.get_type_hints(given) if hasattr(given, "__annotations__") else {}
    inner = [from_object(notes.get(name, Tensor)) for name in given._fields]
    return Type("Tuple", tuple(inner), "", tuple(given._fields), given.__name__)


# ---- from the text of graphs


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def eat(self, word: str) -> bool:
        while self.text[self.at : self.at + 1] == " ":
            self.at += 1
        if self.text.startswith(word, self.at):
            self.at += len(word)
            return True
        return False

    def word(self) -> str:
        start = self.at
        while self.at < len(self.text) and (
            self.text[self.at].isalnum() or self.text[self.at] in "_."
        ):
            self.at += 1
        return self.text[start : self.at]

    def until_closed(self) -> None:
        depth = 1
        while depth:
            depth += {"(": 1, ")": -1}.get(self.text[self.at], 0)
            self.at += 1

    def type(self) -> Type:
        found = self.base()
        while True:
            if self.eat("[]"):
                found = list_of(found)
            elif self.eat("?"):
                found = optional(found)
            else:
                return found

    def types(self) -> list[Type]:
        found = []
        while not self.eat(")"):
            found.append(self.type())
            self.eat(",")
        return found

    def enum(self) -> Type:
        from engine.jit.types.enums import enum_named

        name = self.word()
        self.eat(">")
        return enum_named(name).type

    def base(self) -> Type:
        if self.eat("("):
            return tuple_of(*self.types())
        word = self.word()
        if word == "Dict" and self.eat("("):
            return dict_of(*self.types())
        if word == "Future" and self.eat("["):
            held = self.type()
            self.eat("]")
            return future_of(held)
        if word == "Union" and self.eat("("):
            return union(self.types())
        if word == "Enum" and self.eat("<"):
            return self.enum()
        if word == "NamedTuple" and self.eat("("):
            names, inner = [], []
            while not self.eat(")"):
                self.eat(" ")
                names.append(self.word())
                self.eat(":")
                self.eat(" ")
                inner.append(self.type())
                self.eat(",")
            return tuple_of(*inner, fields=tuple(names))
        if word.startswith("__torch__"):
            return Type("class", (), word)
        if word in _WORDS:
            return _WORDS[word]
        if self.eat("("):  # Float(2, 3): a Tensor of which more is known
            self.until_closed()
        return TENSOR


_WORDS = {
    one.kind: one
    for one in (INT, FLOAT, BOOL, STR, NONE, ANY, SCALAR, COMPLEX, DEVICE, FUNCTION, TENSOR)
} | {"number": SCALAR, "None": NONE}


def from_text(text: str) -> Type:
    """The type that a graph writes so; what it knows of a tensor is left out."""
    return _Reader(text).type() if "Enum<" in text else _without_enums(text)


@lru_cache(maxsize=4096)
def _without_enums(text: str) -> Type:
    """Enums come and go with their classes: what a text with one means is not kept."""
    return _Reader(text).type()
