"""From what the front end compiled to functions and modules of the core."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine._generated.event_kinds import SYNTAX
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


def native_function(compiled: CompiledFunction) -> NativeFunction:
    """The function of the core, with everything that it calls; made once."""
    if compiled.native is not None:
        native: NativeFunction = compiled.native
        return native
    for callee in compiled.calls.values():
        made = native_function(callee)
        c_integer(lib.uh_graph_bind(compiled.graph, made.name.encode(), made.handle))
    for name, called in compiled.ignored.items():
        bind_host(compiled.graph, name, called)
    native = NativeFunction.of(compiled.name, compiled.graph)
    native._named = NamedResults(compiled.type)
    if compiled.defaults:
        native.set_defaults(list(compiled.defaults))
    source = compiled.source
    native.tell("script", source.file, {"first_line": source.first_line, "source": source.text})
    tell_syntax(native, source)
    compiled.native = native
    return native


def tell_syntax(native: NativeFunction, source: Any) -> None:
    """The tokens and the tree of a function, for a recording."""
    if lib.uh_recording():
        text = f'{{"tokens": {source.tokens_json()}, "tree": {source.tree_json()}}}'.encode()
        number = lib.uh_function_id(native.handle)
        lib.uh_emit_blob(SYNTAX, 0, number, 0, 0, 0, text, len(text))


def signature_of(compiled: CompiledFunction) -> inspect.Signature:
    """What Python may call it with; `self` left out."""
    parameters = []
    for one in compiled.parameters:
        if one.name == "self" and one.type.startswith("__torch__."):
            continue
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if one.keyword_only
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        default = one.default if one.has_default else inspect.Parameter.empty
        parameters.append(inspect.Parameter(one.name, kind, default=default))
    return inspect.Signature(parameters)


def script_function(compiled: CompiledFunction) -> ScriptFunction:
    """What `jit.script(fn)` returns."""
    native = native_function(compiled)
    return ScriptFunction(native, signature_of(compiled), compiled.fn, compiled)


def compiled_of(function: ScriptFunction) -> CompiledFunction:
    """What a call of a scripted or traced function compiles to; a traced one has no source."""
    if function._compiled is None:
        function._compiled = _compiled_from_graph(function._native, function.__wrapped__)
    compiled: CompiledFunction = function._compiled
    return compiled


def _compiled_from_graph(native: NativeFunction, fn: Callable[..., Any]) -> CompiledFunction:
    graph = native.graph
    parameters = tuple(
        Parameter(one.debugName(), from_text(_plain(one.type()))) for one in graph.inputs()
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
    """A type without what a trace saw of tensors."""
    return c_string(lib.uh_type_plain(type.encode()))


def script_module(compiled: CompiledModule) -> ScriptModule:
    """What `jit.script(module)` returns: one ScriptModule per submodule, shared ones once."""
    return _module(compiled, {})


def _module(compiled: CompiledModule, made: dict[int, ScriptModule]) -> ScriptModule:
    if isinstance(compiled.module, ScriptModule):
        return compiled.module
    key = id(compiled.module)
    if key in made:
        return made[key]
    children = {name: _module(one, made) for name, one in compiled.submodules.items()}
    values: dict[str, Any] = {}
    for attribute in compiled.attributes:
        child = children.get(attribute.name)
        values[attribute.name] = attribute.value if child is None else child
    native = native_class(compiled)
    box: ObjectBox = native.instance(values)
    signatures = {name: signature_of(one) for name, one in compiled.methods.items()}
    made[key] = ScriptModule(box, signatures, children)
    for name, one in compiled.methods.items():
        made[key]._method(name)._function._named = NamedResults(one.type)
    made[key].__dict__["_compiled"] = compiled.made  # for the next module of this class
    return made[key]


def native_class(compiled: CompiledModule) -> NativeClass:
    """The class of a compiled module, which the front end has made, with its methods."""
    native: NativeClass = compiled.made.native
    for name, method in compiled.methods.items():
        if native.method(name) is None:
            native.add_method(name, native_function(method))
    return native
