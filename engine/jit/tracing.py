"""jit.trace: what a function does for one input, as a graph.

Only what operators did is seen: a branch that Python took, a loop count, a number that Python read
from a tensor or from its sizes are fixed in the trace. Where a tensor's value became a number or a
truth, a TracerWarning names the line.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from engine._native import lib
from engine._native.errors import raise_last
from engine.jit.frontend.functions import unique_name
from engine.jit.function import NativeFunction, ScriptFunction
from engine.jit.graph import number_of, text_of
from engine.jit.values import Native
from engine.tensor import Tensor

_LAYERS = "engine.nn.modules"  # of our own modules, those that users read


def _is_users(frame: FrameType) -> bool:
    """Whether the nodes that a frame makes are from its lines: not the engine's inner ones."""
    module = str(frame.f_globals.get("__name__", ""))
    inner = module == "engine" or (module.startswith("engine.") and not module.startswith(_LAYERS))
    return not inner and not frame.f_code.co_filename.startswith("<frozen ")


class TracerWarning(Warning):
    """A trace does not hold for every input: Python decided something while it was made."""


class TracingCheckError(Exception):
    """A function that was traced gives other results than its trace."""


class _Lines:
    """Tells the trace which Python line runs: the source of the nodes that follow."""

    def __init__(self) -> None:
        self._sources: dict[str, int] = {}
        self._before = sys.gettrace()

    def __enter__(self) -> None:
        sys.settrace(self._event)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)
        for handle in self._sources.values():
            lib.uh_source_release(handle)

    def _event(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "return":
            back = frame.f_back
            while back is not None and not _is_users(back):
                back = back.f_back
            if back is not None:
                self._at(back)
            return self._event
        if not _is_users(frame):
            return None
        self._at(frame)
        return self._event

    def _at(self, frame: FrameType) -> None:
        file = frame.f_code.co_filename
        if file not in self._sources:
            text = _file_text(file)
            self._sources[file] = lib.uh_source_new(file.encode(), 1, text.encode())
        lib.uh_jit_trace_span(self._sources[file], frame.f_lineno, 0, frame.f_lineno, 0)


def _file_text(file: str) -> str:
    import linecache

    return "".join(linecache.getlines(file))


def _parameter_names(fn: Callable[..., Any], count: int) -> list[str]:
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[i] if i < len(names) else f"argument_{i + 1}" for i in range(count)]


def record(
    fn: Callable[..., Any], args: tuple[Any, ...], name: str, module: int = 0
) -> tuple[int, Any]:
    """Runs `fn(*args)` while this thread traces: the graph (a reference), and what `fn` returned.

    Raises: what `fn` raises, and RuntimeError within another trace.
    """
    if lib.uh_jit_trace_begin(name.encode()) != 0:
        raise_last()
    try:
        if module:
            number_of(lib.uh_jit_trace_self(module))
        for parameter, value in zip(_parameter_names(fn, len(args)), args, strict=True):
            native = Native([value])
            number_of(lib.uh_jit_trace_input(parameter.encode(), native.array))
        with _Lines():
            result = fn(*args)
        said = json.loads(text_of(lib.uh_jit_trace_warnings()))
        native = Native([result])
        graph = lib.uh_jit_trace_end(native.array)
        if not graph:
            raise_last()
    except BaseException:
        lib.uh_jit_trace_abort()
        raise
    for warning in said:
        warnings.warn_explicit(
            warning["text"], TracerWarning, warning["file"] or "<trace>", max(warning["line"], 1)
        )
    return graph, result


def check(
    traced: Callable[..., Any], fn: Callable[..., Any], args: tuple[Any, ...], tolerance: float
) -> None:
    """Runs both again. Raises: TracingCheckError when their results differ by more than `tolerance`."""
    from engine.autograd import no_grad

    with no_grad():
        ours, theirs = traced(*_fresh(args)), fn(*_fresh(args))
    for place, (a, b) in enumerate(zip(_tensors(ours), _tensors(theirs), strict=False)):
        if (
            a.shape != b.shape
            or not a.to(b.dtype).isclose(b, rtol=tolerance, atol=tolerance, equal_nan=True).all()
        ):
            raise TracingCheckError(
                f"trace: result {place} of the traced function differs from the Python function's "
                f"for the same inputs, shapes {tuple(a.shape)} and {tuple(b.shape)}. It draws random "
                "numbers, or keeps a state between calls; check_trace=False traces it nevertheless"
            )


def _fresh(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (tuple, list)):
        return type(value)(map(_fresh, value))
    if isinstance(value, dict):
        return {key: _fresh(one) for key, one in value.items()}
    return value


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for one in value for tensor in _tensors(one)]
    return []


def trace_function(
    fn: Callable[..., Any], args: tuple[Any, ...], check_trace: bool, tolerance: float
) -> ScriptFunction:
    """The ScriptFunction of a trace of `fn(*args)`."""
    name = getattr(fn, "__name__", type(fn).__name__)
    name = unique_name(name if name.isidentifier() else "traced")
    graph, _ = record(fn, args, name)
    try:
        native = NativeFunction.of(name, graph)
    finally:
        lib.uh_graph_release(graph)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = _parameter_names(fn, len(args))
    signature = inspect.Signature([inspect.Parameter(one, kind) for one in names])
    code = getattr(fn, "__code__", None)
    native.tell("trace", code.co_filename if code else "", {"name": name})
    made = ScriptFunction(native, signature, fn)
    if check_trace:
        check(made, fn, args, tolerance)
    return made


__all__ = ["TracerWarning", "TracingCheckError", "check", "record", "trace_function"]
