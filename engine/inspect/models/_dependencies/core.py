"""The argument and the result of a dependency rule: an operator call, independent of any recording.

A rule is a pure function `(OpCall, index) -> CellFormula`: the input cells of the output cell at
`index`, and their formula. It uses sizes and arguments, and reads values only if an index is itself
data (gather, embedding).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

Index = tuple[int, ...]
Read = Callable[[str, Index], Any]

_PLACE = re.compile(r"\{(\w+(?:\[\d+\])?)\}")


class Described(Protocol):
    """The description of a tensor for a rule; `TensorFact` is one."""

    @property
    def sizes(self) -> Index: ...
    @property
    def strides(self) -> Index: ...
    @property
    def offset(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def storage(self) -> int: ...


class Unknown(Exception):
    """The cells cannot be derived from the recorded facts; the message says why."""


@dataclass(frozen=True, slots=True)
class CellInput:
    """One input cell that feeds the output cell."""

    argument: str  # "self", or "tensors[1]"
    index: Index
    role: str = ""  # its name in the formula's patterns; the argument's if empty

    @property
    def name(self) -> str:
        return self.role or self.argument


@dataclass(frozen=True)
class CellFormula:
    """The formula of one output cell: terms of the same form, joined, inside a wrapper.

    `term` and `wrapper` are patterns: `{self}` is the cell of that name or the argument; `{terms}` in
    `wrapper` is all terms joined. Terms are built on demand, so a sum over a million cells costs as
    little as one over three.
    """

    term: str
    feeds: Callable[[int], tuple[CellInput, ...]]
    count: int = 1
    join: str = " + "
    wrapper: str = "{terms}"
    extras: tuple[CellInput, ...] = ()  # cells that are used once, next to the terms
    note: str = ""  # a remark that the pattern cannot express

    @property
    def total(self) -> int:
        """Return the number of cells, each counted as often as it is used."""
        return len(self.extras) + (self.count * len(self.feeds(0)) if self.count else 0)

    def cells(self) -> Iterator[CellInput]:
        """Yield every cell: the extras, then those of each term."""
        yield from self.extras
        for number in range(self.count):
            yield from self.feeds(number)


@dataclass(frozen=True)
class OpCall:
    """An operator call, the argument of a rule."""

    op: str  # `add` of `add_.Tensor`
    overload: str
    tensors: Mapping[str, Described]  # by argument name; the items of a list as `tensors[1]`
    values: Mapping[str, Any]  # every other argument
    out: Described
    result: int = 0  # index of `out` among the results
    argument: str = ""  # the argument that `out` is, if the call writes items of lists
    read: Read = field(default=lambda argument, index: None)

    def sizes(self, argument: str) -> Index:
        if argument not in self.tensors:
            raise Unknown(f"this form of {self.op} has no tensor {argument}")
        return tuple(self.tensors[argument].sizes)

    def value(self, name: str, default: Any = None) -> Any:
        matches = self.values.get(name)
        return default if matches is None else matches

    def items(self, name: str) -> list[str]:
        """Return the arguments `name[0]`, `name[1]`... of a list of tensors."""
        return [each for each in self.tensors if each.startswith(f"{name}[")]

    def number(self, argument: str, index: Index) -> int:
        """Return an index that is itself a recorded value."""
        value = self.read(argument, index)
        if value is None:
            raise Unknown(f"{argument}{list(index)} was not kept in the trace")
        return int(value)


Rule = Callable[[OpCall, Index], CellFormula]


def input_name(call: OpCall) -> str:
    """Return the name of the input of a product or window: `input`, or `self`."""
    return "input" if "input" in call.tensors else "self"


def broadcast(sizes: Index, index: Index) -> Index:
    """Return the cell of a tensor of these sizes that broadcasts to `index` of the result."""
    own = index[len(index) - len(sizes) :]
    return tuple(0 if n == 1 else i for i, n in zip(own, sizes, strict=True))


def wrap(dim: int, rank: int) -> int:
    """Convert a negative dimension."""
    return dim + rank if dim < 0 else dim


def unravel(position: int, sizes: Sequence[int]) -> Index:
    """Return the index of an element by its row-major position."""
    index: list[int] = []
    for size in reversed(sizes):
        position, at = divmod(position, size) if size else (0, 0)
        index.append(at)
    return tuple(reversed(index))


def ravel(index: Iterable[int], sizes: Iterable[int]) -> int:
    """Return the row-major position of the element at `index`."""
    position = 0
    for at, size in zip(index, sizes, strict=True):
        position = position * size + at
    return position


def numel(sizes: Sequence[int]) -> int:
    return prod(sizes)


def put(index: Sequence[int], dim: int, value: int) -> Index:
    """Return the index with another value in one dimension."""
    return (*index[:dim], value, *index[dim + 1 :])


def without(index: Sequence[int], dim: int) -> Index:
    return (*index[:dim], *index[dim + 1 :])


def between(index: Sequence[int], dim: int, value: int) -> Index:
    """Return the index with one more dimension."""
    return (*index[:dim], value, *index[dim:])


def several(value: Any, count: int, default: int = 1) -> Index:
    """Expand an int[2]-like argument: one number is for all dimensions, None is the default."""
    if value is None or value == ():
        return (default,) * count
    if isinstance(value, int):
        return (value,) * count
    return tuple(value) * count if len(value) == 1 else tuple(value)


def single(*feeds: CellInput, term: str = "", note: str = "") -> CellFormula:
    """Return a cell computed from a few cells by one pattern; by default a copy."""
    return CellFormula(term or "{" + feeds[0].name + "}", lambda _: feeds, note=note)


def nothing(wrapper: str, note: str = "") -> CellFormula:
    """Return a cell that no input cell feeds."""
    return CellFormula("", lambda _: (), count=0, wrapper=wrapper, note=note)


def written(pattern: str, say: Callable[[str], str | None]) -> str:
    """Replace each `{name}` of a pattern by the result of `say`; unknown names stay."""
    return _PLACE.sub(lambda match: say(match[1]) or match[1], pattern)
