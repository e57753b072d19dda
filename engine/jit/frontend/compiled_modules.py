"""Traced or loaded modules inside of scripted modules: the core has their classes and methods, Python
only the types."""

from __future__ import annotations

import ast
import inspect

from engine._native import lib
from engine.jit.c_results import c_string
from engine.jit.frontend.arguments import Arguments, match
from engine.jit.frontend.environment import Context
from engine.jit.frontend.module_attributes import Attribute, Described
from engine.jit.frontend.modules import ModuleClass, call_method, class_of
from engine.jit.frontend.signatures import Parameter
from engine.jit.frontend.sugared_values import MISSING, ModuleMethod, ModuleValue, SugaredValue
from engine.jit.runtime.function import NativeFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.runtime.native_classes import CLASSES, KINDS, NativeClass
from engine.jit.types.jit_type import Type
from engine.jit.types.type_parser import from_text


class ReadyClass(ModuleClass):
    """The class of a module that is compiled already; `module` is one of its objects."""

    def __init__(self, module: ScriptModule) -> None:
        native = NativeClass.of(module._script_object)
        described = native.describe()
        self.native, self.handle = native, native.handle
        self.module, self.name = module, described["name"]
        self.type = Type("class", (), self.name)
        self.methods, self._variants = {}, {}
        children = {name: child for name, child in module._modules.items() if child is not None}
        self.submodules = {name: class_of(child) for name, child in children.items()}
        self.is_dict = module.original_name == "ModuleDict"
        self.is_list = module.original_name in ("ModuleList", "Sequential")
        self.is_table = ""
        kinds = {KINDS[word]: word for word in ("attribute", "parameter", "buffer")}
        self.described = Described(
            {
                attribute["name"]: Attribute(
                    attribute["name"], _type(attribute["type"]), kinds[attribute["kind"]]
                )
                for attribute in described["attributes"]
                if attribute["name"] not in children
            }
        )
        CLASSES[self.name] = self

    def call(
        self, c: Context, tree: ast.AST, owner: ModuleValue, name: str, arguments: Arguments
    ) -> SugaredValue:
        """Compiles `module(...)` and `module.name(...)` as a call of the core's method, with its
        types."""
        table = self._table(c, tree, owner, name, len(arguments.args))
        if table is not None:
            return table
        method = self.native.method(name)
        if method is None:
            known = ", ".join(self.native.describe()["methods"]) or "none"
            raise c.fail(
                tree,
                f"Module '{self.module.original_name}' has no method '{name}' (it has: {known})",
                "Hint: compile or trace it with that method, by @jit.export or trace_module",
            )
        (result,) = method.graph.outputs()
        inputs = match(c, tree, name, self._method_parameters(method, name), arguments)
        return call_method(c, tree, owner, name, inputs, _type(result.type()))

    def _method_parameters(self, method: NativeFunction, name: str) -> list[Parameter]:
        """Returns the method's parameters without `self`."""
        parameters = []
        inputs = method.graph.inputs()[1:]
        python_parameters = self.module._signatures[name].parameters.values()
        for value, python in zip(inputs, python_parameters, strict=True):
            has_default = python.default is not inspect.Parameter.empty
            default = python.default if has_default else MISSING
            parameters.append(Parameter(python.name, _type(value.type()), default, has_default))
        return parameters

    def _of_class(self, c: Context, tree: ast.AST, owner: ModuleValue, name: str) -> SugaredValue:
        if self.native.method(name) is not None:
            return ModuleMethod(name, owner)
        raise c.fail(tree, f"Module '{self.module.original_name}' has no attribute '{name}'")


@class_of.register
def _(module: ScriptModule) -> ModuleClass:
    """Returns the class of a module that is compiled already."""
    return CLASSES.get(module._script_class) or ReadyClass(module)


def _type(text: str) -> Type:
    """Returns a type without the tensor properties that a trace recorded."""
    return from_text(c_string(lib.uh_type_plain(text.encode())))
