"""How something is gone through: its length and its elements, in a loop or one by one."""

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
    """How something is gone through: `count` elements known one by one, or `length` in a loop.

    `at` gives the element of a position, which is an int in the first case. Both None: no end.
    """

    count: int | None
    length: SimpleValue | None
    at: Callable[[SimpleValue | int], SugaredValue]
    start: int = 0
    parts: list[SimpleValue] = field(
        default_factory=list
    )  # of zip(...) in enumerate(...): the lengths


def walk(c: Context, tree: ast.expr, found: SugaredValue) -> Iterable:
    """How an expression is gone through. Raises: CompileError for what is not iterable."""
    if (
        isinstance(found, PythonValue)
        and found.constant
        and isinstance(found.object, (tuple, list))
    ):
        found = SugaredTupleValue([PythonValue(one, True) for one in found.object])
    if isinstance(found, PythonValue) and isinstance(found.object, EnumMeta):
        enum_type(found.object)
        listed: list[Any] = list(found.object)
        found = c.builder.constant(tree, listed)
    if isinstance(found, ModuleValue):
        found = found.made.items_of(c, tree, found)
    if isinstance(found, SugaredTupleValue):
        items = list(found.items)
        return Iterable(len(items), None, lambda i: items[int(i)])  # type: ignore[arg-type]
    if isinstance(found, RangeValue):
        return _walk_range(c, tree, found)
    if isinstance(found, IterableTree):
        return _walk_together(c, tree, found)
    one = c.as_value(tree, found)
    if one.type.kind == "Tuple":
        inner = one.type.inner
        return Iterable(len(inner), None, lambda i: tuple_item(c, tree, one, int(i)))  # type: ignore[arg-type]
    if one.type.kind == "Dict":
        one = c.builder.call(tree, "aten::keys", [one])
    if one.type.kind not in ("List", "str", "Tensor"):
        hint = (
            "Hint: loop over range(n)"
            if one.type == INT
            else c.builder.argument_hints.of_call([one])
        )
        if one.type.kind == "class":
            hint = "Hint: loop over range(len(x)) and use x[i]"
        raise c.fail(tree, f"'{one.type}' object is not iterable", hint)
    length = c.builder.call(tree, "aten::len", [one])

    def element(i: SimpleValue | int) -> SugaredValue:
        assert isinstance(i, SimpleValue)
        if one.type == TENSOR:
            return c.builder.call(tree, "aten::select", [one, c.builder.constant(tree, 0), i])
        return c.builder.call(tree, "aten::__getitem__", [one, i])

    return Iterable(None, length, element)


def _walk_range(c: Context, tree: ast.expr, found: RangeValue) -> Iterable:
    builder = c.builder
    if found.stop is None:  # of enumerate: from `start` on without end
        start = found.start
        first = start.constant if start is not None and isinstance(start.constant, int) else 0

        def counted(i: SimpleValue | int) -> SugaredValue:
            if isinstance(i, int):
                if start is None or start.is_constant:
                    return builder.constant(tree, first + i)
                return builder.call(tree, "aten::add", [start, builder.constant(tree, i)])
            if start is None or (start.is_constant and first == 0):
                return i
            one = builder.constant(tree, 1)
            return builder.call(tree, "aten::__derive_index", [i, start, one])

        return Iterable(None, None, counted, first)
    if found.start is None and found.step is None:
        return Iterable(None, found.stop, lambda i: i)  # type: ignore[arg-type, return-value]
    start = found.start or builder.constant(tree, 0)
    step = found.step or builder.constant(tree, 1)
    length = builder.call(tree, "aten::__range_length", [start, found.stop, step])
    derive = "aten::__derive_index"
    return Iterable(None, length, lambda i: builder.call(tree, derive, [i, start, step]))  # type: ignore[list-item]


def _walk_together(
    c: Context, tree: ast.expr, found: IterableTree, within: bool = False
) -> Iterable:
    walks = [
        _walk_together(c, tree, part, within=True)
        if isinstance(part, IterableTree)
        else walk(c, tree, part)
        for part in found.parts
    ]
    if c.inside_engine and any(one.length is not None for one in walks):
        walks = [_as_list(c, tree, one) for one in walks]

    def together(i: SimpleValue | int) -> SugaredValue:
        return SugaredTupleValue([one.at(i) for one in walks])

    counts = [one.count for one in walks if one.count is not None]
    lengths = [one for one in walks if one.length is not None]
    if counts and lengths:
        raise c.fail(
            tree,
            "zip and enumerate go through tuples and modules, or through lists, but not both at once",
            "Hint: make a list of the tuple",
        )
    if counts:
        return Iterable(min(counts), None, together)
    made = [
        one.length if one.length is not None else c.builder.constant(tree, sys.maxsize - one.start)
        for one in walks
    ]
    if len(made) == 1 or within:
        return Iterable(None, made[0], together, parts=made)
    made = [part for one, length in zip(walks, made, strict=True) for part in one.parts or [length]]
    listed = c.builder.prim(tree, "prim::ListConstruct", made, list_of(INT))
    return Iterable(None, c.builder.call(tree, "prim::min", [listed]), together)


def _as_list(c: Context, tree: ast.expr, one: Iterable) -> Iterable:
    """The elements of a tuple as a list, to be gone through beside another one."""
    if one.count is None:
        return one
    values = [c.as_value(tree, one.at(i)) for i in range(one.count)]
    return walk(c, tree, make_list(c, tree, values))
