"""The names of the function that is being compiled and their values, block by block.

A block of an `if` or a loop has its own frame. A name of an outer frame keeps that frame's type; one
that is new in the block is visible outside only if every path assigned it, with one type. Refinement (`x
is not None`) puts the name into the block's frame with the narrower type.
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
    """The value that a name is bound to, and the type that it may be assigned."""

    value: SugaredValue
    type: Type | None  # None: not a value of the graph
    refined: bool = False  # assigned by a refinement, not by the program


class EnvironmentFrame:
    """The names of one block."""

    def __init__(self, parent: EnvironmentFrame | None, block: int) -> None:
        self.parent = parent
        self.block = block
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.names: dict[str, Variable] = {}
        self.lost: dict[str, str] = {}  # names that not every path assigned, and the reason

    def find(self, name: str) -> Variable | None:
        """Returns the variable of a name, searching from the innermost frame outwards."""
        frame: EnvironmentFrame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.parent
        return None

    def why_lost(self, name: str) -> str:
        """Returns the reason why an assigned name is not visible here; "" if the program did not assign
        it."""
        frame: EnvironmentFrame | None = self
        while frame is not None:
            if name in frame.lost:
                return frame.lost[name]
            frame = frame.parent
        return ""


@dataclass
class ExitTarget:
    """The target of `return`, `break` and `continue`: a function (`loop` is None) or a loop's body."""

    parent: ExitTarget | None = None
    loop: Any = None  # loops.Body
    opened: int = 0  # the number of `with` contexts around it


@dataclass
class Exit:
    """The end of a block. `way`: falls, exits, throws, or might (`flag` is then true if it exited).

    `values` are passed to the target; they are defined in this block.
    """

    way: str
    values: list[SimpleValue] = field(default_factory=list)
    flag: SimpleValue | None = None


FALLS = Exit("falls")
THROWS = Exit("throws")


