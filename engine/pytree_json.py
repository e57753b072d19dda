"""Conversion of nested containers to JSON, which `engine.save` writes next to the tensors, and back.

A tensor is written as its name in the file. Values that JSON supports are written as they are, others as an
object whose only key is their kind: {"tuple": [...]}, {"dict": [[key, value], ...]}, {"tensor": name}.
Reading looks the kind up in a table of constructors, so a file cannot name a function, a module or a class.
"""

from __future__ import annotations

import base64
import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from engine.dtypes import DTYPES, Size, device, dtype
from engine.tensor import Tensor

_DTYPES = {kind.name: kind for kind in DTYPES}
_MAX_DEPTH = 100  # limit of nested containers, for writing and reading


class Writer:
    """Converts an object to JSON values and collects its tensors by name."""

    def __init__(self, note: Callable[[str, Any], Any]) -> None:
        self._note = note  # (suggested name, tensor) -> the JSON value for it
        self._open: set[int] = set()

    def node(self, value: Any, path: tuple[Any, ...] = ()) -> Any:
        """Return the JSON value for `value`, which is at `path` in the object."""
        kind = type(value)
        if value is None or kind in (bool, str):
            return value
        if kind is int:
            return value if abs(value) < 2**53 else {"int": str(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, Tensor):
            return self._note(".".join(map(str, path)) or "tensor", value)
        if kind in (dict, OrderedDict, list, tuple, set, frozenset):
            return self._container(value, path)
        if kind is Size:
            return {"size": list(value)}
        if kind is complex:
            return {"complex": [self.node(value.real), self.node(value.imag)]}
        if kind is bytes:
            return {"bytes": base64.b64encode(value).decode("ascii")}
        if kind is dtype:
            return {"dtype": value.name}
        if kind is device:
            return {"device": str(value)}
        raise TypeError(
            f"save: {_describe_path(path)} is a {kind.__module__}.{kind.__qualname__}; what can be saved are "
            "tensors, numbers, text, bytes, None, dtypes, and dicts, lists, tuples and sets of these "
            "(of an nn.Module or an Optimizer save its state_dict())"
        )

    def _container(self, value: Any, path: tuple[Any, ...]) -> Any:
        if id(value) in self._open:
            raise ValueError(f"save: {_describe_path(path)} contains itself")
        if len(path) >= _MAX_DEPTH:
            raise ValueError(f"save: more than {_MAX_DEPTH} containers in one another")
        self._open.add(id(value))
        try:
            if isinstance(value, dict):
                pairs = [
                    [self.node(key, (*path, key)), self.node(item, (*path, key))]
                    for key, item in value.items()
                ]
                return {"dict" if type(value) is dict else "OrderedDict": pairs}
            items = [self.node(item, (*path, i)) for i, item in enumerate(value)]
            return {type(value).__name__: items}
        finally:
            self._open.discard(id(value))


def _describe_path(path: tuple[Any, ...]) -> str:
    return f"the value at [{']['.join(map(repr, path))}]" if path else "the object"


class Reader:
    """Rebuilds the object. Raises ValueError for JSON that a Writer cannot have written."""

    def __init__(self, tensor: Callable[[Any], Any]) -> None:
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "tensor": tensor,
            "dict": lambda pairs: dict(self._pairs(pairs)),
            "OrderedDict": lambda pairs: OrderedDict(self._pairs(pairs)),
            "list": self._items,
            "tuple": lambda items: tuple(self._items(items)),
            "set": lambda items: set(self._items(items)),
            "frozenset": lambda items: frozenset(self._items(items)),
            "size": lambda sizes: Size(_ints(sizes)),
            "int": lambda text: int(_text(text)),
            "float": lambda text: float(_text(text)),
            "complex": lambda parts: complex(*map(self.value, parts)),
            "bytes": lambda text: base64.b64decode(_text(text), validate=True),
            "dtype": lambda name: _DTYPES[_text(name)],
            "device": lambda name: device(_text(name)),
        }
        self._depth = 0

    def value(self, node: Any) -> Any:
        """Return the object of a JSON value."""
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if not isinstance(node, dict) or len(node) != 1:
            raise ValueError(f"expected an object with one key, got {str(node)[:80]}")
        ((kind, content),) = node.items()
        make = self._kinds.get(kind)
        if make is None:
            raise ValueError(f"unknown kind of value {kind!r}")
        if self._depth > _MAX_DEPTH + 2:
            raise ValueError(f"more than {_MAX_DEPTH} containers in one another")
        self._depth += 1
        try:
            return make(content)
        except (TypeError, LookupError, AttributeError, RuntimeError) as error:
            raise ValueError(f"{kind!r}: {error}") from error
        finally:
            self._depth -= 1

    def _items(self, items: Any) -> list[Any]:
        if not isinstance(items, list):
            raise ValueError(f"expected a list, got {type(items).__name__}")
        return [self.value(item) for item in items]

    def _pairs(self, pairs: Any) -> list[tuple[Any, Any]]:
        if not isinstance(pairs, list):
            raise ValueError(f"expected a list of pairs, got {type(pairs).__name__}")
        return [(self.value(key), self.value(item)) for key, item in pairs]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, got {type(value).__name__}")
    return value


def _ints(values: Any) -> list[int]:
    if not isinstance(values, list) or any(type(value) is not int for value in values):
        raise ValueError(f"expected a list of ints, got {str(values)[:80]}")
    return values
