"""Iteration: the length and the elements of an iterable, in a loop or unrolled."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import EnumMeta
from typing import Any

from engine.jit.frontend.environment import Context
from engine.jit.frontend.expressions import make_list
from engine.jit.frontend.indexing import tuple_item
from engine.jit.frontend.sugared_values import (
    IterableTree,
    ModuleValue,
    PythonValue,
    RangeValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
)
from engine.jit.types.enums import enum_type
from engine.jit.types.jit_type import INT, TENSOR, list_of


@dataclass
class Iterable:
    """An iterable: `count` elements that are unrolled, or `length` iterations of a loop.

    `at` returns the element at a position, an int if unrolled. Both None: infinite.
    """

    count: int | None
    length: SimpleValue | None
    at: Callable[[SimpleValue | int], SugaredValue]
    start: int = 0
    parts: list[SimpleValue] = field(
        default_factory=list
    )  # of zip(...) in enumerate(...): the lengths


def _known(index: SimpleValue | int) -> int:
    """Returns the position of an unrolled element."""
    assert isinstance(index, int)
    return index


def _computed(index: SimpleValue | int) -> SimpleValue:
    """Returns the position in a loop, a value of the graph."""
    assert isinstance(index, SimpleValue)
    return index


def walk(c: Context, tree: ast.expr, sugared: SugaredValue) -> Iterable:
    """Returns how to iterate over an expression. Raises: CompileError for what is not iterable."""
    if (
        isinstance(sugared, PythonValue)
        and sugared.constant
        and isinstance(sugared.object, (tuple, list))
    ):
        sugared = SugaredTupleValue([PythonValue(element, True) for element in sugared.object])
    if isinstance(sugared, PythonValue) and isinstance(sugared.object, EnumMeta):
        enum_type(sugared.object)
        listed: list[Any] = list(sugared.object)
        sugared = c.builder.constant(tree, listed)
    if isinstance(sugared, ModuleValue):
        sugared = sugared.concrete_type.items_of(c, tree, sugared)
    if isinstance(sugared, SugaredTupleValue):
        items = list(sugared.items)
        return Iterable(len(items), None, lambda i: items[_known(i)])
    if isinstance(sugared, RangeValue):
        return _walk_range(c, tree, sugared)
    if isinstance(sugared, IterableTree):
        return _walk_together(c, tree, sugared)
    iterated = c.as_value(tree, sugared)
    if iterated.type.kind == "Tuple":
        inner = iterated.type.inner
        return Iterable(len(inner), None, lambda i: tuple_item(c, tree, iterated, _known(i)))
    if iterated.type.kind == "Dict":
        iterated = c.builder.call(tree, "aten::keys", [iterated])
    if iterated.type.kind not in ("List", "str", "Tensor"):
        hint = (
            "Hint: loop over range(n)"
            if iterated.type == INT
            else c.builder.argument_hints.of_call([iterated])
        )
        if iterated.type.kind == "class":
            hint = "Hint: loop over range(len(x)) and use x[i]"
        raise c.fail(tree, f"'{iterated.type}' object is not iterable", hint)
    length = c.builder.call(tree, "aten::len", [iterated])

    def element(i: SimpleValue | int) -> SugaredValue:
        index = _computed(i)
        if iterated.type == TENSOR:
            first = c.builder.constant(tree, 0)
            return c.builder.call(tree, "aten::select", [iterated, first, index])
        return c.builder.call(tree, "aten::__getitem__", [iterated, index])

    return Iterable(None, length, element)


def _walk_range(c: Context, tree: ast.expr, range_value: RangeValue) -> Iterable:
    builder = c.builder
    if range_value.stop is None:  # of enumerate: from `start` on without end
        start = range_value.start
        first = start.constant if start is not None and isinstance(start.constant, int) else 0

        def counted(i: SimpleValue | int) -> SugaredValue:
            if isinstance(i, int):
                if start is None or start.is_constant:
                    return builder.constant(tree, first + i)
                return builder.call(tree, "aten::add", [start, builder.constant(tree, i)])
            if start is None or (start.is_constant and first == 0):
                return i
            step = builder.constant(tree, 1)
            return builder.call(tree, "aten::__derive_index", [i, start, step])

        return Iterable(None, None, counted, first)
    if range_value.start is None and range_value.step is None:
        return Iterable(None, range_value.stop, _computed)
    start = range_value.start or builder.constant(tree, 0)
    step = range_value.step or builder.constant(tree, 1)
    length = builder.call(tree, "aten::__range_length", [start, range_value.stop, step])
    derive = "aten::__derive_index"
    return Iterable(None, length, lambda i: builder.call(tree, derive, [_computed(i), start, step]))


def _walk_together(
    c: Context, tree: ast.expr, tree_value: IterableTree, within: bool = False
) -> Iterable:
    walks = [
        _walk_together(c, tree, part, within=True)
        if isinstance(part, IterableTree)
        else walk(c, tree, part)
        for part in tree_value.parts
    ]
    if c.inside_engine and any(walk.length is not None for walk in walks):
        walks = [_as_list(c, tree, walk) for walk in walks]

    def together(i: SimpleValue | int) -> SugaredValue:
        return SugaredTupleValue([walk.at(i) for walk in walks])

    counts = [walk.count for walk in walks if walk.count is not None]
    lengths = [walk for walk in walks if walk.length is not None]
    if counts and lengths:
        raise c.fail(
            tree,
            "zip and enumerate take tuples and modules, or lists, but not both at once",
            "Hint: make a list of the tuple",
        )
    if counts:
        return Iterable(min(counts), None, together)
    bounds = [
        walk.length
        if walk.length is not None
        else c.builder.constant(tree, sys.maxsize - walk.start)
        for walk in walks
    ]
    if len(bounds) == 1 or within:
        return Iterable(None, bounds[0], together, parts=bounds)
    bounds = [
        part
        for walk_item, length in zip(walks, bounds, strict=True)
        for part in walk_item.parts or [length]
    ]
    listed = c.builder.prim(tree, "prim::ListConstruct", bounds, list_of(INT))
    return Iterable(None, c.builder.call(tree, "prim::min", [listed]), together)


def _as_list(c: Context, tree: ast.expr, iterable: Iterable) -> Iterable:
    """Turns an unrolled tuple into a list, to be zipped with another list."""
    if iterable.count is None:
        return iterable
    values = [c.as_value(tree, iterable.at(i)) for i in range(iterable.count)]
    return walk(c, tree, make_list(c, tree, values))
