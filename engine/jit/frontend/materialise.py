"""Conversion of compiled functions and modules to those of the core."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine._generated.event_kinds import AST
from engine._native import lib
from engine.jit.c_results import c_integer, c_string
from engine.jit.frontend.compiled_function import CompiledFunction
from engine.jit.frontend.signatures import Parameter
from engine.jit.frontend.source import Source
from engine.jit.runtime.function import NativeFunction, ScriptFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.runtime.native_classes import NativeClass
from engine.jit.runtime.python_callbacks import bind_host
from engine.jit.types.ivalues import NamedResults, ObjectBox
from engine.jit.types.type_parser import from_text

if TYPE_CHECKING:
    from engine.jit.frontend.modules import CompiledModule


def add_method(class_handle: int, name: str, compiled: CompiledFunction) -> None:
    """Adds a method to a class of the core, so that graphs that call it can be verified."""
    c_integer(
        lib.uh_class_add_method(class_handle, name.encode(), native_function(compiled).handle)
    )


def native_function(compiled: CompiledFunction) -> NativeFunction:
    """Returns the function of the core, with all its callees; created once."""
    if compiled.native is not None:
        native: NativeFunction = compiled.native
        return native
    for callee in compiled.calls.values():
        callee_native = native_function(callee)
        c_integer(
            lib.uh_graph_bind(compiled.graph, callee_native.name.encode(), callee_native.handle)
        )
    for name, called in compiled.ignored.items():
        bind_host(compiled.graph, name, called)
    native = NativeFunction.of(compiled.name, compiled.graph)
    native._named = NamedResults(compiled.type)
    if compiled.defaults:
        native.set_defaults(list(compiled.defaults))
    source = compiled.source
    native.record_source(
        "script", source.file, {"first_line": source.first_line, "source": source.text}
    )
    record_syntax(native, source)
    compiled.native = native
    return native


def record_syntax(native: NativeFunction, source: Any) -> None:
    """Records the tokens and the AST of a function."""
    if lib.uh_recording():
        text = f'{{"tokens": {source.tokens_json()}, "tree": {source.tree_json()}}}'.encode()
        number = lib.uh_function_id(native.handle)
        lib.uh_emit_blob(AST, 0, number, 0, 0, 0, text, len(text))


def signature_of(compiled: CompiledFunction) -> inspect.Signature:
    """Returns the Python signature, without `self`."""
    parameters = []
    for parameter in compiled.parameters:
        if parameter.name == "self" and parameter.type.startswith("__torch__."):
            continue
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if parameter.keyword_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        default = parameter.default if parameter.has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(parameter.name, kind, default=default))
    return inspect.Signature(parameters)


def script_function(compiled: CompiledFunction) -> ScriptFunction:
    """Creates the result of `jit.script(fn)`."""
    native = native_function(compiled)
    return ScriptFunction(native, signature_of(compiled), compiled.fn, compiled)


def compiled_of(function: ScriptFunction) -> CompiledFunction:
    """Returns the callee for a call of a scripted or traced function; a traced one has no source."""
    if function._compiled is None:
        function._compiled = _compiled_from_graph(function._native, function.__wrapped__)
    compiled: CompiledFunction = function._compiled
    return compiled


def _compiled_from_graph(native: NativeFunction, fn: Callable[..., Any]) -> CompiledFunction:
    graph = native.graph
    parameters = tuple(
        Parameter(value.debugName(), from_text(_plain(value.type()))) for value in graph.inputs()
    )
    (result,) = graph.outputs()
    source = Source("", 1, "")
    return CompiledFunction(
        native.name,
        native.name,
        lib.uh_function_graph(native.handle),
        parameters,
        from_text(_plain(result.type())),
        source,
        fn,
        native=native,
    )


def _plain(type: str) -> str:
    """Returns a type without the tensor properties that a trace recorded."""
    return c_string(lib.uh_type_plain(type.encode()))


def script_module(compiled: CompiledModule) -> ScriptModule:
    """Creates the result of `jit.script(module)`: one ScriptModule per submodule, shared ones once."""
    return _module(compiled, {})


def _module(compiled: CompiledModule, modules: dict[int, ScriptModule]) -> ScriptModule:
    if isinstance(compiled.module, ScriptModule):
        return compiled.module
    key = id(compiled.module)
    if key in modules:
        return modules[key]
    children = {name: _module(child, modules) for name, child in compiled.submodules.items()}
    values: dict[str, Any] = {}
    for attribute in compiled.attributes:
        child = children.get(attribute.name)
        values[attribute.name] = attribute.value if child is None else child
    native = native_class(compiled)
    box: ObjectBox = native.instance(values)
    signatures = {name: signature_of(method) for name, method in compiled.methods.items()}
    modules[key] = ScriptModule(box, signatures, children)
    for name, method in compiled.methods.items():
        modules[key]._method(name)._function._named = NamedResults(method.type)
    modules[key].__dict__["_compiled"] = compiled.concrete_type  # for the next module of this class
    return modules[key]


def native_class(compiled: CompiledModule) -> NativeClass:
    """Returns the core's class of a compiled module, with its methods."""
    native: NativeClass = compiled.concrete_type.native
    for name, method in compiled.methods.items():
        if native.method(name) is None:
            native.add_method(name, native_function(method))
    return native
