"""Arithmetic, comparisons, logic and functions of each element."""

from __future__ import annotations

import math
from typing import Any

from engine import dtypes
from engine.dtypes import dtype
from engine.onnx.builder import Builder
from engine.onnx.registry import symbolic
from engine.onnx.symbolics import numbers
from engine.onnx.values import Value

# Operators with one ONNX counterpart; those of the second table accept only floating dtypes.
_SAME = {
    "abs": "Abs",
    "neg": "Neg",
    "sign": "Sign",
    "round": "Round",
    "ceil": "Ceil",
    "floor": "Floor",
}
_REAL = {
    **{
        name: name.capitalize()
        for name in [
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atanh",
            "cos",
            "cosh",
            "erf",
            "exp",
            "log",
        ]
    },
    **{
        name: name.capitalize()
        for name in ["reciprocal", "sigmoid", "sin", "sinh", "sqrt", "tan", "tanh"]
    },
}


def real(g: Builder, value: Value) -> Value:
    """Converts to floating point: integers become the default dtype."""
    is_real = value.dtype is not None and value.dtype.is_floating_point
    return value if is_real else g.cast(value, g.result_dtype or dtypes.get_default_dtype())


def _define(name: str, operator: str, is_real: bool) -> None:
    @symbolic(name)
    def write(g: Builder, self: Value) -> Any:
        operand = real(g, self) if is_real else self
        if operator in ("Round", "Ceil", "Floor") and not _is_floating(operand):
            return operand
        return g.op(operator, operand)


def _is_floating(value: Value) -> bool:
    return value.dtype is not None and value.dtype.is_floating_point


for _name, _operator in _SAME.items():
    _define(_name, _operator, False)
for _name, _operator in _REAL.items():
    _define(_name, _operator, True)


def pair(g: Builder, a: Any, b: Any) -> tuple[Value, Value]:
    """Casts both to the dtype of the result."""
    kind = g.result_dtype or g.promoted(a, b)
    return g.cast(a, kind), g.cast(b, kind)


def _arithmetic(name: str, operator: str, swapped: bool) -> None:
    @symbolic(name)
    def write(g: Builder, self: Any, other: Any, alpha: Any = 1) -> Any:
        scaled = other if alpha == 1 else numbers.arithmetic(g, "Mul", other, alpha)
        left, right = (scaled, self) if swapped else (self, scaled)
        if swapped and alpha != 1:
            left, right = other, numbers.arithmetic(g, "Mul", self, alpha)
        return numbers.arithmetic(g, operator, left, right)


for _name, _operator, _swapped in (
    ("add", "Add", False),
    ("sub", "Sub", False),
    ("subtract", "Sub", False),
    ("rsub", "Sub", True),
    ("mul", "Mul", False),
    ("multiply", "Mul", False),
):
    _arithmetic(_name, _operator, _swapped)


@symbolic("div", "divide", "true_divide")
def div(g: Builder, self: Any, other: Any, rounding_mode: str | None = None) -> Any:
    """Divides exactly, or rounding down or to zero."""
    if rounding_mode == "floor":
        return floor_divide(g, self, other)
    if not isinstance(self, Value) and not isinstance(other, Value):
        return self / other
    kind = g.promoted(self, other)
    if rounding_mode == "trunc":
        if not kind.is_floating_point:
            return g.arithmetic("Div", self, other)
        quotient = g.arithmetic("Div", self, other)
        return g.op("Sign", quotient) * g.op("Floor", g.op("Abs", quotient))
    if not kind.is_floating_point:
        numeric = all(not isinstance(x, Value) or x.is_number for x in (self, other))
        kind = dtypes.float64 if numeric else dtypes.get_default_dtype()
    result = g.op("Div", g.cast(self, kind), g.cast(other, kind))
    result.is_number = all(not isinstance(x, Value) or x.is_number for x in (self, other))
    return result


@symbolic("floor_divide", "floordiv")
def floor_divide(g: Builder, self: Any, other: Any) -> Any:
    """Divides, rounding down."""
    return numbers.floor_divide(g, self, other)


@symbolic("remainder", "fmod")
def remainder(g: Builder, self: Any, other: Any) -> Any:
    """Returns the remainder, with the sign of the divisor."""
    return numbers.remainder(g, self, other)


