"""Modules as classes: attributes with types, methods compiled when something calls them.

Modules of one structure (the same Python class, attribute types, constants and classes of
submodules) share a `ModuleClass`, and with it all compiled methods.
"""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from typing import Any
from weakref import WeakValueDictionary

from engine._native import lib
from engine._native.errors import raise_last
from engine.jit import decorators
from engine.jit.frontend import operators
from engine.jit.frontend.arguments import Arguments, match
from engine.jit.frontend.calls import call_compiled, call_ignored
from engine.jit.frontend.dispatch import expression
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import CompileError
from engine.jit.frontend.functions import CompiledFunction, build, called_from
from engine.jit.frontend.indexing import static_slice
from engine.jit.frontend.materialise import native_function
from engine.jit.frontend.module_attributes import Attribute, Described, describe
from engine.jit.frontend.rules import rule
from engine.jit.frontend.signatures import Parameter, Surroundings, signature
from engine.jit.frontend.source import source_of
from engine.jit.frontend.specialise import bind_open, known_constants
from engine.jit.frontend.sugared_values import (
    ModuleMethod,
    ModuleValue,
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
)
from engine.jit.runtime.native_classes import CLASSES, NativeClass
from engine.jit.types.jit_type import NONE, Type, is_subtype
from engine.jit.types.qualified_names import class_name, free_name
from engine.nn.containers import ModuleDict, ModuleList, Sequential
from engine.nn.module import Module
from engine.nn.modules.utils import weight_and_bias
from engine.nn.parameter import is_lazy
from engine.nn.parameter_containers import ParameterDict, ParameterList

_KINDS = {"attribute": 0, "module": 0, "parameter": 1, "buffer": 2}
# A ScriptModule keeps its own.
_classes: WeakValueDictionary[Any, ModuleClass] = WeakValueDictionary()


def _class_name(module: Module) -> str:
    """ "__torch__.Cell", and another name for each further structure of that class."""
    return free_name(class_name(type(module)))


@singledispatch
def class_of(module: Module) -> ModuleClass:
    """The class that a module shares with all modules of its structure."""
    found = describe(module)
    submodules = {name: class_of(one) for name, one in module._modules.items() if one is not None}
    key = (found.key, tuple((name, one.name) for name, one in submodules.items()))
    known = _classes.get(key)
    if known is None:
        _classes[key] = known = ModuleClass(module, found, submodules)
    return known


