"""`x[...]`, read and assigned: of Tensors (compiled to view operators) and of containers."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import EnumMeta
from typing import Any

from engine import dtypes
from engine.jit.frontend import hints
from engine.jit.frontend.dispatch import compiles, expression, value
from engine.jit.frontend.environment import Context
from engine.jit.frontend.errors import not_supported
from engine.jit.frontend.sugared_values import (
    MISSING,
    ModuleValue,
    PythonValue,
    SimpleValue,
    SugaredTupleValue,
    SugaredValue,
    operated,
)
from engine.jit.types.jit_type import FLOAT, INT, NONE, TENSOR, Type, list_of, optional, tuple_of


@dataclass
class IndexedView:
    """A part of a Tensor: a view, and the Tensors that index it (none: the view itself)."""

    view: SimpleValue
    indices: SimpleValue | None

    def read(self, c: Context, tree: ast.AST) -> SimpleValue:
        """Reads the elements."""
        if self.indices is None:
            return self.view
        return c.builder.call(tree, "aten::index", [self.view, self.indices])

    def write(self, c: Context, tree: ast.AST, source: SimpleValue) -> None:
        """Sets the elements."""
        builder = c.builder
        if source.type != TENSOR:
            dtype = builder.call(tree, "prim::dtype", [self.view])
            device = builder.call(tree, "prim::device", [self.view])
            options = {"dtype": dtype, "device": device}
            source = builder.call(tree, "aten::tensor", [source], options)
        if self.indices is None:
            builder.call(tree, "aten::copy_", [self.view, source])
        else:
            builder.call(tree, "aten::index_put_", [self.view, self.indices, source])


@compiles(ast.Subscript)
def _subscript(c: Context, tree: ast.Subscript, hint: Type | None) -> SugaredValue:
    owner = expression(c, tree.value)
    if isinstance(owner, ModuleValue):
        return owner.concrete_type.item(c, tree, owner)
    if isinstance(owner, SugaredTupleValue):
        return _of_items(c, tree, list(owner.items))
    if isinstance(owner, PythonValue) and isinstance(owner.object, dict) and c.inside_engine:
        return _of_table(c, tree, owner.object)
    if isinstance(owner, PythonValue) and isinstance(owner.object, EnumMeta):
        name = owner.object.__name__
        not_supported(
            c.source,
            tree,
            f"{name}[...], a member by its name, isn't supported",
            f"write {name}.{next(iter(owner.object.__members__), 'X')}",
        )
    if (
        isinstance(owner, PythonValue)
        and not c.inside_engine
        and not isinstance(owner.object, tuple)
    ):
        c.as_value(tree.value, owner)
    if isinstance(owner, PythonValue) and isinstance(owner.object, (tuple, list)):
        return _of_items(
            c, tree, [PythonValue(element, owner.constant) for element in owner.object]
        )
    owner_value = c.as_value(tree.value, owner)
    match owner_value.type.kind:
        case "Tensor":
            return tensor_place(c, tree, owner_value).read(c, tree)
        case "Tuple":
            return _of_tuple(c, tree, owner_value)
        case "List" | "str":
            return _of_list(c, tree, owner_value)
        case "Dict":
            key = value(c, tree.slice)
            return c.builder.call(tree, "aten::__getitem__", [owner_value, key])
        case "class" if not isinstance(tree.slice, ast.Slice):
            done = operated(c, tree, owner_value, "__getitem__", [value(c, tree.slice)])
            if done is not None:
                return done
    raise c.fail(
        tree,
        f"'{owner_value.type}' object is not subscriptable",
        hints.of_optional(tree.value) if owner_value.type.kind == "Optional" else "",
    )


# ---- containers


def _of_table(c: Context, tree: ast.Subscript, table: dict[Any, Any]) -> SugaredValue:
    """Indexes a dict of the engine's own source, such as its convolutions by number of dimensions."""
    key = known(expression(c, tree.slice))
    if key is MISSING or key not in table:
        raise c.fail(tree, "the key of a table must be a compile time constant that is in it")
    return PythonValue(table[key], True)


def known(sugared: SugaredValue) -> Any:
    """Returns the constant value of an expression; MISSING for one that is computed at run time."""
    if isinstance(sugared, SimpleValue):
        return sugared.constant
    return getattr(sugared, "object", MISSING)


