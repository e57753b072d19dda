"""Containers of modules: Sequential, ModuleList, ModuleDict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, TypeVar

from engine.nn.module import Module, indented

__all__ = ["Container", "ModuleDict", "ModuleList", "Sequential"]

N = TypeVar("N", bound="_Numbered")
S = TypeVar("S", bound="Sequential")
L = TypeVar("L", bound="ModuleList")


def _position(index: Any, length: int) -> int:
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


class Container(Module):
    """Modules named by keyword arguments. Deprecated: use ModuleDict."""

    def __init__(self, **kwargs: Any) -> None:
        import warnings

        super().__init__()
        warnings.warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in "
            "nn.Module. Subclass that instead.",
            DeprecationWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """The base of containers whose modules are named by their positions."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError

    def __delitem__(self, index: Any) -> None:
        raise NotImplementedError

    def append(self: N, module: Module) -> N:
        """Append a module; return the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Remove and return the module at `key`."""
        module: Module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """Modules that are called in turn, each with the result of the previous one.

    `Sequential(a, b)`, or `Sequential(OrderedDict(first=a, second=b))` with names.

    >>> import engine
    >>> Sequential(engine.nn.Flatten(0), engine.nn.ReLU())(engine.tensor([[1.], [-1.]]))
    tensor([1., 0.])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input

    def _name(self, index: Any) -> str:
        return next(islice(self._modules, _position(index, len(self)), None))

    def _number(self) -> None:
        """Rename the modules to their positions."""
        self._modules = {str(i): module for i, module in enumerate(self._modules.values())}

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]
        for name in names:
            delattr(self, name)
        self._number()

    def insert(self: S, index: int, module: Module) -> S:
        """Insert a module before the one at `index`; return the container. Raises: IndexError beyond the ends."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        count = len(self)
        if not -count <= index <= count:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._modules = {str(i): child for i, child in enumerate(modules)}
        return self

    def extend(self: S, sequential: Iterable[Module]) -> S:
        """Append modules; return the container."""
        for module in sequential:
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self: S, other: Any) -> S:
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return self.extend(other)

    def __mul__(self, other: Any) -> Sequential:
        self._check_factor(other)
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__

    def __imul__(self: S, other: Any) -> S:
        self._check_factor(other)
        return self.extend(list(self) * (other - 1))

    def _check_factor(self, other: Any) -> None:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")


class ModuleList(_Numbered):
    """A list of modules whose parameters belong to the module that has the list.

    >>> import engine
    >>> [module._get_name() for module in ModuleList([engine.nn.ReLU(), engine.nn.Tanh()])]
    ['ReLU', 'Tanh']
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])  # type: ignore[arg-type]
        return self._modules[str(_position(index, len(self)))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(_position(index, len(self))), module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self._modules.values())
        if not isinstance(index, slice):
            index = _position(index, len(self))
        del modules[index]
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self: L, modules: Iterable[Module]) -> L:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before the one at `index`."""
        for position in range(len(self), index, -1):
            self._modules[str(position)] = self._modules[str(position - 1)]
        self._modules[str(index)] = module

    def extend(self: L, modules: Iterable[Module]) -> L:
        """Append modules; return the list. Raises: TypeError for an object that is not iterable."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, "
                f"but got {type(modules).__name__}"
            )
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Format the list like any module, with equal neighbours on one line: `(0-3): 4 x ReLU()`."""
        runs: list[tuple[int, int, str]] = []
        for position, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], position, text)
            else:
                runs.append((position, position, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(indented(line, 2) for line in lines) + "\n)"


class ModuleDict(Module):
    """A dict of modules whose parameters belong to the module that has the dict.

    >>> import engine
    >>> ModuleDict({"act": engine.nn.ReLU()})["act"]
    ReLU()
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove and return the module under `key`. Raises: KeyError for an unknown key."""
        module = self[key]
        del self[key]
        return module

    def keys(self) -> Any:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return the names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add the modules of a mapping, or of pairs of name and module."""
        for key, module in pairs(modules, "ModuleDict", "ModuleDict"):
            self[key] = module


def pairs(source: Any, name: str, called: str) -> list[tuple[Any, Any]]:
    """Return the items of a mapping or of a sequence of pairs, as `dict.update` reads them."""
    if not isinstance(source, Iterable):
        raise TypeError(
            f"{called}.update should be called with an iterable of key/value pairs, "
            f"but got {type(source).__name__}"
        )
    if isinstance(source, (Mapping, ModuleDict)) or hasattr(source, "items"):
        return list(source.items())
    items = []
    for position, item in enumerate(source):
        if not isinstance(item, Iterable):
            raise TypeError(
                f"{name} update sequence element #{position} should be Iterable; "
                f"is {type(item).__name__}"
            )
        pair = list(item)
        if len(pair) != 2:
            raise ValueError(
                f"{name} update sequence element #{position} has length {len(pair)}; 2 is required"
            )
        items.append((pair[0], pair[1]))
    return items
