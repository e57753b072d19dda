"""engine.jit: from Python to a graph that is optimised, run without Python, and saved.

`script` compiles source, `trace` records a run; both give something that is called like what it was
made from. `fn.graph` is what was compiled, `fn.graph_for(*inputs)` what runs, `fn.instructions(...)`
the interpreter's program. `save` and `load` keep it in one file; `register_pass` adds a pass of one's
own to the pipeline.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

from engine._native.errors import ScriptError as Error
from engine._native.interrupt import listen as _listen
from engine.jit.compilation_unit import CompilationUnit
from engine.jit.custom_passes import passes, pipeline, register_pass, run_pass, unregister_pass
from engine.jit.frontend.decorators import (
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
from engine.jit.ir.graph import Block, Graph, Node, Use, Value
from engine.jit.nesting import deeply
from engine.jit.runtime import python_callbacks as _python_callbacks  # noqa: F401  (print and warn)
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.futures import Future, fork, wait
from engine.jit.runtime.module import ScriptMethod, ScriptModule
from engine.jit.script_methods import script_method
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
from engine.jit.tracer.trace import TracerWarning, TracingCheckError
from engine.jit.types.type_introspection import Schema, Type
from engine.nn import Module
from engine.tensor import Tensor

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

# As in PyTorch: PYTORCH_JIT=0 runs everything as the Python that it is.
_ENABLED = os.environ.get("PYTORCH_JIT", "1") != "0"
_listen()
RecursiveScriptModule = ScriptModule  # PyTorch's name for what `script` makes of a module
# What people are told these are: where they are imported from, not the file they are written in.
for _public in [one for name in __all__ if isinstance(one := globals().get(name), type)]:
    _public.__module__ = __name__


def __getattr__(name: str) -> Any:
    if name == "isinstance":  # a global of that name would hide Python's from this file
        return is_instance
    raise AttributeError(f"module 'engine.jit' has no attribute {name!r}")


def script(obj: Any, *, example_inputs: Any = None) -> Any:
    """Compiles a function or a module from its source: a typed subset of Python.

    Parameters without annotation are Tensors. Control flow stays control flow. A module gives a
    ScriptModule with its own parameters and buffers: `forward` and what it calls, and methods
    marked with `export`, are compiled.
    Raises: RuntimeError for what is not in the subset, with the line, a caret and what to write
    instead; TypeError for an object that is neither.

    >>> import engine
    >>> @engine.jit.script
    ... def clipped(x, n: int = 2):
    ...     for _ in range(n):
    ...         x = x * 2
    ...     return x.clamp(max=5.0)
    >>> clipped(engine.tensor([1., 2.]))
    tensor([4., 5.])
    """
    if not _ENABLED or isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
    from engine.jit import frontend
    from engine.jit.frontend import materialise

    with deeply(frontend.CompileError, getattr(obj, "__name__", type(obj).__name__)):
        if isinstance(obj, Module):
            return materialise.script_module(frontend.compile_module(obj))
        if inspect.isfunction(obj) or inspect.ismethod(obj):
            return materialise.script_function(frontend.compile_function(obj))
        if inspect.isclass(obj) and not issubclass(obj, Module):
            return frontend.compile_class(obj)
    if inspect.isclass(obj):
        raise frontend.CompileError(
            f"jit.script: type '{obj.__name__}' cannot be compiled since it inherits from nn.Module, "
            "pass an instance instead"
        )
    raise TypeError(f"jit.script: expected a function or an nn.Module, got {type(obj).__name__}")


def trace(
    func: Any,
    example_inputs: Any,
    *,
    check_trace: bool = True,
    check_tolerance: float = 1e-5,
    strict: bool = True,
) -> Any:
    """Records what a function or module does for example inputs: every operator, no Python.

    example_inputs: a tuple of inputs, or one Tensor. A branch, a loop count, and numbers read from
    tensors are fixed as they were: a TracerWarning says where a value was read. Sizes are followed:
    `x.view(x.shape[0], -1)` holds for other sizes, too. What is scripted stays a call, with its
    branches. strict: a dictionary cannot be returned, and a list is warned of.
    check_trace: runs both once more and raises TracingCheckError when they differ.

    >>> import engine
    >>> f = engine.jit.trace(lambda x: (x * 2).relu(), engine.ones(2))
    >>> f(engine.tensor([-1., 3.]))
    tensor([0., 6.])
    """
    if not _ENABLED or isinstance(func, (ScriptFunction, ScriptModule)):
        return func
    from engine.jit.tracer import trace as tracing

    args = (example_inputs,) if isinstance(example_inputs, Tensor) else tuple(example_inputs)
    if isinstance(func, Module):
        return trace_module(
            func,
            {"forward": args},
            check_trace=check_trace,
            check_tolerance=check_tolerance,
            strict=strict,
        )
    owner = getattr(func, "__self__", None)
    if isinstance(owner, Module) and func.__name__ == "forward":
        return trace(
            owner, args, check_trace=check_trace, check_tolerance=check_tolerance, strict=strict
        )
    if not callable(func):
        raise TypeError(f"jit.trace: expected a function or a module, got {type(func).__name__}")
    return tracing.trace_function(func, args, check_trace, check_tolerance, strict)


def trace_module(
    mod: Module,
    inputs: dict[str, Any],
    check_trace: bool = True,
    check_tolerance: float = 1e-5,
    *,
    strict: bool = True,
) -> ScriptModule:
    """Traces methods of a module, each with the example inputs given by its name."""
    from engine.jit.tracer import module as traced_module

    return traced_module.trace_module(mod, inputs, check_trace, check_tolerance, strict)


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that a trace calls compiled, so that its control flow is kept."""
    from engine.jit.tracer.module import if_tracing

    return if_tracing(fn)


def is_tracing() -> bool:
    """Whether this thread is making a trace."""
    from engine._native import lib

    return bool(lib.uh_jit_tracing())


def save(m: Any, f: Any, _extra_files: dict[str, Any] | None = None) -> None:
    """Writes a scripted function or module to one safetensors file, which C and C++ read as well."""
    from engine.jit import serialization

    serialization.save(m, f, _extra_files)


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    *,
    mmap: bool | None = None,
) -> Any:
    """What `save` wrote; nothing in the file is executed. mmap=True maps weights, and reads none."""
    from engine.jit import serialization

    return serialization.load(f, map_location, _extra_files, mmap)


def freeze(
    mod: ScriptModule, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True
) -> ScriptModule:
    """A module in eval mode whose attributes have become constants of its graph.

    `preserved_attrs` names attributes that stay, and methods besides forward that stay callable.
    With `optimize_numerics` a batch_norm behind a convolution, or a linear of matrices, goes into
    copies of its weights, which rounds differently; other constants share memory with the module.
    Raises: ValueError for anything but a ScriptModule, RuntimeError for one in training mode, one
    that sets an attribute which is not preserved, and a name that it does not have.
    """
    from engine.jit import serialization

    return serialization.freeze(mod, preserved_attrs or [], optimize_numerics)
