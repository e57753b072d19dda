"""Boxed calls: schemas read from their text, Python values as tagged values and back."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine._native import ffi, lib
from engine.arguments import accepts, type_word, wanted_word
from engine.dtypes import DEVICES, DTYPES, as_device, as_dtype
from engine.marshal import complex_number, complex_value
from engine.tensor import Tensor, wrap

# The tags of uh_value.
NONE, TENSOR, INT, FLOAT, BOOL, INTS, STRING, TENSORS, DTYPE, DEVICE, FLOATS, COMPLEX = range(12)
_REQUIRED = object()
_TEXT = re.compile(r"(?P<name>\w+)(\.(?P<overload>\w+))?\((?P<arguments>.*)\) -> (?P<results>.+)")
_ARGUMENT = re.compile(
    r"(?P<type>\w+(\((?P<alias>\w+)(?P<write>!?)\))?[?\[\]\d]*)\s+(?P<name>\w+)(=(?P<default>.+))?"
)


@dataclass(frozen=True)
class Argument:
    """One argument of an operator."""

    type: str  # "Tensor", "int[]?", ...
    name: str
    default: Any
    keyword_only: bool
    written: bool


class Schema:
    """An operator's signature, read from its text."""

    def __init__(self, text: str) -> None:
        self.text = text
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"schema: not a schema: {text!r}")
        self.name = match["name"]
        self.overload = match["overload"] or ""
        self.results = match["results"]
        self._arguments = match["arguments"]

    @property
    def full_name(self) -> str:
        """Name and overload: "add.Tensor"."""
        return f"{self.name}.{self.overload}" if self.overload else self.name

    @cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments in order."""
        found, keyword_only = [], False
        for part in _split(self._arguments):
            if part == "*":
                keyword_only = True
                continue
            match = _ARGUMENT.fullmatch(part)
            if match is None:
                raise ValueError(f"schema: not an argument: {part!r} in {self.text!r}")
            kind = re.sub(r"\(\w+!?\)", "", match["type"])
            default = _REQUIRED if match["default"] is None else _literal(match["default"])
            found.append(
                Argument(kind, match["name"], default, keyword_only, match["write"] == "!")
            )
        return tuple(found)

    @property
    def written(self) -> int | None:
        """The position of the argument that the operator writes to, if any."""
        return next((i for i, one in enumerate(self.arguments) if one.written), None)

    def bind(self, args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
        """The values of all arguments in order; TypeError when one is missing or too many."""
        positional = sum(not one.keyword_only for one in self.arguments)
        if len(args) > positional:
            raise TypeError(
                f"{self.full_name}: takes {positional} positional arguments, got {len(args)}; "
                f"the schema is {self.text}"
            )
        options = dict(options)
        values = []
        for position, one in enumerate(self.arguments):
            if position < len(args):
                values.append(args[position])
            elif one.name in options:
                values.append(options.pop(one.name))
            elif one.default is _REQUIRED:
                raise TypeError(
                    f"{self.full_name}: missing argument {one.name!r}; the schema is {self.text}"
                )
            else:
                values.append(one.default)
        if options:
            unknown = ", ".join(map(repr, options))
            raise TypeError(f"{self.full_name}: no argument {unknown}; the schema is {self.text}")
        return values

    def check(self, values: list[Any]) -> None:
        """Raises TypeError for the first value that its argument cannot take."""
        for one, value in zip(self.arguments, values, strict=True):
            one_for_all = one.type.startswith("int[") and accepts("int", value)  # int[2] padding=0
            if not accepts(one.type, value) and not one_for_all:
                raise TypeError(
                    f"{self.full_name}: argument {one.name!r} must be {wanted_word(one.type)}, "
                    f"got {type_word(value)}; the schema is {self.text}"
                )

    def __repr__(self) -> str:
        return self.text


def _split(text: str) -> list[str]:
    """The arguments of a schema: cut at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for position, char in enumerate(text):
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return {"true": True, "false": False}.get(text, text)


def box(values: list[Any], schema: Schema) -> tuple[Any, list[Any]]:
    """The values as an array of uh_value, and what must stay alive during the call."""
    schema.check(values)
    boxed = ffi.new("uh_value[]", len(values) or 1)
    alive: list[Any] = []
    for slot, argument, value in zip(boxed, schema.arguments, values, strict=False):
        _fill(slot, argument.type.rstrip("?"), value, alive)
    return boxed, alive


def _fill(slot: Any, kind: str, value: Any, alive: list[Any]) -> None:
    if value is None:
        slot.tag = NONE
    elif kind.startswith("Tensor") and kind.endswith("]"):
        slot.tag, slot.i = TENSORS, len(value)
        slot.p = _keep(
            ffi.new("uh_handle[]", [0 if one is None else one._h for one in value]), alive
        )
    elif isinstance(value, Tensor):
        slot.tag, slot.i = TENSOR, value._h
    elif kind == "ScalarType":
        slot.tag, slot.i = DTYPE, as_dtype(value, "dtype").code
    elif kind == "Device":
        slot.tag, slot.i = DEVICE, as_device(value, "device").code
    elif kind.startswith("int") and kind.endswith("]"):
        numbers = [value] if isinstance(value, int) else [int(one) for one in value]
        slot.tag, slot.i = INTS, len(numbers)
        slot.p = _keep(ffi.new("int64_t[]", numbers), alive)
    elif kind.startswith("float") and kind.endswith("]"):
        slot.tag, slot.i = FLOATS, len(value)
        slot.p = _keep(ffi.new("double[]", [float(one) for one in value]), alive)
    elif isinstance(value, str):
        raw = value.encode()
        slot.tag, slot.i = STRING, len(raw)
        slot.p = _keep(ffi.new("char[]", raw), alive)
    elif isinstance(value, bool):
        slot.tag, slot.i = BOOL, value
    elif isinstance(value, complex):
        _, slot.i, slot.d = complex_number(value)
        slot.tag = COMPLEX
    elif isinstance(value, float) or kind == "float":
        slot.tag, slot.d = FLOAT, float(value)
    else:
        slot.tag, slot.i = INT, value.__index__()


def _keep(memory: Any, alive: list[Any]) -> Any:
    alive.append(memory)
    return memory


def unbox(value: Any) -> Any:
    """A returned uh_value as a Python value; tensors move into Python objects."""
    match value.tag:
        case 1:
            return wrap(value.i)
        case 2:
            return int(value.i)
        case 3:
            return float(value.d)
        case 4:
            return bool(value.i)
        case 5:
            return tuple(ffi.unpack(ffi.cast("int64_t *", value.p), value.i)) if value.i else ()
        case 6:
            return ffi.unpack(ffi.cast("char *", value.p), value.i).decode()
        case 9:
            return DEVICES[value.i] if value.i >= 0 else None
        case 10:
            return tuple(ffi.unpack(ffi.cast("double *", value.p), value.i)) if value.i else ()
        case 7:
            found = ffi.cast("uh_list *", value.p)
            tensors = tuple(map(wrap, ffi.unpack(found.items, found.n))) if found.n else ()
            lib.uh_list_free(found)
            return tensors
        case 8:
            return DTYPES[value.i] if value.i >= 0 else None
        case 11:
            return complex_value(value.d, value.i)
        case _:
            return None