@symbolic("pow")
def power(g: Builder, self: Any, exponent: Any) -> Any:
    """Returns a power; squares are products."""
    if not isinstance(self, Value) and not isinstance(exponent, Value):
        return self**exponent
    known = exponent.array if isinstance(exponent, Value) else exponent
    if (
        known is not None
        and getattr(known, "ndim", 0) == 0
        and float(known) == 2
        and isinstance(self, Value)
    ):
        return self * self
    kind = g.result_dtype or g.promoted(self, exponent)
    return g.op("Pow", g.cast(self, kind), g.cast(exponent, kind))


@symbolic("square")
def square(g: Builder, self: Value) -> Any:
    """Returns the product with itself."""
    return self * self


@symbolic("rsqrt")
def rsqrt(g: Builder, self: Value) -> Any:
    """Returns the reciprocal of the square root."""
    return g.op("Reciprocal", g.op("Sqrt", real(g, self)))


@symbolic("exp2")
def exp2(g: Builder, self: Value) -> Any:
    """Returns a power of two."""
    return g.op("Exp", real(g, self) * math.log(2.0))


@symbolic("expm1")
def expm1(g: Builder, self: Value) -> Any:
    """Returns exp(x) - 1, less exact near zero than the engine's."""
    return g.op("Exp", real(g, self)) - 1.0


@symbolic("log1p")
def log1p(g: Builder, self: Value) -> Any:
    """Returns log(1 + x), less exact near zero than the engine's."""
    return g.op("Log", real(g, self) + 1.0)


@symbolic("log2")
def log2(g: Builder, self: Value) -> Any:
    """Returns the logarithm to the base two."""
    return g.op("Log", real(g, self)) * (1 / math.log(2.0))


@symbolic("log10")
def log10(g: Builder, self: Value) -> Any:
    """Returns the logarithm to the base ten."""
    return g.op("Log", real(g, self)) * (1 / math.log(10.0))


@symbolic("erfc")
def erfc(g: Builder, self: Value) -> Any:
    """Returns 1 - erf(x)."""
    return 1.0 - g.op("Erf", real(g, self))


@symbolic("trunc")
def trunc(g: Builder, self: Value) -> Any:
    """Rounds to zero."""
    return g.op("Sign", self) * g.op("Floor", g.op("Abs", self))


@symbolic("frac")
def frac(g: Builder, self: Value) -> Any:
    """Returns the fraction."""
    return self - trunc(g, self)


@symbolic("atan2", "arctan2")
def atan2(g: Builder, self: Value, other: Value) -> Any:
    """Returns the angle of (other, self): atan of the quotient, in its quadrant."""
    y, x = pair(g, self, other)
    angle = g.op("Atan", y / x)
    shifted = g.op("Where", y < 0.0, angle - math.pi, angle + math.pi)
    return g.op("Where", x < 0.0, shifted, angle)


# Comparisons and logic


def _compare(name: str, operator: str, negated: bool) -> None:
    @symbolic(name)
    def write(g: Builder, self: Any, other: Any) -> Any:
        return numbers.compare(g, operator, self, other, negated)


for _name, _operator, _negated in (
    ("lt", "Less", False),
    ("le", "LessOrEqual", False),
    ("gt", "Greater", False),
    ("ge", "GreaterOrEqual", False),
    ("eq", "Equal", False),
    ("ne", "Equal", True),
):
    _compare(_name, _operator, _negated)


def _logic(names: tuple[str, ...], operator: str) -> None:
    @symbolic(*names)
    def write(g: Builder, self: Any, other: Any) -> Any:
        if isinstance(self, bool) and isinstance(other, bool):
            return {"And": self and other, "Or": self or other, "Xor": self != other}[operator]
        kinds = {x.dtype for x in (self, other) if isinstance(x, Value)}
        if kinds <= {dtypes.bool_} or names[0].startswith("logical"):
            result = g.op(operator, g.cast(self, dtypes.bool_), g.cast(other, dtypes.bool_))
            return result
        g.require(18, f"Bitwise{operator}")
        kind = g.promoted(self, other)
        return g.op(f"Bitwise{operator}", g.cast(self, kind), g.cast(other, kind))


for _operator in ("And", "Or", "Xor"):
    _low = _operator.lower()
    _logic((f"logical_{_low}",), _operator)
    _logic((f"bitwise_{_low}", f"__{_low}__"), _operator)


@symbolic("logical_not", "bitwise_not", "__not__")
def logical_not(g: Builder, self: Any) -> Any:
    """Negates."""
    if not isinstance(self, Value):
        return not self
    result = g.op("Not", g.cast(self, dtypes.bool_))
    result.is_number = self.is_number
    return result


