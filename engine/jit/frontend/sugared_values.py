"""Sugared values: what an expression is while a function is compiled.

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
    """A value of the graph: its number, its type, and the constant that it is, if any."""

    __slots__ = ("block", "constant", "id", "named", "type")

    def __init__(self, id: int, type: Type, block: int, constant: Any = MISSING) -> None:
        self.id = id
        self.type = type
        self.block = block  # that it was made in
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
    """A module: the value that holds it (None: an unrolled container) and its class."""

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
    """Some expressions in a row, known one by one: a tuple, what a ModuleList holds."""

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
    """A choice between two things that are called: `(f if c else g)(x)`."""

    test: Any
    body: Any
    orelse: Any


@dataclass(frozen=True)
class SpecialFormValue:
    """A word of the language with its own rule: `rule(context, tree)` compiles the call."""

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
    """Returns the compiled class of a value that is an object of the program's class."""
    script_class: Any = CLASSES.get(value.type.name) if value.type.kind == "class" else None
    return script_class if script_class is not None and script_class.plain else None


def operated(
    c: Context, tree: AST, owner: SimpleValue, name: str, operands: Sequence[SimpleValue] = ()
) -> SugaredValue | None:
    """Calls a method such as `__add__` of an object; None for any other value."""
    owner_class = class_of_value(owner)
    return None if owner_class is None else owner_class.operate(c, tree, owner, name, operands)
