"""Tracing modules: their tensors are attributes in the graph, not constants."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from engine._native import lib
from engine.jit.c_results import c_integer
from engine.jit.ir.graph import Graph
from engine.jit.runtime.function import NativeFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.runtime.native_classes import NativeClass, ObjectBox, Slot
from engine.jit.tracer.function import _parameter_names, check, record
from engine.jit.types.qualified_names import class_name
from engine.nn import Module
from engine.tensor import Tensor


class TracedModule(ScriptModule):
    """The native objects of a traced module and of the modules below it."""

    def _get_name(self) -> str:
        return self.original_name


def trace_module(
    module: Module,
    inputs: dict[str, Any],
    check_trace: bool,
    tolerance: float,
    strict: bool = True,
) -> ScriptModule:
    """Traces methods of a module, and returns a ScriptModule.

    Calls of submodules become their methods: forward, forward1, ... Submodules that were compiled before stay
    as they are.
    """
    tree = _Tree(module)
    signatures: dict[str, inspect.Signature] = {}
    examples: dict[str, tuple[Any, ...]] = {}
    recorded = tree.methods()
    for name, arguments in inputs.items():
        args = (arguments,) if isinstance(arguments, Tensor) else tuple(arguments)
        method = module if name == "forward" else getattr(module, name)
        names = _parameter_names(getattr(module, name), len(args))
        graph, _ = record(_named(method, names), args, name, tree.box, tree.objects, strict)
        try:
            function = NativeFunction.of(name, graph)
        finally:
            lib.uh_graph_release(graph)
        tree.native.add_method(name, function)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signatures[name] = inspect.Signature([inspect.Parameter(name, kind) for name in names])
        examples[name] = args
        recorded = tree.record_methods(recorded)
    scripted = tree.script_module(signatures)
    if check_trace:
        for name, args in examples.items():
            check(getattr(scripted, name), getattr(module, name), args, tolerance)
    return scripted


def trace_graph(
    call: Callable[..., Any], args: tuple[Any, ...], names: list[str], module: Module | None
) -> tuple[Graph, ObjectBox | None]:
    """Returns the graph of one call with its calls inlined, and the module's object, the graph's first input.

    Without a module there is no such input, and weights are constants of the graph.
    """
    tree = _Tree(module) if module is not None else None
    box = tree.box if tree is not None else None
    objects = tree.objects if tree is not None else {}
    handle, _ = record(_named(call, names), args, "forward", box, objects, strict=False)
    graph = Graph(handle)
    c_integer(lib.uh_pass_run(graph._handle, b"inline"))
    return graph, box


def _named(method: Callable[..., Any], names: list[str]) -> Callable[..., Any]:
    """Wraps `method` in a function whose signature has these parameter names."""

    def call(*args: Any) -> Any:
        return method(*args)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, kind) for name in names]
    )
    return call


class _Tree:
    """A module's object, with its tensors, and the trees of its submodules.

    A module that is registered twice has two objects with the same tensors, as in PyTorch.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.children: dict[str, _Tree] = {}
        if isinstance(module, ScriptModule):
            self.box: ObjectBox = module._script_object
            self.native = NativeClass.of(self.box)
            return
        slots = [Slot("training", "bool")]
        values: dict[str, Any] = {"training": module.training}
        for name, parameter in module._parameters.items():
            slots.append(Slot(name, "Tensor" if parameter is not None else "NoneType", "parameter"))
            values[name] = parameter
        for name, buffer in module._buffers.items():
            slots.append(Slot(name, "Tensor" if buffer is not None else "NoneType", "buffer"))
            values[name] = buffer
        for name, child in module._modules.items():
            if child is None:
                continue
            below = self.children[name] = _Tree(child)
            slots.append(Slot(name, below.native.describe()["name"], "module"))
            values[name] = _Held(below.box)
        self.native = NativeClass.new(class_name(type(module)), slots)
        self.box = self.native.instance(values)

    @property
    def objects(self) -> dict[int, ObjectBox]:
        """Returns the object of each submodule; the last one, as in PyTorch, if it is registered twice."""
        objects: dict[int, ObjectBox] = {}
        current = set()
        for below in self.children.values():
            if id(below.module) in current or isinstance(below.module, ScriptModule):
                continue
            current.add(id(below.module))
            objects[id(below.module)] = below.box
            objects.update(below.objects)
        return objects

    def methods(self) -> set[tuple[str, str]]:
        """Returns (class, method) for the module and its submodules."""
        described = self.native.describe()
        methods = {(described["name"], name) for name in described["methods"]}
        return methods.union(*(below.methods() for below in self.children.values()))

    def record_methods(self, recorded: set[tuple[str, str]]) -> set[tuple[str, str]]:
        """Records the source of the methods that are not in `recorded` yet."""
        described = self.native.describe()
        code = getattr(type(self.module).forward, "__code__", None)
        for name in described["methods"]:
            function = self.native.method(name)
            if (described["name"], name) in recorded or function is None:
                continue
            facts = {"name": class_name(type(self.module))}
            function.record_source("trace", code.co_filename if code else "", facts)
            recorded = recorded | {(described["name"], name)}
        for below in self.children.values():
            recorded = below.record_methods(recorded)
        return recorded

    def script_module(self, signatures: dict[str, inspect.Signature]) -> ScriptModule:
        """Creates the ScriptModule of this module and of its children."""
        if isinstance(self.module, ScriptModule):
            return self.module
        children = {name: below.script_module({}) for name, below in self.children.items()}
        scripted = ScriptModule(self.box, signatures, children)
        scripted.__class__ = TracedModule  # a call of that class would compile it
        return scripted


class _Held:
    """An object as the value of an attribute."""

    def __init__(self, box: ObjectBox) -> None:
        self._script_object = box
