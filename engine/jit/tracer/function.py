"""Tracing of functions: the operators that ran for one input, as a graph.

Only operators are recorded: branches, loop counts, and numbers that Python reads from a tensor are
constants of the trace, with a TracerWarning for the line. Sizes are followed: computations from
`x.shape` are in the graph (tensors.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from engine._native import lib
from engine._native.errors import raise_last
from engine.autograd import no_grad
from engine.jit.c_results import c_integer
from engine.jit.frontend.functions import unique_name
from engine.jit.runtime.function import NativeFunction, ScriptFunction
from engine.jit.tracer.frames import Frames, TracerWarning, warn_at_user
from engine.jit.tracer.scopes import scopes
from engine.jit.tracer.tensors import followed
from engine.jit.types.ivalues import BoxedArgs, ObjectBox
from engine.tensor import Tensor


class TracingCheckError(Exception):
    """A traced function and its trace return different results."""


_CONTAINER = (
    "Encountering a {} at the output of the tracer might cause the trace to be incorrect, this is "
    "only valid if the container structure does not change based on the module's inputs. Consider "
    "using a constant container instead (e.g. for `list`, use a `tuple` instead. for `dict`, use a "
    "`NamedTuple` instead). If you absolutely need this and know the side effects, pass "
    "strict=False to trace() to allow this behavior."
)


def _parameter_names(fn: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[i] if i < len(names) else f"argument_{i + 1}" for i in range(count)]


def _check_inputs(args: tuple[Any, ...]) -> None:
    """Checks the inputs. Raises: RuntimeError for an input without tensors."""

    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(map(plain, value.values()))
        if isinstance(value, (tuple, list)):
            return all(map(plain, value))
        return isinstance(value, Tensor)

    if not plain(args):
        types = ", ".join(type(arg).__name__ for arg in args)
        raise RuntimeError(
            f"Type 'Tuple[{types}]' cannot be traced. Only Tensors and (possibly nested) Lists, "
            "Dicts, and Tuples of Tensors can be traced"
        )


def _check_result(value: Any, strict: bool) -> None:
    """Raises RuntimeError for a result that a trace cannot return; warns of a list."""
    if value is None:
        raise RuntimeError(
            "The traced function didn't return any values! Side-effects are not captured in "
            "traces, so it would be a no-op."
        )
    _check_part(value, strict)


def _check_part(value: Any, strict: bool) -> None:
    if isinstance(value, dict):
        if strict:
            raise RuntimeError(_CONTAINER.format("dict"))
        value = list(value.values())
    elif isinstance(value, list) and strict:
        warn_at_user(_CONTAINER.format("list"))
    if isinstance(value, (tuple, list)):
        for element in value:
            _check_part(element, strict)
    elif not isinstance(value, Tensor):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from "
            f"traced functions, got {type(value).__name__}"
        )


def record(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    name: str,
    module: ObjectBox | None = None,
    submodules: Mapping[int, ObjectBox] | None = None,
    strict: bool = True,
) -> tuple[int, Any]:
    """Traces `fn(*args)`; returns the graph (a reference) and the result.

    module: `self` in the graph. submodules: the objects of modules by `id`; their calls become methods.

    Raises: errors of `fn`; RuntimeError within another trace, or for inputs and results that are not
    tensors or containers of tensors.
    """
    _check_inputs(args)
    if lib.uh_jit_trace_begin(name.encode()) != 0:
        raise_last()
    try:
        if module is not None:
            c_integer(lib.uh_jit_trace_self(module.handle))
        for parameter, value in zip(_parameter_names(fn, len(args)), args, strict=True):
            native = BoxedArgs([value])
            c_integer(lib.uh_jit_trace_input(parameter.encode(), native.array))
        with followed(), scopes(submodules or {}), Frames():
            result = fn(*args)
        _check_result(result, strict)
        native = BoxedArgs([result])
        graph = lib.uh_jit_trace_end(native.array)
        if not graph:
            raise_last()
    except BaseException:
        lib.uh_jit_trace_abort()
        raise
    return graph, result


def check(
    traced: Callable[..., Any], fn: Callable[..., Any], args: tuple[Any, ...], tolerance: float
) -> None:
    """Runs function and trace again. Raises: TracingCheckError if their results differ by more than
    `tolerance`."""
    with no_grad():
        actual, expected = traced(*cloned(args)), fn(*cloned(args))
    for index, (a, b) in enumerate(zip(_tensors(actual), _tensors(expected), strict=False)):
        if (
            a.shape != b.shape
            or not a.to(b.dtype).isclose(b, rtol=tolerance, atol=tolerance, equal_nan=True).all()
        ):
            raise TracingCheckError(
                f"trace: result {index} of the traced function differs from the Python function's "
                f"for the same inputs, shapes {tuple(a.shape)} and {tuple(b.shape)}. It draws random "
                "numbers, or keeps a state between calls; check_trace=False traces it nevertheless"
            )


def cloned(value: Any) -> Any:
    """Returns the value with cloned tensors, because a model may write to its inputs."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (tuple, list)):
        return type(value)(map(cloned, value))
    if isinstance(value, dict):
        return {key: cloned(element) for key, element in value.items()}
    return value


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for element in value for tensor in _tensors(element)]
    return []


def trace_function(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    check_trace: bool,
    tolerance: float,
    strict: bool = True,
) -> ScriptFunction:
    """Traces `fn(*args)` and returns a ScriptFunction."""
    name = str(getattr(fn, "__name__", type(fn).__name__))
    name = "_lambda" if name == "<lambda>" else name
    name = unique_name(name if name.isidentifier() else "traced")
    graph, _ = record(fn, args, name, strict=strict)
    try:
        native = NativeFunction.of(name, graph)
    finally:
        lib.uh_graph_release(graph)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = _parameter_names(fn, len(args))
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    code = getattr(fn, "__code__", None)
    native.record_source("trace", code.co_filename if code else "", {"name": name})
    traced_function = ScriptFunction(native, signature, fn)
    if check_trace:
        check(traced_function, fn, args, tolerance)
    return traced_function


__all__ = ["TracerWarning", "TracingCheckError", "check", "cloned", "record", "trace_function"]
