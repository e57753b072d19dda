"""Numbers, lists and strings of scripts: computed at export if constant, otherwise 0-d tensors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from engine import dtypes
from engine.onnx.builder import Builder
from engine.onnx.errors import SymbolicValueError
from engine.onnx.registry import symbolic
from engine.onnx.values import Dim, Value

_PYTHON: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Less": operator.lt,
    "LessOrEqual": operator.le,
    "Greater": operator.gt,
    "GreaterOrEqual": operator.ge,
    "Equal": operator.eq,
}
_SIGNS = {"Add": "+", "Sub": "-", "Mul": "*"}


def _size(value: Any) -> Dim | None:
    if isinstance(value, Value):
        return value.size
    return value if isinstance(value, int) else None


def arithmetic(g: Builder, name: str, a: Any, b: Any) -> Any:
    """Returns a sum, difference or product of tensors, numbers or lists."""
    if not isinstance(a, Value) and not isinstance(b, Value):
        return _PYTHON[name](a, b)
    numeric = all(not isinstance(x, Value) or x.is_number for x in (a, b))
    kind = g.promoted(a, b)
    if g.result_dtype is not None and not numeric:
        kind = g.result_dtype
    result = g.op(name, g.cast(a, kind), g.cast(b, kind))
    sizes = _size(a), _size(b)
    if numeric:
        result.is_number = True
        if None not in sizes and kind == dtypes.int64:
            result.size = f"({sizes[0]} {_SIGNS[name]} {sizes[1]})"
    return result


def compare(g: Builder, name: str, a: Any, b: Any, negated: bool) -> Any:
    """Returns a comparison; equal sizes are known to be equal."""
    if not isinstance(a, Value) and not isinstance(b, Value):
        if isinstance(a, (list, tuple)) and any(isinstance(x, Value) for x in (*a, *b)):
            raise SymbolicValueError("compares lists of sizes that are not constant")
        return _PYTHON[name](a, b) != negated
    if a is None or b is None:
        return negated
    same_size = _size(a) is not None and _size(a) == _size(b)
    if same_size and all(not isinstance(x, Value) or x.is_number for x in (a, b)):
        return (name in ("Equal", "LessOrEqual", "GreaterOrEqual")) != negated
    kind = g.promoted(a, b)
    operands = [g.cast(x, kind) for x in (a, b)]
    if name == "Equal" and kind == dtypes.bool_:
        result = g.op("Equal", *operands)
    else:
        result = g.op(name, *operands)
    result = g.op("Not", result) if negated else result
    result.is_number = all(not isinstance(x, Value) or x.is_number for x in (a, b))
    return result


def floor_divide(g: Builder, a: Any, b: Any) -> Any:
    """Divides, rounding down."""
    if not isinstance(a, Value) and not isinstance(b, Value):
        return a // b
    kind = g.promoted(a, b)
    x, y = g.cast(a, kind), g.cast(b, kind)
    if kind.is_floating_point:
        return g.op("Floor", g.op("Div", x, y))
    sizes = _size(a), _size(b)
    result = g.op("Div", g.op("Sub", x, g.op("Mod", x, y)), y)
    result.is_number = all(not isinstance(v, Value) or v.is_number for v in (a, b))
    if result.is_number and None not in sizes:
        result.size = f"({sizes[0]} / {sizes[1]})"
    return result


def remainder(g: Builder, a: Any, b: Any) -> Any:
    """Returns the remainder, with the sign of the divisor."""
    if not isinstance(a, Value) and not isinstance(b, Value):
        return a % b
    kind = g.promoted(a, b)
    x, y = g.cast(a, kind), g.cast(b, kind)
    if kind.is_floating_point:
        return g.op("Sub", x, g.op("Mul", g.op("Floor", g.op("Div", x, y)), y))
    result = g.op("Mod", x, y)
    result.is_number = all(not isinstance(v, Value) or v.is_number for v in (a, b))
    return result


@symbolic("mod")
def mod(g: Builder, a: Any, b: Any) -> Any:
    """Returns the remainder of numbers."""
    return remainder(g, a, b)


def _is(name: str, negated: bool) -> None:
    @symbolic(name)
    def compute(g: Builder, **operands: Any) -> Any:
        a, b = operands.values()
        return (a is b) != negated


_is("__is__", False)
_is("__isnot__", True)


def _number(g: Builder, value: Any, kind: Any, python: Callable[[Any], Any]) -> Any:
    if not isinstance(value, Value):
        return python(value)
    if value.array is not None and value.array.size == 1 and not value.parameter:
        return python(value.array.reshape(()).item())
    single = value if value.shape == () else g.op("Reshape", value, [])
    single.shape = ()
    converted = g.cast(single, kind)
    if converted is value:  # a new Value: the tensor still takes part in promotion
        converted = Value(g, value.name, value.dtype, ())
    converted.is_number, converted.size = True, value.size
    return converted


@symbolic("Int", "IntImplicit")
def to_int(g: Builder, a: Any) -> Any:
    """Returns an int."""
    return _number(g, a, dtypes.int64, int)


@symbolic("Float", "FloatImplicit")
def to_float(g: Builder, a: Any) -> Any:
    """Returns a float."""
    return _number(g, a, dtypes.float64, float)


@symbolic("Bool")
def to_bool(g: Builder, a: Any) -> Any:
    """Returns a bool."""
    return _number(g, a, dtypes.bool_, bool)


@symbolic("item", "ScalarImplicit")
def item(g: Builder, self: Any = None, a: Any = None) -> Any:
    """Returns the number in a tensor."""
    value = self if self is not None else a
    kinds: dict[Any, Callable[[Any], Any]] = {dtypes.bool_: bool}
    python = kinds.get(value.dtype, float if value.dtype.is_floating_point else int)
    kind = {bool: dtypes.bool_, float: dtypes.float64, int: dtypes.int64}[python]  # type: ignore[index]
    return _number(g, value, kind, python)


@symbolic("__getitem__")
def get_item(
    g: Builder, self: Any = None, idx: Any = None, key: Any = None, list: Any = None
) -> Any:
    """Returns an element of a list, dictionary or sequence."""
    items = self if self is not None else list
    index = idx if idx is not None else key
    if isinstance(items, Value) and items.is_sequence:
        result = g.op("SequenceAt", items, g.value(index))
        result.dtype, result.shape = items.dtype, items.shape
        return result
    if isinstance(index, Value):
        raise SymbolicValueError("the index of a list is not constant")
    return items[index]


@symbolic("len")
def length(g: Builder, a: Any = None, self: Any = None, s: Any = None, t: Any = None) -> Any:
    """Returns the length of a list, dictionary or sequence; the first size of a tensor."""
    items = next(x for x in (a, self, s, t) if x is not None)
    if not isinstance(items, Value):
        return len(items)
    if items.is_sequence:
        count = g.op("SequenceLength", items)
        count.is_number = True
        return count
    return g.size_of(items, 0)


@symbolic("format")
def format_text(g: Builder, self: str, **values: Any) -> str:
    """Returns a string, for messages."""
    return self


def _of_one(name: str, function: Callable[[Any], Any]) -> None:
    @symbolic(name)
    def compute(g: Builder, a: Any) -> Any:
        if isinstance(a, Value):
            raise SymbolicValueError(f"{name} of a number that is not constant")
        return function(a)


_of_one("list", list)
for _name, _function in (("ceil", math.ceil), ("floor", math.floor), ("sqrt", math.sqrt)):
    _of_one(f"{_name}.int", _function)
    _of_one(f"{_name}.float", _function)


@symbolic("neg.int", "neg.float")
def negative(g: Builder, a: Any) -> Any:
    """Returns the negative of a number."""
    if not isinstance(a, Value):
        return -a
    result = g.op("Neg", a)
    result.is_number = True
    return result


@symbolic("__contains__")
def contains(g: Builder, **operands: Any) -> Any:
    """Returns whether a list has an element."""
    items, element = operands.values()
    if isinstance(element, Value):
        raise SymbolicValueError("asks whether a list has a value that is not constant")
    return element in items
