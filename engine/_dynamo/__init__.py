"""The switches of PyTorch's bytecode compiler that scripts set: `compile` here is over `jit.script`.

`config` takes any assignment, as the compiler here has none of these limits; the other names are engine.compiler's.
"""

from __future__ import annotations

from typing import Any

from engine._dynamo import config as config
from engine.compiler import (
    allow_in_graph,
    disable,
    is_compiling,
    list_backends,
    reset,
)
from engine.unsupported import placeholder

__all__ = [
    "allow_in_graph",
    "config",
    "disable",
    "disallow_in_graph",
    "explain",
    "export",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
]

explain = placeholder("_dynamo.explain", "compile warns why a program runs eagerly")
export = placeholder("_dynamo.export", "use jit.trace or onnx.export")


def disallow_in_graph(fn: Any) -> Any:
    """Mark a function so that it runs eagerly, and return it."""
    return disable(fn)


def graph_break() -> None:
    """End the current graph: graphs are compiled from whole functions, so this does nothing."""


def mark_dynamic(t: Any, index: Any, **options: Any) -> None:
    """Expect a dimension's size to vary: compiled programs accept any size."""


def mark_static(t: Any, index: Any = None) -> None:
    """Expect a dimension's size to stay: compiled programs accept any size."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """Expect a dimension's size to vary: compiled programs accept any size."""


def optimize(backend: Any = "inductor", *, nopython: bool = False, **options: Any) -> Any:
    """Return a decorator that compiles a function or module, as `compile` does."""
    from engine.compiler import compile

    return lambda model: compile(model, backend=backend, fullgraph=nopython)
