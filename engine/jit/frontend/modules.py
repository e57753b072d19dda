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
from engine.jit.frontend.materialise import add_method
from engine.jit.frontend.module_attributes import Attribute, Described, describe
from engine.jit.frontend.rules import rule
from engine.jit.frontend.signatures import Parameter, Surroundings, signature, with_types
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
from engine.jit.runtime.native_classes import CLASSES, KINDS, NativeClass
from engine.jit.types.jit_type import NONE, Type, is_subtype
from engine.jit.types.qualified_names import class_name, free_name
from engine.nn.containers import ModuleDict, ModuleList, Sequential
from engine.nn.module import Module
from engine.nn.modules.utils import weight_and_bias
from engine.nn.parameter import is_lazy
from engine.nn.parameter_containers import ParameterDict, ParameterList

# A ScriptModule keeps its own.
_classes: WeakValueDictionary[Any, ModuleClass] = WeakValueDictionary()


def _class_name(module: Module) -> str:
    """Returns "__torch__.Cell", and a new name for each further structure of that class."""
    return free_name(class_name(type(module)))


@singledispatch
def class_of(module: Module) -> ModuleClass:
    """Returns the class that a module shares with all modules of its structure."""
    described = describe(module)
    submodules = {
        name: class_of(child) for name, child in module._modules.items() if child is not None
    }
    key = (described.key, tuple((name, child.name) for name, child in submodules.items()))
    known = _classes.get(key)
    if known is None:
        _classes[key] = known = ModuleClass(module, described, submodules)
    return known


