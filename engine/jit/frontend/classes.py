"""The program's classes: attributes that `__init__` sets, methods, operators on their objects.

An object is a value of the graph of type `__torch__.Pair`. Its class is compiled where a program
first names it: `__init__` sets the attributes and their types, then all methods follow.
"""

from __future__ import annotations

import ast
import enum
import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from engine._native import lib
from engine._native.errors import raise_last
from engine._native.namespace import namespace
from engine.jit import decorators
from engine.jit.frontend import dataclass_methods, operators
from engine.jit.frontend.arguments import Arguments, match
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import CompileError, NotSupportedError
from engine.jit.frontend.functions import CompiledFunction, build, called_from
from engine.jit.frontend.materialise import add_method
from engine.jit.frontend.signatures import Surroundings, signature
from engine.jit.frontend.source import source_of
from engine.jit.frontend.sugared_values import MethodValue, PythonValue, SimpleValue, SugaredValue
from engine.jit.runtime.native_classes import CLASSES, NativeClass
from engine.jit.types.annotations import CLASS_RESOLVERS, from_object
from engine.jit.types.jit_type import NONE, Type, UnknownType, is_subtype
from engine.jit.types.qualified_names import class_name, free_name
from engine.nn.module import Module

MARK = "__script_class__"
NO_CLASS_METHODS = (
    "class methods aren't supported",
    "Hint: make it a static method that names the class, or a function",
)


