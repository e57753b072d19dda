"""Types of the language, their relations, and their text as PyTorch prints it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Type:
    """One type. kind: Tensor, int, float, complex, bool, str, NoneType, Scalar, Device, Any,
    Function, Optional, List, Tuple, Dict, Union, Future, class or Enum; `inner`: the contained types,
    for an Enum the type of its values."""

    kind: str
    inner: tuple[Type, ...] = ()
    name: str = ""  # of a class or an Enum
    fields: tuple[str, ...] = ()  # of a named tuple
    label: str = field(
        default="", compare=False
    )  # the class's Python name, which graphs do not hold

    @property
    def element(self) -> Type:
        """The element type of a list or an Optional."""
        return self.inner[0]

    @property
    def text(self) -> str:
        """The type as graphs write it: `int[]`, `Tensor?`, `Dict(str, int)`."""
        match self.kind:
            case "Optional":
                return f"{self.element.text}?"
            case "List" if self.inner:  # absent: the type in isinstance(x, list)
                return f"{self.element.text}[]"
            case "Dict" if self.inner:
                return f"Dict({self.inner[0].text}, {self.inner[1].text})"
            case "Tuple" if self.fields:
                pairs = zip(self.fields, self.inner, strict=True)
                return f"NamedTuple({', '.join(f'{name} : {pair.text}' for name, pair in pairs)})"
            case "Tuple":
                return f"({', '.join(inner.text for inner in self.inner)})"
            case "Future":
                return f"Future[{self.element.text}]"
            case "Union":
                return f"Union({', '.join(inner.text for inner in self.inner)})"
            case "Enum":
                return f"Enum<{self.name}>"
            case "class":
                return self.name
        return self.kind

    def __str__(self) -> str:
        """Returns the type as an annotation, for messages: `List[int]`."""
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
    """Returns the Optional of a type."""
    if inner.kind == "Union":
        return union((inner, NONE))
    return inner if inner.kind in ("Optional", "NoneType", "Any") else Type("Optional", (inner,))


def list_of(inner: Type) -> Type:
    """Returns a list."""
    return Type("List", (inner,))


def future_of(inner: Type) -> Type:
    """Returns the type of a Future: `jit.fork`."""
    return Type("Future", (inner,))


def dict_of(key: Type, value: Type) -> Type:
    """Returns a dictionary."""
    return Type("Dict", (key, value))


def tuple_of(*inner: Type, fields: tuple[str, ...] = ()) -> Type:
    """Returns a tuple type, with field names if it is a named tuple."""
    return Type("Tuple", inner, "", fields)


def is_subtype(type: Type, supertype: Type) -> bool:
    """Returns whether every value of `type` is one of `supertype`."""
    if type == supertype or supertype is ANY or supertype.kind == "Any":
        return True
    if type.kind == "Union":
        return all(is_subtype(member, supertype) for member in type.inner)
    if supertype.kind == "Union":
        if any(is_subtype(type, member) for member in supertype.inner):
            return True
        return type.kind == "Optional" and all(
            is_subtype(x, supertype) for x in (type.element, NONE)
        )
    if supertype.kind == "Optional":
        if type.kind == "Optional":
            return is_subtype(type.element, supertype.element)
        return type == NONE or is_subtype(type, supertype.element)
    if supertype == SCALAR:
        return type in _NUMBERS
    if type.kind == supertype.kind == "Future":
        return is_subtype(type.element, supertype.element)
    if type.kind == "Tuple" and supertype.kind == "Tuple":
        same = len(type.inner) == len(supertype.inner)
        named = not supertype.fields or supertype.fields == type.fields
        return same and named and all(map(is_subtype, type.inner, supertype.inner))
    return False


def unify(a: Type, b: Type) -> Type | None:
    """Returns the most specific common supertype; None if that is Any."""
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
        known_types = [inner_type for inner_type in inner_types if inner_type is not None]
        return tuple_of(*known_types) if len(known_types) == len(inner_types) else None
    return None


# PyTorch's order of types in a Union.
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
    """Returns the members of a Union or an Optional; any other type is its only member."""
    if of.kind == "Optional":
        return [*members(of.element), NONE]
    return list(of.inner) if of.kind == "Union" else [of]


def union(types: Iterable[Type]) -> Type:
    """Returns the Union of types, without subtypes of other members. T and None become an Optional;
    int, float and complex a Scalar; a single type is returned itself."""
    minimal: list[Type] = []
    for member_type in (member for type in types for member in members(type)):
        if any(is_subtype(member_type, type_) for type_ in minimal):
            continue
        minimal = [type_ for type_ in minimal if not is_subtype(type_, member_type)] + [member_type]
    minimal.sort(key=lambda type_: (_UNION_ORDER.index(type_.kind), type_.text))
    not_none = [type_ for type_ in minimal if type_ != NONE]
    if set(not_none) == {INT, FLOAT, COMPLEX}:
        not_none = [SCALAR]
    if len(not_none) < 2:
        only = not_none[0] if not_none else NONE
        return optional(only) if NONE in minimal else only
    return Type("Union", tuple(minimal))


def wrong_key(key: Type) -> str:
    """Returns the reason why a Dict cannot have keys of this type; "" if it can."""
    if key.kind in ("str", "int", "float", "bool", "complex", "Tensor"):
        return ""
    instead = {
        "Enum": "take .name or .value of the member",
        "Tuple": 'convert it to a string: f"{a},{b}"',
    }
    return (
        f"keys of a Dict are str, int, float, bool, complex or Tensor, not {key}. "
        f"Hint: {instead.get(key.kind, 'use a number or a string that names it')}"
    )


class UnknownType(TypeError):
    """An annotation that is not a type of the language."""
