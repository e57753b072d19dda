"""What a module holds, with types: parameters, buffers, constants, plain attributes, functions."""

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

# What every module has for itself; `training` is an attribute of compiled modules too.
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
    """A value that is of no type of the language."""


def infer(value: Any) -> Type:
    """The type of a Python value. Raises: NoType."""
    if isinstance(value, Enum):
        return enum_type(type(value))
    made = known_class(type(value))
    if made is not None:
        return made.type
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
    found: Type | None = infer(values[0])
    for one in values[1:]:
        found = found and unify(found, infer(one))
    if found is None:
        raise NoType(f"the elements of the {word} have different types")
    return found


def _annotations(module: Module) -> tuple[dict[str, Type], set[str]]:
    """Types that classes of the module declare, and the names declared Final."""
    types: dict[str, Type] = {}
    final: set[str] = set()
    for kind in reversed(type(module).__mro__):
        if kind is Module or not issubclass(kind, Module):
            continue
        for name, note in inspect.get_annotations(kind).items():
            found = _evaluated(note, kind)
            if decorators.modifier_of(found) == "interface":
                _check_interface(module, name, found)
                continue
            if found is typing.Final or typing.get_origin(found) is typing.Final:
                final.add(name)
                continue
            try:
                types[name] = from_object(found)
            except TypeError:
                types.pop(name, None)  # of no type of the language: the value tells
    return types, final


def _check_interface(module: Module, name: str, wanted: type) -> None:
    """Whether a submodule has the methods of the interface that its annotation names."""
    given = getattr(module, name, None)
    for method, declared in vars(wanted).items():
        if not inspect.isfunction(declared) or method.startswith("__"):
            continue
        found = getattr(type(given), method, None)
        names = list(inspect.signature(declared).parameters)
        word = f"{type(module).__name__}.{name} is a {type(given).__name__}"
        if found is None or found is Module.forward:
            raise CompileError(
                f"{word}, which has no method '{method}' of the interface {wanted.__name__}"
            )
        if list(inspect.signature(found).parameters) != names:
            raise CompileError(
                f"{word}, whose method '{method}' takes other parameters than the interface "
                f"{wanted.__name__} says: {', '.join(names)}"
            )


def _evaluated(note: Any, kind: type) -> Any:
    if not isinstance(note, str):
        return note
    module = inspect.getmodule(kind)
    try:
        return eval(note, {**vars(typing), **(vars(module) if module else {})})
    except Exception:  # whatever the annotation of a class does when it is evaluated
        return None if note == "None" else ...


def describe(module: Module) -> Described:
    """The attributes of a module with their types."""
    found = Described()
    declared, final = _annotations(module)
    constants = set(getattr(module, "__constants__", ())) | final
    if in_engine(type_of(module)):  # the engine's modules choose between operators by such
        constants |= {name for name, value in vars(module).items() if _is_text(value)}
    for table, kind in ((module._parameters, "parameter"), (module._buffers, "buffer")):
        for name, value in table.items():
            type = declared.get(name, infer(value)) if declared.get(name) != NONE else infer(value)
            if type.kind not in ("Tensor", "Optional"):
                type = infer(value)
            found.attributes[name] = Attribute(
                name, type, kind if value is not None else "attribute"
            )
    for name, value in vars(module).items():
        if name in _OWN or name in found.attributes or name in module._modules:
            continue
        _plain(found, name, value, declared, constants)
    for name in constants - set(found.constants) - set(found.attributes) - set(module._modules):
        if hasattr(module, name):
            found.constants[name] = getattr(module, name)
    if "training" not in found.attributes:
        found.attributes["training"] = Attribute("training", BOOL, "attribute")
    ignored = any(
        decorators.modifier_of(inspect.getattr_static(type_of(module), name, None)) == "ignore"
        for name in dir(type_of(module))
    )
    found.key = (
        type_of(module),
        tuple((one.name, one.of, one.kind) for one in found.attributes.values()),
        tuple((name, repr(value)) for name, value in sorted(found.constants.items())),
        tuple((name, id(value)) for name, value in found.functions.items()),
        id(module) if ignored else 0,
    )
    return found


def _is_text(value: Any) -> bool:
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(one, str) for one in texts)


def type_of(module: Module) -> type:
    """The Python class of a module."""
    return module.__class__


def _plain(
    found: Described, name: str, value: Any, declared: dict[str, Type], constants: set[str]
) -> None:
    if name in constants:
        found.constants[name] = tuple(value) if isinstance(value, list) else value
        return
    if isinstance(value, decorators.Attribute):
        found.attributes[name] = Attribute(name, from_object(value.type), "attribute")
        return
    if inspect.isroutine(value) or inspect.isclass(value) or isinstance(value, ScriptFunction):
        found.functions[name] = value
        return
    try:
        known = name in declared and declared[name] != ANY  # which says nothing
        type = declared[name] if known else infer(value)
    except NoType as error:
        if name in declared:
            found.attributes[name] = Attribute(name, declared[name], "attribute")
            return
        found.failed[name] = str(error)
        return
    found.attributes[name] = Attribute(name, type, "attribute")