class ScriptClass:
    """One class: its type and its compiled members. The Python class holds a reference to it."""

    plain = True  # a program can create objects of it, unlike modules.ModuleClass

    def __init__(self, python: type) -> None:
        self.python = python  # which holds a reference to this object
        self.name = free_name(class_name(python))
        self.type = Type("class", (), self.name, (), python.__name__)
        self.native = NativeClass(lib.uh_class_new(self.name.encode()))
        self.handle = self.native.handle
        if lib.uh_class_set_plain(self.handle) < 0:
            raise_last()
        self.attributes: dict[str, Type] = {}
        self.methods: dict[str, CompiledFunction] = {}
        self.init_context: Context | None = None  # of __init__, which may add attributes
        CLASSES[self.name] = self

    def compile(self) -> None:
        """Compiles `__init__`, then the other members. Raises: CompileError."""
        if "__init__" in vars(self.python):
            self.method(None, None, "__init__")
        for name, member in list(vars(self.python).items()):
            if isinstance(member, property):
                self._property(None, None, name, member)
            elif inspect.isfunction(member) and not (
                decorators.modifier_of(member) or dataclass_methods.is_written(member)
            ):  # methods that a dataclass generated are compiled when a program calls them
                self.method(None, None, name)

    # ---- attributes

    def attribute(self, c: Context, tree: ast.AST, owner: SimpleValue, name: str) -> SugaredValue:
        """Compiles `object.name`."""
        if name in self.attributes:
            node = c.builder.node(tree, "prim::GetAttr", [owner], [self.attributes[name]])
            node.set("name", name)
            c.builder.name(node.outputs[0], name, numbered=False)
            return node.outputs[0]
        member = inspect.getattr_static(self.python, name, None)
        if isinstance(member, property):
            getter = self._property(c, tree, name, member)[0]
            return self._call(c, tree, owner, getter, [])
        if isinstance(member, staticmethod):
            return PythonValue(member.__func__)
        if inspect.isfunction(member):
            return MethodValue(name, owner)
        if isinstance(member, classmethod):
            raise c.fail(tree, *NO_CLASS_METHODS)
        if member is not None:
            raise c.fail(
                tree,
                f"'{self.name}' object has no attribute or method '{name}'. '{name}' is defined as a "
                "class attribute which currently is not supported",
                f"Hint: set it in __init__: self.{name} = ...",
            )
        raise c.fail(
            tree,
            f"'{self.name}' object has no attribute or method '{name}'. Did you forget to initialize "
            "an attribute in __init__()?",
            f"It has: {', '.join(self.attributes)}" if self.attributes else "",
        )

    def set_attribute(
        self,
        c: Context,
        tree: ast.Attribute,
        owner: SimpleValue,
        value: SimpleValue,
        declared: Type | None,
    ) -> None:
        """Compiles `object.name = value`; in `__init__` this adds attributes."""
        name = tree.attr
        member = inspect.getattr_static(self.python, name, None)
        if isinstance(member, property) and name not in self.attributes:
            setter = self._property(c, tree, name, member)[1]
            if not setter:
                c.fail(tree, f"property '{name}' of {self.python.__name__} has no setter")
            compiled = self.methods[setter]
            expected = compiled.parameters[1].of
            if not is_subtype(value.type, expected):
                self._wrong_type(c, tree, expected, value.type)
            self._call(c, tree, owner, setter, [value])
            return
        if name not in self.attributes and not self._added(c, tree, owner, declared or value.type):
            c.fail(
                tree,
                f"Tried to set nonexistent attribute: {name}. Did you forget to initialize it in "
                "__init__()?",
                f"Hint: set it in {self.python.__name__}.__init__ to a value of its type",
            )
        expected = self.attributes[name]
        value = c.fitted(tree, value, expected)
        if not is_subtype(value.type, expected):
            self._wrong_type(c, tree, expected, value.type)
        node = c.builder.node(tree, "prim::SetAttr", [owner, value], [])
        node.set("name", name)

    def _added(self, c: Context, tree: ast.Attribute, owner: SimpleValue, type: Type) -> bool:
        """Adds an attribute that `__init__` sets for the first time; returns whether this is such an assignment."""
        first = c.frame.find(c.source.function.args.args[0].arg) if self.init_context is c else None
        if first is None or first.value is not owner:
            return False
        if c.builder.block != c.builder.outermost:
            c.fail(
                tree,
                "First assignment cannot be in a control-flow block. Initialize the field at the top "
                "level first",
                f"Hint: write self.{tree.attr} = ... before the `if` or the loop",
            )
        name = tree.attr.encode()
        if lib.uh_class_add_attribute(self.handle, name, type.text.encode(), 0) < 0:
            raise_last()
        self.attributes[tree.attr] = type
        return True

    def _wrong_type(self, c: Context, tree: ast.AST, expected: Type, value: Type) -> NoReturn:
        c.fail(
            tree,
            f"Wrong type for attribute assignment. Expected {expected} but got {value}",
            f"Hint: annotate it where __init__ sets it: self.x: {value} = ...",
        )
        raise AssertionError

    # ---- methods

    def has(self, name: str) -> bool:
        """Returns whether the class defines this method."""
        return inspect.isfunction(vars(self.python).get(name))

    def create(self, c: Context, tree: ast.AST, arguments: Arguments) -> SimpleValue:
        """Compiles `Pair(...)`."""
        inputs: list[SimpleValue] = []
        if "__init__" in vars(self.python):
            parameters = self.method(c, tree, "__init__").parameters[1:]
            inputs = match(c, tree, self.python.__name__, parameters, arguments)
        elif arguments.args or arguments.options:
            c.fail(tree, f"{self.python.__name__}() takes no arguments: it has no __init__")
        created = c.builder.prim(tree, "prim::CreateObject", [], self.type)
        if "__init__" in vars(self.python):
            self._call(c, tree, created, "__init__", inputs)
        return created

    def call(
        self, c: Context, tree: ast.AST, owner: SimpleValue, name: str, arguments: Arguments
    ) -> SugaredValue:
        """Compiles `object.name(...)`."""
        member = inspect.getattr_static(self.python, name, None)
        if not inspect.isfunction(member) or not _has_source(member):
            raise c.fail(
                tree,
                f"'{self.name}' object has no attribute or method '{name}'",
                f"Hint: define {name} in the class {self.python.__name__}",
            )
        if mark := decorators.modifier_of(member):
            raise c.fail(
                tree,
                f"method '{name}' of {self.python.__name__} is marked @jit.{mark}, but objects of "
                "compiled code cannot call Python",
                "Hint: compile it, or mark a function that takes what it needs",
            )
        compiled = self.method(c, tree, name)
        inputs = match(c, tree, name, compiled.parameters[1:], arguments)
        return self._call(c, tree, owner, name, inputs)

    def operate(
        self,
        c: Context,
        tree: ast.AST,
        owner: SimpleValue,
        name: str,
        operands: Sequence[SimpleValue],
    ) -> SugaredValue:
        """Compiles an operator or a function of Python on an object: `__add__`, `__len__`."""
        return self.call(c, tree, owner, name, Arguments(c, list(operands), {}))

    def _call(
        self,
        c: Context,
        tree: ast.AST,
        owner: SimpleValue,
        name: str,
        inputs: Sequence[SimpleValue],
    ) -> SimpleValue:
        result = self.methods[name].type
        node = c.builder.node(tree, "prim::CallMethod", [owner, *inputs], [result])
        node.set("name", name)
        return node.outputs[0]

    def method(self, c: Context | None, tree: ast.AST | None, name: str) -> CompiledFunction:
        """Returns a method; compiles it at its first use."""
        fn = vars(self.python)[name]
        return self._compiled(c, tree, name, fn)

    def _property(
        self, c: Context | None, tree: ast.AST | None, name: str, descriptor: property
    ) -> tuple[str, str]:
        """Returns the names of the methods that read and set a property; "" for one that is missing."""
        names = []
        for word, fn in (("getter", descriptor.fget), ("setter", descriptor.fset)):
            names.append(f"__{name}_{word}" if fn is not None else "")
            if fn is not None:
                self._compiled(c, tree, names[-1], fn)
        return names[0], names[1]

    def _compiled(
        self, c: Context | None, tree: ast.AST | None, name: str, fn: Callable[..., Any]
    ) -> CompiledFunction:
        if name not in self.methods:
            try:
                compiled = self._build(fn, name)
            except CompileError as error:
                if c is None or tree is None:
                    raise
                word = f"{self.python.__name__}.{name}"
                raise called_from(c, tree, word, error) from None
            self.methods[name] = compiled
            add_method(self.handle, name, compiled)
        return self.methods[name]

    def _build(self, fn: Callable[..., Any], name: str) -> CompiledFunction:
        names = {self.python.__name__: self.python}
        if dataclass_methods.is_written(fn):
            source, more = dataclass_methods.source_of_method(self.python, name)
            names |= more
        else:
            source = source_of(fn)
        surroundings = _OfClass(fn, names)
        parameters, returns = signature(fn, source, surroundings, skip_self=True)
        if name == "__init__":
            returns = NONE
        return build(
            fn,
            name,
            source,
            surroundings,
            parameters,
            returns,
            None,
            self,
            f"{self.name}.{name}",
        )


