"""Autograd Functions with a `symbolic`: while a model is traced for an export, each call is one node.

The node calls an operator that exists only during the export and returns what `forward` returned.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine import ops
from engine.autograd.function import Function
from engine.jit.tracer.tensors import paused, recording
from engine.library.registration import Library
from engine.onnx import state
from engine.onnx.conversion import TENSOR
from engine.tensor import Tensor

_NAMESPACE = "onnx_symbolic"
_lock = threading.Lock()
_numbers = itertools.count()
_apply = Function.__dict__["apply"]


class FunctionCalls:
    """The calls of one export: by the kind of their node, the class and its arguments."""

    def __init__(self) -> None:
        self._library = Library(_NAMESPACE, "FRAGMENT")
        self._results: list[Tensor] = []
        self.functions: dict[str, tuple[type, list[Any]]] = {}

    def call(self, function: type, args: tuple[Any, ...]) -> Any:
        """Runs `forward` without tracing it, and records one node for it."""
        with paused():
            result = _apply.__get__(None, function)(*args)
        outputs = result if isinstance(result, tuple) else (result,)
        if not all(isinstance(output, Tensor) for output in outputs):
            raise TypeError(
                f"onnx.export: {function.__name__}.forward returns something else than tensors"
            )
        tensors = [argument for argument in args if isinstance(argument, Tensor)]
        name = f"{function.__name__}_{next(_numbers)}"  # may exist from another export
        parameters = ", ".join(f"Tensor t{i}" for i in range(len(tensors)))
        returned = ", ".join(["Tensor"] * len(outputs))
        schema = f"{name}({parameters}) -> {returned if len(outputs) == 1 else f'({returned})'}"
        self._library.define(schema)
        with paused():
            self._results = [output.detach().clone() for output in outputs]
        self._library.impl(name, self._kernel, "CompositeExplicitAutograd")
        self.functions[f"{_NAMESPACE}::{name}"] = (
            function,
            [TENSOR if isinstance(argument, Tensor) else argument for argument in args],
        )
        written = getattr(getattr(ops, _NAMESPACE), name)(*tensors)
        return tuple(written) if isinstance(result, tuple) else written

    def _kernel(self, *tensors: Tensor) -> Any:
        return tuple(self._results) if len(self._results) > 1 else self._results[0]


_installed = 0


@contextmanager
def recorded(calls: FunctionCalls) -> Iterator[None]:
    """Records this thread's calls of Functions with a `symbolic` as nodes inside the `with`."""
    global _installed
    with _lock:
        if _installed == 0:
            setattr(Function, "apply", classmethod(_apply_or_record))  # noqa: B010
        _installed += 1
    state.live.calls = calls
    try:
        yield
    finally:
        state.live.calls = None
        with _lock:
            _installed -= 1
            if _installed == 0:
                setattr(Function, "apply", _apply)  # noqa: B010


def _apply_or_record(cls: type, *args: Any, **options: Any) -> Any:
    calls: FunctionCalls | None = state.calls()
    if calls is None or options or not hasattr(cls, "symbolic") or not recording():
        return _apply.__get__(None, cls)(*args, **options)
    return calls.call(cls, args)