class Context:
    """The state of one function's compilation."""

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
        # The Values that carry a result out of loops and branches. They get the result's type once the
        # last `return` is compiled.
        self.carrying: list[SimpleValue] = []
        self.target = ExitTarget()
        self.opened: tuple[Callable[[ast.AST], None], ...] = ()  # the exits of `with` contexts
        self.calls: dict[str, CompiledFunction] = {}
        self.ignored: dict[str, Callable[..., Any]] = {}

    def annotation(self, tree: ast.expr) -> Type:
        """Returns the type that an annotation names."""
        raise NotImplementedError

    def comment_type(self, tree: ast.stmt) -> Type | None:
        """Returns the type of a `# type:` comment after an assignment."""
        raise NotImplementedError

    def signature(self, fn: Callable[..., Any]) -> tuple[tuple[Parameter, ...], Type]:
        """Returns the signature of another function, which is not compiled."""
        raise NotImplementedError

    def fail(self, tree: ast.AST, message: str, instead: str = "") -> Any:
        """Raises CompileError at a source range."""
        fail(self.source, tree, message, instead)

    @contextmanager
    def frame_in(self, block: int) -> Iterator[EnvironmentFrame]:
        """Compiles into a block with its own names."""
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
        """Emits the exits of the `with` contexts that a `return`, `break` or `continue` leaves."""
        for leave in reversed(self.opened[around:]):
            leave(tree)

    # ---- results

    @property
    def returns_so_far(self) -> Type:
        """Returns the type of the results seen so far."""
        return self.returns or TENSOR

    def no_result(self, tree: ast.AST) -> SimpleValue:
        """Creates a placeholder for a missing result; it is never read."""
        uninitialized = self.builder.uninitialized(tree, self.returns_so_far)
        self.carrying.append(uninitialized)
        return uninitialized

    def retype_results(self) -> None:
        """Sets the type of all Values that carry a result, at the end of the function."""
        for value in self.carrying:
            if value.type != self.returns_so_far:
                self.builder.retype(value, self.returns_so_far)

    # ---- names

    def assign(
        self, tree: ast.AST, name: str, value: SugaredValue, declared: Type | None = None
    ) -> None:
        """Binds a name: `name = value`."""
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
        current = self.frame.names.get(name)
        declared_type = declared or value.type
        if self.inside_engine and outer is not None and outer.type == NONE:
            outer = None  # `x = None` before an `if` that assigns another value
        if outer is not None and outer.type is not None:
            if not is_subtype(value.type, outer.type):
                self._wrong_type(tree, name, outer.type, value.type)
            declared_type = outer.type
        elif (
            current is not None
            and current.type is not None
            and declared is None
            and not current.refined
        ):
            declared_type = current.type if is_subtype(value.type, current.type) else declared_type
        self.builder.name(value, name)
        self.frame.names[name] = Variable(value, declared_type)

    def _storable(self, tree: ast.AST, value: SugaredValue) -> SugaredValue:
        """Converts constants and tuples to values of the graph; returns functions and modules
        unchanged."""
        if isinstance(value, SimpleValue):
            return self.as_value(tree, value)
        if isinstance(value, PythonValue) and value.constant and can_be_constant(value.object):
            return self.builder.constant(tree, value.object)
        if isinstance(value, SugaredTupleValue) and all(
            isinstance(item, SimpleValue) for item in value.items
        ):
            return self.as_value(tree, value)
        return value

    def _wrong_type(self, tree: ast.AST, name: str, had: Type, value: Type) -> None:
        self.fail(
            tree,
            f"Variable '{name}' previously had type {had} but is now being assigned to a value of "
            f"type {value}",
            hints.of_assignment(name, had, value),
        )

    def refine(self, tree: ast.AST, refinements: Refinements) -> None:
        """Narrows the types of names in this frame, as a condition implies."""
        for name, type in refinements.items():
            variable = self.frame.find(name)
            if variable is None or not isinstance(variable.value, SimpleValue):
                continue
            if variable.value.type == type and self.inside_engine:
                continue  # a static condition implies it
            if type == NONE:
                cast = self.builder.constant(tree, None)
            else:
                cast = self.builder.prim(tree, "prim::unchecked_cast", [variable.value], type)
            self.builder.name(cast, name)
            self.frame.names[name] = Variable(cast, type, refined=True)

    def names(self) -> list[str]:
        """Returns the names that are visible here."""
        names: list[str] = []
        frame: EnvironmentFrame | None = self.frame
        while frame is not None:
            names += frame.names
            frame = frame.parent
        return names

    def declared_type(self, name: str) -> Type | None:
        """Returns the type of a name without refinements, which an assignment must match."""
        type, frame = None, self.frame
        inner: EnvironmentFrame | None = frame
        while inner is not None:
            if name in inner.names:
                type = inner.names[name].type
                if not inner.names[name].refined:
                    return type
            inner = inner.parent
        return type

    # ---- expressions as values

    def as_value(self, tree: ast.AST, sugared: SugaredValue) -> SimpleValue:
        """Converts to a value of the graph. Raises: CompileError if that is not possible."""
        if isinstance(sugared, SimpleValue):
            return self.builder.constant(tree, None) if sugared.id == NOTHING else sugared
        if isinstance(sugared, PythonValue):
            constant = sugared.constant or self.inside_engine
            if constant and can_be_constant(sugared.object):
                return self.builder.constant(tree, sugared.object)
            if constant and isinstance(sugared.object, (tuple, list)):
                items = SugaredTupleValue(
                    [PythonValue(element, True) for element in sugared.object]
                )
                return self.as_value(tree, items)
            self._no_value(tree, sugared.object)
        if isinstance(sugared, SugaredTupleValue):
            values = [self.as_value(tree, item) for item in sugared.items]
            type = tuple_of(*[value.type for value in values])
            return self.builder.prim(tree, "prim::TupleConstruct", values, type)
        if isinstance(sugared, ModuleValue):
            return sugared.value
        word = type_word(sugared)
        raise self.fail(tree, f"{word} cannot be used as a value")

    def fitted(self, tree: ast.AST, value: SimpleValue, expected: Type) -> SimpleValue:
        """Converts a number from `item()` to the expected float or int, also inside a tuple."""
        if value.type == SCALAR and expected in (FLOAT, INT):
            return self.builder.call(tree, f"aten::{expected.kind.capitalize()}", [value])
        inner = expected.inner
        if value.type.kind != "Tuple" or expected.kind != "Tuple" or SCALAR not in value.type.inner:
            return value
        if value.type == expected or len(value.type.inner) != len(inner):
            return value
        parts = self.builder.node(tree, "prim::TupleUnpack", [value], value.type.inner).outputs
        fitted = [self.fitted(tree, part, of) for part, of in zip(parts, inner, strict=True)]
        return self.as_value(tree, SugaredTupleValue(fitted))

    def _no_value(self, tree: ast.AST, python_object: Any) -> None:
        kind = type(python_object).__name__
        if isinstance(python_object, type) or callable(python_object):
            name = getattr(python_object, "__name__", kind)
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
            _ways_in(python_object),
        )


def _ways_in(python_object: Any) -> str:
    """Suggests how a Python object of the enclosing scope gets into compiled code."""
    if can_be_constant(python_object):
        kind = type(python_object).__name__
        return (
            f"Hint: make it a parameter with a default (name: {kind} = {python_object!r}); in a module, "
            "an attribute that is Final"
        )
    if isinstance(python_object, (list, tuple, dict)):
        return "Hint: pass it as an argument with a type such as List[int]"
    return "Hint: compute it outside, and pass tensors, numbers, strings or lists of them"


def type_word(sugared: SugaredValue) -> str:
    """Describes an expression for messages."""
    if isinstance(sugared, SimpleValue):
        return f"a value of type {sugared.type}"
    if isinstance(sugared, PythonValue):
        return f"the Python object {getattr(sugared.object, '__name__', sugared.object)!r}"
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
    }[type(sugared).__name__]


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
