"""Elementwise operators: an output cell depends on the one cell of each operand that broadcasts there.

The formula is the operator's own expression, which the generator prints as a formula.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from engine.inspect.declarations import has_tag
from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Index,
    OpCall,
    broadcast,
)

# Elementwise, but without an expression: they have a kernel, or call other operators.
KERNELS = {
    "masked_fill": "{value} if {mask} else {self}",
    "clone": "{self}",
    "contiguous": "{self}",
    "to": "{self}",
    "_to_copy": "{self}",
    "copy": "{src}",
    "view_as_real": "{self}",
    "real": "real({self})",
    "imag": "imag({self})",
    "conj": "conj({self})",
    "conj_physical": "conj({self})",
    "resolve_conj": "{self}",
    "complex": "{real} + {imag}j",
    "polar": "{abs} * e^({angle}j)",
    "fill": "{value}",
    "lift_fresh": "{self}",
    "float_power": "{self} ** {exponent}",
    "square": "{self} * {self}",
}


def is_pointwise(op: str, schema_name: str) -> bool:
    """Return whether every output cell depends only on the cells at the same index."""
    return (
        op in KERNELS
        or has_tag(schema_name, "pointwise")
        or bool(formula_of(op, schema_name.partition(".")[2]))
    )


def pointwise(call: OpCall, index: Index) -> CellFormula:
    """Return the cell of each operand that broadcasts to the index."""
    if call.op == "fill" and "value" in call.tensors:
        used = ["value"]
    else:
        used = [name for name in call.tensors if name != "out"]
        if call.op in ("copy", "fill"):
            used = [name for name in used if name != "self"]
    feeds = tuple(CellInput(name, broadcast(call.sizes(name), index)) for name in used)
    return CellFormula(_pattern(call), lambda _: feeds, count=1)


def _pattern(call: OpCall) -> str:
    pattern = KERNELS.get(call.op) or formula_of(call.op, call.overload)
    if call.op == "div" and call.value("rounding_mode"):
        pattern = f"{call.values['rounding_mode']}({pattern})"
    if not pattern:
        names = (f"{{{name}}}" for name in call.tensors if name != "out")
        pattern = f"{call.op}({', '.join(names)})"
    for name in ("alpha", "value"):  # `1 * b` is read as `b`
        if call.values.get(name) == 1:
            pattern = pattern.replace(f"{{{name}}} * ", "")
    if call.op == "clamp":  # one bound may be missing
        has_low, has_high = (call.value(x) is not None or x in call.tensors for x in ("min", "max"))
        pattern = pattern if has_low and has_high else "max({self}, {min})"
        pattern = pattern if has_low else "min({self}, {max})"
    return pattern


def formula_of(op: str, overload: str = "") -> str:
    """Return the formula of an elementwise operator, with `{self}` for an argument, or "". An overload
    without a formula has that of another overload of its name."""
    formulas, of_base = _formulas()
    return formulas.get(f"{op}.{overload}") or of_base.get(op, "")


@lru_cache(maxsize=1)
def _formulas() -> tuple[dict[str, str], dict[str, str]]:
    """Return the formulas by full name, and by the name without overload; empty where the engine was built without."""
    try:
        formulas: dict[str, str] = import_module("engine._generated.formulas").FORMULAS
    except ImportError:
        return {}, {}
    of_base: dict[str, str] = {}
    for name, formula in formulas.items():
        of_base.setdefault(name.partition(".")[0], formula)
    return formulas, of_base
