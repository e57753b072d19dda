"""Tracing modules: their tensors are attributes in the graph, not constants."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from engine._native import lib
from engine.jit.function import NativeFunction
from engine.jit.module import ScriptModule
from engine.jit.objects import NativeClass, ObjectBox, Slot, class_name
from engine.jit.tracing import _parameter_names, check, record
from engine.nn import Module
from engine.tensor import Tensor


def trace_module(
    module: Module,
    inputs: dict[str, Any],
    check_trace: bool,
    tolerance: float,
    strict: bool = True,
) -> ScriptModule:
    """A ScriptModule whose methods are the traces; submodules keep their tensors, without methods,
    and those that were compiled before keep these too."""
    box, native = _object(module, {})
    signatures: dict[str, inspect.Signature] = {}
    examples: dict[str, tuple[Any, ...]] = {}
    for name, given in inputs.items():
        args = (given,) if isinstance(given, Tensor) else tuple(given)
        method = module if name == "forward" else getattr(module, name)
        names = _parameter_names(getattr(module, name), len(args))
        graph, _ = record(_named(method, names), args, name, box.handle, strict)
        try:
            function = NativeFunction.of(name, graph)
        finally:
            lib.uh_graph_release(graph)
        native.add_method(name, function)
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signatures[name] = inspect.Signature([inspect.Parameter(one, kind) for one in names])
        examples[name] = args
        code = getattr(type(module).forward, "__code__", None)
        function.tell("trace", code.co_filename if code else "", {"name": class_name(module)})
    made = ScriptModule(box, signatures)
    if check_trace:
        for name, args in examples.items():
            check(getattr(made, name), getattr(module, name), args, tolerance)
    return made


def _named(method: Callable[..., Any], names: list[str]) -> Callable[..., Any]:
    """`method` under a signature that says these names."""

    def call(*args: Any) -> Any:
        return method(*args)

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(one, kind) for one in names]
    )
    return call


def _object(module: Module, made: dict[int, Any]) -> tuple[ObjectBox, NativeClass]:
    """An object with the module's tensors and, below it, those of its submodules."""
    if id(module) in made:
        found: tuple[ObjectBox, NativeClass] = made[id(module)]
        return found
    if isinstance(module, ScriptModule):
        own: ObjectBox = module._script_object
        made[id(module)] = own, NativeClass.of(own)
        return made[id(module)]
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
        box, native = _object(child, made)
        slots.append(Slot(name, native.describe()["name"], "module"))
        values[name] = _Held(box)
    native = NativeClass.new(class_name(module), slots)
    made[id(module)] = native.instance(values), native
    return made[id(module)]


class _Held:
    """An object as a value of an attribute."""

    def __init__(self, box: ObjectBox) -> None:
        self._script_object = box


def if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` compiled where a trace is being made, and itself elsewhere."""
    compiled: Any = None

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal compiled
        if not lib.uh_jit_tracing():
            return fn(*args, **kwargs)
        if compiled is None:
            from engine.jit import script

            compiled = script(fn)
        return compiled(*args, **kwargs)

    return call
