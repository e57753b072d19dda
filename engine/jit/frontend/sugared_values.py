"""Sugared values: the values of expressions while a function is compiled.

A `SimpleValue` is a value of the graph. The others exist only in the compiler: they disappear when they
are called, indexed, or iterated over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from engine.jit.runtime.native_classes import CLASSES
from engine.jit.types.jit_type import Type

if TYPE_CHECKING:
    from ast import AST

    from engine.jit.frontend.classes import ScriptClass
    from engine.jit.frontend.environment import Context
    from engine.jit.frontend.modules import ModuleClass

MISSING: Any = object()


class SimpleValue:
    """A value of the graph: its id, its type, and its constant value, if any."""

    __slots__ = ("block", "constant", "id", "named", "type")

    def __init__(self, id: int, type: Type, block: int, constant: Any = MISSING) -> None:
        self.id = id
        self.type = type
        self.block = block  # in which it is defined
        self.constant = constant
        self.named = False

    @property
    def is_constant(self) -> bool:
        """Returns whether the value is a constant."""
        return self.constant is not MISSING


@dataclass(frozen=True)
class PythonValue:
    """A Python object: a module, a function, a type, a constant that is not in the graph yet."""

    object: Any
    constant: bool = False  # may become a constant of the graph


@dataclass(frozen=True)
class MethodValue:
    """A method of a value of the graph: `x.add`."""

    name: str
    owner: SimpleValue


@dataclass(frozen=True)
class ModuleValue:
    """A module: its value in the graph (None: an unrolled container) and its class."""

    value: SimpleValue
    concrete_type: ModuleClass


@dataclass(frozen=True)
class ModuleMethod:
    """A method of a module; `of` is the class that has it when `super()` named it."""

    name: str
    owner: ModuleValue
    of: type | None = None


@dataclass(frozen=True)
class Super:
    """`super()` in a method of a module: the classes after `of` in the method resolution order."""

    owner: ModuleValue
    of: type


@dataclass(frozen=True)
class SugaredTupleValue:
    """A sequence of expressions with a static length: a tuple, the items of a ModuleList."""

    items: Sequence[SugaredValue]


@dataclass(frozen=True)
class RangeValue:
    """`range(...)`; without end if `stop` is None."""

    start: SimpleValue | None
    stop: SimpleValue | None
    step: SimpleValue | None


@dataclass(frozen=True)
class IterableTree:
    """`zip(...)` and `enumerate(...)`: several iterables at once."""

    parts: tuple[SugaredValue, ...]


@dataclass(frozen=True)
class ConditionalCallee:
    """A choice between two callees: `(f if c else g)(x)`."""

    test: Any
    body: Any
    orelse: Any


@dataclass(frozen=True)
class SpecialFormValue:
    """A special form: `rule(context, tree)` compiles the call."""

    name: str
    rule: Callable[..., Any]


SugaredValue: TypeAlias = (
    SimpleValue
    | PythonValue
    | MethodValue
    | ModuleValue
    | ModuleMethod
    | Super
    | SugaredTupleValue
    | RangeValue
    | IterableTree
    | ConditionalCallee
    | SpecialFormValue
)


def class_of_value(value: SimpleValue) -> ScriptClass | None:
    """Returns the compiled class of an object of a class of the program."""
    script_class: Any = CLASSES.get(value.type.name) if value.type.kind == "class" else None
    return script_class if script_class is not None and script_class.plain else None


def operated(
    c: Context, tree: AST, owner: SimpleValue, name: str, operands: Sequence[SimpleValue] = ()
) -> SugaredValue | None:
    """Calls a method such as `__add__` of an object; returns None for any other value."""
    owner_class = class_of_value(owner)
    return None if owner_class is None else owner_class.operate(c, tree, owner, name, operands)
