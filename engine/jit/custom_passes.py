"""Passes written in Python: the pipeline runs them next to the native ones.

A pass is a function of a `Graph`. It makes each change inside `graph.rewrite(rule, *nodes)`, so that
the explorer shows the step with the rule's source.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, NamedTuple, overload

from engine._native import ffi, lib
from engine._native.errors import pass_on
from engine.autograd._callbacks import hold
from engine.jit.c_results import c_integer, c_string
from engine.jit.ir.graph import Graph

PassFunction = Callable[[Graph], Any]


class _Registered(NamedTuple):
    run: PassFunction
    doc: str
    after: str


# Registered passes by name, in the order in which they run; the core has no function that lists them.
_registered: dict[str, _Registered] = {}


@ffi.def_extern()
def uh_py_pass(context: Any, graph: int) -> int:
    try:
        run: PassFunction = ffi.from_handle(context)
        run(Graph(lib.uh_graph_retain(graph)))
    except BaseException as error:
        pass_on(error)
        return -1
    return 0


def passes() -> dict[str, str]:
    """Returns name and description of the native and the registered passes."""
    passes = {}
    for i in range(lib.uh_pass_count()):
        name = ffi.string(lib.uh_pass_name(i)).decode()
        passes[name] = ffi.string(lib.uh_pass_doc(i)).decode()
    return passes | {name: registered.doc for name, registered in _registered.items()}


@overload
def register_pass(fn: PassFunction) -> PassFunction: ...
@overload
def register_pass(
    *, name: str = "", after: str = "simplify"
) -> Callable[[PassFunction], PassFunction]: ...
def register_pass(fn: Any = None, *, name: str = "", after: str = "simplify") -> Any:
    """Adds a pass: a function that transforms a Graph without changing its results.

    after: a pass (it then runs after each run of that pass) or a phase (`inline`, `simplify`, `tidy`,
    `types`, `group`; it runs at its end). It stays registered until `unregister_pass(name)`; functions
    that are compiled already are not recompiled.
    Raises: RuntimeError for a name that is taken, or an unknown `after`.

    >>> import engine
    >>> @engine.jit.register_pass
    ... def twice_neg(graph):
    ...     for node in graph.findAllNodes("aten::neg"):
    ...         inner = node.input().node()
    ...         if inner.kind() == "aten::neg":
    ...             with graph.rewrite("-(-x) -> x", node, inner):
    ...                 node.output().replaceAllUsesWith(inner.input())
    >>> f = engine.jit.trace(lambda x: -(-x), engine.ones(2))
    >>> f.graph_for(engine.ones(2)).findNode("aten::neg") is None
    True
    >>> engine.jit.unregister_pass("twice_neg")
    """
    if fn is None:
        return lambda function: _register(function, name, after)
    return _register(fn, name, after)


def _register(fn: PassFunction, name: str, after: str) -> PassFunction:
    title = name or fn.__name__
    about = (inspect.getdoc(fn) or "A pass written in Python.").split("\n")[0]
    c_integer(
        lib.uh_pass_register(
            title.encode(), about.encode(), after.encode(), lib.uh_py_pass, hold(fn)
        )
    )
    _registered[title] = _Registered(fn, about, after)
    return fn


def unregister_pass(name: str) -> None:
    """Removes a pass from the pipeline. Raises: RuntimeError for an unknown name."""
    c_integer(lib.uh_pass_unregister(name.encode()))
    _registered.pop(name, None)


def run_pass(graph: Graph, name: str) -> int:
    """Runs one pass, native or registered, on a graph and returns the number of its rewrites.

    Raises: ValueError for an unknown name; the pass's own errors; SystemError if it leaves an invalid
    graph or changed one outside of a rewrite.
    """
    custom = _registered.get(name)
    if custom is None:
        return c_integer(lib.uh_pass_run(graph._handle, name.encode()))
    c_integer(lib.uh_pass_begin(graph._handle, name.encode()))
    try:
        custom.run(graph)
    except BaseException as error:
        lib.uh_pass_end(graph._handle, f"{type(error).__name__}: {error}".encode())
        raise
    return c_integer(lib.uh_pass_end(graph._handle, b""))


def pipeline() -> list[dict[str, Any]]:
    """Returns the phases in order (name, doc, passes): first the general ones, then those for known
    inputs."""
    stages: list[dict[str, Any]] = json.loads(c_string(lib.uh_pipeline()))
    for phase in stages:
        row = [stage for name in phase["passes"] for stage in (name, *_dependents(name))]
        phase["passes"] = row + _dependents(phase["name"])
    return stages


def _dependents(position: str) -> list[str]:
    """Returns the registered passes that run after this pass or phase."""
    return [name for name, registered in _registered.items() if registered.after == position]
