"""`jit.script`: functions, modules and classes compiled from their source."""

from __future__ import annotations

import inspect
from typing import Any

from engine.jit import frontend
from engine.jit.frontend import materialise
from engine.jit.nesting import deeply
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.settings import ENABLED
from engine.nn import Module


def script(obj: Any, *, example_inputs: Any = None) -> Any:
    """Compiles a function or a module from its source: a typed subset of Python.

    Parameters without annotation are Tensors. Control flow is compiled. A module becomes a
    ScriptModule with the same parameters and buffers: `forward`, methods marked with `export`, and
    their callees are compiled.
    Raises: RuntimeError for unsupported Python, with the line, a caret and a hint; TypeError for any
    other object.

    >>> import engine
    >>> @engine.jit.script
    ... def clipped(x, n: int = 2):
    ...     for _ in range(n):
    ...         x = x * 2
    ...     return x.clamp(max=5.0)
    >>> clipped(engine.tensor([1., 2.]))
    tensor([4., 5.])
    """
    if not ENABLED or isinstance(obj, (ScriptFunction, ScriptModule)):
        return obj
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
