"""Errors about arguments: the argument, the expected type, the actual value."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Sequence
from typing import Any

from engine._native.namespace import namespace
from engine.dtypes import device, dtype, memory_format
from engine.function_schema import Argument, SchemaType, operator_schema
from engine.tensor import Tensor


def type_word(value: object) -> str:
    """Return a value's type as messages name it, for a list with the types of its items."""
    name = type(value).__name__
    if isinstance(value, (list, tuple)) and value:
        inner = sorted({type(item).__name__ for item in value})
        return f"{name} of {' and '.join(inner)}"
    return name


def rejected_word(type_: SchemaType, value: object) -> str:
    """Return the type of a value that a schema's type rejects, as messages name it."""
    if isinstance(value, Tensor) and value.requires_grad and type_.base in ("float", "Scalar"):
        return "a Tensor that requires grad, whose gradient would be lost: pass x.item()"
    return type_word(value)


_PYTHON_WORDS = {
    "Tensor": "Tensor",
    "Scalar": "number",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
}
_ENGINE_CLASSES = {"ScalarType": "dtype", "Device": "device"}
_CLASSES: dict[str, type | tuple[type, ...]] = {
    "Tensor": Tensor,
    "bool": bool,
    "str": str,
    "ScalarType": dtype,
    "Device": (device, str),
    "MemoryFormat": memory_format,
}


TENSOR, SCALAR, INTEGER = SchemaType("Tensor"), SchemaType("Scalar"), SchemaType("int")


def wanted_word(type_: SchemaType) -> str:
    """Translate a schema's type into Python's terms: `int[]?` is `sequence of int or None`."""
    if type_.kind == "Optional":
        return f"{wanted_word(type_.inner[0])} or None"
    if type_.kind == "List":
        return f"sequence of {wanted_word(type_.inner[0])}"
    if type_.kind in _ENGINE_CLASSES:
        return f"{namespace()}.{_ENGINE_CLASSES[type_.kind]}"
    return _PYTHON_WORDS.get(type_.kind, type_.kind)


def accepts(type_: SchemaType, value: object) -> bool:
    """Return whether `value` may be an argument of a schema's type."""
    kind = type_.kind
    if kind == "Optional":
        return value is None or accepts(type_.inner[0], value)
    if kind == "List":
        item = type_.inner[0]
        return isinstance(value, (list, tuple, range)) and all(
            accepts(item, element) for element in value
        )
    if kind == "int" and isinstance(value, Tensor):
        return value.dim() == 0 and not value.is_floating_point() and not value.is_complex()
    if kind == "int":
        return hasattr(value, "__index__") and not isinstance(value, bool)
    if kind in ("float", "Scalar"):
        number = numbers.Complex if kind == "Scalar" else numbers.Real  # NumPy's, too
        if isinstance(value, Tensor):  # the gradient of one that requires grad would be lost
            return value.dim() == 0 and not value.requires_grad
        return isinstance(value, number)
    return isinstance(value, _CLASSES.get(kind, object))


def argument_error(name: str, operator: str, args: Sequence[object]) -> Exception:
    """Return the exception for a call whose arguments do not match the schema; it names the first
    mismatch.

    Call it in the `except` block of the failed conversion. `operator` is its full name, `args`
    are the arguments in the schema's order.
    """
    cause = sys.exception()
    schema, _ = operator_schema(operator)
    # Pointwise operators accept numbers where their schema has a Tensor; the others read `_h`.
    numbers_too = not isinstance(cause, AttributeError)
    for position, (argument, value) in enumerate(zip(schema.arguments, args, strict=False)):
        number = numbers_too and position > 0 and argument.type == TENSOR
        if accepts(argument.type, value) or (number and accepts(SCALAR, value)):
            continue
        expected = wanted_word(argument.type) + (" or number" if number else "")
        return TypeError(
            f"{name}: argument {argument.name!r} (position {position + 1}) must be {expected}, "
            f"got {rejected_word(argument.type, value)}"
        )
    types = ", ".join(type_word(value) for value in args)
    if isinstance(cause, OverflowError):
        return _overflow_error(name, schema.arguments, args) or RuntimeError(f"{name}: {cause}")
    if isinstance(cause, (ValueError, RuntimeError)):
        return cause
    return TypeError(
        f"{name}: cannot be called with ({types}): {cause}; the signature is {schema.text}"
    )


def _overflow_error(
    name: str, arguments: Sequence[Argument], args: Sequence[object]
) -> Exception | None:
    """Return the exception for an integer beyond 64 bits; as in PyTorch, its class depends on the
    argument's type."""
    for argument, value in zip(arguments, args, strict=False):
        items = value if isinstance(value, (tuple, list)) else (value,)
        for item in items:
            if isinstance(item, int) and not -(2**63) <= item < 2**63:
                error: type[Exception] = OverflowError
                if items is value:
                    error = TypeError
                elif argument.type.base == "int":
                    error = ValueError
                return error(
                    f"{name}: argument {argument.name!r}: {item} does not fit into 64 bits"
                )
    return None


def older_form(
    call: Callable[..., Any], orders: Sequence[str], args: Sequence[Any], **options: Any
) -> Any:
    """Call an operator whose positional arguments are in the order of an older PyTorch version.

    Each of `orders` lists argument names, separated by spaces. alpha, beta, value and names with
    `:number` are numbers, `other` is either, the rest are tensors. Raises: TypeError if no order
    matches.
    """
    for order in orders:
        names = order.split()
        if len(names) == len(args) and all(map(_is_older_argument, names, args)):
            return call(
                **dict(zip([n.partition(":")[0] for n in names], args, strict=True)), **options
            )
    types = ", ".join(map(type_word, args))
    raise TypeError(
        f"{call.__name__}(): received an invalid combination of arguments - got ({types})"
    )


def _is_older_argument(name: str, value: object) -> bool:
    if name == "other":
        return accepts(TENSOR, value) or accepts(SCALAR, value)
    number = name in ("alpha", "beta", "value") or name.endswith(":number")
    return accepts(SCALAR if number else TENSOR, value)


def check_tensor(name: str, argument: str, value: object) -> None:
    """Raise TypeError unless an argument is a tensor."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}(): argument '{argument}' must be Tensor, not {type_word(value)}")


def check_outs(name: str, out: object, count: int) -> None:
    """Raise TypeError unless `out` has one tensor for each result of the operator."""
    if not isinstance(out, (list, tuple)) or not all(isinstance(item, Tensor) for item in out):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type_word(out)}")
    if len(out) != count:
        raise TypeError(f"{name}(): expected tuple of {count} elements but got {len(out)}")
