"""Containers of parameters: ParameterList and ParameterDict. Values other than tensors are stored unchanged."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from engine.nn.containers import pairs
from engine.nn.module import Module
from engine.nn.parameter import Parameter
from engine.tensor import Tensor

__all__ = ["ParameterDict", "ParameterList"]

L = TypeVar("L", bound="ParameterList")
D = TypeVar("D", bound="ParameterDict")


def _as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def _line(name: object, value: Any, kind: str) -> str:
    """Format one entry for `repr`."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    sizes = "x".join(str(size) for size in value.size())
    kind_name = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({name}): {kind_name} containing: [{kind} of size {sizes}]"


class ParameterList(Module):
    """A list of parameters that belong to the module that has the list; tensors become Parameters.

    >>> import engine
    >>> len(list(ParameterList([engine.ones(1), engine.ones(2)]).parameters()))
    2
    """

    _size: int

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _name(self, index: Any) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            values = type(self)()
            for position in range(*index.indices(len(self))):
                values.append(self[position])
            return values
        return getattr(self, self._name(index))

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[position] for position in range(len(self)))

    def __iadd__(self: L, values: Iterable[Any]) -> L:
        return self.extend(values)

    def append(self: L, value: Any) -> L:
        """Append a value; return the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self: L, values: Iterable[Any]) -> L:
        """Append values; return the list. Raises: TypeError for an object that is not iterable."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, "
                f"but got {type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            _line(position, value, str(getattr(value, "dtype", "")))
            for position, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters that belong to the module that has the dict; tensors become Parameters.

    >>> import engine
    >>> list(ParameterDict({"a": engine.ones(1)}).state_dict())
    ['a']
    """

    _keys: dict[str, None]

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _name(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need "
                "non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._name(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._name(key)] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self: D, other: ParameterDict) -> D:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Return a new dict with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value under `key`; a missing one is first set to `default`."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove and return the value under `key`. Raises: AttributeError for an unknown key."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove and return the last pair."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value under `key`, or `default`."""
        return getattr(self, key) if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a new dict with the same value under all keys."""
        return ParameterDict(OrderedDict.fromkeys(keys, default))

    def keys(self) -> Any:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """Return the names and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterable[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add the values of a mapping, or of pairs of name and value, in their order.

        As in PyTorch, a mapping other than an OrderedDict or a ParameterDict is added in the order of its names.
        """
        items = pairs(parameters, "ParameterDict", "ParametersDict")
        ordered = isinstance(parameters, (OrderedDict, ParameterDict))
        if isinstance(parameters, Mapping) and not ordered:
            items.sort(key=lambda item: item[0])
        for key, value in items:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(
            _line(key, value, value.type() if isinstance(value, Tensor) else "")
            for key, value in self.items()
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")