class ModuleClass:
    """The class of some modules, as compiled code sees it; `module` is one of them."""

    plain = False  # as those are that a program makes objects of: classes.ScriptClass
    making: Context | None = None

    def __init__(
        self, module: Module, found: Described, submodules: dict[str, ModuleClass]
    ) -> None:
        self.module = module
        self.described = found
        self.submodules = submodules
        self.name = _class_name(module)
        self.type = Type("class", (), self.name)
        self.methods: dict[str, CompiledFunction] = {}
        self._variants: dict[Any, str] = {}
        self.is_dict = isinstance(module, (ModuleDict, ParameterDict))
        self.is_table = ""  # of what stands for module._buffers and the like
        self.is_list = isinstance(module, (ModuleList, Sequential, ParameterList))
        self.native = NativeClass(lib.uh_class_new(self.name.encode()))
        self.handle = self.native.handle
        CLASSES[self.name] = self
        for one in self.attributes:
            kind = _KINDS[one.kind]
            done = lib.uh_class_add_attribute(
                self.handle, one.name.encode(), one.of.text.encode(), kind
            )
            if done < 0:
                raise_last()

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """What its objects hold: parameters, buffers, plain attributes, submodules."""
        modules = [Attribute(name, one.type, "module") for name, one in self.submodules.items()]
        return (*self.described.attributes.values(), *modules)

    # ---- attributes

    def attribute_type(self, name: str) -> Type | None:
        """The type of an attribute; None when there is none of that name."""
        found = self.described.attributes.get(name)
        return found.of if found is not None else None

    def attribute(self, c: Context, tree: ast.AST, owner: ModuleValue, name: str) -> SugaredValue:
        """`module.name`."""
        if name in self.submodules:
            return self._submodule(c, tree, owner, name)
        if name in self.described.attributes:
            return self._get(c, tree, owner, name, self.described.attributes[name].of)
        if name in self.described.constants:
            return PythonValue(self.described.constants[name], True)
        if name in self.described.functions:
            return PythonValue(self.described.functions[name])
        if name in ("_modules", "_parameters", "_buffers"):
            table = copy.copy(self)
            table.is_table = name
            table.is_dict, table.is_list = True, False
            return ModuleValue(owner.value, table)
        if name in self._table_names():
            return ModuleMethod(name, owner)
        if name in self.described.failed:
            raise c.fail(
                tree,
                f"Module '{type(self.module).__name__}' has no attribute '{name}' "
                f"({self.described.failed[name]})",
            )
        return self._of_class(c, tree, owner, name)

    def _of_class(self, c: Context, tree: ast.AST, owner: ModuleValue, name: str) -> SugaredValue:
        found = inspect.getattr_static(type(self.module), name, None)
        if isinstance(found, staticmethod):
            return PythonValue(found.__func__)
        if isinstance(found, property) and found.fget is not None:
            getter = self.method(c, tree, found.fget, name)
            return call_method(c, tree, owner, name, [], getter.type)
        if inspect.isfunction(found):
            return ModuleMethod(name, owner)
        if found is not None and not callable(found):
            return PythonValue(found, True)
        if found is None and self.module._modules.get(name, ...) is None:
            return PythonValue(None, True)
        raise c.fail(
            tree,
            f"Module '{type(self.module).__name__}' has no attribute '{name}'",
            "Hint: set it in __init__, so that it has a type",
        )

    def _get(
        self, c: Context, tree: ast.AST, owner: ModuleValue, name: str, type: Type
    ) -> SimpleValue:
        node = c.builder.node(tree, "prim::GetAttr", [owner.value], [type]).set("name", name)
        c.builder.name(node.outputs[0], f"_{name}" if name.isdigit() else name, numbered=False)
        return node.outputs[0]

    @property
    def entries(self) -> list[str]:
        """The names of what a container holds."""
        if isinstance(self.module, ParameterList):
            return [str(i) for i in range(len(self.module))]
        return list(self.module if isinstance(self.module, ParameterDict) else self.submodules)

    def _submodule(self, c: Context, tree: ast.AST, owner: ModuleValue, name: str) -> ModuleValue:
        made = self.submodules[name]
        return ModuleValue(self._get(c, tree, owner, name, made.type), made)

    def set_attribute(
        self, c: Context, tree: ast.Attribute, owner: ModuleValue, given: SimpleValue
    ) -> None:
        """`module.name = given`."""
        type_there = self.attribute_type(tree.attr)
        if type_there is None:
            word = "a constant" if tree.attr in self.described.constants else "not an attribute"
            c.fail(
                tree,
                f"Tried to set {tree.attr}, which is {word} of module {type(self.module).__name__}",
                "Hint: set it in __init__ to a value of the type that it will hold",
            )
            return
        if not is_subtype(given.type, type_there):
            c.fail(
                tree,
                f"Wrong type for attribute assignment. Expected {type_there} but got {given.type}",
            )
        node = c.builder.node(tree, "prim::SetAttr", [owner.value, given], [])
        node.set("name", tree.attr)

    # ---- containers

    def items_of(self, c: Context, tree: ast.AST, owner: ModuleValue) -> SugaredTupleValue:
        """What a loop over the module goes through."""
        if self.is_dict:
            return SugaredTupleValue([PythonValue(name, True) for name in self.entries])
        if not self.is_list:
            raise c.fail(tree, f"Module '{type(self.module).__name__}' is not iterable")
        return SugaredTupleValue([self.attribute(c, tree, owner, name) for name in self.entries])

    def item(self, c: Context, tree: ast.Subscript, owner: ModuleValue) -> SugaredValue:
        """`modules[i]`, `modules["name"]`: the position has to be known."""
        names = self.entries
        if self.is_list and isinstance(tree.slice, ast.Slice):
            picked = static_slice(c, tree.slice, len(names))
            return SugaredTupleValue([self.attribute(c, tree, owner, names[i]) for i in picked])
        found = expression(c, tree.slice)
        key = found.constant if isinstance(found, SimpleValue) else getattr(found, "object", ...)
        if self.is_list and isinstance(key, int) and -len(names) <= key < len(names):
            return self.attribute(c, tree, owner, names[key])
        if self.is_table and isinstance(key, str):
            return self._named(c, tree, owner, key)
        if self.is_dict and key in names:
            return self.attribute(c, tree, owner, str(key))
        raise c.fail(
            tree,
            f"the modules of {type(self.module).__name__} are indexed by constants that are there",
            "Hint: loop over them: for i, module in enumerate(self.modules)",
        )

    def _table_names(self) -> frozenset[str]:
        own = ("items", "keys", "values", "get") if self.is_dict else ()
        return frozenset((*own, "children", "named_children"))

    def _named(self, c: Context, tree: ast.AST, owner: ModuleValue, key: str) -> SugaredValue:
        """`module._buffers["name"]`, None where there is none of that name."""
        whole = ModuleValue(owner.value, class_of(self.module))
        if key in getattr(self.module, self.is_table):
            return whole.made.attribute(c, tree, whole, key)
        return PythonValue(None, True)

    def _table(
        self, c: Context, tree: ast.AST, owner: ModuleValue, name: str, count: int
    ) -> SugaredTupleValue | None:
        """`modules.items()` and the like."""
        if name not in self._table_names() or count:
            return None
        made = []
        for key in self.entries:
            parts: list[SugaredValue] = []
            if name in ("items", "keys", "named_children"):
                parts.append(PythonValue(key, True))
            if name != "keys":
                parts.append(self.attribute(c, tree, owner, key))
            made.append(parts[0] if len(parts) == 1 else SugaredTupleValue(parts))
        return SugaredTupleValue(made)

    # ---- methods

    def call(
        self, c: Context, tree: ast.AST, owner: ModuleValue, name: str, arguments: Arguments
    ) -> SugaredValue:
        """`module(...)` and `module.name(...)`."""
        if self.is_table and name == "get":
            key = arguments.value(tree, arguments.args[0]).constant
            return self._named(c, tree, owner, str(key))
        table = self._table(c, tree, owner, name, len(arguments.args))
        if table is not None:
            return table
        fn = getattr(type(self.module), name, None)
        if fn is None or fn is Module.forward:
            raise c.fail(tree, f"Module '{type(self.module).__name__}' has no method '{name}'")
        mark = decorators.modifier_of(fn)
        if mark in ("ignore", "unused"):
            bound = getattr(self.module, name)
            return call_ignored(c, tree, bound, mark, arguments)
        if not inspect.isfunction(fn):
            return call_compiled(c, tree, fn, arguments)
        parameters = self.parameters(fn)
        method_name = name
        if operators.in_engine(fn):
            inputs = bind_open(c, tree, name, parameters, arguments)
            types = [one.type for one in inputs]
            constants = known_constants(parameters, inputs)
            method_name = self._variant(c, tree, fn, name, types, constants)
        else:
            self.method(c, tree, fn, name)
            inputs = match(c, tree, name, parameters, arguments)
        type_found = self.methods[method_name].type
        return call_method(c, tree, owner, method_name, inputs, type_found)

    def call_parent(
        self,
        c: Context,
        tree: ast.AST,
        owner: ModuleValue,
        name: str,
        of: type,
        arguments: Arguments,
    ) -> SugaredValue:
        """`super().name(...)`: the method that another class of the module has, under a name of its own."""
        fn = vars(of)[name]
        mangled = f"{name}__of_{of.__name__}"
        compiled = self.method(c, tree, fn, mangled)
        inputs = match(c, tree, name, self.parameters(fn), arguments)
        return call_method(c, tree, owner, mangled, inputs, compiled.type)

    def parameters(self, fn: Callable[..., Any]) -> tuple[Parameter, ...]:
        """Of a method, without `self`."""
        return signature(fn, source_of(fn), Surroundings(fn), skip_self=True)[0]

    def method(
        self, c: Context | None, tree: ast.AST | None, fn: Callable[..., Any], name: str
    ) -> CompiledFunction:
        """A method with the types that it declares, compiled when first asked for."""
        if name not in self.methods:
            try:
                parameters, constants = _as_left_out(self.parameters(fn))
                self._add(name, self._build(fn, name, parameters, constants))
            except CompileError as error:
                if c is None or tree is None:
                    raise
                raise called_from(c, tree, f"{type(self.module).__name__}.{name}", error) from None
        return self.methods[name]

    def _variant(
        self,
        c: Context,
        tree: ast.AST,
        fn: Callable[..., Any],
        name: str,
        types: Sequence[Type],
        constants: dict[str, Any],
    ) -> str:
        """A method of the engine's modules for these types; the usual ones are the method itself."""
        declared = self.parameters(fn)
        left_out, nothing = _as_left_out(declared)
        usual = [one.of for one in left_out] == list(types) and constants == nothing
        key = (name, tuple(types), tuple((k, type(v), v) for k, v in sorted(constants.items())))
        if usual:
            self._variants[key] = name
            self.method(c, tree, fn, name)
        if key not in self._variants:
            taken = sum(one[0] == name for one in self._variants)
            variant = f"{name}_{taken + 1}"
            parameters = tuple(
                Parameter(one.name, type, one.default, one.has_default, one.keyword_only)
                for one, type in zip(declared, types, strict=True)
            )
            try:
                self._add(variant, self._build(fn, name, parameters, constants))
            except CompileError as error:
                raise called_from(c, tree, f"{type(self.module).__name__}.{name}", error) from None
            self._variants[key] = variant
        return self._variants[key]

    def _build(
        self,
        fn: Callable[..., Any],
        name: str,
        parameters: tuple[Parameter, ...],
        constants: dict[str, Any],
    ) -> CompiledFunction:
        source, surroundings = source_of(fn), Surroundings(fn)
        returns = signature(fn, source, surroundings, skip_self=True)[1]
        full = f"{self.name}.{name}"
        return build(fn, name, source, surroundings, parameters, returns, constants, self, full)

    def _add(self, name: str, made: CompiledFunction) -> None:
        """A method, known to the core from now on: graphs that call it are verified."""
        self.methods[name] = made
        function = native_function(made).handle
        if lib.uh_class_add_method(self.handle, name.encode(), function) < 0:
            raise_last()


