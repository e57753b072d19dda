"""`_foreach_*`: one operator on every tensor of a list, as optimizers written for PyTorch call them.

`_foreach_add(tensors, 1)` returns a tuple of `add(t, 1)`; `_foreach_add_(tensors, 1)` writes into the tensors and
returns their list. A function is created from the schemas below on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import engine
from engine.function_schema import REQUIRED, Argument, parse_schema
from engine.marshal import python_number
from engine.overload_resolution import Overload, Parameter, overloaded
from engine.tensor import Tensor

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_OTHER = ("Scalar scalar", "Scalar[] scalars", "Tensor[] other")
_SCALED = ("Scalar scalar", "Scalar[] scalars", "Tensor[] other, *, Scalar alpha=1")
_LERP = ("Scalar weight", "Scalar[] weight", "Tensor[] weights")
_PRODUCT = ("Scalar value=1", "Scalar[] scalars", "Tensor scalars")
_NORM = ("Scalar ord=2, ScalarType? dtype=None",)

# The arguments of each name's overloads, after the list of tensors.
_BOTH_FORMS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_UNARY.split(), ("",)),
    **dict.fromkeys(("clamp_max", "clamp_min", "maximum", "minimum"), _OTHER),
    **dict.fromkeys(("div", "mul"), (*_OTHER, "Tensor other")),
    "add": (*_SCALED, "Tensor other, *, Scalar alpha=1"),
    "sub": _SCALED,
    "pow": ("Scalar exponent", "Scalar[] exponent", "Tensor[] exponent"),
    "lerp": tuple(f"Tensor[] tensors1, {weight}" for weight in _LERP),
    **dict.fromkeys(
        ("addcdiv", "addcmul"),
        tuple(f"Tensor[] tensor1, Tensor[] tensor2, {scale}" for scale in _PRODUCT),
    ),
}
_FUNCTIONAL = {
    "clone": ("*, MemoryFormat? memory_format=None",),
    "max": ("",),
    "mm": ("Tensor[] mat2",),
    "norm": _NORM,
    "powsum": _NORM,
}
_IN_PLACE = {"copy": ("Tensor[] src, bool non_blocking=False",), "zero": ("",)}


def _operator(name: str) -> Callable[..., Any]:
    """Return the function to call for each tensor: a method if the name ends with an underscore."""
    if name == "norm":
        return lambda tensor, ord, dtype: engine.linalg.vector_norm(tensor, ord, dtype=dtype)
    if name == "powsum":
        return lambda tensor, ord, dtype: tensor.abs().pow(ord).sum(dtype=dtype)
    # clamp_min is the `maximum` that accepts numbers.
    for bound, clamp in (("maximum", "clamp_min"), ("minimum", "clamp_max")):
        name = name.replace(bound, clamp)
    operator = getattr(Tensor if name.endswith("_") else engine, name)
    if name.startswith("addc"):
        return lambda tensor, first, second, value: operator(tensor, first, second, value=value)
    return operator


def _schemas(name: str) -> list[str]:
    """Return the schemas of `_foreach_<name>`. Raises: AttributeError if there is no such function."""
    forms = {**_BOTH_FORMS, **(_IN_PLACE if name.endswith("_") else _FUNCTIONAL)}
    if name.removesuffix("_") not in forms:
        raise AttributeError(f"module 'engine' has no attribute '_foreach_{name}'")
    schemas = [
        f"_foreach_{name}(Tensor[] self{', ' if arguments else ''}{arguments}) -> Tensor[]"
        for arguments in forms[name.removesuffix("_")]
    ]
    if name == "pow":
        schemas.append("_foreach_pow(Scalar self, Tensor[] exponent) -> Tensor[]")
    return schemas


def _operands(argument: Argument, value: Any, tensors: list[Tensor]) -> Iterator[Any]:
    """Return the operand of each of the tensors. Raises: RuntimeError if their numbers differ."""
    count = len(tensors)
    if (
        argument.type.kind == "Tensor" and argument.name == "scalars"
    ):  # one number per tensor, stored in one tensor
        if value.dim() != 1:
            raise RuntimeError(
                f"Expected packed scalar Tensor to be of dimension 1. Got {value.dim()} instead."
            )
        if len(value) != count:
            raise RuntimeError(
                f"Expected length of scalars to match input of length {count} but got {len(value)} instead."
            )
        return iter(value.tolist())
    if argument.type.kind == "Tensor":
        if value.dim():
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {value.dim()} dimensions and {value.numel()} elements."
            )
        return repeat(value)
    if argument.type.kind != "List":
        return repeat(python_number(value))
    if len(value) != count and argument.type.base == "Tensor":
        raise RuntimeError(
            f"Tensor lists must have the same number of tensors, got {count} and {len(value)}"
        )
    if len(value) != count:
        raise RuntimeError("Tensor list must have same number of elements as scalar list.")
    return iter(value)


def _overload(name: str, text: str) -> Overload:
    schema = parse_schema(text)
    operator = _operator(name)
    listed = next(argument.name for argument in schema.arguments if argument.type.base == "Tensor")

    def call(*args: Any, **options: Any) -> Any:
        values = dict(
            zip([a.name for a in schema.arguments], schema.bind(args, options), strict=True)
        )
        tensors = values[listed]
        if not tensors:
            raise RuntimeError("Tensor list must have at least one tensor.")
        rows = zip(
            *(
                _operands(a, values[a.name], tensors)
                for a in schema.arguments
                if not a.keyword_only
            ),
            strict=False,
        )
        named = {a.name: values[a.name] for a in schema.arguments if a.keyword_only}
        results = [operator(*row, **named) for row in rows]
        return tensors if name.endswith("_") else tuple(results)

    parameters = tuple(
        Parameter(a.type, a.name, a.default is REQUIRED, a.keyword_only) for a in schema.arguments
    )
    return Overload(call, text, parameters)


def __getattr__(attribute: str) -> Callable[..., Any]:
    name = attribute.removeprefix("_foreach_")
    overloads = [_overload(name, text) for text in _schemas(name)]
    doc = f"Call `{name}` for every tensor of a list."
    globals()[attribute] = function = overloaded(attribute, doc, overloads)
    return function
