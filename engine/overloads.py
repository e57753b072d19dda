"""Public functions that choose between operators by their arguments.

PyTorch has several operators under one name (`max` of a tensor, of a dimension, of two tensors);
the generated functions know one each. Here are the names that have to look first, the aliases, and
the few functions that are nothing but a line of others. `FUNCTIONS` and `METHODS` are what
engine/__init__.py installs over the generated tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from engine._generated import ops
from engine.dtypes import Size, as_dtype, bool_, dtype
from engine.tensor import Tensor

Number: TypeAlias = complex  # as type checkers read it: bool, int, float or complex
FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Any] = {}


def function(made: Callable[..., Any]) -> Callable[..., Any]:
    """Makes `engine.<name>`."""
    FUNCTIONS[made.__name__] = made
    return made


def method(made: Callable[..., Any]) -> Callable[..., Any]:
    """Makes `Tensor.<name>`."""
    METHODS[made.__name__] = made
    return made


def both(made: Callable[..., Any]) -> Callable[..., Any]:
    """Makes `engine.<name>` and `Tensor.<name>`."""
    return function(method(made))


# ---- writing


@method
def fill_(input: Tensor, value: Number | Tensor) -> Tensor:
    """Sets every element to `value`, a number or a 0-d tensor."""
    if isinstance(value, Tensor):
        return ops.fill_(input, value)
    return ops.fill__Scalar(input, value)


@method
def random_(
    input: Tensor, from_: int = 0, to: int | None = None, *, generator: Any = None
) -> Tensor:
    """Sets every element to a whole number drawn evenly: `random_(to)` or `random_(from, to)`."""
    from engine.random import default_generator

    if to is None and from_ != 0:
        from_, to = 0, from_
    if to is None:
        kind = input.dtype
        digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(kind.name)
        to = 2 if kind is bool_ else 2**digits if digits else 2 ** (8 * kind.itemsize - 1) - 1
    with (generator or default_generator).drawing():
        return ops.random_(input, from_, to)


# ---- arithmetic with options

_DIVISIONS = {None: "div", "floor": "_div_floor", "trunc": "_div_trunc"}


def _division(rounding_mode: str | None) -> str:
    if rounding_mode not in _DIVISIONS:
        raise RuntimeError(
            f"div: rounding_mode must be None, 'trunc' or 'floor', got {rounding_mode!r}"
        )
    return _DIVISIONS[rounding_mode]


@both
def div(
    input: Tensor,
    other: Tensor | Number,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Divides element by element; `rounding_mode` "floor" or "trunc" rounds the quotient.

    Dtype: without rounding integers become the default float.

    >>> import engine
    >>> engine.div(engine.tensor([-3, 3]), 2, rounding_mode="floor")
    tensor([-2,  1])
    """
    name = _division(rounding_mode)
    if out is None:
        return getattr(ops, name)(input, other)
    return getattr(ops, f"{name}_out")(input, other, out=out)


@method
def div_(input: Tensor, other: Tensor | Number, *, rounding_mode: str | None = None) -> Tensor:
    """`div` in place."""
    return getattr(ops, f"{_division(rounding_mode)}_")(input, other)


