"""FunctionSchema: what an operator takes and returns, as typed data from the library."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from engine._native import ffi, lib
from engine._native.errors import raise_last

REQUIRED = object()  # marks an argument without a default


@dataclass(frozen=True)
class SchemaType:
    """A type of a schema: csrc/dispatch/function_schema.h."""

    kind: str  # "Tensor", "int"...; "Optional", "List", "Tuple" or "Dict" of `inner`
    inner: tuple[SchemaType, ...] = ()
    fixed_size: int = 0  # the 2 of int[2]: one int may be passed for both

    @cached_property
    def base(self) -> str:
        """The innermost element type: "int" for int[2]?."""
        return self.inner[0].base if self.kind in ("Optional", "List") else self.kind

    @property
    def without_optional(self) -> SchemaType:
        """The type without `?`: int[2] for int[2]?."""
        return self.inner[0] if self.kind == "Optional" else self

    @cached_property
    def one_for_all(self) -> bool:
        """True if one int may be passed for this list of ints."""
        listed = self.without_optional
        return listed.kind == "List" and listed.inner[0].kind == "int"


@dataclass(frozen=True)
class Argument:
    """One argument or result."""

    name: str
    type: SchemaType
    type_text: str  # "int[]?"
    default: Any = REQUIRED
    keyword_only: bool = False
    takes_number: bool = False  # a tensor operand that may be a number
    alias_set: str = ""
    is_write: bool = False


class FunctionSchema:
    """Name, arguments and results of an operator."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.text: str = data["text"]
        self.name: str = data["name"]
        self.overload_name: str = data["overload_name"]
        self.arguments = tuple(map(_argument, data["arguments"]))
        self.returns = tuple(map(_argument, data["returns"]))

    @property
    def full_name(self) -> str:
        """Name and overload: "add.Tensor"."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    @cached_property
    def written(self) -> int | None:
        """The position of the first argument that the operator writes to, if any."""
        return next((i for i, a in enumerate(self.arguments) if a.is_write), None)

    def bind(self, args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
        """Return the values of all arguments in order. Raises: TypeError for missing or extra
        arguments."""
        positional = sum(not a.keyword_only for a in self.arguments)
        if len(args) > positional:
            raise TypeError(
                f"{self.full_name}: takes {positional} positional arguments, got {len(args)}; "
                f"the schema is {self.text}"
            )
        options = dict(options)
        values = []
        for position, argument in enumerate(self.arguments):
            if position < len(args):
                values.append(args[position])
            elif argument.name in options:
                values.append(options.pop(argument.name))
            elif argument.default is REQUIRED:
                raise TypeError(
                    f"{self.full_name}: missing argument {argument.name!r}; the schema is {self.text}"
                )
            else:
                values.append(argument.default)
        if options:
            unknown = ", ".join(map(repr, options))
            raise TypeError(f"{self.full_name}: no argument {unknown}; the schema is {self.text}")
        return values

    def __repr__(self) -> str:
        return self.text


def _type(data: dict[str, Any]) -> SchemaType:
    inner = tuple(map(_type, data.get("inner", ())))
    return SchemaType(data.get("name", data["kind"]), inner, data.get("size", 0))


def _argument(data: dict[str, Any]) -> Argument:
    type_ = _type(data["type"])
    default = data.get("default", REQUIRED)
    if isinstance(default, dict):
        default = _literal(default["literal"])
    elif type_.without_optional.kind == "float" and isinstance(default, (int, str)):
        default = float(default)  # JSON has no infinity and writes 1.0 as 1
    return Argument(
        data["name"],
        type_,
        data["type_text"],
        default,
        data.get("keyword_only", False),
        data.get("takes_number", False),
        data.get("alias_set", ""),
        data.get("is_write", False),
    )


def _literal(text: str) -> Any:
    """Return a default of a compiled function that is not a number, string or list of numbers."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a word, such as `long` or `contiguous_format`


@lru_cache(maxsize=4096)
def parse_schema(text: str) -> FunctionSchema:
    """Parse a schema. Raises: RuntimeError that points at the syntax error."""
    result = lib.uh_schema_json(text.encode())
    if result == ffi.NULL:
        raise_last()
    return FunctionSchema(json.loads(ffi.string(result)))


def operator_schema(name: str) -> tuple[FunctionSchema, frozenset[str]]:
    """Return the schema and tags of an operator by its full name. Raises: RuntimeError for an unknown
    one."""
    name = name.removeprefix("aten::")
    # An operator of a library may be registered again with another schema.
    return _operator_schema(name, lib.uh_operator_generation() if "::" in name else 0)


@lru_cache(maxsize=4096)
def _operator_schema(name: str, generation: int) -> tuple[FunctionSchema, frozenset[str]]:
    result = lib.uh_op_schema_json(name.encode())
    if result == ffi.NULL:
        raise_last()
    data = json.loads(ffi.string(result))
    return FunctionSchema(data["schema"]), frozenset(data["tags"])


def operator_names() -> list[str]:
    """Return the full name of every registered operator, such as "aten::add.Tensor"."""
    names = []
    for position in range(lib.uh_op_count()):
        name = lib.uh_op_name(position)
        if name == ffi.NULL:  # another thread destroyed a library
            break
        names.append(ffi.string(name).decode())
    return names
