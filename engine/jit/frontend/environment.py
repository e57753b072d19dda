"""Names of the function that is being compiled: what each stands for, block by block.

A block of an `if` or a loop has a frame of its own. A name that an outer frame has keeps that
frame's type; one that is new in the block is known outside only when every path made it, with one
type. Refinement (`x is not None`) puts the name into the block's frame with the narrower type.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.jit.frontend import hints
from engine.jit.frontend.builder import NOTHING, Builder, can_be_constant
from engine.jit.frontend.errors import CompileError, fail
from engine.jit.frontend.source import Source
from engine.jit.frontend.sugared_values import (
    ModuleValue,
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
)
from engine.jit.nesting import MAX_BLOCKS
from engine.jit.types.jit_type import FLOAT, INT, NONE, SCALAR, TENSOR, Type, is_subtype, tuple_of

if TYPE_CHECKING:
    from engine.jit.frontend.functions import CompiledFunction
from engine.jit.frontend.signatures import Parameter

Refinements = dict[str, Type]


@dataclass
class Variable:
    """What a name stands for, and the type that it may be assigned."""

    value: SugaredValue
    type: Type | None  # None: not a value of the graph
    refined: bool = False  # put there by a condition, not by the program


class EnvironmentFrame:
    """The names of one block."""

    def __init__(self, parent: EnvironmentFrame | None, block: int) -> None:
        self.parent = parent
        self.block = block
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.names: dict[str, Variable] = {}
        self.lost: dict[str, str] = {}  # names that not every path made, and why

    def find(self, name: str) -> Variable | None:
        """The variable of a name, from here outwards."""
        frame: EnvironmentFrame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        return None

    def why_lost(self, name: str) -> str:
        """Why a name that the program assigned is not known here; "" when it did not."""
        frame: EnvironmentFrame | None = self
        while frame is not None:
            if name in frame.lost:
                return frame.lost[name]
            frame = frame.parent
        return ""


@dataclass
class ExitTarget:
    """What `return`, `break` and `continue` leave: a function (`loop` is None) or a loop's body."""

    parent: ExitTarget | None = None
    loop: Any = None  # loops.Body
    opened: int = 0  # of the contexts of `with`, those that are around it


@dataclass
class Exit:
    """How a block ends. `way`: falls, exits, throws, or might (then `flag` says whether it did).

    `values` are what the target gets, made in this block.
    """

    way: str
    values: list[SimpleValue] = field(default_factory=list)
    flag: SimpleValue | None = None


FALLS = Exit("falls")
THROWS = Exit("throws")