def static_int(c: Context, tree: ast.expr) -> int:
    """Returns an index that must be a compile-time constant."""
    sugared = expression(c, tree)
    constant = (
        sugared.constant
        if isinstance(sugared, SimpleValue)
        else getattr(sugared, "object", MISSING)
    )
    if isinstance(constant, int):
        return constant
    raise c.fail(
        tree,
        "tuple index must be a compile time constant",
        "Hint: use a number here, or a List, whose elements have one type",
    )


def static_slice(c: Context, tree: ast.Slice, count: int) -> range:
    """Returns the positions of a slice that must be a compile-time constant."""
    parts = [
        None if bound is None else static_int(c, bound)
        for bound in (tree.lower, tree.upper, tree.step)
    ]
    return range(*slice(*parts).indices(count))


def _of_items(c: Context, tree: ast.Subscript, items: list[SugaredValue]) -> SugaredValue:
    if isinstance(tree.slice, ast.Slice):
        return SugaredTupleValue([items[i] for i in static_slice(c, tree.slice, len(items))])
    if c.inside_engine and known(expression(c, tree.slice)) is MISSING:
        values = [c.as_value(tree, item) for item in items]
        listed = c.builder.prim(tree, "prim::ListConstruct", values, list_of(values[0].type))
        return c.builder.call(tree, "aten::__getitem__", [listed, value(c, tree.slice)])
    return items[_in_range(c, tree, static_int(c, tree.slice), len(items))]


def _in_range(c: Context, tree: ast.AST, index: int, count: int) -> int:
    if not -count <= index < count:
        raise c.fail(tree, f"Tuple index out of range: {index} of {count} elements")
    return index % count


def _of_tuple(c: Context, tree: ast.Subscript, tuple_value: SimpleValue) -> SugaredValue:
    inner = tuple_value.type.inner
    builder = c.builder
    if isinstance(tree.slice, ast.Slice):
        picked = [
            tuple_item(c, tree, tuple_value, i) for i in static_slice(c, tree.slice, len(inner))
        ]
        return builder.prim(
            tree, "prim::TupleConstruct", picked, tuple_of(*[x.type for x in picked])
        )
    if c.inside_engine and len(set(inner)) == 1 and known(expression(c, tree.slice)) is MISSING:
        parts = builder.node(tree, "prim::TupleUnpack", [tuple_value], inner).outputs
        listed = builder.prim(tree, "prim::ListConstruct", parts, list_of(inner[0]))
        return builder.call(tree, "aten::__getitem__", [listed, value(c, tree.slice)])
    index = static_int(c, tree.slice)
    return tuple_item(c, tree, tuple_value, _in_range(c, tree, index, len(inner)))


def tuple_item(c: Context, tree: ast.AST, tuple_value: SimpleValue, index: int) -> SimpleValue:
    """Emits prim::TupleIndex."""
    position = c.builder.constant(tree, index)
    return c.builder.prim(
        tree, "prim::TupleIndex", [tuple_value, position], tuple_value.type.inner[index]
    )


def _bounds(c: Context, tree: ast.Slice) -> list[SimpleValue]:
    builder = c.builder
    bounds = [
        value(c, bound) if bound is not None else builder.constant(tree, None)
        for bound in (tree.lower, tree.upper)
    ]
    return [*bounds, value(c, tree.step) if tree.step is not None else builder.constant(tree, 1)]


def _of_list(c: Context, tree: ast.Subscript, list_value: SimpleValue) -> SimpleValue:
    if isinstance(tree.slice, ast.Slice):
        return c.builder.call(tree, "aten::slice", [list_value, *_bounds(c, tree.slice)])
    return c.builder.call(tree, "aten::__getitem__", [list_value, value(c, tree.slice)])


# ---- Tensors


def _parts(tree: ast.Subscript) -> list[ast.expr]:
    return list(tree.slice.elts) if isinstance(tree.slice, ast.Tuple) else [tree.slice]


