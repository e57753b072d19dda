"""Scopes of a trace: the operators of each module's call become a method.

While any thread traces a module, every module call checks whether its own thread does. Operators of
hooks belong to the caller, as in PyTorch.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engine._native import lib
from engine.jit.c_results import c_integer
from engine.jit.tracer.tensors import recording
from engine.jit.types.ivalues import ObjectBox
from engine.nn import Module, hooks

_live = threading.local()
_lock = threading.Lock()
_tracing = 0
_call, _forward_of = Module.__call__, hooks.forward_of


@contextlib.contextmanager
def scopes(objects: Mapping[int, ObjectBox]) -> Iterator[None]:
    """Attributes this thread's operators, inside the `with`, to the modules with these `id`s."""
    global _tracing
    with _lock:
        if _tracing == 0:
            setattr(Module, "__call__", _called)  # noqa: B010  (mypy: a method is not a variable)
            hooks.forward_of = _scoped
        _tracing += 1
    _live.objects = objects
    try:
        yield
    finally:
        _live.objects = {}
        with _lock:
            _tracing -= 1
            if _tracing == 0:
                setattr(Module, "__call__", _call)  # noqa: B010
                hooks.forward_of = _forward_of


def _called(self: Module, *args: Any, **kwargs: Any) -> Any:
    if _object(self) is None:
        return _call(self, *args, **kwargs)
    return hooks.call(self, args, kwargs)


def _object(module: Module) -> ObjectBox | None:
    box: ObjectBox | None = getattr(_live, "objects", {}).get(id(module))
    return box if box is not None and recording() else None


def _scoped(module: Any) -> Callable[..., Any]:
    forward, box = _forward_of(module), _object(module)
    if box is None:
        return forward

    def run(*args: Any, **kwargs: Any) -> Any:
        c_integer(lib.uh_jit_trace_enter(box.handle))
        try:
            return forward(*args, **kwargs)
        finally:
            c_integer(lib.uh_jit_trace_leave())

    return run