class Context:
    """One function on its way to a graph."""

    def __init__(
        self,
        builder: Builder,
        source: Source,
        resolve: Callable[[str], Any],
        inside_engine: bool,
        name: str,
    ) -> None:
        self.builder = builder
        self.source = source
        self.resolve = resolve  # a global or a variable of an enclosing function; MISSING
        self.inside_engine = inside_engine  # the engine's own source: its globals are constants
        self.name = name
        self.frame = EnvironmentFrame(None, builder.block)
        self.returns: Type | None = None  # declared, or of the first `return`
        self.declared = False
        # What carries a result out of loops and branches: it gets the type of the result, which is
        # known when the last `return` has been seen.
        self.carrying: list[SimpleValue] = []
        self.target = ExitTarget()
        self.opened: tuple[Callable[[ast.AST], None], ...] = ()  # of `with`: how each is left
        self.calls: dict[str, CompiledFunction] = {}
        self.ignored: dict[str, Callable[..., Any]] = {}

    def annotation(self, tree: ast.expr) -> Type:
        """The type that an annotation names."""
        raise NotImplementedError

    def comment_type(self, tree: ast.stmt) -> Type | None:
        """The type of a `# type:` comment behind an assignment."""
        raise NotImplementedError

    def signature(self, fn: Callable[..., Any]) -> tuple[tuple[Parameter, ...], Type]:
        """Of another function, which is not compiled."""
        raise NotImplementedError

    def fail(self, tree: ast.AST, message: str, instead: str = "") -> Any:
        """Raises CompileError with the place."""
        fail(self.source, tree, message, instead)

    @contextmanager
    def frame_in(self, block: int) -> Iterator[EnvironmentFrame]:
        """Compiles into a block, with names of its own."""
        self.frame = frame = EnvironmentFrame(self.frame, block)
        if frame.depth > MAX_BLOCKS:
            self.fail(
                self.builder.tree,
                f"blocks are nested more than {MAX_BLOCKS} deep: every `elif`, early `return`, `break` "
                "and `continue` is a block around all that follows it",
                "Hint: write a loop over a list, or move a part into a function",
            )
        try:
            with self.builder.inside(block):
                yield frame
        finally:
            assert frame.parent is not None
            self.frame = frame.parent

    def close(self, tree: ast.AST, around: int = 0) -> None:
        """Leaves the contexts of `with` that a `return`, `break` or `continue` leaves."""
        for leave in reversed(self.opened[around:]):
            leave(tree)

    # ---- results

    @property
    def returns_so_far(self) -> Type:
        """The type of the results seen until now."""
        return self.returns or TENSOR

    def no_result(self, tree: ast.AST) -> SimpleValue:
        """What stands for the result where there is none, which nobody reads."""
        made = self.builder.uninitialized(tree, self.returns_so_far)
        self.carrying.append(made)
        return made

    def retype_results(self) -> None:
        """Gives everything that carries a result its type, at the end of the function."""
        for one in self.carrying:
            if one.type != self.returns_so_far:
                self.builder.retype(one, self.returns_so_far)

    # ---- names

    def assign(
        self, tree: ast.AST, name: str, value: SugaredValue, declared: Type | None = None
    ) -> None:
        """`name = value`."""
        value = self._storable(tree, value)
        if not isinstance(value, SimpleValue):
            self.frame.names[name] = Variable(value, None)
            return
        outer = self.frame.parent.find(name) if self.frame.parent else None
        if outer is not None and declared is not None and name not in self.frame.names:
            self.fail(
                tree,
                f"Attempting to declare and annotate the type of variable '{name}' that is already "
                "defined in an outer block",
            )
        here = self.frame.names.get(name)
        kept = declared or value.type
        if self.inside_engine and outer is not None and outer.type == NONE:
            outer = None  # `x = None` before an `if` that gives it something
        if outer is not None and outer.type is not None:
            if not is_subtype(value.type, outer.type):
                self._wrong_type(tree, name, outer.type, value.type)
            kept = outer.type
        elif here is not None and here.type is not None and declared is None and not here.refined:
            kept = here.type if is_subtype(value.type, here.type) else kept
        self.builder.name(value, name)
        self.frame.names[name] = Variable(value, kept)

    def _storable(self, tree: ast.AST, value: SugaredValue) -> SugaredValue:
        """Constants and tuples become values of the graph; functions and modules stay what they are."""
        if isinstance(value, SimpleValue):
            return self.as_value(tree, value)
        if isinstance(value, PythonValue) and value.constant and can_be_constant(value.object):
            return self.builder.constant(tree, value.object)
        if isinstance(value, SugaredTupleValue) and all(
            isinstance(one, SimpleValue) for one in value.items
        ):
            return self.as_value(tree, value)
        return value

    def _wrong_type(self, tree: ast.AST, name: str, had: Type, given: Type) -> None:
        self.fail(
            tree,
            f"Variable '{name}' previously had type {had} but is now being assigned to a value of "
            f"type {given}",
            hints.of_assignment(name, had, given),
        )

    def refine(self, tree: ast.AST, refinements: Refinements) -> None:
        """Names whose type a condition has made narrower, from here on."""
        for name, type in refinements.items():
            found = self.frame.find(name)
            if found is None or not isinstance(found.value, SimpleValue):
                continue
            if found.value.type == type and self.inside_engine:
                continue  # told by a condition that is known
            if type == NONE:
                cast = self.builder.constant(tree, None)
            else:
                cast = self.builder.prim(tree, "prim::unchecked_cast", [found.value], type)
            self.builder.name(cast, name)
            self.frame.names[name] = Variable(cast, type, refined=True)

    def names(self) -> list[str]:
        """The names that are known here."""
        found: list[str] = []
        frame: EnvironmentFrame | None = self.frame
        while frame is not None:
            found += frame.names
            frame = frame.parent
        return found

    def declared_type(self, name: str) -> Type | None:
        """The widest type that a name may be assigned: before the refinements."""
        found, frame = None, self.frame
        here: EnvironmentFrame | None = frame
        while here is not None:
            if name in here.names:
                found = here.names[name].type
                if not here.names[name].refined:
                    return found
            here = here.parent
        return found

    # ---- expressions as values

    def as_value(self, tree: ast.AST, found: SugaredValue) -> SimpleValue:
        """A value of the graph. Raises: CompileError for what is none."""
        if isinstance(found, SimpleValue):
            return self.builder.constant(tree, None) if found.id == NOTHING else found
        if isinstance(found, PythonValue):
            constant = found.constant or self.inside_engine
            if constant and can_be_constant(found.object):
                return self.builder.constant(tree, found.object)
            if constant and isinstance(found.object, (tuple, list)):
                items = SugaredTupleValue([PythonValue(one, True) for one in found.object])
                return self.as_value(tree, items)
            self._no_value(tree, found.object)
        if isinstance(found, SugaredTupleValue):
            values = [self.as_value(tree, one) for one in found.items]
            type = tuple_of(*[one.type for one in values])
            return self.builder.prim(tree, "prim::TupleConstruct", values, type)
        if isinstance(found, ModuleValue):
            return found.value
        word = type_word(found)
        raise self.fail(tree, f"{word} cannot be used as a value")

    def fitted(self, tree: ast.AST, given: SimpleValue, wanted: Type) -> SimpleValue:
        """A number that `item()` gave as the float or int that is asked for, also within a tuple."""
        if given.type == SCALAR and wanted in (FLOAT, INT):
            return self.builder.call(tree, f"aten::{wanted.kind.capitalize()}", [given])
        inner = wanted.inner
        if given.type.kind != "Tuple" or wanted.kind != "Tuple" or SCALAR not in given.type.inner:
            return given
        if given.type == wanted or len(given.type.inner) != len(inner):
            return given
        parts = self.builder.node(tree, "prim::TupleUnpack", [given], given.type.inner).outputs
        made = [self.fitted(tree, one, of) for one, of in zip(parts, inner, strict=True)]
        return self.as_value(tree, SugaredTupleValue(made))

    def _no_value(self, tree: ast.AST, given: Any) -> None:
        kind = type(given).__name__
        if isinstance(given, type) or callable(given):
            name = getattr(given, "__name__", kind)
            self.fail(
                tree,
                f"python value of type '{kind}' ({name}) cannot be used as a value",
                "Hint: call it here; functions and classes cannot be stored or passed",
            )
        self.fail(
            tree,
            f"python value of type '{kind}' cannot be used as a value. Perhaps it is a closed over "
            "global variable? If so, please consider passing it in as an argument or use a local "
            "variable instead.",
            _ways_in(given),
        )