def tensor_place(c: Context, tree: ast.Subscript, view: SimpleValue) -> IndexedView:
    """Resolves an index of a Tensor to a view; dimensions count from the end after `...`."""
    builder = c.builder
    parts = _parts(tree)
    dots = [i for i, part in enumerate(parts) if _is_dots(part)]
    if len(dots) > 1:
        raise c.fail(tree, "An index can only have a single ellipsis ('...')")
    indices: dict[int, SimpleValue] = {}
    dim = 0
    if len(parts) == len(dots) and isinstance(tree.ctx, ast.Load):  # x[...] and x[()] are views
        return IndexedView(builder.call(tree, "aten::alias", [view]), None)
    for i, part in enumerate(parts):
        if dots and i == dots[0]:
            continue
        after_dots = bool(dots) and i > dots[0]
        if after_dots:
            dim = i - len(parts)
        if isinstance(part, ast.Slice):
            at = builder.constant(tree, dim)
            view = builder.call(tree, "aten::slice", [view, at, *_bounds(c, part)])
            dim += 1
            continue
        index = value(c, part)
        if index.type == INT:
            view = builder.call(tree, "aten::select", [view, builder.constant(tree, dim), index])
            continue
        if index.type == NONE:
            view = builder.call(tree, "aten::unsqueeze", [view, builder.constant(tree, dim)])
        elif index.type == TENSOR or (index.type.kind == "List" and not after_dots):
            if after_dots:
                not_supported(
                    c.source,
                    tree,
                    "Ellipses followed by tensor indexing is currently not supported",
                    "write a `:` for each dimension instead of `...`",
                )
            indices[dim] = _as_index(c, part, index)
        elif index.type == optional(TENSOR):
            raise c.fail(part, "an index of type Optional[Tensor]", "Hint: check for None first")
        else:
            raise c.fail(
                tree,
                f"Unsupported operation: indexing tensor with unsupported index type '{index.type}'. "
                "Only ints, slices, lists and tensors are supported",
            )
        dim += 1
    if not indices:
        return IndexedView(view, None)
    filled = [
        indices[i] if i in indices else builder.constant(tree, None)
        for i in range(max(indices) + 1)
    ]
    listed = builder.prim(tree, "prim::ListConstruct", filled, list_of(optional(TENSOR)))
    return IndexedView(view, listed)


def _as_index(c: Context, tree: ast.AST, index: SimpleValue) -> SimpleValue:
    if index.type == TENSOR:
        return index
    if isinstance(tree, ast.List) and not tree.elts:  # as in Python: no elements
        index = c.builder.prim(tree, "prim::ListConstruct", [], list_of(INT))
        options = {"dtype": c.builder.constant(tree, dtypes.int64)}
        return c.builder.call(tree, "aten::tensor", [index], options)
    if index.type.element.kind not in ("int", "bool", "List"):
        word = "int and bool" if index.type.element == FLOAT else "numbers"
        raise c.fail(tree, f"a list that indexes a Tensor holds {word}, not {index.type.element}")
    return c.builder.call(tree, "aten::tensor", [index])


def _is_dots(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and tree.value is Ellipsis


# ---- assigned


def assign_item(c: Context, tree: ast.Subscript, source: SimpleValue) -> None:
    """Compiles `x[...] = value`."""
    owner = value(c, tree.value)
    if owner.type.kind in ("List", "Dict"):
        source = c.fitted(tree, source, owner.type.inner[-1])
    match owner.type.kind:
        case "Tensor":
            tensor_place(c, tree, owner).write(c, tree, source)
        case "List":
            if isinstance(tree.slice, ast.Slice):
                not_supported(
                    c.source,
                    tree,
                    "slice assignments of lists aren't supported",
                    "assign one by one in a loop",
                )
            c.builder.call(tree, "aten::_set_item", [owner, value(c, tree.slice), source])
        case "Dict":
            c.builder.call(tree, "aten::_set_item", [owner, value(c, tree.slice), source])
        case "class":
            operated(c, tree, owner, "__setitem__", [value(c, tree.slice), source])
        case kind:
            raise c.fail(tree, f"'{kind}' object does not support item assignment")


def delete_item(c: Context, tree: ast.Subscript) -> None:
    """Compiles `del x[...]` of a list or dictionary."""
    owner = value(c, tree.value)
    if owner.type.kind == "class" and not isinstance(tree.slice, ast.Slice):
        operated(c, tree, owner, "__delitem__", [value(c, tree.slice)])
        return
    if owner.type.kind not in ("List", "Dict") or isinstance(tree.slice, ast.Slice):
        raise c.fail(
            tree,
            f"del of a part of a value of type {owner.type} is not supported",
            "Hint: keep what stays: xs = xs[:a] + xs[b:]" if owner.type.kind == "List" else "",
        )
    c.builder.call(tree, "aten::Delete", [owner, value(c, tree.slice)])
