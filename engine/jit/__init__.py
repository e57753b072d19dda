"""engine.jit: from Python to a graph that is optimised, run without Python, and saved.

`script` compiles source, `trace` records a run; both results are called like the
original. `fn.graph` is what was compiled, `fn.graph_for(*inputs)` what runs, `fn.instructions(...)`
the interpreter's program. `save` and `load` keep it in one file; `register_pass` adds a custom pass
to the pipeline.
"""

from __future__ import annotations

from typing import Any

from engine._native.errors import ScriptError as Error
from engine._native.interrupt import listen as _listen
from engine.absent_names import absent
from engine.jit.compilation_unit import CompilationUnit
from engine.jit.custom_passes import passes, pipeline, register_pass, run_pass, unregister_pass
from engine.jit.decorators import (
    Attribute,
    Final,
    annotate,
    export,
    ignore,
    interface,
    is_instance,
    is_scripting,
    unused,
)
from engine.jit.decorators import _overload as _overload
from engine.jit.decorators import _overload_method as _overload_method
from engine.jit.ir.graph import Block, Graph, Node, Use, Value
from engine.jit.runtime import python_callbacks as _python_callbacks  # noqa: F401  (print and warn)
from engine.jit.runtime import script_objects as _script_objects  # noqa: F401  (objects of classes)
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.futures import Future, fork, wait
from engine.jit.runtime.module import ScriptMethod, ScriptModule
from engine.jit.script_methods import script_method
from engine.jit.scripting import script
from engine.jit.serialization import freeze, load, save
from engine.jit.settings import (
    enable_onednn_fusion,
    export_opnames,
    fuser,
    last_executed_optimized_graph,
    onednn_fusion_enabled,
    optimize_for_inference,
    optimized_execution,
    run_frozen_optimizations,
    set_fusion_strategy,
)
from engine.jit.tracer.function import TracerWarning, TracingCheckError
from engine.jit.tracer.trace import is_tracing, script_if_tracing, trace, trace_module
from engine.jit.types.type_introspection import Schema, Type

__all__ = [
    "Attribute",
    "Block",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "Graph",
    "Node",
    "RecursiveScriptModule",
    "Schema",
    "ScriptFunction",
    "ScriptMethod",
    "ScriptModule",
    "TracerWarning",
    "TracingCheckError",
    "Type",
    "Use",
    "Value",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "last_executed_optimized_graph",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "passes",
    "pipeline",
    "register_pass",
    "run_frozen_optimizations",
    "run_pass",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "trace",
    "trace_module",
    "unregister_pass",
    "unused",
    "wait",
]

_listen()
RecursiveScriptModule = ScriptModule  # PyTorch's name for the result of scripting a module
# Users see the module that they import a class from, not the file that defines it.
for _public in [kind for name in __all__ if isinstance(kind := globals().get(name), type)]:
    _public.__module__ = __name__


def __getattr__(name: str) -> Any:
    if name == "isinstance":  # a global of that name would hide Python's from this file
        return is_instance
    raise absent("jit", name)
