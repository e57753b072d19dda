"""The operators that functions of the engine call."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from engine import ops as operators
from engine._generated import ops
from engine._native.namespace import namespace
from engine.ops import Overload, Packet

# Attributes of Tensors that an operator or builtin reads; the others are properties in Python.
PROPERTIES = {
    "shape": "aten::size",
    "dtype": "prim::dtype",
    "device": "prim::device",
    "layout": "prim::layout",
    "requires_grad": "prim::requires_grad",
    "grad": "prim::grad",
    "data": "prim::data",
    "ndim": "aten::dim",
    "T": "aten::numpy_T",
    "imag": "aten::imag_view",
    "is_leaf": "aten::is_leaf",
    "itemsize": "prim::itemsize",
    "nbytes": "prim::nbytes",
    "is_cpu": "prim::is_cpu",
    "is_meta": "prim::is_meta",
    "is_sparse": "prim::is_sparse",
    "is_quantized": "prim::is_quantized",
    "is_cuda": "prim::is_cuda",
    "is_nested": "prim::is_nested",
    "is_mkldnn": "prim::is_mkldnn",
}

# Functions and methods that call an operator of another name with the same arguments.
SAME = {"broadcast_to": "expand", "type": "to"}


@lru_cache(maxsize=1)
def names() -> frozenset[str]:
    """Returns the names of all operators, without overloads."""
    return frozenset(operators.names())


@lru_cache(maxsize=256)
def takes_self(name: str) -> bool:
    """Returns True if the operator is a method of Tensors in compiled code: its first argument is `self`."""
    schemas = (operators.schema(full_name) for full_name in operators.names().get(name, ()))
    firsts = (schema.arguments[0] for schema in schemas if schema.arguments)
    return any(first.name == "self" and first.type.kind == "Tensor" for first in firsts)


def in_engine(fn: object) -> bool:
    """Returns whether a function belongs to the engine."""
    module = getattr(fn, "__module__", None) or ""
    return module.partition(".")[0] in ("engine", namespace())


def operator_of(fn: Callable[..., Any]) -> str | None:
    """Returns "aten::add" for `engine.add`; None for a function that is written in Python.

    A function that chooses between overloads (`engine.max`) maps to their common name: schema matching
    chooses.
    """
    if isinstance(fn, Packet | Overload):
        return fn.qualified_name
    if not in_engine(fn):
        return None
    name: str = getattr(fn, "__name__", "")
    name = SAME.get(name, name)
    if fn.__module__.startswith("engine._generated"):
        function = fn.__code__.co_name  # `__name__` is the public name
        return f"aten::{ops.OPERATORS.get(function, name)}"
    if fn.__module__.startswith("engine.nn."):
        return None
    return f"aten::{name}" if name in names() or name in _BUILTIN else None


# Names with schemas for compiled code only, in addition to the engine's operators.
_BUILTIN = frozenset(("arange", "tensor", "as_tensor", "is_tensor", "numel", "is_floating_point"))
