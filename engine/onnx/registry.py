"""The table of symbolic functions: how each operator is written in ONNX.

A symbolic function takes the builder and the operator's arguments, and returns the Values of its results. The engine's
functions take the arguments by the schema's names, so that one function is enough for several overloads; those that a
program registers take them in order, as in PyTorch.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

Symbolic = Callable[..., Any]


class Entry(NamedTuple):
    """A symbolic function, with its calling convention."""

    function: Symbolic
    by_name: bool
    since: int = 1  # the oldest opset that it supports
    parameters: frozenset[str] = frozenset()
    takes_options: bool = False  # arguments are passed by name


_builtin: dict[str, Entry] = {}
_custom: dict[str, list[Entry]] = {}
_NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*(\.\w+)?")


def symbolic(*names: str) -> Callable[[Symbolic], Symbolic]:
    """Registers the decorated function for these operators, of `aten` unless they name another namespace."""

    def register(function: Symbolic) -> Symbolic:
        parameters = inspect.signature(function).parameters
        options = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        entry = Entry(function, True, 1, frozenset(parameters), options)
        for name in names:
            _builtin[name if "::" in name else f"aten::{name}"] = entry
        return function

    return register


def find(kind: str, overload: str, opset: int) -> Entry | None:
    """Returns the symbolic function of an operator: a registered one before the engine's own, or None."""
    for name in (f"{kind}.{overload}" if overload else kind, kind):
        usable = [entry for entry in _custom.get(name, ()) if entry.since <= opset]
        if usable:
            return max(usable, key=lambda entry: entry.since)
        if name in _builtin:
            return _builtin[name]
    return None


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Symbolic, opset_version: int
) -> None:
    """Registers the symbolic function of an operator from this opset on: `symbolic_fn(g, *arguments)`.

    symbolic_name: "namespace::operator", also one of `aten`. Tensors are passed as Values, constant numbers and lists
    unchanged. Raises: ValueError for a name without a namespace, TypeError for an object that is not callable.

    >>> import engine
    >>> from engine.onnx import register_custom_op_symbolic, unregister_custom_op_symbolic
    >>> register_custom_op_symbolic("aten::relu", lambda g, x: g.op("Max", x, 0.0), 13)
    >>> unregister_custom_op_symbolic("aten::relu", 13)
    """
    _check_name(symbolic_name)
    if not callable(symbolic_fn):
        raise TypeError(
            f"register_custom_op_symbolic: symbolic_fn must be callable, got {type(symbolic_fn).__name__}"
        )
    unregister_custom_op_symbolic(symbolic_name, opset_version)
    entry = Entry(symbolic_fn, by_name=False, since=opset_version)
    _custom.setdefault(symbolic_name, []).append(entry)


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Removes the registered function of this operator and opset, if there is one."""
    _check_name(symbolic_name)
    entries = [e for e in _custom.pop(symbolic_name, ()) if e.since != opset_version]
    if entries:
        _custom[symbolic_name] = entries


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(
            f"Failed to register operator {name}. The symbolic name must match the format "
            "domain::name, and should start with a letter and contain only alphanumerical characters"
        )
