"""PyTorch's `torch._check` functions: conditions of operators, above all in their fake kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import dtypes
from engine._native.namespace import namespace
from engine.tensor import Tensor

Message = Callable[[], Any] | None

_SILENT = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
    "enhancement request to PyTorch.)"
)


def _check(cond: bool, message: Message = None) -> None:
    """Raise RuntimeError with the text of `message()` unless the condition holds.

    >>> import engine
    >>> engine._check(1 > 2, lambda: "1 is not greater than 2")
    Traceback (most recent call last):
    RuntimeError: 1 is not greater than 2
    """
    _raise_unless(cond, RuntimeError, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """Raise ValueError unless the condition holds."""
    _raise_unless(cond, ValueError, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """Raise IndexError unless the condition holds."""
    _raise_unless(cond, IndexError, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """Raise TypeError unless the condition holds."""
    _raise_unless(cond, TypeError, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """Raise NotImplementedError unless the condition holds."""
    _raise_unless(cond, NotImplementedError, message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """Raise RuntimeError for a number that is not a size: negative, or more than `max`."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """Raise RuntimeError unless all elements of a bool tensor are True."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype is not dtypes.bool_:
        raise TypeError(f"cond tensor must have dtype {dtypes.bool_}, but got {cond.dtype}")
    _check(bool(cond.all()), message)


def _raise_unless(cond: bool, error: type[Exception], message: Message) -> None:
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use "
            f"{namespace()}._check_tensor_all() to assert that all elements are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    raise error(_SILENT if message is None else str(message()))
