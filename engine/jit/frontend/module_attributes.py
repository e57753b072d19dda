"""The typed attributes of a module: parameters, buffers, constants, plain attributes, functions."""

from __future__ import annotations

import inspect
import typing
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from engine.dtypes import device as device_class
from engine.dtypes import dtype as dtype_class
from engine.jit import decorators
from engine.jit.frontend.classes import known_class
from engine.jit.frontend.errors import CompileError
from engine.jit.frontend.operators import in_engine
from engine.jit.runtime.function import ScriptFunction
from engine.jit.types.annotations import from_object, named_tuple
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
    dict_of,
    list_of,
    tuple_of,
    unify,
)
from engine.nn.module import Module
from engine.tensor import Tensor

# Attributes of Module's implementation; `training` is an attribute of compiled modules too.
_OWN = frozenset(vars(Module())) - {"training"}


@dataclass(frozen=True)
class Attribute:
    """One attribute of a compiled module. kind: parameter, buffer, module or attribute."""

    name: str
    of: Type
    kind: str
    value: Any = None

    @property
    def type(self) -> str:
        """Its type, as graphs write it."""
        return self.of.text


@dataclass
class Described:
    """A module's attributes; `key` is the same for modules that can share a class."""

    attributes: dict[str, Attribute] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)  # name -> why it has no type
    key: Any = None


class NoType(TypeError):
    """A value whose type is not supported."""


def infer(value: Any) -> Type:
    """Infers the type of a Python value. Raises: NoType."""
    if isinstance(value, Enum):
        return enum_type(type(value))
    script_class = known_class(type(value))
    if script_class is not None:
        return script_class.type
    plain = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX, str: STR, type(None): NONE}
    if type(value) in plain:
        return plain[type(value)]
    if isinstance(value, Tensor):
        return TENSOR
    if isinstance(value, device_class):
        return DEVICE
    if isinstance(value, dtype_class):
        return INT
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return named_tuple(type(value))
    if isinstance(value, tuple):
        return tuple_of(*map(infer, value))
    if isinstance(value, list):
        return list_of(_common(value, "list"))
    if isinstance(value, dict):
        return dict_of(_common(list(value), "dict"), _common(list(value.values()), "dict"))
    name = type(value).__name__
    raise NoType(
        f"objects of the class {name} have no type in compiled code. Hint: compile the class, by "
        f"@jit.script before `class {name}`"
    )


def _common(values: list[Any], word: str) -> Type:
    if not values:
        raise NoType(
            f"it is an empty {word}; say what it holds with an annotation of the class, such as "
            "names: List[str]"
        )
    common: Type | None = infer(values[0])
    for value in values[1:]:
        common = common and unify(common, infer(value))
    if common is None:
        raise NoType(f"the elements of the {word} have different types")
    return common


def _annotations(module: Module) -> tuple[dict[str, Type], set[str]]:
    """Returns the types that the module's classes declare, and the names declared Final."""
    types: dict[str, Type] = {}
    final: set[str] = set()
    for kind in reversed(type(module).__mro__):
        if kind is Module or not issubclass(kind, Module):
            continue
        for name, note in inspect.get_annotations(kind).items():
            annotation = _evaluated(note, kind)
            if decorators.modifier_of(annotation) == "interface":
                _check_interface(module, name, annotation)
                continue
            if annotation is typing.Final or typing.get_origin(annotation) is typing.Final:
                final.add(name)
                continue
            try:
                types[name] = from_object(annotation)
            except TypeError:
                types.pop(name, None)  # not a TorchScript type: the type is inferred from the value
    return types, final


def _check_interface(module: Module, name: str, interface: type) -> None:
    """Checks that a submodule has the methods of the interface that its annotation names."""
    submodule = getattr(module, name, None)
    for method, declared in vars(interface).items():
        if not inspect.isfunction(declared) or method.startswith("__"):
            continue
        implementation = getattr(type(submodule), method, None)
        names = list(inspect.signature(declared).parameters)
        word = f"{type(module).__name__}.{name} is a {type(submodule).__name__}"
        if implementation is None or implementation is Module.forward:
            raise CompileError(
                f"{word}, which has no method '{method}' of the interface {interface.__name__}"
            )
        if list(inspect.signature(implementation).parameters) != names:
            raise CompileError(
                f"{word}, whose method '{method}' takes other parameters than the interface "
                f"{interface.__name__} says: {', '.join(names)}"
            )


def _evaluated(note: Any, kind: type) -> Any:
    if not isinstance(note, str):
        return note
    module = inspect.getmodule(kind)
    try:
        return eval(note, {**vars(typing), **(vars(module) if module else {})})
    except Exception:  # evaluating an annotation may raise anything
        return None if note == "None" else ...


def describe(module: Module) -> Described:
    """Returns the attributes of a module with their types."""
    described = Described()
    declared, final = _annotations(module)
    constants = set(getattr(module, "__constants__", ())) | final
    if in_engine(type_of(module)):  # the engine's modules choose operators by these
        constants |= {name for name, value in vars(module).items() if _is_text(value)}
    for table, kind in ((module._parameters, "parameter"), (module._buffers, "buffer")):
        for name, value in table.items():
            type = declared.get(name, infer(value)) if declared.get(name) != NONE else infer(value)
            if type.kind not in ("Tensor", "Optional"):
                type = infer(value)
            described.attributes[name] = Attribute(
                name, type, kind if value is not None else "attribute"
            )
    for name, value in vars(module).items():
        if name in _OWN or name in described.attributes or name in module._modules:
            continue
        _plain(described, name, value, declared, constants)
    for name in (
        constants - set(described.constants) - set(described.attributes) - set(module._modules)
    ):
        if hasattr(module, name):
            described.constants[name] = getattr(module, name)
    if "training" not in described.attributes:
        described.attributes["training"] = Attribute("training", BOOL, "attribute")
    ignored = any(
        decorators.modifier_of(inspect.getattr_static(type_of(module), name, None)) == "ignore"
        for name in dir(type_of(module))
    )
    described.key = (
        type_of(module),
        tuple(
            (attribute.name, attribute.of, attribute.kind)
            for attribute in described.attributes.values()
        ),
        tuple((name, repr(value)) for name, value in sorted(described.constants.items())),
        tuple((name, id(value)) for name, value in described.functions.items()),
        id(module) if ignored else 0,
    )
    return described


def _is_text(value: Any) -> bool:
    elements = value if isinstance(value, list) else [value]
    return bool(elements) and all(isinstance(element, str) for element in elements)


def type_of(module: Module) -> type:
    """Returns the Python class of a module."""
    return module.__class__


def _plain(
    described: Described, name: str, value: Any, declared: dict[str, Type], constants: set[str]
) -> None:
    if name in constants:
        described.constants[name] = tuple(value) if isinstance(value, list) else value
        return
    if isinstance(value, decorators.Attribute):
        described.attributes[name] = Attribute(name, from_object(value.type), "attribute")
        return
    if inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, ScriptFunction):
        described.functions[name] = value
        return
    try:
        known = name in declared and declared[name] != ANY  # which says nothing
        type = declared[name] if known else infer(value)
    except NoType as error:
        if name in declared:
            described.attributes[name] = Attribute(name, declared[name], "attribute")
            return
        described.failed[name] = str(error)
        return
    described.attributes[name] = Attribute(name, type, "attribute")