class ModuleClass:
    """The class of some modules, as compiled code sees it; `module` is one of them."""

    plain = False  # unlike classes.ScriptClass, whose objects a program creates
    init_context: Context | None = None

    def __init__(
        self, module: Module, described: Described, submodules: dict[str, ModuleClass]
    ) -> None:
        self.module = module
        self.described = described
        self.submodules = submodules
        self.name = _class_name(module)
        self.type = Type("class", (), self.name)
        self.methods: dict[str, CompiledFunction] = {}
        self._variants: dict[Any, str] = {}
        self.is_dict = isinstance(module, (ModuleDict, ParameterDict))
        self.is_table = ""  # "_buffers" for the class that stands for module._buffers
        self.is_list = isinstance(module, (ModuleList, Sequential, ParameterList))
        self.native = NativeClass(lib.uh_class_new(self.name.encode()))
        self.handle = self.native.handle
        CLASSES[self.name] = self
        for attribute in self.attributes:
            kind = KINDS[attribute.kind]
            done = lib.uh_class_add_attribute(
                self.handle, attribute.name.encode(), attribute.of.text.encode(), kind
            )
            if done < 0:
                raise_last()

    @cached_property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes of its objects: parameters, buffers, plain attributes, submodules."""
        modules = [Attribute(name, child.type, "module") for name, child in self.submodules.items()]
        return (*self.described.attributes.values(), *modules)

    # ---- attributes

    def attribute_type(self, name: str) -> Type | None:
        """Returns the type of an attribute; None for an unknown name."""
        attribute = self.described.attributes.get(name)
        return attribute.of if attribute is not None else None

    def attribute(self, c: Context, tree: ast.AST, owner: ModuleValue, name: str) -> SugaredValue:
        """Compiles `module.name`."""
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
        member = inspect.getattr_static(type(self.module), name, None)
        if isinstance(member, staticmethod):
            return PythonValue(member.__func__)
        if isinstance(member, property) and member.fget is not None:
            getter = self.method(c, tree, member.fget, name)
            return call_method(c, tree, owner, name, [], getter.type)
        if inspect.isfunction(member):
            return ModuleMethod(name, owner)
        if member is not None and not callable(member):
            return PythonValue(member, True)
        if member is None and self.module._modules.get(name, ...) is None:
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
        """Returns the names of a container's items."""
        if isinstance(self.module, ParameterList):
            return [str(i) for i in range(len(self.module))]
        return list(self.module if isinstance(self.module, ParameterDict) else self.submodules)

    def _submodule(self, c: Context, tree: ast.AST, owner: ModuleValue, name: str) -> ModuleValue:
        module_class = self.submodules[name]
        return ModuleValue(self._get(c, tree, owner, name, module_class.type), module_class)

    def set_attribute(
        self, c: Context, tree: ast.Attribute, owner: ModuleValue, value: SimpleValue
    ) -> None:
        """Compiles `module.name = value`."""
        type_there = self.attribute_type(tree.attr)
        if type_there is None:
            word = "a constant" if tree.attr in self.described.constants else "not an attribute"
            c.fail(
                tree,
                f"Tried to set {tree.attr}, which is {word} of module {type(self.module).__name__}",
                "Hint: set it in __init__ to a value of the type that it will hold",
            )
            return
        if not is_subtype(value.type, type_there):
            c.fail(
                tree,
                f"Wrong type for attribute assignment. Expected {type_there} but got {value.type}",
            )
        node = c.builder.node(tree, "prim::SetAttr", [owner.value, value], [])
        node.set("name", tree.attr)

    # ---- containers

    def items_of(self, c: Context, tree: ast.AST, owner: ModuleValue) -> SugaredTupleValue:
        """Returns the elements of a loop over the module."""
        if self.is_dict:
            return SugaredTupleValue([PythonValue(name, True) for name in self.entries])
        if not self.is_list:
            raise c.fail(tree, f"Module '{type(self.module).__name__}' is not iterable")
        return SugaredTupleValue([self.attribute(c, tree, owner, name) for name in self.entries])

    def item(self, c: Context, tree: ast.Subscript, owner: ModuleValue) -> SugaredValue:
        """Compiles `modules[i]` and `modules["name"]`, whose index must be a constant."""
        names = self.entries
        if self.is_list and isinstance(tree.slice, ast.Slice):
            picked = static_slice(c, tree.slice, len(names))
            return SugaredTupleValue([self.attribute(c, tree, owner, names[i]) for i in picked])
        sugared = expression(c, tree.slice)
        key = (
            sugared.constant
            if isinstance(sugared, SimpleValue)
            else getattr(sugared, "object", ...)
        )
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
        """Reads `module._buffers["name"]`: None for an unknown name."""
        module_value = ModuleValue(owner.value, class_of(self.module))
        if key in getattr(self.module, self.is_table):
            return module_value.concrete_type.attribute(c, tree, module_value, key)
        return PythonValue(None, True)

    def _table(
        self, c: Context, tree: ast.AST, owner: ModuleValue, name: str, count: int
    ) -> SugaredTupleValue | None:
        """Compiles `modules.items()`, `.keys()`, `.values()`, `.children()` and `.named_children()`."""
        if name not in self._table_names() or count:
            return None
        rows = []
        for key in self.entries:
            parts: list[SugaredValue] = []
            if name in ("items", "keys", "named_children"):
                parts.append(PythonValue(key, True))
            if name != "keys":
                parts.append(self.attribute(c, tree, owner, key))
            rows.append(parts[0] if len(parts) == 1 else SugaredTupleValue(parts))
        return SugaredTupleValue(rows)

    # ---- methods

    def call(
        self, c: Context, tree: ast.AST, owner: ModuleValue, name: str, arguments: Arguments
    ) -> SugaredValue:
        """Compiles `module(...)` and `module.name(...)`."""
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
            types = [value.type for value in inputs]
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
        """Compiles `super().name(...)`: a parent class's method, under a mangled name."""
        fn = vars(of)[name]
        mangled = f"{name}__of_{of.__name__}"
        compiled = self.method(c, tree, fn, mangled)
        inputs = match(c, tree, name, self.parameters(fn), arguments)
        return call_method(c, tree, owner, mangled, inputs, compiled.type)

    def parameters(self, fn: Callable[..., Any]) -> tuple[Parameter, ...]:
        """Returns the parameters of a method, without `self`."""
        return signature(fn, source_of(fn), Surroundings(fn), skip_self=True)[0]

    def method(
        self, c: Context | None, tree: ast.AST | None, fn: Callable[..., Any], name: str
    ) -> CompiledFunction:
        """Returns a method with its declared types, compiled at its first use."""
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
        """Returns a method of the engine's modules compiled for these types; for the usual types the
        method itself."""
        declared = self.parameters(fn)
        left_out, nothing = _as_left_out(declared)
        usual = [parameter.of for parameter in left_out] == list(types) and constants == nothing
        key = (name, tuple(types), tuple((k, type(v), v) for k, v in sorted(constants.items())))
        if usual:
            self._variants[key] = name
            self.method(c, tree, fn, name)
        if key not in self._variants:
            count = sum(variant[0] == name for variant in self._variants)
            variant = f"{name}_{count + 1}"
            parameters = with_types(declared, types)
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

    def _add(self, name: str, compiled: CompiledFunction) -> None:
        self.methods[name] = compiled
        add_method(self.handle, name, compiled)


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
    """Compiles a method of the engine for its most common call: untyped parameters whose default is None
    are None."""
    adjusted: list[Parameter] = []
    constants: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.open and parameter.has_default and parameter.default is None:
            constants[parameter.name] = None
            parameter = Parameter(
                parameter.name, NONE, None, True, parameter.keyword_only, parameter.open
            )
        adjusted.append(parameter)
    return tuple(adjusted), constants


