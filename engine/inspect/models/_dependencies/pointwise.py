"""Elementwise operators: an output cell is made of the one cell of each operand that broadcasts there.

How is read from the operator's own declaration: the yaml entry's expression is what the engine runs.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engine.inspect.models._declaration import entry_of
from engine.inspect.models._dependencies.core import (
    CellFormula,
    CellInput,
    Index,
    OpCall,
    broadcast,
)

# Elementwise, but computed by a kernel of their own: there is no expression to read.
KERNELS = {
    "where": "{self} if {condition} else {other}",
    "masked_fill": "{value} if {mask} else {self}",
    "clone": "{self}",
    "contiguous": "{self}",
    "to": "{self}",
    "_to_copy": "{self}",
    "copy": "{src}",
    "nan_to_num": "nan_to_num({self})",
    "isclose": "|{self} - {other}| <= atol + rtol * |{other}|",
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
}

INFIX = {
    "add": "{self} + {alpha} * {other}",
    "sub": "{self} - {alpha} * {other}",
    "rsub": "{other} - {alpha} * {self}",
    "mul": "{self} * {other}",
    "div": "{self} / {other}",
    "pow": "{self} ** {exponent}",
    "float_power": "{self} ** {exponent}",
    "maximum": "max({self}, {other})",
    "minimum": "min({self}, {other})",
    "remainder": "{self} % {other}",
    "floor_divide": "{self} // {other}",
    "eq": "{self} == {other}",
    "ne": "{self} != {other}",
    "lt": "{self} < {other}",
    "le": "{self} <= {other}",
    "gt": "{self} > {other}",
    "ge": "{self} >= {other}",
    "clamp": "min(max({self}, {min}), {max})",
    "clamp_min": "max({self}, {min})",
    "clamp_max": "min({self}, {max})",
    "relu": "max({self}, 0)",
    "lerp": "{self} + {weight} * ({end} - {self})",
    "addcmul": "{self} + {value} * {tensor1} * {tensor2}",
    "addcdiv": "{self} + {value} * {tensor1} / {tensor2}",
    "square": "{self} * {self}",
    "neg": "-{self}",
    "reciprocal": "1 / {self}",
    "abs": "|{self}|",
    "logical_not": "not {self}",
    "logical_and": "{self} and {other}",
    "logical_or": "{self} or {other}",
    "bitwise_and": "{self} & {other}",
    "bitwise_or": "{self} | {other}",
    "bitwise_xor": "{self} ^ {other}",
    "bitwise_not": "~{self}",
}
"""How a person writes what the declaration says in C++; anything else is shown as declared."""

_POINTWISE = re.compile(r"(?:^ *|[{,] *)pointwise:", re.M)
_FIELD = re.compile(r'(?:^ *|[{,] *)(expr|float): *(?:"([^"]*)"|(.*))', re.M)
_CALLED = re.compile(r"\bm::|\bstd::|<[\w:]+>|static_cast")


# Elementwise too, shown as a call of their name.
CALLS = frozenset(
    [
        "celu",
        "elu",
        "selu",
        "gelu",
        "silu",
        "mish",
        "hardtanh",
        "hardswish",
        "hardsigmoid",
        "leaky_relu",
        "softplus",
        "softsign",
        "softshrink",
        "hardshrink",
        "tanhshrink",
        "logsigmoid",
        "rrelu",
        "threshold",
        "relu6",
        "ldexp",
        "mvlgamma",
        "polygamma",
        "positive",
        "frexp",
        "bernoulli",
        "dropout",
        "native_dropout",
        "alpha_dropout",
        "poisson",
        "gammainc",
        "gammaincc",
        "gammaln",
        "multigammaln",
        "psi",
        "expit",
        "round",
        "logit",
        "xlogy",
        "xlog1py",
        "entr",
        "ndtr",
        "ndtri",
        "erfcx",
        "i0e",
        "i1",
        "i1e",
        "zeta",
    ]
)


def is_pointwise(op: str, schema_name: str) -> bool:
    """Return whether every output cell is made of the cells at the same place."""
    return op in KERNELS or op in INFIX or op in CALLS or _entry(schema_name) is not None


def pointwise(call: OpCall, index: Index) -> CellFormula:
    """One cell of each operand, as broadcasting leads to it."""
    if call.op == "fill" and "value" in call.tensors:
        used = ["value"]
    else:
        used = [name for name in call.tensors if name != "out"]
        if call.op in ("copy", "fill"):
            used = [name for name in used if name != "self"]
    feeds = tuple(CellInput(name, broadcast(call.sizes(name), index)) for name in used)
    return CellFormula(_pattern(call), lambda _: feeds, count=1)


def _pattern(call: OpCall) -> str:
    names = "|".join(sorted({*call.tensors, *call.values}, key=len, reverse=True))
    pattern = KERNELS.get(call.op) or INFIX.get(call.op) or ""
    if call.op == "div" and call.value("rounding_mode"):
        pattern = f"{call.values['rounding_mode']}({pattern})"
    if not pattern:
        expression = _expression(f"{call.op}.{call.overload}".rstrip(".")) or call.op
        if expression == call.op:
            expression += f"({', '.join(name for name in call.tensors if name != 'out')})"
        pattern = re.sub(rf"\b({names})\b", r"{\1}", expression) if names else expression
    for name in ("alpha", "value"):  # `1 * b` is read as `b`
        if call.values.get(name) == 1:
            pattern = pattern.replace(f"{{{name}}} * ", "")
    if call.op == "clamp":  # one bound may be missing
        has_low, has_high = (call.value(x) is not None or x in call.tensors for x in ("min", "max"))
        pattern = pattern if has_low and has_high else "max({self}, {min})"
        pattern = pattern if has_low else "min({self}, {max})"
    return pattern


@lru_cache(maxsize=1024)
def _expression(name: str) -> str:
    """The declared expression, without what only C++ needs."""
    matches = {key: quoted or plain for key, quoted, plain in _FIELD.findall(_entry(name) or "")}
    return _CALLED.sub("", (matches.get("float") or matches.get("expr") or "").strip())


@lru_cache(maxsize=4096)
def _entry(name: str) -> str | None:
    """The yaml text of a pointwise operator, by its full name; nothing for any other."""
    text = entry_of(name)
    return text if text is not None and _POINTWISE.search(text) else None
