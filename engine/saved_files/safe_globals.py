"""The classes and functions of a program that `load` may use without weights_only=False."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any

from engine.saved_files.pytorch_names import pytorch_name

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "find_safe_global",
    "get_safe_globals",
    "is_safe_global",
    "safe_globals",
]

SafeGlobal = Callable[..., Any] | tuple[Callable[..., Any], str]
_allowed: list[SafeGlobal] = []


def add_safe_globals(safe_globals: list[SafeGlobal]) -> None:
    """Allow classes and functions in every file that is loaded from now on.

    safe_globals: classes and functions, or pairs of one and the name under which files refer to it.
    A class is created without its `__init__` and its attributes are set, so allow only what you know.

    >>> class Config: pass
    >>> add_safe_globals([Config]); Config in get_safe_globals()
    True
    >>> clear_safe_globals(); get_safe_globals()
    []
    """
    for each in safe_globals:
        if isinstance(each, tuple) and not (len(each) == 2 and isinstance(each[1], str)):
            raise ValueError(f"add_safe_globals: expected (global, name), got {each!r}")
        if each not in _allowed:
            _allowed.append(each)


def get_safe_globals() -> list[SafeGlobal]:
    """Return the classes and functions that are allowed."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Allow nothing more than tensors and plain containers."""
    _allowed.clear()


class safe_globals(ContextDecorator):
    """Allow classes and functions within a block, as `add_safe_globals` does.

    >>> class Config: pass
    >>> with safe_globals([Config]): len(get_safe_globals())
    1
    """

    def __init__(self, safe_globals: list[SafeGlobal]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = list(_allowed)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *_: object) -> None:
        _allowed[:] = self._before


def find_safe_global(module: str, name: str) -> Any:
    """Return the object that a file may use under this name, or None.

    The engine's classes are called as PyTorch's are: `torch.nn.modules.linear Linear`.
    """
    for each in _allowed:
        target, path = each if isinstance(each, tuple) else (each, ".".join(pytorch_name(each)))
        if path == f"{module}.{name}":
            return target
    return None


def is_safe_global(value: Any) -> bool:
    """Return True for a class or function that the program allowed."""
    return any((each[0] if isinstance(each, tuple) else each) is value for each in _allowed)