class _OfClass(Surroundings):
    """Resolves names in a method: the class is known there before its name is bound."""

    def __init__(self, fn: Callable[..., Any], names: dict[str, Any]) -> None:
        super().__init__(fn)
        self._names = names

    def __getitem__(self, name: str) -> Any:
        if name in self._names:
            return self._names[name]
        return super().__getitem__(name)


# ---- which classes can be compiled


def known_class(python: type) -> ScriptClass | None:
    """Returns the compiled class of a Python class, or None."""
    script_class = vars(python).get(MARK)
    return script_class if isinstance(script_class, ScriptClass) else None


def script_class(python: type) -> ScriptClass:
    """Returns the compiled class of a Python class; compiles it at its first use.

    Raises: CompileError; UnknownType for a class that cannot be compiled."""
    compiled_class = known_class(python)
    if compiled_class is None:
        reason = _why_not(python)
        if reason:
            raise UnknownType(f"Unknown type name '{python.__name__}': {reason}")
        compiled_class = ScriptClass(python)
        setattr(python, MARK, compiled_class)  # before its methods, which may name it
        try:
            compiled_class.compile()
        except BaseException:
            delattr(python, MARK)
            raise
    return compiled_class


def _has_source(fn: Callable[..., Any]) -> bool:
    return not dataclass_methods.is_written(fn) or dataclass_methods.can_be_written(fn.__name__)


def _why_not(python: type) -> str:
    if decorators.modifier_of(python) == "interface":
        return (
            "only a submodule can have an interface as its type. Hint: annotate the attribute in the "
            "class of the module, and call it as self.child(x)"
        )
    if issubclass(python, Module):
        return (
            "a Module cannot be an argument. Hint: hold it as an attribute of the Module that "
            "is compiled"
        )
    if operators.in_engine(python) or python.__module__ in ("collections", "typing", "builtins"):
        return "not a TorchScript type. Hint: use List, Dict, Tuple or a NamedTuple"
    if issubclass(python, (enum.Enum, BaseException)) or not hasattr(python, "__dict__"):
        return "not a TorchScript type"
    if typing.get_origin(python) is not None or hasattr(python, "__parameters__"):
        return "generic classes are not compiled. Hint: write a class for each type"
    if len(python.__mro__) > 2:
        parents = ", ".join(base.__name__ for base in python.__mro__[1:-1])
        return (
            f"classes that inherit (here from {parents}) are not compiled. Hint: write all methods "
            f"in one class, or derive from {namespace()}.nn.Module"
        )
    return dataclass_methods.why_not(python)


def class_type(python: type) -> Type:
    """Returns the type of a class's objects."""
    return script_class(python).type


def compile_class(python: type) -> type:
    """Implements `jit.script(cls)`: compiles the class and returns it unchanged.

    Raises: CompileError; NotSupportedError for a class that cannot be compiled.
    """
    try:
        from_object(python)
    except UnknownType as error:
        raise NotSupportedError(f"jit.script: {error}") from None
    return python


CLASS_RESOLVERS[type] = class_type