@symbolic("isnan")
def isnan(g: Builder, self: Value) -> Any:
    """Returns True for elements that are not numbers."""
    return g.op("IsNaN", self)


@symbolic("isinf")
def isinf(g: Builder, self: Value) -> Any:
    """Returns True for infinite elements."""
    return g.op("IsInf", self)


@symbolic("maximum")
def maximum(g: Builder, self: Value, other: Value) -> Any:
    """Returns the larger of two."""
    return g.op("Max", *pair(g, self, other))


@symbolic("minimum")
def minimum(g: Builder, self: Value, other: Value) -> Any:
    """Returns the smaller of two."""
    return g.op("Min", *pair(g, self, other))


@symbolic("where")
def where(g: Builder, condition: Value, self: Any, other: Any) -> Any:
    """Returns one or the other, by a condition."""
    return g.op("Where", g.cast(condition, dtypes.bool_), *pair(g, self, other))


@symbolic("masked_fill")
def masked_fill(g: Builder, self: Value, mask: Value, value: Any) -> Any:
    """Returns a value where the mask is true."""
    return g.op("Where", g.cast(mask, dtypes.bool_), g.cast(value, self.dtype), self)


@symbolic("clamp", "clip")
def clamp(g: Builder, self: Value, min: Any = None, max: Any = None) -> Any:
    """Clamps between two bounds."""
    kind = g.result_dtype or g.promoted(*(x for x in (self, min, max) if x is not None))
    bounds = [None if bound is None else g.cast(bound, kind) for bound in (min, max)]
    if all(bound is None or bound.shape == () for bound in bounds):
        return g.op("Clip", g.cast(self, kind), *bounds)
    result = g.cast(self, kind)
    if bounds[0] is not None:
        result = g.op("Max", result, bounds[0])
    return result if bounds[1] is None else g.op("Min", result, bounds[1])


@symbolic("clamp_min")
def clamp_min(g: Builder, self: Value, min: Any) -> Any:
    """Returns at least this."""
    return clamp(g, self, min=min)


@symbolic("clamp_max")
def clamp_max(g: Builder, self: Value, max: Any) -> Any:
    """Returns at most this."""
    return clamp(g, self, max=max)


@symbolic("lerp")
def lerp(g: Builder, self: Value, end: Value, weight: Any) -> Any:
    """Interpolates between two, by a weight."""
    return self + (end - self) * weight


@symbolic("addcmul")
def addcmul(g: Builder, self: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> Any:
    """Adds a product."""
    return self + tensor1 * tensor2 * value


@symbolic("addcdiv")
def addcdiv(g: Builder, self: Value, tensor1: Value, tensor2: Value, value: Any = 1) -> Any:
    """Adds a quotient."""
    return self + tensor1 / tensor2 * value


@symbolic("to", "type_as", "_to_copy")
def to(
    g: Builder, self: Value, dtype: dtype | None = None, other: Any = None, **options: Any
) -> Any:
    """Returns the operand as another dtype; devices are not ONNX's."""
    kind = other.dtype if isinstance(other, Value) else dtype
    return g.cast(self, kind)


def _cast(name: str, kind: dtype) -> None:
    @symbolic(f"_cast_{name}", name.lower())
    def write(g: Builder, self: Value, **options: Any) -> Any:
        return g.cast(self, kind)


for _name, _kind in (("Float", dtypes.float32), ("Double", dtypes.float64), ("Long", dtypes.int64)):
    _cast(_name, _kind)


@symbolic(
    "clone", "detach", "contiguous", "alias", "lift_fresh", "requires_grad", "positive", "copy"
)
def same(g: Builder, self: Value, **options: Any) -> Any:
    """Returns the operand: ONNX has neither memory formats nor gradients."""
    return self


@symbolic("copy_")
def copy_(g: Builder, self: Value, src: Value, non_blocking: Any = False) -> Any:
    """Returns the source, of the target's dtype."""
    return g.cast(src, self.dtype)


@symbolic("fill", "fill_", "zero", "zero_")
def fill(g: Builder, self: Value, value: Any = 0) -> Any:
    """Returns a value everywhere."""
    return g.op("Expand", g.cast(value, self.dtype), g.shape_of(self))


@symbolic("round.decimals")
def round_decimals(g: Builder, self: Value, decimals: int) -> Any:
    """Rounds to this many digits after the point, or before it."""
    scale = 10.0 ** abs(decimals)
    if decimals < 0:
        return g.op("Round", self / scale) * scale
    return g.op("Round", self * scale) / scale
