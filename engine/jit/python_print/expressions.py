"""Nodes of a graph as Python expressions, in PyTorch's form."""

from __future__ import annotations

import ast
import enum
import functools
import re
from collections.abc import Container
from typing import Any

from engine._native import lib
from engine.function_schema import Argument, parse_schema
from engine.jit.c_results import c_string
from engine.jit.types.enums import enum_type

_CALLS = {
    "aten::Bool": "bool",
    "aten::backward": "torch.autograd.backward",
    "aten::Int": "int",
    "aten::Float": "float",
    "aten::Complex": "complex",
    "aten::str": "str",
    "aten::sorted": "sorted",
    "prim::Print": "print",
}
_ESCAPES = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@functools.lru_cache(512)
def annotation(type: str) -> str:
    """Returns a graph's type as a Python annotation: "int[]" is List[int]."""
    text = c_string(lib.uh_type_annotation(type.encode()))
    return re.sub(r"\bNone\b", "NoneType", re.sub(r"\bEnum<([\w.]+)>", r"\1", text))


def constant(value: Any) -> str:
    """Prints a number, string, None, or a list, tuple or dictionary of them."""
    match value:
        case enum.Enum():
            return f"{enum_type(type(value)).name}.{value.name}"
        case str():
            return '"' + "".join(_ESCAPES.get(element, element) for element in value) + '"'
        case float():
            text = f"{value:.17g}"
            return text + "." if text.lstrip("-").isdigit() and abs(value) < 1e10 else text
        case list():
            return f"[{', '.join(map(constant, value))}]"
        case tuple():
            return f"({', '.join(map(constant, value))}{',' if len(value) == 1 else ''})"
        case dict():
            return "{" + ", ".join(f"{constant(k)}: {constant(v)}" for k, v in value.items()) + "}"
    return str(value)


def expression(
    node: dict[str, Any], args: list[str], types: dict[int, str], built: Container[int] = ()
) -> str:
    """Prints a node whose inputs are printed as `args`.

    built: inputs that are lists built by the program. These are printed even if they equal the
    operator's defaults.
    """
    kind = node["kind"]
    attribute = node["attributes"].get("name", "").strip('"')
    output = node["outputs"][0]["type"] if node["outputs"] else ""
    match kind:
        case "prim::Constant":
            return _constant(node["attributes"], output)
        case "prim::Uninitialized":
            return f"uninitialized({annotation(output)})"
        case "prim::ListConstruct":
            element = output.removesuffix("[]")
            plain = args and all(
                annotation(types[operand]) == annotation(element) for operand in node["inputs"]
            )
            text = f"[{', '.join(args)}]"
            return text if plain else f"annotate({annotation(output)}, {text})"
        case "prim::DictConstruct":
            pairs = zip(args[::2], args[1::2], strict=True)
            text = "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
            return text if args else f"annotate({annotation(output)}, {text})"
        case "prim::TupleConstruct":
            name = annotation(output) if output.startswith("__torch__.") else ""
            return f"{name}({', '.join(args)}{',' if len(args) == 1 and not name else ''})"
        case "prim::ListUnpack" | "prim::TupleUnpack":
            return args[0]
        case "prim::TupleIndex":
            return f"({args[0]})[{args[1]}]"
        case "aten::__getitem__":
            return f"{args[0] if args[0].isidentifier() else f'({args[0]})'}[{args[1]}]"
        case "prim::GetAttr" | "prim::SetAttr":
            plain = attribute.isidentifier()
            text = f"{args[0]}.{attribute}" if plain else f'getattr({args[0]}, "{attribute}")'
            return text if kind == "prim::GetAttr" else f"{text} = {args[1]}"
        case "prim::CallFunction":
            return f"{args[0]}({''.join(f'{arg}, ' for arg in args[1:])})"
        case "prim::CallMethod":
            return f"({args[0]}).{attribute}({''.join(f'{arg}, ' for arg in args[1:])})"
        case "prim::RaiseException":
            printed = args[:1] if args[1:] == ["None"] else args
            return f"ops.prim.RaiseException({', '.join(printed)})"
        case (
            "aten::ScalarImplicit"
            | "aten::FloatImplicit"
            | "aten::IntImplicit"
            | "aten::ComplexImplicit"
        ):
            return f"annotate({annotation(output)}, {args[0]})"
        case "prim::CreateObject":
            return f"{output}.__new__({output})"
        case "prim::EnumName" | "prim::EnumValue":
            return f"({args[0]}).{kind.removeprefix('prim::Enum').lower()}"
        case "prim::unchecked_cast":
            return f"unchecked_cast({annotation(output)}, {args[0]})"
        case "prim::isinstance":
            return f"isinstance({args[0]}, {_isinstance_types(node['attributes'])})"
    if kind in _CALLS:
        return f"{_CALLS[kind]}({', '.join(_needed(node, args, built))})"
    space, _, name = kind.partition("::")
    namespace = "torch" if space == "aten" else f"ops.{space}"
    return f"{namespace}.{name}({', '.join(_needed(node, args, built))})"


def _isinstance_types(attributes: dict[str, str]) -> str:
    listed = attributes["types"].removeprefix("[").removesuffix("]")
    types = [annotation(part) for part in _split(listed)]
    return types[0] if len(types) == 1 else f"({', '.join(types)})"


def _split(text: str) -> list[str]:
    """Splits at the commas outside of brackets: "int, Dict(str, int)" has two parts."""
    parts, depth, from_ = [], 0, 0
    for i, character in enumerate(text):
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            parts.append(text[from_:i].strip())
            from_ = i + 1
    return [*parts, text[from_:].strip()]


def _constant(attributes: dict[str, str], type: str) -> str:
    if "name" in attributes:
        return f"__torch__.{attributes['name'].strip(chr(34))}"
    text = attributes.get("value", "None")
    if type == "bool":
        return str(text == "1")
    if type == "Device":
        return f"torch.device({text})"
    return "CONSTANT" if text.startswith("<") else text


def _needed(node: dict[str, Any], args: list[str], built: Container[int]) -> list[str]:
    """Returns the arguments up to the last one that differs from its default."""
    if "schema" not in node:
        return args
    declared = parse_schema(node["schema"]).arguments
    if len(declared) != len(args):
        return args
    n = len(args)
    while (
        n > 0 and node["inputs"][n - 1] not in built and _is_default(args[n - 1], declared[n - 1])
    ):
        n -= 1
    pairs = zip(args[:n], declared[:n], strict=True)
    return [f"{a.name}={text}" if a.keyword_only else text for text, a in pairs]


def _is_default(text: str, argument: Argument) -> bool:
    """Returns whether a printed constant is the argument's default."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # a variable
        return False
    return type(value) is type(argument.default) and bool(value == argument.default)
