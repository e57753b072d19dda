"""`jit.trace`, `jit.trace_module`, `jit.script_if_tracing` and `jit.is_tracing`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from engine._native import lib
from engine.jit.runtime.function import ScriptFunction
from engine.jit.runtime.module import ScriptModule
from engine.jit.scripting import script
from engine.jit.settings import ENABLED
from engine.jit.tracer import function, module
from engine.nn import Module
from engine.tensor import Tensor


def trace(
    func: Any,
    example_inputs: Any,
    *,
    check_trace: bool = True,
    check_tolerance: float = 1e-5,
    strict: bool = True,
) -> Any:
    """Records the operators of a function or module for example inputs.

    example_inputs: a tuple of inputs, or one Tensor. Branches, loop counts, and numbers read from
    tensors become constants: a TracerWarning has the line. Sizes are followed: `x.view(x.shape[0],
    -1)` is valid for other sizes, too. Scripted functions stay calls, with their branches. strict:
    reject dictionaries as results, and warn of lists. check_trace: run both again and raise
    TracingCheckError if they differ.

    >>> import engine
    >>> f = engine.jit.trace(lambda x: (x * 2).relu(), engine.ones(2))
    >>> f(engine.tensor([-1., 3.]))
    tensor([0., 6.])
    """
    if not ENABLED or isinstance(func, (ScriptFunction, ScriptModule)):
        return func
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
    return function.trace_function(func, args, check_trace, check_tolerance, strict)


def trace_module(
    mod: Module,
    inputs: dict[str, Any],
    check_trace: bool = True,
    check_tolerance: float = 1e-5,
    *,
    strict: bool = True,
) -> ScriptModule:
    """Traces methods of a module; `inputs` maps their names to example inputs."""
    return module.trace_module(mod, inputs, check_trace, check_tolerance, strict)


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that calls the compiled `fn` during a trace, and `fn` itself otherwise."""
    compiled: Any = None

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal compiled
        if not lib.uh_jit_tracing():
            return fn(*args, **kwargs)
        if compiled is None:
            compiled = script(fn)
        return compiled(*args, **kwargs)

    return call


def is_tracing() -> bool:
    """Returns whether this thread is tracing."""
    return bool(lib.uh_jit_tracing())
