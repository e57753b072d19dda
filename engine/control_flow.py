"""PyTorch's control flow for exported programs, and its arithmetic on symbolic sizes: sizes here are ints, and
programs run as Python.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

from engine.tensor import Tensor

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "cond",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
    "while_loop",
]


class SymInt:
    """A symbolic size, for isinstance checks: no size here is one."""


class SymFloat:
    """A symbolic float, for isinstance checks: no number here is one."""


class SymBool:
    """A symbolic bool, for isinstance checks: no condition here is one."""


def sym_int(a: Any) -> int:
    """Return the integer part."""
    return int(a)


def sym_float(a: Any) -> float:
    """Return `float(a)`."""
    return float(a)


def sym_not(a: Any) -> bool:
    """Return `not a`."""
    return not a


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return `t` if `b` is true, else `f`. Raises: AssertionError unless `b` is a bool and both have one type."""
    if not isinstance(b, bool):
        raise AssertionError(f"expected a bool, got {type(b)}")
    if type(t) is not type(f):
        raise AssertionError(f"type mismatch: {type(t)} vs {type(f)}")
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """Return the square root."""
    return math.sqrt(a)


def sym_sum(*args: Any) -> Any:
    """Return the sum of the numbers, which are arguments or the items of the only one.

    >>> sym_sum([1, 2]), sym_sum(1, 2)
    (3, 3)
    """
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = tuple(args[0])
    return sum(args)


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger number; a float if one of them is.

    >>> sym_max(1, 2), sym_max(3, 2.0)
    (2, 3.0)
    """
    _check_numbers(a, b)
    return _common(max(a, b), a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller number; a float if one of them is."""
    _check_numbers(a, b)
    return _common(min(a, b), a, b)


def _check_numbers(*values: Any) -> None:
    for value in values:
        if not isinstance(value, (int, float, numbers.Integral, numbers.Real)):
            raise AssertionError(f"expected an int or a float, got {type(value)}")


def _common(result: Any, a: Any, b: Any) -> Any:
    return float(result) if isinstance(a, float) or isinstance(b, float) else result


def cond(
    pred: Any,
    true_fn: Callable[..., Any],
    false_fn: Callable[..., Any],
    operands: Sequence[Any] = (),
) -> Any:
    """Return `true_fn(*operands)` if `pred` is true, else `false_fn(*operands)`.

    Raises: RuntimeError unless `pred` is a bool or has one element, and `operands` is a tuple or list.

    >>> import engine
    >>> cond(engine.tensor(True), engine.sin, engine.cos, (engine.zeros(1),))
    tensor([0.])
    """
    if isinstance(pred, (bool, int, float)):
        return true_fn(*operands) if pred else false_fn(*operands)
    if not isinstance(pred, Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(
            f"Expect operands to be a tuple of possibly nested dict/list/tuple of tensors, but got {operands}."
        )
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Sequence[Any]
) -> tuple[Any, ...]:
    """Call `body_fn` with its own results, at first with `carried_inputs`, as long as `cond_fn` of them is true.

    Raises: RuntimeError if the functions cannot be called, `carried_inputs` is neither a tuple nor a list, or
    `body_fn` does not return as many values as it takes.

    >>> import engine
    >>> while_loop(lambda i: i < 3, lambda i: (i + 1,), (engine.tensor(0),))
    (tensor(3),)
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(
            f"Expect carried_inputs to be a tuple or list, but got {carried_inputs!r}."
        )
    carried = tuple(carried_inputs)
    while cond_fn(*carried):
        results = body_fn(*carried)
        if not isinstance(results, (tuple, list)) or len(results) != len(carried):
            raise RuntimeError(
                f"body_fn should return a tuple of {len(carried)} values, one for each carried input, got {results}"
            )
        carried = tuple(results)
    return carried
