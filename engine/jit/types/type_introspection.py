"""Types of graphs and schemas of functions: strings with PyTorch's queries."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from engine import dtypes
from engine._native import lib
from engine.dtypes import device, dtype
from engine.function_schema import REQUIRED, parse_schema
from engine.function_schema import Argument as SchemaArgument
from engine.jit.c_results import c_integer, c_string
from engine.tensor import Tensor

_KINDS = {
    "int": "IntType",
    "float": "FloatType",
    "complex": "ComplexType",
    "bool": "BoolType",
    "str": "StringType",
    "NoneType": "NoneType",
    "Scalar": "NumberType",
    "Device": "DeviceObjType",
    "Function": "FunctionType",
    "Any": "AnyType",
}
_BRACKETS = (
    ("Dict(", "DictType"),
    ("Future", "FutureType"),
    ("Union", "UnionType"),
    ("Enum<", "EnumType"),
    ("(", "TupleType"),
    ("__torch__.", "ClassType"),
)
_TITLES = {
    "Float": dtypes.float32,
    "Double": dtypes.float64,
    "Half": dtypes.float16,
    "BFloat16": dtypes.bfloat16,
    "Byte": dtypes.uint8,
    "Char": dtypes.int8,
    "Short": dtypes.int16,
    "Int": dtypes.int32,
    "Long": dtypes.int64,
    "Bool": dtypes.bool_,
    "ComplexFloat": dtypes.complex64,
    "ComplexDouble": dtypes.complex128,
}


def split(text: str) -> list[str]:
    """Splits a string at the commas outside of brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, c in enumerate(text):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{<":
            depth += 1
        elif c in ")]}>" and text[i - 1 : i + 1] != "->":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last or parts else []


class Type(str):
    """A type as graphs print it: "Float(2, 3)", "int[]", "(Tensor, int)".

    A query that does not apply to the kind of the type returns None, as in PyTorch.

    >>> t = Type("Float(2, 3, strides=[3, 1], device=cpu)")
    >>> t.kind(), t.sizes(), t.scalarType()
    ('TensorType', [2, 3], 'Float')
    """

    __slots__ = ()

    @property
    def annotation_str(self) -> str:
        """Returns the type as a Python annotation: "List[int]"."""
        return c_string(lib.uh_type_annotation(self.encode()))

    def kind(self) -> str:
        """Returns the kind: "TensorType", "ListType", "IntType" and so on."""
        if self.endswith("[]"):
            return "ListType"
        if self.endswith("?"):
            return "OptionalType"
        for start, kind in _BRACKETS:
            if self.startswith(start):
                return kind
        return _KINDS.get(self, "TensorType")

    def isSubtypeOf(self, other: str) -> bool:
        """Return whether a value of this type is also one of the other."""
        return c_integer(lib.uh_type_is_subtype(self.encode(), other.encode())) == 1

    def containedTypes(self) -> list[Type]:
        """Returns the contained types: the element type of a list, each type of a tuple."""
        match self.kind():
            case "ListType":
                return [Type(self[:-2])]
            case "OptionalType":
                return [Type(self[:-1])]
            case "TupleType" | "DictType" | "FutureType" | "UnionType":
                start = min(i for i in (self.find("("), self.find("[")) if i >= 0)
                return [Type(item) for item in split(self[start + 1 : -1])]
        return []

    def getElementType(self) -> Type:
        """Returns the element type of a list, optional or future. Raises: RuntimeError for any other."""
        if self.kind() not in ("ListType", "OptionalType", "FutureType"):
            raise RuntimeError(f"getElementType: {self} has no single element type")
        return self.containedTypes()[0]

    def elements(self) -> list[Type]:
        """Returns the element types of a tuple. Raises: RuntimeError for any other."""
        if self.kind() != "TupleType":
            raise RuntimeError(f"elements: {self} is not a tuple")
        return self.containedTypes()

    # Of tensors

    def _facts(self) -> tuple[list[str], dict[str, str]]:
        inside = self.partition("(")[2].removesuffix(")") if self.kind() == "TensorType" else ""
        parts = split(inside)
        named = [part.split("=", 1) for part in parts if "=" in part]
        return [part for part in parts if "=" not in part], dict(named)

    def scalarType(self) -> str | None:
        """Returns "Float" of float32; None if unknown."""
        title = self.partition("(")[0]
        return title if self.kind() == "TensorType" and title != "Tensor" else None

    def dtype(self) -> dtype | None:
        """Returns the dtype; None if unknown."""
        return _TITLES.get(self.scalarType() or "")

    def dim(self) -> int | None:
        """Returns the number of dimensions; None if unknown."""
        sizes, _ = self._facts()
        known = self.scalarType() is not None and "..." not in sizes and "(" in self
        return len(sizes) if known else None

    def varyingSizes(self) -> list[int | None] | None:
        """Returns the sizes, None for an unknown one; None if their number is unknown."""
        if self.dim() is None:
            return None
        return [None if item == "*" else int(item) for item in self._facts()[0]]

    def sizes(self) -> list[int] | None:
        """Returns the sizes; None unless all of them are known."""
        sizes = self.varyingSizes()
        return None if sizes is None or None in sizes else [n for n in sizes if n is not None]

    def strides(self) -> list[int] | None:
        """Returns the strides; None unless all of them are known."""
        text = self._facts()[1].get("strides", "")
        return None if not text or "*" in text else [int(n) for n in re.findall(r"-?\d+", text)]

    def device(self) -> device | None:
        """Returns the device; None if unknown."""
        name = self._facts()[1].get("device")
        return device(name) if name else None

    def requires_grad(self) -> bool:
        """Return whether it may require a gradient: True unless the type excludes it."""
        return self.kind() == "TensorType" and self._facts()[1].get("requires_grad") != "0"


def type_of(tensor: Tensor) -> Type:
    """Returns a Tensor's type as graphs have it, with sizes and strides."""
    title = next(name for name, item in _TITLES.items() if item == tensor.dtype)
    facts = list(map(str, tensor.shape))
    if facts:
        facts.append(f"strides=[{', '.join(map(str, tensor.stride()))}]")
    facts += [f"requires_grad={int(tensor.requires_grad)}", f"device={tensor.device}"]
    return Type(f"{title}({', '.join(facts)})")


class Argument(NamedTuple):
    """One argument or result of a schema."""

    name: str
    type: Type
    default_value: Any = None
    kwarg_only: bool = False
    has_default: bool = False

    def has_default_value(self) -> bool:
        """Return whether the argument may be omitted."""
        return self.has_default


class Schema(str):
    """The text of a schema: "f(Tensor x, int n=2) -> Tensor".

    >>> s = Schema("aten::f.Scalar(Tensor x, *, int n=2) -> (Tensor, int[])")
    >>> s.name, s.overload_name, [a.name for a in s.arguments], [str(r.type) for r in s.returns]
    ('aten::f', 'Scalar', ['x', 'n'], ['Tensor', 'int[]'])
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name, with its namespace if it has one."""
        return parse_schema(self).name

    @property
    def overload_name(self) -> str:
        """The name after the dot."""
        return parse_schema(self).overload_name

    @property
    def arguments(self) -> list[Argument]:
        """The arguments, in order."""
        return list(map(_argument, parse_schema(self).arguments))

    @property
    def returns(self) -> list[Argument]:
        """The results, in order; names only where the schema has some."""
        return list(map(_argument, parse_schema(self).returns))


def _argument(declared: SchemaArgument) -> Argument:
    has_default = declared.default is not REQUIRED
    default = declared.default if has_default else None
    return Argument(
        declared.name, Type(declared.type_text), default, declared.keyword_only, has_default
    )


def _text(self: Type) -> str:
    """Returns the text, as graphs write it."""
    return str.__str__(self)


setattr(Type, "str", _text)  # noqa: B010  (PyTorch's name, which in the class would hide str)