def call_method(
    c: Context,
    tree: ast.AST,
    owner: ModuleValue,
    name: str,
    inputs: Sequence[SimpleValue],
    type: Type,
) -> SimpleValue:
    node = c.builder.node(tree, "prim::CallMethod", [owner.value, *inputs], [type])
    node.set("name", name)
    return node.outputs[0]


def _as_left_out(
    parameters: tuple[Parameter, ...],
) -> tuple[tuple[Parameter, ...], dict[str, Any]]:
    """A method of the engine as it is called most: parameters of any type that are None unless
    they are given are None."""
    found: list[Parameter] = []
    constants: dict[str, Any] = {}
    for one in parameters:
        if one.open and one.has_default and one.default is None:
            constants[one.name] = None
            one = Parameter(one.name, NONE, None, True, one.keyword_only, one.open)
        found.append(one)
    return tuple(found), constants


@dataclass
class CompiledModule:
    """A module with its class; see the package's documentation."""

    module: Module
    made: ModuleClass
    submodules: dict[str, CompiledModule] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """The name of its class in graphs."""
        return self.made.name

    @property
    def methods(self) -> dict[str, CompiledFunction]:
        """What has been compiled, by name."""
        return self.made.methods

    @property
    def constants(self) -> dict[str, Any]:
        """What is compiled into the graphs."""
        return self.made.described.constants

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What its object holds, with the values that this module has now."""
        found = []
        for one in self.made.attributes:
            value = getattr(self.module, one.name)
            value = value.value if isinstance(value, decorators.Attribute) else value
            found.append(Attribute(one.name, one.of, one.kind, value))
        return tuple(found)


def compile_module(module: Module) -> CompiledModule:
    """Compiles `forward`, what is marked with `@jit.export`, and what these call.

    Raises: CompileError, NotSupportedError.
    """
    _check_initialized(module)
    made = class_of(module)
    compiled = _bound(module, made)
    _compile_exported(compiled, outermost=True)
    return compiled


def _check_initialized(module: Module) -> None:
    for one in module.modules():
        tensors = {**one._parameters, **one._buffers}
        waiting = [name for name, tensor in tensors.items() if is_lazy(tensor)]
        if waiting:
            raise RuntimeError(
                f"'{type(one).__name__}' has uninitialized parameters {waiting}. Did you forget to "
                "run a forward pass?"
            )


def _bound(module: Module, made: ModuleClass) -> CompiledModule:
    there = {name: one for name, one in module._modules.items() if one is not None}
    inner = {name: _bound(there[name], one) for name, one in made.submodules.items()}
    return CompiledModule(module, made, inner)


def _compile_exported(compiled: CompiledModule, outermost: bool) -> None:
    for one in compiled.submodules.values():
        _compile_exported(one, outermost=False)
    kind = type(compiled.module)
    for name in dir(kind):
        fn = inspect.getattr_static(kind, name, None)
        if not inspect.isfunction(fn):
            continue
        wanted = decorators.modifier_of(fn) == "export"
        if name == "forward" and outermost:
            wanted = fn is not Module.forward and not decorators.modifier_of(fn)
        if wanted:
            compiled.made.method(None, None, fn, name)


@rule(weight_and_bias)
def _weight_and_bias(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    """The engine's short cut to `module.weight, module.bias`."""
    owner = expression(c, tree.args[0])
    assert isinstance(owner, ModuleValue)
    return SugaredTupleValue(
        [owner.made.attribute(c, tree, owner, name) for name in ("weight", "bias")]
    )