@dataclass
class CompiledModule:
    """A module with its class; see the package's documentation."""

    module: Module
    concrete_type: ModuleClass
    submodules: dict[str, CompiledModule] = field(default_factory=dict)

    @property
    def class_name(self) -> str:
        """The name of its class in graphs."""
        return self.concrete_type.name

    @property
    def methods(self) -> dict[str, CompiledFunction]:
        """The compiled methods, by name."""
        return self.concrete_type.methods

    @property
    def constants(self) -> dict[str, Any]:
        """The constants that are compiled into the graphs."""
        return self.concrete_type.described.constants

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes of its object, with their present values."""
        attributes = []
        for attribute in self.concrete_type.attributes:
            value = getattr(self.module, attribute.name)
            value = value.value if isinstance(value, decorators.Attribute) else value
            attributes.append(Attribute(attribute.name, attribute.of, attribute.kind, value))
        return tuple(attributes)


def compile_module(module: Module) -> CompiledModule:
    """Compiles `forward`, the methods marked with `@jit.export`, and their callees.

    Raises: CompileError, NotSupportedError.
    """
    _check_initialized(module)
    concrete_type = class_of(module)
    compiled = _bound(module, concrete_type)
    _compile_exported(compiled, outermost=True)
    return compiled


def _check_initialized(module: Module) -> None:
    for submodule in module.modules():
        tensors = {**submodule._parameters, **submodule._buffers}
        waiting = [name for name, tensor in tensors.items() if is_lazy(tensor)]
        if waiting:
            raise RuntimeError(
                f"'{type(submodule).__name__}' has uninitialized parameters {waiting}. Did you forget to "
                "run a forward pass?"
            )


def _bound(module: Module, concrete_type: ModuleClass) -> CompiledModule:
    children = {name: child for name, child in module._modules.items() if child is not None}
    inner = {
        name: _bound(children[name], child_type)
        for name, child_type in concrete_type.submodules.items()
    }
    return CompiledModule(module, concrete_type, inner)


def _compile_exported(compiled: CompiledModule, outermost: bool) -> None:
    for submodule in compiled.submodules.values():
        _compile_exported(submodule, outermost=False)
    kind = type(compiled.module)
    for name in dir(kind):
        fn = inspect.getattr_static(kind, name, None)
        if not inspect.isfunction(fn):
            continue
        exported = decorators.modifier_of(fn) == "export"
        if name == "forward" and outermost:
            exported = fn is not Module.forward and not decorators.modifier_of(fn)
        if exported:
            compiled.concrete_type.method(None, None, fn, name)


@rule(weight_and_bias)
def _weight_and_bias(c: Context, tree: ast.Call, hint: Type | None) -> SugaredValue:
    """Compiles the engine's shortcut for `module.weight, module.bias`."""
    owner = expression(c, tree.args[0])
    assert isinstance(owner, ModuleValue)
    return SugaredTupleValue(
        [owner.concrete_type.attribute(c, tree, owner, name) for name in ("weight", "bias")]
    )
