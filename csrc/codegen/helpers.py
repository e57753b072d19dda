"""csrc/codegen/helpers.yaml: the functions that expressions call, one declaration each."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import yaml
from expression import Body, Helper, Operand, Scope, Type, parse_body
from model import DeclarationError

PATH = Path(__file__).with_name("helpers.yaml")
SIGNATURE = re.compile(r"(\w+)\((.*)\) -> (\w+)")
TYPES = {t.value: t for t in Type if t is not Type.NUMBER}
KEYS = {"helper", "cpp", "expr", "float", "native", "native_float", "formula", "zero_division"}


def load(path: Path = PATH) -> dict[str, Helper]:
    """Read the helpers by name; a body may call helpers declared above it."""
    helpers: dict[str, Helper] = {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for entry in loader(path.read_text()).get_data():
        helper = _helper(entry, helpers, path.name)
        if helper.name in helpers:
            raise DeclarationError(f"{path.name}: {helper.name} is declared twice")
        helpers[helper.name] = helper
    return helpers


def _helper(entry: dict, helpers: dict[str, Helper], file: str) -> Helper:
    unknown = set(entry) - KEYS
    match = SIGNATURE.fullmatch(entry["helper"])
    if unknown or not match:
        raise DeclarationError(f"{file}: {entry['helper']}: unknown keys {sorted(unknown)}")
    name, arguments, result = match.groups()
    pairs = [argument.split() for argument in arguments.split(", ")]
    try:
        parameters = tuple((parameter, TYPES[type_name]) for type_name, parameter in pairs)
        helper = Helper(name, parameters, TYPES[result])
    except (KeyError, ValueError):
        raise DeclarationError(
            f"{file}: {entry['helper']}: a parameter is 'type name'; types: {', '.join(TYPES)}"
        ) from None
    if ("cpp" in entry) == ("expr" in entry):
        raise DeclarationError(f"{file}: {name} needs either cpp or expr")
    return replace(
        helper,
        cpp=entry.get("cpp", ""),
        body=_body(helper, entry, "expr", helpers, file),
        float_body=_body(helper, entry, "float", helpers, file),
        native=entry.get("native", ""),
        native_float=entry.get("native_float", ""),
        formula=entry.get("formula", ""),
        zero_division=entry.get("zero_division", False),
    )


def _body(
    helper: Helper, entry: dict, key: str, helpers: dict[str, Helper], file: str
) -> Body | None:
    if key not in entry:
        return None
    element = Type.FLOAT if key == "float" else Type.ELEMENT
    types = {name: element if t is Type.ELEMENT else t for name, t in helper.parameters}
    names = {name: Operand(t, name) for name, t in types.items()}
    result = element if helper.result is Type.ELEMENT else helper.result
    scope = Scope(f"{file}: {helper.name}, {key}", names, helpers, element=element)
    return parse_body(str(entry[key]), scope, result)