@both
def pow(input: Tensor | Number, exponent: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """`input` to the power of `exponent`; ints stay ints.

    Raises: RuntimeError for a negative int power of ints.

    >>> import engine
    >>> engine.arange(4) ** 2
    tensor([0, 1, 4, 9])
    """
    _check_power(input, exponent)
    if out is not None:
        return ops.pow_out(input, exponent, out=out)
    return ops.pow(input, exponent)


@method
def pow_(input: Tensor, exponent: Tensor | Number) -> Tensor:
    """`pow` in place."""
    _check_power(input, exponent)
    return ops.pow_(input, exponent)


def _check_power(base: Any, exponent: Any) -> None:
    """An int to a negative power is a fraction, which the integer result could not hold."""
    if (
        isinstance(exponent, int)
        and exponent < 0
        and isinstance(base, Tensor)
        and not base.is_floating_point()
        and not base.is_complex()
    ):
        raise RuntimeError(
            f"pow: integers to negative integer powers are not allowed: {base.dtype} ** {exponent}"
        )


def _is_operand(value: object) -> bool:
    return isinstance(value, (Tensor, int, float, complex)) or hasattr(value, "__float__")


def _power(self: Tensor, other: Any) -> Tensor:
    _check_power(self, other)
    return ops.pow(self, other) if _is_operand(other) else NotImplemented


def _reverse_power(self: Tensor, other: Any) -> Tensor:
    return ops.pow(other, self) if _is_operand(other) else NotImplemented


def _inplace_power(self: Tensor, other: Any) -> Tensor:
    _check_power(self, other)
    return ops.pow_(self, other) if _is_operand(other) else NotImplemented


METHODS.update(__pow__=_power, __rpow__=_reverse_power, __ipow__=_inplace_power)


@both
def round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Rounds to the nearest number with `decimals` digits after the point, halves to even."""
    if decimals == 0:
        return ops.round(input) if out is None else ops.round_out(input, out=out)
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"round: decimals needs a floating dtype, got {input.dtype}")
    scale = 10.0 ** abs(decimals)
    scaled = input * scale if decimals > 0 else input / scale
    rounded = ops.round(scaled)
    made = rounded / scale if decimals > 0 else rounded * scale
    return made if out is None else out.copy_(made)


@method
def round_(input: Tensor, *, decimals: int = 0) -> Tensor:
    """`round` in place."""
    return ops.round_(input) if decimals == 0 else ops.copy_(input, round(input, decimals=decimals))


Limit: TypeAlias = Tensor | Number | None


@both
def clamp(
    input: Tensor, min: Limit = None, max: Limit = None, *, out: Tensor | None = None
) -> Tensor:
    """Limits every element to [min, max]; the limits are numbers or tensors that broadcast.

    Raises: RuntimeError when neither limit is given.

    >>> import engine
    >>> engine.arange(5).clamp(1, 3)
    tensor([1, 1, 2, 3, 3])
    """
    if min is None and max is None:
        raise RuntimeError("clamp: at least one of 'min' or 'max' must not be None")
    if not isinstance(min, Tensor) and not isinstance(max, Tensor):
        return (
            ops.clamp(input, min, max) if out is None else ops.clamp_out(input, min, max, out=out)
        )
    made = input if min is None else ops.maximum(input, min)
    made = made if max is None else ops.minimum(made, max)
    return made if out is None else out.copy_(made)


@method
def clamp_(input: Tensor, min: Limit = None, max: Limit = None) -> Tensor:
    """`clamp` in place."""
    return ops.copy_(input, clamp(input, min, max))


@both
def clamp_min(input: Tensor, min: Tensor | Number) -> Tensor:
    """Limits every element from below."""
    return clamp(input, min)


@both
def clamp_max(input: Tensor, max: Tensor | Number) -> Tensor:
    """Limits every element from above."""
    return clamp(input, None, max)


@function
def where(
    condition: Tensor, input: Any = None, other: Any = None, *, out: Tensor | None = None
) -> Any:
    """Takes from `input` where `condition` is True, else from `other`.

    With the condition alone: the indices where it is True, as one tensor per dimension.
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if out is not None:
        return ops.where_out(condition, input, other, out=out)
    return ops.where(condition, input, other)


@method
def _where_method(input: Tensor, condition: Tensor, other: Any) -> Tensor:
    return ops.where(condition, input, other)


METHODS["where"] = METHODS.pop("_where_method")


@both
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of the elements that are not zero: one row each, or one tensor per dimension."""
    if out is not None:
        return ops.nonzero_out(input, out=out)
    found = ops.nonzero(input)
    if not as_tuple:
        return found
    if input.dim() == 0:  # as PyTorch: a number counts as one element of one dimension
        found = ops.nonzero(input.reshape(1))
    return tuple(found.unbind(1))


# ---- shapes


@method
def view(input: Tensor, *size: Any, dtype: dtype | None = None) -> Tensor:
    """The same elements under another shape, or the same bytes as another dtype: `x.view(int8)`.

    Memory: none. Raises: RuntimeError when the strides do not allow it (then `reshape` copies).
    """
    if dtype is not None or (len(size) == 1 and type(size[0]).__name__ == "dtype"):
        return ops.view_dtype(input, as_dtype(size[0] if size else dtype, "view"))
    return ops.view(input, *size)


@both
def split(
    tensor: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Pieces of one size (the last may be smaller), or of the sizes given, along a dimension.

    Memory: none, views.
    """
    if isinstance(split_size_or_sections, int):
        return tuple(ops.split(tensor, split_size_or_sections, dim))
    return tuple(ops.split_with_sizes(tensor, split_size_or_sections, dim))


@function
def broadcast_shapes(*shapes: int | Sequence[int]) -> Size:
    """The shape that tensors of these shapes broadcast to.

    >>> broadcast_shapes((2, 1), (3,))
    engine.Size([2, 3])
    """
    listed = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    rank = max(map(len, listed), default=0)
    found = [1] * rank
    for shape in listed:
        for back, size in enumerate(reversed(shape), 1):
            if size != 1 and found[-back] not in (1, size):
                raise RuntimeError(
                    f"broadcast_shapes: the shapes {', '.join(map(str, listed))} do not "
                    f"broadcast: {found[-back]} != {size} at dimension {rank - back}"
                )
            found[-back] = size if size != 1 else found[-back]
    return Size(found)


@both
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """`input` expanded to `size`. Memory: none, a view."""
    return ops.expand(input, *size)


def _transposed(name: str, doc: str) -> property:
    def matrix_transpose(self: Tensor) -> Tensor:
        if self.dim() < 2:
            raise RuntimeError(f"{name}: needs at least 2 dimensions, got {self.dim()}")
        return ops.transpose(self, -2, -1)

    return property(matrix_transpose, doc=doc)


METHODS["T"] = property(
    lambda self: ops.numpy_T(self), doc="Every dimension reversed. Memory: none, a view."
)
METHODS["mT"] = _transposed("mT", "The last two dimensions swapped. Memory: none, a view.")
METHODS["mH"] = _transposed("mH", "`mT`, conjugated where numbers are complex.")
METHODS["H"] = property(lambda self: ops.t(self), doc="The conjugate transpose of a matrix: `t()`.")


# PyTorch's second names.
_ALIASES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "fix": "trunc",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "subtract": "sub",
    "true_divide": "div",
}


def install(functions: dict[str, Any], methods: dict[str, Any]) -> None:
    """Puts the names of this module, and the aliases, over those of the generated tables."""
    for name in ("reshape", "permute"):
        functions.setdefault(name, methods[name])
    functions.update(FUNCTIONS)
    methods.update(METHODS)
    for table in (functions, methods):
        for alias, name in _ALIASES.items():
            for suffix in ("", "_"):
                if name + suffix in table:
                    table.setdefault(alias + suffix, table[name + suffix])
