"""Helpers for symbolic functions of programs, by PyTorch's names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from engine.onnx.errors import SymbolicValueError

_KINDS: dict[str, Any] = {
    "i": int,
    "f": (int, float),
    "b": (bool, int),
    "s": str,
    "is": (list, tuple),
    "fs": (list, tuple),
}


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares the kinds of a symbolic function's arguments.

    "v" a Value; "i", "f", "b", "s" a constant number, bool or string, "is" and "fs" lists of them, "t" a constant
    tensor; "none" an argument that is not used. A call raises SymbolicValueError for another kind.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def parsed(g: Any, *arguments: Any) -> Any:
            values = [
                _parse(value, kind, function.__name__, position)
                for position, (value, kind) in enumerate(
                    zip(arguments, arg_descriptors, strict=False)
                )
            ]
            return function(g, *values)

        return parsed

    return decorate


def _parse(value: Any, kind: str, function: str, position: int) -> Any:
    if kind == "none" or value is None:
        return value
    array = getattr(value, "array", None)
    if kind == "v":
        return value
    if kind == "t":
        if array is None:
            raise SymbolicValueError(f"{function}: argument {position} must be a constant tensor")
        return array
    if array is not None:
        value = array.tolist()
    if not isinstance(value, _KINDS[kind]):
        raise SymbolicValueError(
            f"{function}: argument {position} must be constant ('{kind}'), got {value!r:.60}"
        )
    return value


__all__ = ["parse_args"]