def _ways_in(given: Any) -> str:
    """How a Python object of the surroundings gets into compiled code."""
    if can_be_constant(given):
        kind = type(given).__name__
        return (
            f"Hint: make it a parameter with a default (name: {kind} = {given!r}); in a module, "
            "an attribute that is Final"
        )
    if isinstance(given, (list, tuple, dict)):
        return "Hint: pass it as an argument with a type such as List[int]"
    return "Hint: compute it outside, and pass tensors, numbers, strings or lists of them"


def type_word(found: SugaredValue) -> str:
    """What an expression is, in words, for messages."""
    if isinstance(found, SimpleValue):
        return f"a value of type {found.type}"
    if isinstance(found, PythonValue):
        return f"the Python object {getattr(found.object, '__name__', found.object)!r}"
    return {
        "MethodValue": "a method",
        "ModuleMethod": "a method",
        "Super": "super()",
        "ModuleValue": "a module",
        "SugaredTupleValue": "a container",
        "RangeValue": "range(...)",
        "IterableTree": "zip(...) or enumerate(...)",
        "ConditionalCallee": "a choice between functions",
        "SpecialFormValue": "a function of the language",
    }[type(found).__name__]


__all__ = [
    "FALLS",
    "THROWS",
    "CompileError",
    "Context",
    "EnvironmentFrame",
    "Exit",
    "ExitTarget",
    "Refinements",
    "Variable",
    "type_word",
]
